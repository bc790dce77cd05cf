"""What `explain` says of a memory is what the jobs decide, each asked by itself (row X1).

Gates that are open are those that a dry run goes by; one that time opens is closed until then and
open from then on. Nothing else is said to be open, now or later.
"""

import random
from datetime import UTC, datetime
from typing import Any

import pytest

from skymem import app
from skymem.explain import Explanation, explain
from skymem.jobs.compact import judged
from skymem.jobs.table import JOBS
from skymem.model.rules import (
    AgentRules,
    BudgetRules,
    MergeRules,
    PruneRules,
    RetentionRules,
    TrashRules,
)
from skymem.stores.protection import Restored, read_protection, write_protection
from tests.conftest import START, Desk, line

DAY = 86_400.0
MOMENT = 0.5
RULES = RetentionRules(
    AgentRules(0.7, 12),
    prune=PruneRules(
        older_than_seconds=20 * DAY,
        importance_below=0.3,
        superseded_after_seconds=5 * DAY,
        archive_older_than_seconds=25 * DAY,
    ),
    merge=MergeRules(after_seconds=7 * DAY),
    trash=TrashRules(keep_seconds=6 * DAY),
    budget=BudgetRules(at_least=1000),
    restore_grace_seconds=9 * DAY,
)
TEXTS = [f"The {what} is at noon{end}" for what in ("deploy", "talk", "meal") for end in ("", ".")]
KINDS = (None, "fact", "preference", "log", "request", "crumb", "goal", "rule", "made up")
OF_SHORT = ("importance", "line_limit", "compressed", "no_summary", "merged", "expired", "by_hand")
OF_OTHERS = ("merged", "expired", "superseded", "old_and_unimportant", "archive_age")
SEEDS = range(5)


