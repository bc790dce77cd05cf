"""A merge that is killed once its summary stands is finished by the next, and can be undone."""

from pathlib import Path

import pytest

from skymem import app, upkeep
from skymem.jobs import runner
from skymem.jobs.merge_notes import merge_notes
from skymem.jobs.table import JOBS
from skymem.stores.files import Files
from skymem.stores.protection import read_protection, write_protection
from tests.conftest import Desk, line
from tests.jobs.test_finishing_what_was_left import Cut
from tests.jobs.test_merge import active, made, note


class Dying(Files):
    """Real disk until the archive is to get its name."""

    fired = False

    def link(self, source: Path, target: Path) -> None:
        if target.name.startswith("short_term_archive_"):
            self.fired = True
            raise Cut
        super().link(source, target)


def die(desk: Desk, *by_hand: str) -> str:
    """Kill a merge between its summary and its archive; gives the run's name."""
    desk.files = dying = Dying()
    table = {"merge": merge_notes(by_hand)} if by_hand else JOBS
    with pytest.raises(Cut):
        runner.run(desk.work(), "merge", ["sky"], table=table)
    assert dying.fired
    desk.files = Files()
    return [str(one["run"]) for one in desk.ledger() if one["op"] == "begin"][-1]


def test_originals_that_a_killed_merge_left_in_short_term_go_where_its_plan_said(
    desk: Desk,
) -> None:
    twice = note("event 0", 20)
    desk.echo(twice, note("event 1", 19), line("another", 0.3), twice)
    die(desk)
    (one,) = made(desk)
    assert len(desk.contents("short")) == 4

    detail = desk.run("merge")
    assert (len(detail["recovered"]), detail["archived"], detail["batches"]) == (1, 2, 0)
    assert desk.contents("short") == ["another"]
    assert sorted(desk.contents("archive")) == ["event 0", "event 1"]
    decided = [row for entry in desk.ledger() for row in entry.get("decided", ())]
    assert [row[2:6] for row in decided[-3:-1]] == [
        ["merged", None, None, made(desk)[0].source_id]
    ] * 2
    assert made(desk)[0].fields == one.fields
    assert active(desk) == sorted(["another", one.content])
    assert desk.run("merge")["acted"] == 0


def test_those_of_a_merge_by_hand_as_well(desk: Desk) -> None:
    desk.echo(line("one", 0.3, id="a"), line("two", 0.3, id="b"))
    die(desk, "a", "b")
    assert desk.run("merge")["archived"] == 2
    assert desk.contents("short") == []


def test_what_was_pinned_meanwhile_stays_and_so_does_what_a_correction_replaced(
    desk: Desk,
) -> None:
    desk.echo(note("event 0", 20, id="n0"), note("event 1", 19, id="n1"))
    desk.echo(line("wrong", 0.3, id="w"), line("right", 0.9, supersedes=["w"]))
    desk.run("promote")
    die(desk)
    protection = read_protection(desk.tiers.protected)
    protection.pin("n1", desk.clock)
    write_protection(desk.tiers.protected, protection, desk.files)
    desk.run("merge")

    assert desk.contents("short") == ["event 1", "wrong"]
    assert desk.contents("archive") == ["event 0"]


@pytest.mark.parametrize("finished", [False, True])
def test_undoing_it_brings_back_what_was_there(desk: Desk, finished: bool) -> None:
    app.init_home(desk.paths.root)
    home = app.open_home(str(desk.paths.root))
    desk.echo(note("event 0", 20, id="n0"), note("event 1", 19), line("another", 0.3))
    before = desk.short_term.read_bytes()
    run = die(desk)
    if finished:
        desk.run("merge")
    desk.clock = app.now()
    upkeep.undo_run(home, run, ["sky"])

    assert desk.short_term.read_bytes() == before
    assert not made(desk)
