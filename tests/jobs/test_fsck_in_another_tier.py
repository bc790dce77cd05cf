"""A memory in another tier than the ledger says is named, unless the ledger explains it (X6)."""

import shutil
from pathlib import Path

import pytest

from skymem import app, upkeep
from skymem.jobs.undo import undo
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.conftest import Desk, line
from tests.faults.faulty import DyingFiles, PowerCut
from tests.faults.sweep import as_if_from_another_process
from tests.jobs.lived import cut, live, look, told

DAY = 86_400


def bring(desk: Desk, text: str, source: Path, target: Path) -> None:
    """Move a line from one file to another by hand."""
    lines = source.read_bytes().splitlines(keepends=True)
    (found,) = [one for one in lines if b'"%s"' % text.encode() in one]
    source.write_bytes(b"".join(one for one in lines if one != found))
    with target.open("ab") as stream:
        stream.write(found)


@pytest.mark.parametrize(
    ("text", "source", "target", "says"),
    [
        ("worth 5", "long", "archive", "long-term"),
        ("worth 5", "long", "short", "long-term"),
        ("kept 1", "archive", "long", "an archive"),
        ("kept 1", "archive", "short", "an archive"),
        ("kept 4", "short", "long", "short-term"),
        ("kept 4", "short", "archive", "short-term"),
    ],
)
def test_one_in_another_tier_than_the_record_says_is_named_each_time(  # noqa: PLR0917
    desk: Desk, home: app.Home, text: str, source: str, target: str, says: str
) -> None:
    names = live(desk, home)
    where = {"short": desk.short_term, "long": desk.tiers.long_term}
    (where["archive"],) = (p for p in desk.files_of("archive") if b"kept 1" in p.read_bytes())
    before = look(desk).memories["sky"]
    bring(desk, text, where[source], where[target])
    for _ in range(2):
        findings = look(desk)
        assert told(findings.problems) == [("moved outside", names[text])]
        message = findings.problems[0]["message"]
        assert message.startswith(
            f"{names[text]} is in {where[target].name}; the ledger says {says}"
        )
        after = before | {source: before[source] - 1, target: before[target] + 1}
        assert findings.memories["sky"] == after


def test_one_whose_trash_was_put_back_from_a_backup_is_named(desk: Desk, home: app.Home) -> None:
    names = live(desk, home)
    upkeep.forget_memories(home, "sky", [names["worth 5"]])
    (path,) = [p for p in desk.tiers.trash.glob("*") if b"worth 5" in p.read_bytes()]
    lying = path.read_bytes()
    upkeep.restore_memories(home, "sky", [names["worth 5"]])
    cut(desk.tiers.long_term, "worth 5")
    path.write_bytes(lying)
    (problem,) = look(desk).problems

    assert (problem["what"], problem["id"]) == ("moved outside", names["worth 5"])
    assert f"is in trash/{path.name}; the ledger says long-term" in problem["message"]


def test_the_next_job_that_decides_about_it_puts_that_on_record(desk: Desk, home: app.Home) -> None:
    live(desk, home)
    bring(desk, "worth 5", desk.tiers.long_term, desk.short_term)
    assert not look(desk).valid
    desk.run("promote")

    assert look(desk).problems == []


def test_an_undo_says_where_everything_came_back_to(desk: Desk, home: app.Home) -> None:
    names = live(desk, home)
    upkeep.forget_memories(home, "sky", [names["worth 5"], names["kept 4"]])
    upkeep.undo_run(home, None, ["sky"])
    (undone,) = [e["decided"] for e in desk.ledger() if e.get("decided")][-1:]
    assert {one[1]: one[6] for one in undone} == {
        names["worth 5"]: "long_term.jsonl",
        names["kept 4"]: "short_term.jsonl",
    }
    assert look(desk).problems == []
    bring(desk, "kept 4", desk.short_term, desk.tiers.long_term)

    assert told(look(desk).problems) == [("moved outside", names["kept 4"])]


def test_a_home_adopted_with_what_is_in_short_and_long_at_once_balances(desk: Desk) -> None:
    both = line("both", 0.9)
    desk.tiers.long_term.write_bytes(line("before", 0.9) + both)
    desk.echo(both, line("new", 0.1))
    for _ in range(2):
        findings = look(desk)
        assert findings.problems == []
        assert findings.memories["sky"]["long"] == 2
        desk.run("promote")  # drops the repeat


def test_one_that_is_promoted_a_second_time_by_a_run_that_was_killed_was_not_changed(
    desk: Desk, tmp_path: Path
) -> None:
    desk.echo(line("worth", 0.9), line("kept", 0.1))
    desk.run("promote")
    undo(desk.work(), None, ["sky"])
    desk.clock += 40 * DAY  # over the time for which it is left alone
    step, fired = 0, True
    while fired:
        step += 1
        root = shutil.copytree(desk.paths.root, tmp_path / f"{step}")
        files = DyingFiles(step)
        copy = Desk(HomePaths(root), files=files, clock=desk.clock)
        try:
            assert copy.run("promote")["promoted"] == 1
        except PowerCut:
            as_if_from_another_process(root)
        fired, copy.files = files.fired, Files()
        assert look(copy).problems == [], step
    assert step > 8, "the fault never met its step"
