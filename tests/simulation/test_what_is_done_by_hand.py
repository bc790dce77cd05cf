"""The simulator against the truth, where people and programs put their hand in (row X8).

Shared, pinned and let go, corrected, imported from elsewhere and from an own export, forgotten,
restored and undone: under the same rules the replay decides the very same about each memory, from
the beginning and from the middle.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem import app
from skymem.exchange.exporting import export
from skymem.exchange.importing import import_from
from skymem.jobs.table import COMBINED
from skymem.upkeep import (
    correct_memory,
    forget_memories,
    pin_memory,
    restore_memories,
    undo_run,
)
from tests.conftest import line
from tests.simulation.lived import AGENTS, DAY, START, Life, decisions, ledger
from tests.simulation.test_against_the_truth import of, simulated

DAYS = 16
RULES = """
promote_threshold: 0.7
short_term_max_lines: 12
trash: {keep: 365d}
prune: {older_than: 4d, importance_below: 0.75}
budget: {per_run: 30%, per_30_days: 40%, at_least: 6}
agents: {hobbs: {}}
share:
  - {from: sky, to: [hobbs], tags: [team]}
"""


class Hands(Life):
    """A home, and the verbs that people and programs use in it."""

    @property
    def home(self) -> app.Home:
        self.clock += 10
        return app.open_home(str(self.root))

    def of_tier(self, agent: str, tier: str, place: int = 0) -> str:
        """An id of what is there."""
        with self.work().catalog() as catalog:
            catalog.catch_up(self.work().shelf(agent).paths)
            rows = catalog.database.execute(
                "SELECT id FROM memories JOIN files USING (file) WHERE memories.agent = ?"
                " AND tier = ? ORDER BY id",
                (agent, tier),
            )
            return str([*rows][place][0])

    def elsewhere(self, name: str, *texts: str) -> Path:
        path = self.root.parent / name
        each = ({"content": text, "importance": 0.9, "ts": self.clock} for text in texts)
        path.write_text("".join(json.dumps(one) + "\n" for one in each))
        return path


def a_day_of_hands(life: Hands, number: int) -> None:
    """What is done on a day, beside what the jobs do."""
    if number == 2:
        pin_memory(life.home, "sky", "sky-0-0")
        pin_memory(life.home, "sky", "sky-1-2")
    if number == 3:
        correct_memory(life.home, "sky", "sky-1-3", "sky saw it otherwise")
        import_from(life.home, life.elsewhere("x.jsonl", "from afar"), "jsonl", "hobbs", life.clock)
    if number == 4:
        forget_memories(life.home, "sky", ["sky-2-4"])
        correct_memory(life.home, "sky", "sky-0-0", "sky saw the pinned one otherwise")
    if number == 6:
        restore_memories(life.home, "sky", ["sky-2-4"])
        pin_memory(life.home, "sky", "sky-1-2", pinned=False)
    if number in (7, 12):
        runs = [one["run"] for one in ledger(life) if one["op"] == "begin"]
        promoted = [one for one in runs if "_promote_" in one]
        undo_run(life.home, promoted[-3], ["sky", "hobbs"])
    if number == 9:
        undo_run(life.home, next(_runs(life, "undo")), ["sky", "hobbs"])  # it is left alone no more
    if number == 10:
        pin_memory(life.home, "hobbs", life.of_tier("hobbs", "long"))


def _runs(life: Hands, job: str) -> Iterator[str]:
    return (one["run"] for one in ledger(life) if one["op"] == "begin" and one["job"] == job)


def another_home(root: Path) -> Path:
    """An own export of a home that has all tiers."""
    other = Life(root / "other", RULES)
    for number in range(6):
        other.clock = START + (number - 20) * DAY
        each = (0.9, 0.8, 0.72, 0.3, 0.1)
        lines = (line(f"there {number} {n}", one, other.clock) for n, one in enumerate(each))
        other.say("sky", *lines)
        other.job(COMBINED)
        other.job("prune")
    target = root / "theirs.tar"
    export(app.open_home(str(other.root)), ["sky"], target, other.clock)
    return target


def lines_of(agent: str, number: int, now: float) -> list[bytes]:
    """What an agent writes in a day: of five, three are worth it."""
    given = (0.9, 0.8, 0.72, 0.71, 0.2)
    return [
        line(
            f"{agent} saw number {number}.{place}",
            one,
            now,
            id=f"{agent}-{number}-{place}",
            tags=["team"] if place < 2 else [],
        )
        for place, one in enumerate(given)
    ]


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hands]:
    """A home of some days; nothing of it is to be changed."""
    root = tmp_path_factory.mktemp("hands")
    theirs = another_home(root)
    life = Hands(root / "home", RULES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKYMEM_ENGINE", "off")
        patch.setattr(app, "now", lambda: life.clock)
        for number in range(DAYS):
            life.clock = START + number * DAY
            for agent in AGENTS:
                life.say(agent, *lines_of(agent, number, life.clock))
            for job in (COMBINED, "share", "prune"):
                life.job(job)
            a_day_of_hands(life, number)
            if number == 5:
                import_from(life.home, theirs, None, "hobbs", life.clock, named="hobbs")
        yield life


def test_the_same_rules_decide_the_very_same(life: Hands, tmp_path: Path) -> None:
    done, really = simulated(life, RULES, tmp_path / "r"), decisions(ledger(life))
    found = decisions(done.entries)
    assert {one[1] for one in really} >= {
        "promote", "trash", "restore", "undo", "lift", "made",
    }  # fmt: skip
    assert {one[3] for one in really} >= {"import", "by_hand", "copy", "correction"}
    for agent in AGENTS:
        assert of(agent, found) == of(agent, really)
    assert not done.regrets
    assert all("over 6 (budget." in why for why in done.failed)


@pytest.mark.parametrize("day", [6, 8, 11])
def test_it_begins_in_the_middle_with_all_that_was_before(
    life: Hands, tmp_path: Path, day: int
) -> None:
    since = START + day * DAY - 1
    done = simulated(life, RULES, tmp_path / "r", since)
    later = decisions([entry for entry in ledger(life) if entry["ts"] >= since])
    for agent in AGENTS:
        assert of(agent, decisions(done.entries)) == of(agent, later) != []
    assert any("with 6 of the last 30 days" in why for why in done.failed)
