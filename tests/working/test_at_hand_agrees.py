"""Records at hand are those that any reader returns, whatever jobs and people did (W1, N3)."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.app import Home, init_home, open_home
from skymem.recall import listing
from skymem.stores.shelf import Kept
from skymem.upkeep import forget_memories, pin_memory, restore_memories
from skymem.working import at_hand as module
from skymem.working.at_hand import Hand, at_hand

T0 = 1_790_000_000.0
DAY = 86_400.0
RULES = (
    "promote_threshold: 0.7\nshort_term_max_lines: 6\nprune: {superseded_after: 1d}\n"
    "budget: {per_run: 100%, per_30_days: 100%}\n"
)


class Clock:
    now = T0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(app, "now", clock)
    return clock


@pytest.fixture
def home(tmp_path: Path, clock: Clock) -> Iterator[Home]:
    init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(RULES)
    yield open_home(str(tmp_path / "home"))
    module._hands.clear()


def told(found: Any) -> set[tuple[str, str]]:
    return {(one.id, one.memory.content) for one in found}


def read_whole(home: Home) -> set[tuple[str, str]]:
    """Every active record, told from all lines by what all readers ask."""
    work, shelf = home.workplace(), home.shelf("sky")
    with work.catalog() as catalog:

        def every() -> list[Kept]:
            found = [*listing._short(shelf, catalog, None), *listing._stored(shelf, catalog, None)]
            return [*listing._active(work, shelf, catalog, iter(found))]

        kept = work.ask(catalog, shelf, every)
    return told(one for one in kept if one.memory.record_type == "preference")


class Life:
    """Someone who writes, forgets and brings back, beside jobs."""

    def __init__(self, home: Home, clock: Clock, seed: int) -> None:
        self.home, self.clock, self.dice = home, clock, random.Random(seed)
        self.ids: list[str] = []
        self.count = 0

    def step(self) -> str:
        what = self.dice.choice(
            ["write"] * 6 + ["promote", "rotate", "prune", "forget", "restore", "pin", "wait"]
        )
        getattr(self, what)()
        self.ids = sorted({*self.ids, *(name for name, _ in read_whole(self.home))})
        return what

    def write(self) -> None:
        self.count += 1
        fields: dict[str, Any] = {
            "ts": self.clock(),
            "content": f"text {self.count}",
            "importance": self.dice.choice([0.1, 0.9]),
        }
        if self.dice.random() < 0.8:
            fields["record_type"] = "preference"
        if self.ids and self.dice.random() < 0.6:
            fields["supersedes"] = self.dice.sample(self.ids, min(len(self.ids), 2))
        if self.dice.random() < 0.3:
            fields["ttl_days"] = self.dice.choice([1, 3])
        if self.dice.random() < 0.2:
            fields["id"] = f"own-{self.dice.randrange(4)}"
        self.home.remember("sky", [json.dumps(fields).encode() + b"\n"])

    def promote(self) -> None:
        self.home.run_job("promote", agent="sky")

    def rotate(self) -> None:
        self.home.run_job("rotate", agent="sky")

    def prune(self) -> None:
        self.home.run_job("prune", agent="sky")

    def forget(self) -> None:
        here = sorted(name for name, _ in read_whole(self.home))
        if here:
            forget_memories(self.home, "sky", [self.dice.choice(here)])

    def restore(self) -> None:
        there = [one.id for one in self.home.shelf("sky").trash.all()]
        if there:
            restore_memories(self.home, "sky", [self.dice.choice(there)])

    def pin(self) -> None:
        here = sorted(name for name, _ in read_whole(self.home))
        if here:
            pin_memory(self.home, "sky", self.dice.choice(here))

    def wait(self) -> None:
        self.clock.now += DAY * 0.7


@pytest.mark.parametrize("seed", range(3))
def test_through_a_life(home: Home, clock: Clock, seed: int) -> None:
    life, done = Life(home, clock, seed), []
    for _ in range(30):
        done.append(life.step())
        ours = told(at_hand(home, "sky").of("preference"))
        assert ours == told(Hand(home, "sky").of("preference")), done
        assert ours == read_whole(home), done
