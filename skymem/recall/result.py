"""What a recall answers."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from skymem.model.memory import Memory
from skymem.policy.fusion import Fused
from skymem.policy.rank import Parts
from skymem.policy.share import Source, shared_from

DECIMALS = 6
"""Of a score as it is shown; the order is of the whole number."""


_UNWEIGHED = Parts(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Recalled:
    """One memory that answers, and why it stands where it does."""

    id: str
    tier: str
    """`short`, `long` or `archive`."""

    content: str
    """The text; empty for a structured record without one."""

    score: float
    parts: Parts
    ts: float | None
    """When it happened, epoch seconds."""

    tags: tuple[str, ...]
    kind: str | None
    record_type: str | None = None
    payload: dict[str, Any] | None = None
    fused: Fused | None = None
    """In mode `fusion`, the parts that sum to the score."""

    memory: Memory | None = field(default=None, repr=False, compare=False)
    """Its line, with all that is in it."""

    def as_json(self) -> dict[str, Any]:
        """Spell it with the keys of `skymem recall --json`."""
        told: dict[str, Any] = {
            "id": self.id,
            "tier": self.tier,
            "content": self.content,
            "score": round(self.score, DECIMALS),
            "parts": {
                name: None if value is None else round(value, DECIMALS)
                for name, value in self._all_parts().items()
            },
            "ts": self.ts,
            "tags": list(self.tags),
            "kind": self.kind,
        }
        if self.record_type is not None:
            told |= {"record_type": self.record_type, "payload": self.payload}
        if self.source is not None:
            told["shared_from"] = self.source._asdict()
        return told

    @property
    def source(self) -> Source | None:
        """Whose memory it is a copy of, and which; None of the agent's own (row P17)."""
        return None if self.memory is None else shared_from(self.memory)

    def _all_parts(self) -> dict[str, float | None]:
        return self.parts._asdict() | (self.fused._asdict() if self.fused is not None else {})


class Recall(list[Recalled]):
    """The memories that answer, best first; a list that also knows how it came about."""

    def __init__(self, found: Iterable[Recalled], mode: str, degraded: Iterable[str] = ()) -> None:
        super().__init__(found)
        self.mode = mode
        """What answered: `fusion`, `hybrid`, `deterministic` or `semantic`."""

        self.degraded = list(degraded)
        """What did not work as it should, and was done without."""

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem recall --json` prints it."""
        return {
            "results": [one.as_json() for one in self],
            "mode": self.mode,
            "degraded": self.degraded,
        }


@dataclass(frozen=True, slots=True)
class Listed:
    """One memory of a list, which has no score; the fields are those of `Recalled`."""

    id: str
    tier: str
    content: str
    ts: float | None
    tags: tuple[str, ...]
    kind: str | None
    record_type: str | None = None
    payload: dict[str, Any] | None = None
    shared_from: dict[str, str] | None = None
    """Of a copy of another agent's memory, the agent and the id."""


def listed(name: str, tier: str, memory: Memory) -> dict[str, Any]:
    """Spell a memory of a list, which has no score."""
    told = recalled(name, tier, memory, 0.0, _UNWEIGHED).as_json()
    return {key: value for key, value in told.items() if key not in ("score", "parts")}


def recalled(name: str, tier: str, memory: Memory, score: float, parts: Parts) -> Recalled:
    """Spell a memory that answers."""
    time_us = memory.time_us
    record = memory.record_type
    return Recalled(
        name,
        tier,
        memory.content,
        score,
        parts,
        None if time_us is None else time_us / 1_000_000,
        memory.tags,
        memory.kind,
        record,
        dict(memory.payload) if record is not None else None,
        memory=memory,
    )
