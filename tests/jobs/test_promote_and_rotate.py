"""The two jobs on a real home: what moves, what stays to the byte, and what they say of it."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem import app
from skymem.jobs import runner
from skymem.jobs.detail import exit_code
from skymem.jobs.workplace import Workplace
from skymem.model.rules import AgentRules, RetentionRules
from skymem.policy import promote, rotate
from tests.conftest import START, Desk, line

ROOT = Path(__file__).parents[2]

TRIVIAL = b'{"ts": 1699999990, "type": "short", "content": "trivial note", "importance": 0.3}\n'
INSIGHT = (
    b'{"ts": 1699999995, "type": "short", "content": "important insight", "importance": 0.85}\n'
)
DECISION = (
    b'{"ts": 1700000000, "type": "short", "content": "critical decision", "importance": 0.92}\n'
)


def test_the_worked_example_of_row_p5_from_file_to_file(desk: Desk) -> None:
    desk.echo(TRIVIAL, INSIGHT, DECISION)
    detail = desk.run()
    assert desk.short_term.read_bytes() == TRIVIAL
    at = int(desk.clock)
    expected = [
        (
            '{"ts": 1699999995, "type": "long", "content": "important insight", '
            f'"importance": 0.85, "promoted_at": {at}, "id": "ID"}}'
        ),
        (
            '{"ts": 1700000000, "type": "long", "content": "critical decision", '
            f'"importance": 0.92, "promoted_at": {at}, "id": "ID"}}'
        ),
    ]
    found = [re.sub("[0-9a-f]{24}", "ID", raw.decode()) for raw in desk.raw("long")]
    assert found == expected
    assert len({memory.source_id for memory in desk.memories("long")}) == 2
    p3 = {key: detail[key] for key in ("ok", "promoted", "rotated", "remaining", "threshold")}
    assert p3 == {
        "ok": True, "promoted": 2, "rotated": False, "remaining": 1, "threshold": 0.7
    }  # fmt: skip


def test_kept_lines_are_not_touched_by_a_byte(desk: Desk) -> None:
    odd = b'{"importance" :0.10,"x":1e2, "content":"\\u00e9\xc3\xa9" , "ts":1.70e9}\r\n'
    desk.echo(odd, INSIGHT, b"\n", odd.replace(b"1e2", b"1E2"))
    desk.run()
    assert desk.short_term.read_bytes() == odd + b"\n" + odd.replace(b"1e2", b"1E2")


def test_a_run_with_nothing_to_do_leaves_the_very_file(desk: Desk) -> None:
    desk.echo(TRIVIAL)
    inode = desk.short_term.stat().st_ino
    detail = desk.run()
    assert desk.short_term.stat().st_ino == inode
    assert desk.shelf().drains.names() == []
    assert detail["why"] == (
        "none of 1 line(s) reaches the threshold; 1 line(s) are within the limit"
    )


@pytest.mark.parametrize(("lines", "why"), [((), "short-term is empty"), ((b"\n",), "empty")])
def test_a_run_over_nothing_says_so(desk: Desk, lines: tuple[bytes, ...], why: str) -> None:
    desk.echo(*lines)
    assert why in desk.run("promote")["why"]


def test_rotation_archives_the_oldest_and_keeps_the_newest(desk: Desk) -> None:
    desk.limit(3)
    desk.echo(*(line(f"m{n}", 0.1) for n in range(8)))
    detail = desk.run("rotate")
    assert (detail["rotated"], detail["archived"], detail["remaining"]) == (True, 5, 3)
    assert desk.contents("archive") == [f"m{n}" for n in range(5)]
    assert desk.contents("short") == ["m5", "m6", "m7"]
    (archive,) = desk.files_of("archive")
    assert re.fullmatch(r"short_term_archive_\d{8}T\d{6}Z\.jsonl", archive.name)
    assert detail["archive"] == str(archive)


def test_two_archives_of_one_second_are_two_files(desk: Desk) -> None:
    desk.limit(1)
    for number in range(3):
        desk.echo(line(f"a{number}", 0.1), line(f"b{number}", 0.1))
        desk.run("rotate")
        desk.clock = START
    assert len(desk.files_of("archive")) == 3
    assert len(desk.contents("archive")) == 5


def test_what_is_worth_keeping_is_promoted_before_rotation_can_take_it(desk: Desk) -> None:
    """Row M5."""
    desk.limit(2)
    desk.echo(INSIGHT, *(line(f"m{n}", 0.1) for n in range(4)))
    desk.run()
    assert desk.contents("long") == ["important insight"]
    assert desk.contents("archive") == ["m0", "m1"]


def test_each_agent_lives_under_its_own_rules(desk: Desk) -> None:
    hobbs = Desk(desk.paths, agent="hobbs")
    hobbs.shelf().ensure()
    for each in (desk, hobbs):
        each.echo(*(line(f"m{n}", 0.65) for n in range(3)))
    desk.rules = RetentionRules(agents={"hobbs": AgentRules(0.6, 100)})
    detail, _ = runner.run(desk.work(), "promote", ["hobbs", "sky"])
    assert detail["agents"]["hobbs"]["promoted"] == 3
    assert detail["agents"]["sky"]["promoted"] == 0
    assert (len(hobbs.contents("long")), len(desk.contents("long"))) == (3, 0)


def test_a_job_goes_round_until_nothing_is_left_to_decide(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promote, "DECISIONS_MAX", 10)
    monkeypatch.setattr(rotate, "DECISIONS_MAX", 10)
    desk.limit(7)
    desk.echo(*(line(f"m{n}", 0.9 if n % 2 else 0.1) for n in range(80)))
    detail = desk.run()
    assert (detail["promoted"], detail["archived"], detail["remaining"]) == (40, 33, 7)
    assert detail["skipped"] == {"importance": 40, "line_limit": 7}
    assert len(detail["steps"]["rotate"]["archives"]) == 4
    assert desk.everything() == sorted(f"m{n}" for n in range(80))


def test_a_signal_between_two_rounds_leaves_whole_work(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promote, "DECISIONS_MAX", 10)
    desk.echo(*(line(f"m{n}", 0.9) for n in range(35)))
    asked = iter(["", "", "SIGTERM"])
    work = Workplace(
        desk.paths,
        desk.files,
        desk.rules,
        lambda: desk.clock,
        lambda: None,
        lambda: next(asked, "SIGTERM"),
    )
    detail, outcomes = runner.run(work, "promote", ["sky", "zed"])
    done = len(desk.contents("long"))
    assert 0 < done < 35
    assert (detail["ok"], detail["promoted"], exit_code(outcomes)) == (False, done, 130)
    assert "sky: stopped by SIGTERM before the next step" in detail["error"]
    assert "zed: stopped by SIGTERM before the next step" in detail["error"]
    assert done + len(desk.contents("short")) == 35
    assert desk.run("promote")["promoted"] == 35 - done


def test_the_ledger_tells_new_lines_from_adopted_and_edited_ones(desk: Desk) -> None:
    desk.echo(line("adopted", 0.1))
    desk.run("promote")
    desk.shelf().append([line("new", 0.1, id="w1")])
    desk.run("promote")
    new = desk.short_term.with_name("edited")
    new.write_bytes(desk.short_term.read_bytes().replace(b"adopted", b"changed"))
    new.rename(desk.short_term)
    desk.run("promote")
    found = [(entry["op"], len(entry["ids"])) for entry in desk.ledger()]
    assert found == [("adopt", 1), ("remember", 1), ("edited outside", 1), ("remember", 1)]
    assert desk.ledger()[1]["ids"] == ["w1"]
    assert desk.ledger()[2]["ids"] == desk.ledger()[0]["ids"]


def test_remember_writes_no_ledger_line_itself(desk: Desk) -> None:
    desk.shelf().append([line("a", 0.1)])
    assert not desk.paths.audit.exists()


def test_two_jobs_at_once_wait_for_each_other_and_double_nothing(desk: Desk) -> None:
    desk.echo(*(line(f"m{n}", 0.9) for n in range(300)))
    others = [Desk(desk.paths, clock=START + 10 * n) for n in range(3)]
    details: list[dict[str, object]] = []
    threads = [
        threading.Thread(target=lambda other=other: details.append(other.run())) for other in others
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [detail["ok"] for detail in details] == [True] * 3
    assert sum(int(str(detail["promoted"])) for detail in details) == 300
    assert desk.everything() == sorted(f"m{n}" for n in range(300))


MEMBER = """
import os, sys
from skymem import app
from skymem.config import rules_file
from tests.conftest import line
uid, gid, place = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
os.setgroups([gid])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
home = app.open_home(place, appending=True)
home.shelf("sky").append([line("from a member", 0.9)])
"""


@pytest.fixture
def shared_home() -> Iterator[Path]:
    """A home of `access: group`, whose group is neither its owner's nor a member's own."""
    # Not under a $TMPDIR of our own: the other user has to get there as well.
    with tempfile.TemporaryDirectory(prefix="skymem-", dir="/tmp") as place:
        Path(place).chmod(0o755)
        home = Path(place, "home")
        home.mkdir()
        os.chown(home, 0, 777)
        home.chmod(0o2770)
        app.init_home(home)
        rules = home / "retention_rules.yaml"
        rules.write_text("access: group\n")
        rules.chmod(0o644)
        for directory in (home / "memory", home / "memory" / "sky"):
            os.chown(directory, 0, 777)  # `init` made them before the rules said who shares them
            directory.chmod(0o2770)
        yield home


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: only root may")
def test_a_member_of_the_group_may_append_and_the_owners_job_takes_it_over(
    shared_home: Path,
) -> None:
    owner = app.open_home(str(shared_home))
    owner.shelf("sky").append([line("from the owner", 0.9), line("stays", 0.1)])
    assert owner.run_job("memory_rotate_check")[0]["promoted"] == 1
    subprocess.run(
        [sys.executable, "-c", MEMBER, "54321", "777", str(shared_home)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert owner.run_job("memory_rotate_check")[0]["promoted"] == 1
    status = (shared_home / "memory/sky/short_term.jsonl").stat()
    assert (status.st_gid, status.st_mode & 0o777) == (777, 0o660)


def test_a_result_reaches_the_status_files_and_no_dry_run_does(tmp_path: Path) -> None:
    home_path = tmp_path / "home"
    app.init_home(home_path)
    home = app.open_home(str(home_path))
    home.shelf("sky").append([INSIGHT])
    home.run_job("memory_rotate_check", dry_run=True)
    assert home.status_files().read_last_action() is None
    detail, _ = home.run_job("memory_rotate_check")
    record = home.status_files().read_last_action()
    assert record is not None
    assert record["action"] == "memory_rotate_check"
    assert record["detail"] == json.loads(json.dumps(detail))


def test_a_status_directory_in_the_way_does_not_fail_the_job(tmp_path: Path) -> None:
    home_path = tmp_path / "home"
    app.init_home(home_path)
    home = app.open_home(str(home_path))
    home.shelf("sky").append([INSIGHT])
    (home_path / "status").write_bytes(b"")
    detail, _ = home.run_job("promote")
    assert (detail["ok"], detail["promoted"]) == (True, 1)
    assert detail["degraded"][0].startswith("status: ")


def test_a_rehearsal_sees_a_flat_file_before_the_agent_has_one_of_its_own(desk: Desk) -> None:
    desk.paths.memory.mkdir(parents=True, exist_ok=True)
    desk.paths.flat_short_term.write_bytes(line("kept", 0.9) + line("low", 0.1))
    assert not desk.short_term.exists()
    foreseen = desk.run("promote", dry_run=True)

    assert (foreseen["promoted"], foreseen["remaining"]) == (1, 1)
    assert desk.run("promote")["promoted"] == 1
