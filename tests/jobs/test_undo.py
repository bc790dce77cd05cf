"""Undo takes back what was done last, all of it and once (promise 5)."""

import pytest

from skymem import app, upkeep
from skymem.errors import UsageError
from skymem.jobs import runner
from tests.conftest import Desk, line
from tests.jobs.test_bringing_back import MIXED, home, ids, tree

__all__ = ["home"]


def test_what_was_undone_is_left_alone_for_its_grace(desk: Desk, home: app.Home) -> None:
    desk.echo(*MIXED)
    desk.run("promote")
    desk.clock = app.now()
    upkeep.undo_run(home, None, ["sky"])

    assert desk.run("promote")["skipped"] == {"importance": 2, "restored": 4}
    desk.clock += desk.rules.restore_grace_seconds + 60
    assert desk.run("promote")["promoted"] == 4


def test_what_was_compressed_and_undone_is_left_alone_for_its_grace(
    desk: Desk, home: app.Home
) -> None:
    desk.clock = app.now()
    old = desk.clock - 9 * 86_400
    desk.echo(line("Ann likes tea.", 0.5, ts=old, kind="preference"))
    desk.echo(line("Ann asked for tea.", 0.4, ts=old, kind="request"))
    gone = desk.run("compress")
    assert (gone["compressed"], gone["archived"]) == (1, 2)
    desk.clock = app.now()
    upkeep.undo_run(home, None, ["sky"])

    assert desk.run("compress")["skipped"] == {"restored": 2}
    desk.clock += desk.rules.restore_grace_seconds + 60
    assert desk.run("compress")["archived"] == 2


def test_undoing_twice_does_nothing_more(desk: Desk, home: app.Home) -> None:
    desk.echo(*MIXED)
    run = desk.run("promote")["agents"]["sky"]["runs"][0]
    upkeep.undo_run(home, run, ["sky"])
    before = tree(desk)
    again = upkeep.undo_run(home, run, ["sky"])

    assert (again["acted"], "it was undone already, by" in again["why"]) == (0, True)
    assert tree(desk) == before
    desk.clock = app.now() + desk.rules.restore_grace_seconds + 60
    desk.run("promote")
    assert upkeep.undo_run(home, run, ["sky"])["acted"] == 0  # what another run did is another's
    assert upkeep.undo_run(home, None, ["sky"])["acted"] == 4


def test_undo_passes_over_what_has_nothing_left_to_be_taken_back(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(*MIXED)
    desk.run("promote")
    name = ids(desk, home)["six"]
    upkeep.forget_memories(home, "sky", [name])
    upkeep.restore_memories(home, "sky", [name])
    desk.echo(MIXED[0])
    assert desk.run("promote")["repeats"] == 1

    assert upkeep.undo_run(home, None, ["sky"], dry_run=True)["acted"] == 4
    assert upkeep.undo_run(home, None, ["sky"])["restored"] != []
    assert upkeep.undo_run(home, None, ["sky"])["acted"] == 0


def test_one_undo_after_the_other_goes_back_run_by_run(desk: Desk, home: app.Home) -> None:
    desk.echo(*MIXED)
    before = desk.short_term.read_bytes()
    desk.run("promote")
    upkeep.forget_memories(home, "sky", [ids(desk, home)["six"]])
    assert upkeep.undo_run(home, None, ["sky"])["of"].split("_")[1] == "forget"
    assert upkeep.undo_run(home, None, ["sky"])["of"].split("_")[1] == "promote"

    assert desk.short_term.read_bytes() == before
    with pytest.raises(UsageError, match="all of them were"):
        upkeep.undo_run(home, None, ["sky"])


def test_what_one_command_did_is_undone_together(desk: Desk, home: app.Home) -> None:
    desk.limit(3)
    before: dict[str, bytes] = {}
    for agent in ("ada", "bob"):
        desk.agent = agent
        desk.tiers.directory.mkdir(parents=True)
        desk.echo(*MIXED)
        before[agent] = desk.short_term.read_bytes()
    detail, _ = runner.run(desk.work(), "memory_rotate_check", ["ada", "bob"])
    assert (detail["promoted"], detail["rotated"]) == (8, 0)
    desk.limit(1)
    runner.run(desk.work(), "memory_rotate_check", ["ada", "bob"])
    assert len(desk.files_of("archive")) == 1

    foreseen = upkeep.undo_run(home, None, ["ada", "bob"], dry_run=True)
    undone = upkeep.undo_run(home, None, ["ada", "bob"])
    assert (foreseen["acted"], undone["acted"], undone["agent"]) == (2, 2, "ada, bob")
    assert len(undone["runs"]) == 2
    undone = upkeep.undo_run(home, None, ["bob"])
    assert (undone["acted"], undone["agent"]) == (4, "bob")
    assert upkeep.undo_run(home, None, ["ada", "bob"])["agent"] == "ada"
    for agent in ("ada", "bob"):
        assert home.paths.agent(agent).short_term.read_bytes() == before[agent]


def test_an_exemption_outlives_a_person_who_forgets_and_restores(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("undone", 0.9))
    desk.run("promote")
    desk.clock = app.now()
    upkeep.undo_run(home, None, ["sky"])
    (name,) = ids(desk, home).values()
    upkeep.forget_memories(home, "sky", [name])
    upkeep.restore_memories(home, "sky", [name])

    assert desk.run("promote")["skipped"] == {"restored": 1}
