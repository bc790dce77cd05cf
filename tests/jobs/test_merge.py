"""Merge on real files: notes are quoted whole, copies become one, and nothing else does."""

from typing import Any

import pytest

from skymem import app, upkeep
from skymem.jobs import runner
from skymem.jobs.merge_notes import merge_notes
from skymem.model.memory import Memory
from skymem.stores.standings import Standings
from tests.conftest import START, Desk, line

DAY = 86_400.0


def note(text: str, days: float, **more: Any) -> bytes:
    """A volatile note without a time to live, so many days old."""
    at = START - days * DAY
    return line(text, 0.3, ts=at, kind="log", stability="volatile", **more)


def active(desk: Desk) -> list[str]:
    """What readers get."""
    with desk.work().catalog() as catalog:
        shelf = desk.shelf()
        found = shelf.find("", catalog)
        standings = Standings.of(shelf, catalog, round(desk.clock * 1_000_000))
    return sorted(one.memory.content for one in found if standings.let(one.id, one.memory))


def made(desk: Desk) -> list[Memory]:
    return [memory for memory in desk.memories("long") if memory.supersedes]


def test_old_notes_without_a_time_to_live_are_merged_in_batches_oldest_first(desk: Desk) -> None:
    desk.echo(*(note(f"event {n} took {n}0 ms", 30 - n, id=f"n{n}") for n in range(12)))
    desk.echo(note("young", 3), line("plain", 0.3, ts=START - 40 * DAY))
    detail = desk.run("merge")

    assert (detail["merged"], detail["batches"], detail["archived"]) == (12, 3, 12)
    assert {memory.evidence_ids for memory in made(desk)} == {
        tuple(f"n{n}" for n in range(5)),
        tuple(f"n{n}" for n in range(5, 10)),
        ("n10", "n11"),
    }
    assert sorted(desk.contents("short")) == ["plain", "young"]
    first = next(memory for memory in made(desk) if "n0" in memory.evidence_ids)
    assert (first.kind, first.stability, first.importance) == ("summary", "stable", 0.3)
    for statement in first.payload["statements"]:
        (source,) = [m for m in desk.memories("archive") if m.source_id == statement["source"]]
        assert source.content[slice(*statement["span"])] == statement["text"]
    again = desk.run("merge")
    assert (again["merged"], again["batches"]) == (0, 0)


def test_a_single_note_waits_and_users_never_mix(desk: Desk) -> None:
    desk.echo(note("ann went", 20, user_id="ann"), note("bob went", 20, user_id="bob"))
    assert desk.run("merge")["batches"] == 0
    desk.echo(note("ann came", 19, user_id="ann"))
    desk.run("merge")

    (one,) = made(desk)
    assert one.scope == {"user_id": "ann"}
    assert "bob" not in one.content


def test_copies_become_their_newest_and_what_differs_stays(desk: Desk) -> None:
    desk.echo(
        line("The server listens on port 8080.", 0.8, ts=START - 9 * DAY, kind="fact", id="a",
             tags=["x"], trust=0.4),
        line("the server listens on port 8080", 0.9, ts=START - 5 * DAY, kind="fact", id="b",
             tags=["y"], trust=0.4),
        line("The server listens on port 8081.", 0.9, ts=START - 4 * DAY, kind="fact", id="c"),
        line("The server does not listen on port 8080.", 0.9, kind="fact", id="d"),
        line("The server listens on port 8080.", 0.9, kind="fact", id="e", user_id="ann"),
    )  # fmt: skip
    desk.run("promote")
    detail = desk.run("merge")

    (one,) = made(desk)
    assert (detail["merged"], detail["batches"]) == (2, 1)
    assert one.content == "the server listens on port 8080"
    assert (set(one.supersedes), one.trust, one.importance) == ({"a", "b"}, 0.4, 0.9)
    assert set(one.tags) == {"x", "y"}
    assert len(active(desk)) == 4
    assert len(desk.memories("long")) == 6  # the originals stay as history


