"""Prune on real files: what goes, what never goes, and what stops it (rows P18, M9, X4)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skymem import app, upkeep
from skymem.jobs import runner
from skymem.model.rules import BudgetRules, PruneRules
from skymem.policy.clock import Seen
from tests.conftest import START, Desk, line

DAY = 86_400.0
OLD = PruneRules(older_than_seconds=100 * DAY, importance_below=0.5)


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


def rules(desk: Desk, **more: Any) -> None:
    desk.rules = desk.rules._replace(**more)


def archive(desk: Desk, *lines: bytes) -> None:
    path = desk.tiers.directory / "short_term_archive_20231101T000000Z.jsonl"
    path.write_bytes(path.read_bytes() + b"".join(lines) if path.exists() else b"".join(lines))


def trash(desk: Desk) -> dict[str, str]:
    return {held.id: held.reason.gate for held in desk.shelf().trash.all()}


def test_what_is_kept_is_told_in_words(desk: Desk) -> None:
    """Of an old and unimportant line in short-term too: the age rule is not about it."""
    rules(desk, prune=PruneRules(older_than_seconds=DAY, importance_below=0.5))
    desk.echo(line("old", 0.1, ts=START - 9 * DAY), line("for a week", ttl_days=7))
    detail = desk.run("prune")

    assert (detail["acted"], detail["skipped"]) == (0, {"no_ttl": 1, "too_young": 1})
    assert detail["why"] == (
        "nothing is due; kept: 1 without a time to live, 1 too young; "
        "its age rule is not for short-term"
    )


def test_without_rules_only_what_asked_for_it_goes(desk: Desk) -> None:
    desk.echo(
        line("for a day", 0.9, ttl_days=1, id="short-lived"),
        line("wrong", 0.9, id="wrong"),
        line("right", 0.9, ts=START + 1, id="right", supersedes=["wrong"]),
        line("old", 0.8, ts=1.0, id="old"),
    )
    desk.run("promote")
    desk.echo(line("brief", 0.1, ttl_days=2, id="brief"), line("kept", 0.1, ts=5.0, id="kept"))
    desk.clock = START + 3 * DAY
    detail = desk.run("prune")

    assert trash(desk) == {"short-lived": "expired", "brief": "expired"}
    assert (detail["pruned"], detail["by_gate"]) == (2, {"expired": 2})
    desk.clock = START + 40 * DAY
    assert desk.run("prune")["by_gate"] == {"superseded": 1}
    assert sorted(desk.everything()) == ["kept", "old", "right"]
    assert "why" in desk.run("prune")


def test_what_is_old_and_unimportant_goes_when_the_rules_say_so(desk: Desk) -> None:
    archive(desk, *(line(f"a{n}", 0.4, ts=START - 200 * DAY, id=f"a{n}") for n in range(9)))
    archive(desk, line("worth it", 0.8, ts=START - 200 * DAY, id="worth"))
    archive(desk, line("young", 0.1, ts=START - DAY, id="young"), line("no time", 0.1, id="none"))
    rules(desk, prune=OLD)
    detail = desk.run("prune")

    assert detail["by_gate"] == {"old_and_unimportant": 9}
    assert detail["ok"]
    assert sorted(desk.contents("archive")) == ["no time", "worth it", "young"]


def test_over_its_budget_a_run_removes_nothing_and_names_what_lifts_it(desk: Desk) -> None:
    archive(desk, *(line(f"a{n}", 0.4, ts=START - 200 * DAY, id=f"a{n}") for n in range(50)))
    desk.echo(line("for a day", 0.1, ttl_days=1, ts=START - 9 * DAY))
    rules(desk, prune=OLD)
    detail, (outcome,) = desk.run_with_outcomes("prune")

    assert (detail["ok"], outcome.exit_code) == (False, 21)
    assert "--max-loss 100%" in detail["error"]
    assert trash(desk) == {}
    work = replace(desk.work(), max_loss=1.0)
    assert runner.run(work, "prune", ["sky"])[0]["pruned"] == 51


def test_the_budget_of_thirty_days_counts_every_run_but_those_that_were_undone(
    desk: Desk, home: app.Home
) -> None:
    rules(desk, prune=OLD, budget=BudgetRules(per_run=0.5, per_30_days=0.5, at_least=4))
    archive(desk, *(line(f"a{n}", 0.4, ts=START - 200 * DAY) for n in range(4)))
    assert desk.run("prune")["pruned"] == 4
    archive(desk, *(line(f"b{n}", 0.4, ts=START - 200 * DAY) for n in range(4)))
    assert "30 days" in desk.run("prune")["error"]
    upkeep.undo_run(home, None, ["sky"])
    desk.clock += 31 * DAY
    assert desk.run("prune")["pruned"] == 4


@pytest.mark.parametrize("gate", ["pinned", "evidence", "future", "restored"])
def test_what_is_protected_stays(desk: Desk, home: app.Home, gate: str) -> None:
    desk.echo(line("for a day", 0.9, ttl_days=1, id="it", ts=START))
    desk.run("promote")
    desk.clock = START + 2 * DAY
    if gate == "pinned":
        upkeep.pin_memory(home, "sky", "it")
    elif gate == "evidence":
        desk.echo(line("sum", 0.9, ts=START, evidence_ids=["it"]))
        desk.run("promote")
    elif gate == "restored":
        desk.run("prune")
        upkeep.restore_memories(home, "sky", ["it"])
    else:
        desk.clock = START - 5 * DAY
    assert desk.run("prune")["pruned"] == 0
    assert "for a day" in desk.contents("long")


def test_an_archive_past_its_retention_goes_whole_and_comes_back(
    desk: Desk, home: app.Home
) -> None:
    archive(desk, line("one", 0.1, ts=START - 200 * DAY), line("two", 0.9, ts=START - 190 * DAY))
    (path,) = desk.files_of("archive")
    before = path.read_bytes()
    rules(desk, prune=PruneRules(archive_older_than_seconds=10 * DAY))
    detail = desk.run("prune")

    assert detail["by_gate"] == {"archive_age": 2}
    assert not path.exists()
    upkeep.undo_run(home, None, ["sky"])
    assert path.read_bytes() == before


def test_a_clock_ten_years_ahead_removes_nothing_until_a_person_says_it_is_right(
    desk: Desk,
) -> None:
    desk.echo(line("for a day", 0.9, ttl_days=1))
    seen = [Seen(START, "boot", 100.0)]
    work = replace(desk.work(), clock_seen=lambda: seen[0])
    runner.run(work, "promote", ["sky"])
    seen[0] = Seen(START + 3650 * DAY, "boot", 400.0)
    desk.clock = seen[0].wall
    detail, (outcome,) = runner.run(work, "prune", ["sky"])

    assert outcome.exit_code == 25
    assert "--accept-clock" in detail["error"]
    assert runner.run(work, "promote", ["sky"])[0]["ok"]
    assert runner.run(work, "prune", ["sky"])[1][0].exit_code == 25
    work = replace(work, accept_clock=True)
    assert runner.run(work, "prune", ["sky"])[0]["pruned"] == 1


@pytest.mark.parametrize("lose", [Path.unlink, lambda clock: clock.write_text("{")])
def test_where_the_record_of_the_clocks_is_lost_the_ledger_says_what_time_it_was(
    desk: Desk, lose: Callable[[Path], object]
) -> None:
    desk.echo(line("for a day", 0.9, ttl_days=1))
    seen = [Seen(START, "boot", 100.0)]
    work = replace(desk.work(), clock_seen=lambda: seen[0])
    runner.run(work, "promote", ["sky"])
    lose(desk.paths.clock)
    seen[0] = Seen(START + 3650 * DAY, "boot", 400.0)
    desk.clock = seen[0].wall

    assert runner.run(work, "prune", ["sky"])[1][0].exit_code == 25
    assert desk.contents("long") == ["for a day"]


def test_a_ring_of_memories_is_left_for_a_person(desk: Desk) -> None:
    desk.echo(
        line("one", 0.9, id="one", supersedes=["three"]),
        line("two", 0.9, ts=START + 1, id="two", supersedes=["one"]),
        line("three", 0.9, ts=START + 2, id="three", supersedes=["two"]),
    )
    desk.run("promote")
    desk.clock = START + 400 * DAY
    detail = desk.run("prune")

    assert trash(desk) == {}
    assert detail["skipped"]["ring"] == 2
