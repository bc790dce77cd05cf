"""Old and new side by side: what was decided, what it takes, and what would be missed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from skymem.simulation.past import Past, Size
from skymem.simulation.regret import Regret
from skymem.simulation.replay import Replayed
from skymem.simulation.whereabouts import Whereabouts

DID: Final = {
    "promoted": "promote",
    "archived": "archive",
    "trashed": "trash",
    "compacted": "compact",
    "made": "made",
}
"""What is told, by the action it is counted from."""

TIERS: Final = ("short", "long", "archive", "trash")


@dataclass(frozen=True, slots=True)
class Side:
    """What one set of rules did, and how it ended."""

    did: dict[str, int]
    tiers: dict[str, Size]

    @property
    def total(self) -> Size:
        """What everything takes together."""
        return Size(
            sum(one.lines for one in self.tiers.values()),
            sum(one.bytes for one in self.tiers.values()),
        )

    @property
    def vectors(self) -> int:
        """Memories of long-term that the index has at least one vector for."""
        return self.tiers["long"].vectors

    def as_json(self) -> dict[str, Any]:
        """Spell it for `skymem simulate --json`."""
        tiers = {tier: size._asdict() for tier, size in self.tiers.items()}
        total = {"lines": self.total.lines, "bytes": self.total.bytes, "vectors": self.vectors}
        return {**self.did, "tiers": tiers, **total}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One simulation."""

    since: float
    until: float
    recorded_since: float
    agents: tuple[str, ...]
    runs: int
    still: int
    recalls: int
    old: Side
    new: Side
    changed: dict[str, dict[str, list[str]]]
    """By what was done, ids that it was done to on one side `only_old` or `only_new`."""

    regrets: tuple[Regret, ...]
    gone: int
    failed: dict[str, int]
    degraded: tuple[str, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Spell it for `skymem simulate --json`."""
        return {
            "since": self.since,
            "until": self.until,
            "recorded_since": self.recorded_since,
            "agents": list(self.agents),
            "runs": self.runs,
            "still": self.still,
            "recalls": self.recalls,
            "old": self.old.as_json(),
            "new": self.new.as_json(),
            "changed": self.changed,
            "regret": [one.as_json() for one in self.regrets],
            "gone": self.gone,
            "failed": self.failed,
            "degraded": list(self.degraded),
            "notes": list(self.notes),
        }

    def regretted(self) -> int:
        """How many memories would be missed."""
        return len({(one.agent, one.id) for one in self.regrets})


def compare(past: Past, done: Replayed, agents: Sequence[str]) -> Comparison:
    """Hold a replay against the record, of these agents."""
    regrets = tuple(one for one in done.regrets if one.agent in agents)
    return Comparison(
        past.since,
        past.until,
        past.recorded_since,
        tuple(agents),
        sum(done.runs.get(agent, 0) for agent in agents),
        sum(done.still.get(agent, 0) for agent in agents),
        sum(done.recalls.get(agent, 0) for agent in agents),
        _side(done.old, past.old, agents),
        _side(done.new, done.sizes, agents),
        _changed(done, agents),
        regrets,
        sum(len(past.gone.get(agent, ())) for agent in agents),
        done.failed,
        tuple(done.degraded),
        tuple(past.notes),
    )


def _side(told: Whereabouts, sizes: dict[str, dict[str, Size]], agents: Sequence[str]) -> Side:
    did = {
        word: sum(len(told.names(agent, action)) for agent in agents)
        for word, action in DID.items()
    }
    return Side(
        did, {tier: _sum(sizes.get(agent, {}).get(tier) for agent in agents) for tier in TIERS}
    )


def _sum(sizes: Iterable[Size | None]) -> Size:
    each = [size for size in sizes if size is not None]
    return Size(*(sum(numbers) for numbers in zip(*each, strict=True)))


def _changed(done: Replayed, agents: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for word, action in DID.items():
        if word == "made":  # by other times they have other ids
            continue
        one: dict[str, list[str]] = {"only_old": [], "only_new": []}
        for agent in agents:
            old, new = done.old.names(agent, action), done.new.names(agent, action)
            one["only_old"] += sorted({*old} - {*new})
            one["only_new"] += sorted({*new} - {*old})
        found[word] = one
    return found