@pytest.fixture
def home(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> app.Home:
    monkeypatch.setattr(app, "now", lambda: desk.clock)
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    app.init_home(desk.paths.root)
    made = app.open_home(str(desk.paths.root))
    made.rules = desk.rules = RULES
    return made


class Lives:
    """Memories of every sort, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.names: list[str] = []

    def one(self, tier: str) -> bytes:
        chance, name = self.chance, f"m{len(self.names):02}"
        kind = chance.choice(KINDS)
        more: dict[str, Any] = {"id": name, "type": "long" if tier == "long" else "short"}
        more |= {"kind": kind} if kind else {}
        more |= self._sometimes("stability", ("volatile", "volatile", "stable", "permanent"), 0.6)
        more |= self._sometimes("ttl_days", (3, 12, 30, 80), 0.3)
        more |= self._sometimes("pinned", (True,), 0.05)
        if self.names:
            more |= self._sometimes("supersedes", [[one] for one in self.names], 0.25)
            more |= self._sometimes("evidence_ids", [[one] for one in self.names], 0.1)
        self.names.append(name)
        age = chance.choice((0.5, 1.5, 3, 6, 8, 15, 22, 40)) + chance.random() / 10
        text = chance.choice((*TEXTS, f"{name} was said.", f"{name} is so. Who knows why?"))
        return line(text, chance.choice((0.1, 0.2, 0.5, 0.9)), START - age * DAY, **more)

    def _sometimes(self, key: str, values: Any, share: float) -> dict[str, Any]:
        return {key: self.chance.choice(values)} if self.chance.random() < share else {}


def fill(desk: Desk, lives: Lives) -> None:
    """Every tier, some of it removed and some brought back of late."""
    chance, directory = lives.chance, desk.tiers.directory
    for age in (10, 24, 28):
        stamp = datetime.fromtimestamp(START - age * DAY, UTC).strftime("%Y%m%dT%H%M%SZ")
        path = directory / f"short_term_archive_{stamp}.jsonl"
        path.write_bytes(b"".join(lives.one("archive") for _ in range(4)))
    desk.tiers.long_term.write_bytes(b"".join(lives.one("long") for _ in range(12)))
    desk.echo(*(lives.one("short") for _ in range(18)))
    desk.clock = START - chance.choice((1, 4, 7)) * DAY
    desk.run("prune")
    desk.clock = START
    protection = read_protection(desk.tiers.protected)
    for name in chance.sample(lives.names, 18):
        since = START - chance.choice((1, 5, 8, 12)) * DAY
        gates = OF_SHORT if name in lives.names[-18:] else OF_OTHERS
        protection.restored[name] = Restored(since, chance.choice(gates))
    protection.pinned |= dict.fromkeys(chance.sample(lives.names, 2), START)
    write_protection(desk.tiers.protected, protection, desk.files)


def decided(home: app.Home, job: str) -> dict[str, str]:
    """What a dry run of a job decides: the gate by which each memory goes."""
    if job == "compact":
        work, shelf = home.workplace(), home.shelf("sky")
        with work.catalog() as catalog:
            due, kept = work.ask(catalog, shelf, lambda: judged(work, shelf, catalog))
        stay = {name for name, _ in kept}
        return {held.id: "trash_age" for held in due if held.id not in stay}
    detail, outcomes = home.run_job(job, dry_run=True, accept_clock=True)
    assert detail["ok"], detail
    found: dict[str, str] = {}
    for plan in (plan for outcome in outcomes for plan in outcome.plans):
        assert not plan.unfinished
        for one in plan.decisions:
            if one.action not in ("repeat", "quarantine"):
                found.setdefault(one.id, one.reason.gate)
        if job == "merge":
            found |= {name: "merged" for made in plan.additions for name in made.supersedes}
    return found


def explained(home: app.Home, names: list[str]) -> dict[str, Explanation]:
    return {name: explain(home, "sky", name) for name in names}


@pytest.mark.parametrize("seed", SEEDS)
def test_gates_are_open_exactly_where_a_dry_run_goes_by_them(
    desk: Desk, home: app.Home, seed: int
) -> None:
    lives = Lives(seed)
    fill(desk, lives)
    told = explained(home, lives.names)

    said: dict[str, dict[str, str]] = {job: {} for job in (*JOBS, "compact")}
    for name, one in told.items():
        for gate in one.gates:
            if gate.open:
                assert name not in said[gate.job]  # by one gate of a job at a time
                said[gate.job][name] = gate.gate
    assert said == {job: decided(home, job) for job in said}
    assert sum(map(len, said.values())) > 5
    assert home.run_job("compact", accept_clock=True)[0]["compacted"] == len(said["compact"])
    gone = {name for name in said["compact"] if explain(home, "sky", name).state == "gone"}
    assert gone == said["compact"].keys()


@pytest.mark.parametrize("seed", SEEDS)
def test_what_time_opens_is_open_from_then_on_and_not_before(
    desk: Desk, home: app.Home, seed: int
) -> None:
    lives = Lives(seed)
    fill(desk, lives)
    told = explained(home, lives.names)
    coming = [
        (gate.opens_us / 1_000_000, gate.job, gate.gate, name)
        for name, one in told.items()
        for gate in one.gates
        if not gate.open and gate.opens_us is not None
    ]

    assert len(coming) > 10
    for at, job, gate, name in coming:
        assert at > START
        desk.clock = at - MOMENT
        assert decided(home, job).get(name) != gate, (name, job, gate)
        desk.clock = at + MOMENT
        assert decided(home, job).get(name) == gate, (name, job, gate)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_goes_later_was_said_to_or_to_be_kept_by_something(
    desk: Desk, home: app.Home, seed: int
) -> None:
    lives = Lives(seed)
    fill(desk, lives)
    told = explained(home, lives.names)
    known = {(name, gate.job, gate.gate): gate for name, one in told.items() for gate in one.gates}
    for days in (1, 4, 10, 30, 90):
        desk.clock = START + days * DAY
        for job in JOBS:
            for name, gate in decided(home, job).items():
                assert told[name].kept_by != "pinned"
                if job == "merge" and (name, job, gate) not in known:
                    continue  # it was a copy's grace that ended
                one = known[name, job, gate]
                opened = one.opens_us is not None and one.opens_us <= desk.clock * 1_000_000
                assert one.open or opened or one.kept, (name, job, gate, days)
