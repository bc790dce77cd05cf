"""Row P15: what was kept apart for a reason that passes is looked at again once it has passed."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from skymem.jobs import runner
from skymem.model.rules import DuplicateRules, MergeRules
from skymem.policy.uniting import decided_by
from skymem.stores.protection import Protection, read_protection, write_protection
from skymem.stores.standings import Standings
from tests.conftest import START, line
from tests.jobs.indexing import Indexer, indexer

__all__ = ["indexer"]

OLD: Final = "The repository uses pnpm for all of its packages"
NEW: Final = {
    "by meaning": "The repo uses pnpm for all of its packages.",
    "word for word": "the repository uses pnpm for all of its packages.",
}
DAY: Final = 86_400

Change = Callable[[Indexer], None]


def protect(change: Callable[[Protection, float], None]) -> Change:
    def done(home: Indexer) -> None:
        path = home.desk.tiers.protected
        protection = read_protection(path)
        change(protection, home.desk.clock)
        write_protection(path, protection, home.desk.files)

    return done


def supersede(home: Indexer) -> None:
    home.desk.echo(line("it uses npm", 0.1, START + 5, id="s", supersedes=["old"]))


def take_back(home: Indexer) -> None:
    home.desk.short_term.write_bytes(b"")


def facts_may(may: bool) -> Change:
    def done(home: Indexer) -> None:
        kinds = home.desk.rules.kinds
        fact = kinds["fact"]._replace(merge=may)
        home.desk.rules = home.desk.rules._replace(kinds=kinds.with_kind(fact))

    return done


def later(days: float) -> Change:
    def done(home: Indexer) -> None:
        home.desk.clock += days * DAY

    return done


def nothing(_home: Indexer) -> None:
    """The line itself says why."""


PASSING: Final[tuple[tuple[str, Change, Change, dict[str, Any]], ...]] = (
    (
        "a pin",
        protect(lambda found, now: found.pin("old", now)),
        protect(lambda found, _now: found.pinned.clear()),
        {},
    ),
    ("a grace", protect(lambda found, now: found.restore({"old": "merged"}, now)), later(31), {}),
    ("a clock", nothing, later(3), {"ts": START + 2 * DAY}),
    ("a line of short-term", supersede, take_back, {}),
    ("a rule", facts_may(False), facts_may(True), {}),
)


@pytest.fixture
def home(indexer: Indexer) -> Indexer:
    found = DuplicateRules(likeness=0.7)
    indexer.desk.rules = indexer.desk.rules._replace(merge=MergeRules(duplicates=found))
    indexer.desk.clock = START + 1000
    return indexer


def merge(home: Indexer) -> dict[str, Any]:
    home.desk.clock += 1
    return runner.run(home.work(), "merge", ["sky"])[0]


def active(home: Indexer) -> int:
    work = home.desk.work()
    with work.catalog() as catalog:
        catalog.catch_up(home.desk.tiers)
        now_us = round(home.desk.clock * 1e6)
        standings = Standings.of(home.desk.shelf(), catalog, now_us, work.rules.kinds)
        long = home.desk.memories("long")
        return sum(standings.let(one.source_id or "", one) for one in long)


@pytest.mark.parametrize("how", [*NEW])
@pytest.mark.parametrize("first", ["the one that waits", "the other"])
@pytest.mark.parametrize("case", PASSING, ids=[one[0] for one in PASSING])
def test_a_pair_that_was_kept_apart_is_looked_at_again_once_it_may_be_one(
    home: Indexer, how: str, first: str, case: tuple[str, Change, Change, dict[str, Any]]
) -> None:
    _, close, open_again, more = case
    old = line(OLD, 0.9, **{"ts": START, "id": "old", "kind": "fact", **more})
    new = line(NEW[how], 0.9, START + 1, id="new", kind="fact")
    both = [old, new] if first == "the one that waits" else [new, old]
    home.remember("long", both[0])
    close(home)
    for _ in range(2):  # what came first is gone through
        home.run()
        merge(home)
    home.remember("long", both[1])
    home.run()
    for _ in range(3):
        assert merge(home)["acted"] == 0
    lines = len(home.desk.memories("long"))

    open_again(home)
    for _ in range(2):
        merge(home)
    assert len(home.desk.memories("long")) == lines + 1
    assert active(home) == 1
    asked = len(home.engine.compared)
    home.run()
    merge(home)
    merge(home)
    assert len(home.engine.compared) <= asked + 1  # what it made is new, and nothing waits


def test_while_it_waits_nothing_is_asked(home: Indexer) -> None:
    home.remember("long", line(OLD, 0.9, id="old"), line(NEW["by meaning"], 0.9, id="new"))
    protect(lambda found, now: found.pin("old", now))(home)
    home.run()
    merge(home)
    asked = len(home.engine.compared)
    for _ in range(3):
        merge(home)
    assert len(home.engine.compared) == asked


def test_what_says_which_may_become_one_is_told_from_what_does_not(home: Indexer) -> None:
    rules = home.desk.rules
    same = rules._replace(restore_grace_seconds=5.0)
    assert decided_by(same) == decided_by(rules)
    kinds = rules.kinds.with_kind(rules.kinds["fact"]._replace(merge=False))
    for other in (
        rules._replace(kinds=kinds),
        rules._replace(trust=rules.trust._replace(tool=0.9)),
        rules._replace(merge=MergeRules(duplicates=DuplicateRules(likeness=0.8))),
    ):
        assert decided_by(other) != decided_by(rules)