def test_a_copy_in_short_term_joins_what_long_term_has(desk: Desk) -> None:
    desk.echo(line("Reports at 7am", 0.9, kind="preference", id="a"))
    desk.run("promote")
    desk.echo(
        line("reports at 7am!", 0.2, ts=START + 5, kind="preference", id="b"),
        line("two of a kind", 0.2, kind="preference", id="c"),
        line("Two of a kind.", 0.2, ts=START + 5, kind="preference", id="d"),
    )
    desk.clock = START + 10
    desk.run("merge")

    assert [one.evidence_ids for one in made(desk)] == [("a", "b")]
    assert sorted(desk.contents("short")) == ["Two of a kind.", "two of a kind"]
    assert desk.contents("archive") == ["reports at 7am!"]


@pytest.mark.parametrize("how", ["pinned", "expires", "superseded"])
def test_what_is_pinned_will_expire_or_is_superseded_is_not_merged(desk: Desk, how: str) -> None:
    fields: dict[str, dict[str, Any]] = {"pinned": {"pinned": True}, "expires": {"ttl_days": 90}}
    more = fields.get(how, {})
    desk.echo(note("one", 20, id="one", **more), note("two", 20, id="two"))
    if how == "superseded":
        desk.echo(line("right", 0.1, supersedes=["one"]))
    assert desk.run("merge")["batches"] == 0


def test_an_undone_merge_is_as_if_it_had_not_been(desk: Desk) -> None:
    app.init_home(desk.paths.root)
    home = app.open_home(str(desk.paths.root))
    desk.echo(*(note(f"event {n}", 20 + n) for n in range(3)))
    before = desk.short_term.read_bytes()
    run = desk.run("merge")["agents"]["sky"]["runs"][0]
    desk.clock = app.now()
    upkeep.undo_run(home, run, ["sky"])

    assert desk.short_term.read_bytes() == before
    assert not made(desk)
    assert desk.run("merge")["batches"] == 0  # left alone for its grace


def test_a_person_merges_notes_by_their_ids(desk: Desk) -> None:
    desk.echo(line("one thing", 0.9, id="a"), line("another", 0.1, id="b"))
    desk.run("promote")
    table = {"merge": merge_notes(["a", "b"])}
    detail, _ = runner.run(desk.work(), "merge", ["sky"], table=table)

    (one,) = made(desk)
    assert (detail["merged"], one.content) == (2, "- one thing\n- another")
    failing = {"merge": merge_notes(["a"])}
    assert (
        "two notes or more" in runner.run(desk.work(), "merge", ["sky"], table=failing)[0]["error"]
    )


def test_a_note_written_twice_word_for_word_waits_for_another(desk: Desk) -> None:
    twice = note("said twice", 20)
    desk.echo(twice, twice)
    detail = desk.run("merge")
    assert (detail["ok"], detail["batches"]) == (True, 0)
    assert desk.contents("short") == ["said twice", "said twice"]

    desk.echo(note("another", 19))
    assert desk.run("merge")["batches"] == 1
    assert desk.contents("short") == []
    assert sorted(desk.contents("archive")) == ["another", "said twice"]


def test_an_exact_repeat_leaves_with_the_copy_that_is_merged(desk: Desk) -> None:
    twice = line("Standup is at nine", 0.3, kind="fact")
    desk.echo(twice, twice)
    desk.tiers.long_term.write_bytes(line("standup is at nine!", 0.3, kind="fact", id="there"))
    desk.run("merge")

    (summary,) = made(desk)
    assert len(summary.evidence_ids) == len({*summary.evidence_ids}) == 2
    assert desk.contents("short") == []
    assert desk.contents("archive") == ["Standup is at nine"]


def test_notes_merged_by_hand_take_their_exact_repeats_along(desk: Desk) -> None:
    twice = note("said twice", 20, id="one")
    desk.echo(twice, note("another", 19, id="two"), twice)
    runner.run(desk.work(), "merge", ["sky"], table={"merge": merge_notes(["one", "two"])})

    assert desk.contents("short") == []
    assert sorted(desk.contents("archive")) == ["another", "said twice"]
