"""The facts of a report, as frozen values; `as_json` spells all of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

TIERS: Final = ("short", "long", "archive", "trash")

FLOWS: Final = ("came", "made", "promoted", "archived", "trashed", "restored", "gone")
"""What happens to memories: `made` by a run of others, `restored` also by an undo, `gone` for good
(compacted, erased, or taken out of a file by hand)."""


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """What one rule did: a gate of one job, and where it brought memories."""

    job: str
    gate: str
    what: str
    """`promoted`, `archived`, `trashed` or `gone`."""

    by_day: tuple[int, ...]
    lowest: float | None
    highest: float | None
    """Of the values it decided by."""

    threshold: float | None
    """The last it was held against."""

    asked_again: int
    """How many of these were asked for later, as far as that is known."""

    @property
    def count(self) -> int:
        """How many memories it was."""
        return sum(self.by_day)


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many memories there were in each of some ranges."""

    ranges: tuple[str, ...]
    then: tuple[int, ...]
    """In short-term and long-term when the time of the report began."""

    now: tuple[int, ...]
    tiers: Mapping[str, tuple[int, ...]]
    """Now, in each tier."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long answers took."""

    answers: tuple[int, ...]
    """By day, all there were."""

    measured: int
    """Of how many of them it is recorded."""

    median_ms: tuple[float | None, ...]
    high_ms: tuple[float | None, ...]
    """By day, what 95 of 100 took at most."""

    whole: Mapping[str, float]
    """Of the whole time: `p50`, `p95`, `p99` and `max`; empty where nothing is recorded."""


@dataclass(frozen=True, slots=True)
class JobFigures:
    """How often a job ran, and how that went; as far back as the status remembers."""

    job: str
    runs: int
    idle: int
    """Runs that found nothing to do."""

    failed: int
    degraded: int
    median_s: float | None
    longest_s: float | None
    last: float


@dataclass(frozen=True, slots=True)
class AgentFigures:
    """One agent: what each tier holds, and held at the end of each day, and what happened."""

    name: str
    counts: Mapping[str, int]
    bytes: Mapping[str, int]
    begun: Mapping[str, int]
    """When the first day began."""

    growth: Mapping[str, tuple[int, ...]]
    flows: Mapping[str, tuple[int, ...]]
    unindexed: int
    """Of long-term, what has no vector yet."""

    vectors: int | None
    """None where the engine has not said."""

    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory, and what speaks for it and against it."""

    id: str
    agent: str
    tier: str
    ts: float | None
    importance: float
    asked: int
    """How often it answered, in the time of the report."""

    pinned: bool
    standing: str
    kind: str | None
    tags: tuple[str, ...]
    text: str
    """Its beginning, without secrets; empty where texts were not wanted."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A memory that was taken away, and asked for later."""

    agent: str
    id: str
    what: str
    """`archived` or `removed`."""

    job: str
    gate: str
    since: float | None
    """When it was taken away."""

    at: float
    """When it was asked for, first."""

    how: str
    """`recalled`, `restored` or `undone`."""

    times: int


@dataclass(frozen=True, slots=True)
class Regret:
    """What was taken away and asked for later."""

    missed: tuple[Missed, ...]
    taken: int
    """How many were archived or removed by jobs, in the time of the report."""

    @property
    def share(self) -> float | None:
        """Of those how many were missed; None where none was taken away."""
        return len(self.missed) / self.taken if self.taken else None


@dataclass(frozen=True, slots=True)
class Index:
    """What the index has, as the engine said last."""

    model: str | None
    running: bool
    told: float | None
    owed: int
    bytes: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One report."""

    version: str
    home: str
    made: float
    since: float
    until: float
    step: str
    days: tuple[str, ...]
    agents: tuple[AgentFigures, ...]
    rules: tuple[RuleFigures, ...]
    ages: Distribution
    importances: Distribution
    latency: Latency
    jobs: tuple[JobFigures, ...]
    index: Index
    most: tuple[Entry, ...]
    least: tuple[Entry, ...]
    regret: Regret
    alarms: tuple[str, ...]
    notes: tuple[str, ...]

    def growth(self, tier: str) -> tuple[int, ...]:
        """What a tier of everybody held at the end of each day."""
        return self._summed(one.growth[tier] for one in self.agents)

    def flow(self, name: str) -> tuple[int, ...]:
        """What happened to everybody's memories, by day."""
        return self._summed(one.flows[name] for one in self.agents)

    def count(self, tier: str) -> int:
        """What a tier of everybody holds now."""
        return sum(one.counts[tier] for one in self.agents)

    def bytes(self, tier: str) -> int:
        """What it takes."""
        return sum(one.bytes[tier] for one in self.agents)

    def kept(self) -> tuple[int, int]:
        """How many there are in short-term and long-term, and were when the first day began."""
        begun = sum(one.begun[tier] for one in self.agents for tier in ("short", "long"))
        return self.count("short") + self.count("long"), begun

    def _summed(self, rows: Any) -> tuple[int, ...]:
        each = [*rows]
        return tuple(map(sum, zip(*each, strict=True))) if each else (0,) * len(self.days)

    def as_json(self) -> dict[str, Any]:
        """Spell all of it."""
        told = asdict(self)
        for rule, spelled in zip(self.rules, told["rules"], strict=True):
            spelled["count"] = rule.count
        told["regret"]["share"] = self.regret.share
        told["tiers"] = {
            tier: {
                "count": self.count(tier),
                "bytes": self.bytes(tier),
                "growth": self.growth(tier),
            }
            for tier in TIERS
        }
        told["flows"] = {name: self.flow(name) for name in FLOWS}
        return told
