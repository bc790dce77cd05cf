"""The sum of memories balances over a whole life, and what was broken by hand is named (X6)."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem import app, upkeep
from skymem.errors import DiskError
from skymem.jobs.account import Account
from skymem.jobs.compact import compact
from skymem.jobs.fate import Fate
from skymem.jobs.fsck import fsck
from skymem.model.rules import RetentionRules, TrashRules
from skymem.stores import ledger as ledgers
from skymem.stores import segments
from skymem.stores.catalog_file import catalog_path
from tests.conftest import Desk, line
from tests.faults.faulty import DyingFiles, PowerCut
from tests.faults.sweep import as_if_from_another_process
from tests.jobs.lived import cut, ids, live, look, told

DAY = 86_400


def test_a_home_that_has_lived_through_everything_balances(desk: Desk, home: app.Home) -> None:
    names = live(desk, home)
    findings = look(desk)

    assert findings.problems == []
    assert findings.memories["sky"] == {
        "came_in": 16,
        "short": 3,
        "long": 6,
        "archive": 3,
        "trash": 3,
        "compacted": 0,
        "edited outside": 1,
        "erased": 0,
        "lost": 0,
        "doubled": 0,
    }
    assert names["worth 0"] in ids(desk).values()


def test_what_was_compacted_is_accounted_for(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    desk.rules = RetentionRules(trash=TrashRules(keep_seconds=DAY))
    desk.clock = app.now() + 2 * DAY
    _, (done,) = compact(desk.work(), ["sky"])
    findings = look(desk)

    assert done.acted == 3
    assert findings.problems == []
    assert (findings.memories["sky"]["trash"], findings.memories["sky"]["compacted"]) == (0, 3)


def test_a_home_without_anything_balances(desk: Desk) -> None:
    findings = look(desk)
    assert (findings.valid, findings.notes) == (True, [])
    assert findings.memories["sky"]["came_in"] == 0


def test_what_came_since_the_last_run_is_recorded(desk: Desk) -> None:
    desk.echo(line("one"), line("two"))
    assert look(desk).memories["sky"]["short"] == 2
    assert [entry["op"] for entry in desk.ledger()] == ["adopt"]
    desk.run("promote")
    assert [entry["op"] for entry in desk.ledger()] == ["adopt"]


def double(path: Path, text: str) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines) + next(one for one in lines if text.encode() in one))


def change(path: Path, text: str) -> None:
    path.write_bytes(path.read_bytes().replace(text.encode(), text.upper().encode()))


def spoil(path: Path, text: str) -> None:
    path.write_bytes(path.read_bytes().replace(b'"%s"' % text.encode(), b'"%s' % text.encode()))


HANDS = [
    pytest.param(cut, "lost", [], id="removed"),
    pytest.param(double, "doubled", [], id="doubled"),
    pytest.param(change, "changed outside", [], id="changed"),
    pytest.param(spoil, "lost", ["unreadable"], id="spoilt"),
]


@pytest.mark.parametrize(("hand", "what", "notes"), HANDS)
@pytest.mark.parametrize(
    ("where", "text"),
    [("long_term.jsonl", "worth 5"), ("short_term_archive_*", "kept 1"), ("trash/*", "worth 1")],
)
def test_what_was_broken_by_hand_is_named(  # noqa: PLR0917
    desk: Desk,
    home: app.Home,
    where: str,
    text: str,
    hand: Callable[[Path, str], None],
    what: str,
    notes: list[str],
) -> None:
    names = live(desk, home)
    paths = sorted(desk.tiers.directory.glob(where))
    (path,) = [one for one in paths if text.encode() in one.read_bytes()]
    hand(path, text)
    findings = look(desk)

    assert told(findings.problems) == [(what, names[text])]
    assert [one for one, _ in told(findings.notes) if one != "catalog"] == notes
    assert sum(findings.memories["sky"].values()) == 2 * findings.memories["sky"]["came_in"]
    assert not any("worth" in one["message"] for one in [*findings.problems, *findings.notes])


def test_one_in_two_tiers_is_named_with_both(desk: Desk, home: app.Home) -> None:
    names = live(desk, home)
    (archive,) = (p for p in desk.files_of("archive") if b"kept 1" in p.read_bytes())
    with desk.files_of("long")[0].open("ab") as stream:
        lines = archive.read_bytes().splitlines(keepends=True)
        stream.write(next(one for one in lines if b"kept 1" in one))
    (problem,) = look(desk).problems

    assert (problem["what"], problem["id"]) == ("doubled", names["kept 1"])
    assert "long_term.jsonl" in problem["message"]
    assert archive.name in problem["message"]


def test_what_came_in_by_hand_is_told_and_no_problem(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    with desk.files_of("long")[0].open("ab") as stream:
        stream.write(line("by hand", id="mine"))
    findings = look(desk)

    assert findings.valid
    assert told(findings.notes) == [("unrecorded", "mine")]


def test_a_repeat_that_waits_in_short_term_is_no_second_one(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    before = look(desk).memories["sky"]
    desk.echo(line("worth 5", 0.9), line("kept 1", 0.2), line("worth 1", 0.9))
    findings = look(desk)

    assert findings.problems == []
    again = {"short": before["short"] + 1, "trash": before["trash"] - 1}  # "worth 1" lay in trash
    assert findings.memories["sky"] == before | again


def test_a_record_that_was_meddled_with_is_a_problem(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    path = desk.paths.audit / "ledger.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"by_hand"', b'"my_hand"', 1))
    findings = look(desk)
    assert told(findings.problems) == [("ledger", "")]
    assert "was changed" in findings.problems[0]["message"]
    assert findings.memories["sky"]["lost"] == 0
    path.write_bytes(whole + path.read_bytes()[len(whole) :])


def test_an_agent_whose_directory_is_gone_has_lost_everything(desk: Desk) -> None:
    desk.echo(line("one", 0.9), line("two", 0.1))
    desk.run()
    for path in sorted(desk.tiers.directory.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    desk.tiers.directory.rmdir()
    findings = fsck(desk.work(), [])

    assert findings.memories["sky"]["lost"] == 2
    assert {what for what, _ in told(findings.problems)} == {"lost"}
    assert fsck(desk.work(), [], all_agents=False).memories == {}


def test_agents_are_told_apart(desk: Desk) -> None:
    for agent in ("sky", "hobbs"):
        desk.agent = agent
        desk.shelf().ensure()
        desk.echo(line("the same", 0.9), line(f"of {agent}", 0.9))
        desk.run()
    cut(desk.tiers.long_term, "the same")
    findings = fsck(desk.work(), ["hobbs", "sky"])

    assert [(one["agent"], one["what"]) for one in findings.problems] == [("hobbs", "lost")]
    assert findings.memories["sky"]["long"] == 2
    desk.agent = "sky"


def test_a_catalog_that_is_wrong_is_made_anew(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    with desk.work().catalog() as catalog:
        catalog.database.execute("DELETE FROM memories WHERE start = 0")
    first, second = look(desk), look(desk)

    assert told(first.notes) == [("catalog", "")]
    assert first.valid
    assert second.notes == []


def test_a_catalog_that_can_not_be_read_is_done_without(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    before = look(desk).memories
    path = catalog_path(desk.paths)
    with desk.work().catalog() as catalog:
        catalog.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = catalog.database.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'memories'"
        ).fetchone()
        (size,) = catalog.database.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as stream:
        stream.seek((page - 1) * size)
        stream.write(b"\xff" * size)
    findings = look(desk)

    assert findings.problems == []
    assert findings.memories == before
    assert [what for what, _ in told(findings.notes)] == ["catalog"]
    assert look(desk).notes == []


def test_a_full_disk_for_the_sum_is_told_as_one(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(desk, home)
    opened = Account()
    monkeypatch.setattr(opened, "fates", full)
    monkeypatch.setattr("skymem.jobs.fsck.Account", lambda _key: opened)
    with pytest.raises(DiskError, match="database or disk is full"):
        look(desk)


def full(_agent: str) -> Iterator[Fate]:
    raise sqlite3.OperationalError("database or disk is full")


def test_the_record_is_read_once(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    live(desk, home)
    look(desk)
    lines: list[bytes | None] = []
    real = segments.lines_of

    def lines_of(*args: Any) -> Iterator[tuple[bytes | None, int]]:
        for raw, end in real(*args):
            lines.append(raw)
            yield raw, end

    monkeypatch.setattr(ledgers, "lines_of", lines_of)
    findings = look(desk)

    assert len(lines) == findings.entries == len(desk.ledger())


def test_many_are_counted_when_not_all_are_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.jobs.findings.NAMED_MAX", 3)
    desk.echo(*(line(f"worth {n}", 0.9) for n in range(8)))
    desk.run()
    desk.tiers.long_term.unlink()
    findings = look(desk)

    assert findings.memories["sky"]["lost"] == 8
    assert [one.get("more") for one in findings.problems] == [None, None, None, 5]


def test_it_balances_over_a_record_of_many_files(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "SEGMENT_BYTES", 1000)
    live(desk, home)
    assert len(desk.work().ledger().segments()) > 5
    assert look(desk).problems == []


@pytest.mark.parametrize("act", ["promote", "forget", "restore", "undo", "correct", "compact"])
def test_it_balances_after_a_kill_at_any_step(
    tmp_path: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = app.now()
    monkeypatch.setattr(app, "now", lambda: at)
    names = begun(tmp_path / "template", act, at)
    steps = 0
    for steps in range(1, 500):
        root = tmp_path / f"{steps}"
        shutil.copytree(tmp_path / "template", root)
        home = app.open_home(str(root))
        files = DyingFiles(steps)
        home.files = files
        try:
            doing(home, act, names)
        except PowerCut:
            as_if_from_another_process(root)
        findings = fsck(app.open_home(str(root)).workplace(), ["sky"])
        assert findings.problems == [], (steps, files.steps)
        states = findings.memories["sky"]
        assert states["came_in"] in (2, 3)
        assert states["compacted"] == 0 or act == "compact"
        if not files.fired:
            break
    assert steps > 8, "the fault never met its step"


def begun(root: Path, act: str, at: float) -> dict[str, str]:
    """Bring a home to where an act begins; returns the ids by text."""
    app.init_home(root)
    home = app.open_home(str(root))
    desk = Desk(home.paths, clock=at)
    desk.echo(line("worth", 0.9, ts=at - DAY), line("kept", 0.1, ts=at - DAY))
    if act != "promote":
        desk.run("promote")
    names = ids(desk)
    if act in ("restore", "undo", "compact"):
        upkeep.forget_memories(home, "sky", [*names.values()])
    return names


def doing(home: app.Home, act: str, names: dict[str, str]) -> None:
    if act == "promote":
        home.run_job("promote")
    elif act == "forget":
        upkeep.forget_memories(home, "sky", [*names.values()])
    elif act == "restore":
        upkeep.restore_memories(home, "sky", [*names.values()])
    elif act == "undo":
        upkeep.undo_run(home, None, ["sky"])
    elif act == "correct":
        upkeep.correct_memory(home, "sky", names["worth"], "better")
    else:
        work = home.workplace()
        work.rules = RetentionRules(trash=TrashRules(keep_seconds=0))
        later = app.now() + 60
        work.now = lambda: later
        work.clock_seen = None
        compact(work, ["sky"])


def test_no_text_is_in_what_is_told(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    desk.tiers.long_term.write_bytes(b'{"content": "worth 1\n')
    document = json.dumps(look(desk).as_json())

    assert "worth" not in document
    assert "unreadable" in document
    assert os.path.exists(desk.paths.audit / "key")


def test_what_is_written_again_while_it_lies_in_trash_is_in_one_state_at_each_step(
    desk: Desk, home: app.Home
) -> None:
    def state() -> dict[str, int]:
        findings = look(desk)
        assert (findings.problems, findings.valid) == ([], True)
        return {name: n for name, n in findings.memories["sky"].items() if n and name != "came_in"}

    desk.echo(line("again", 0.9, id="m"))
    desk.run("promote")
    for _ in range(2):
        upkeep.forget_memories(home, "sky", ["m"])
        assert state() == {"trash": 1}
        desk.echo(line("again", 0.9, id="m"))
        assert state() == {"short": 1}
        desk.run("promote")
        assert state() == {"long": 1}
    desk.rules = RetentionRules(trash=TrashRules(keep_seconds=DAY))
    desk.clock = app.now() + 2 * DAY
    compact(desk.work(), ["sky"])
    assert state() == {"long": 1}
    upkeep.forget_memories(home, "sky", ["m"])
    desk.clock = app.now() + 2 * DAY
    compact(desk.work(), ["sky"])
    assert state() == {"compacted": 1}


@pytest.mark.parametrize("lose", [Path.unlink, lambda key: key.write_bytes(b"k" * 32)])
def test_a_key_that_was_lost_is_named_and_no_memory_is_accused(
    desk: Desk, home: app.Home, lose: Callable[[Path], object]
) -> None:
    live(desk, home)
    lose(desk.paths.audit / "key")
    findings = look(desk)
    assert told(findings.problems) == [("key", "")]
    desk.echo(line("since then", 0.9))
    desk.run("promote")
    change(desk.tiers.long_term, "since then")
    assert [what for what, _ in told(look(desk).problems)] == ["key", "changed outside"]
