"""What comes next for one memory: the gates it stands before, and their order in time (row X1)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple

_PROMOTES: Final = ("always_tag", "always_kind", "importance", "recalled")

WORDS: Final = MappingProxyType(
    {
        **dict.fromkeys(_PROMOTES, "promoted to long-term"),
        "calibration": "promoted once there is room",
        "line_limit": "rotated to an archive",
        "compressed": "compressed: archived, and quoted in a record",
        "no_summary": "archived, and quoted in no record",
        "merged": "merged with its like",
        "duplicate": "archived, as another says the same",
        "expired": "moved to trash, as its time is over",
        "superseded": "moved to trash, as it was superseded",
        "old_and_unimportant": "moved to trash, as old and unimportant",
        "archive_age": "moved to trash with its archive",
        "archive_size": "moved to trash, as the archives are too large",
        "trash_age": "gone for good",
    }
)
"""What a gate does to a memory once it is open."""

JOBS: Final = MappingProxyType(
    {
        **dict.fromkeys((*_PROMOTES, "calibration"), "promote"),
        "line_limit": "rotate",
        "compressed": "compress",
        "no_summary": "compress",
        "merged": "merge",
        "duplicate": "promote",
        **dict.fromkeys(
            ("expired", "superseded", "old_and_unimportant", "archive_age", "archive_size"), "prune"
        ),
        "trash_age": "compact",
    }
)
"""Whose gate it is."""

_OF_SHORT: Final = frozenset({*_PROMOTES, "line_limit", "compressed", "no_summary"})
_BEHIND: Final = MappingProxyType(
    {
        **dict.fromkeys(_PROMOTES, _OF_SHORT),
        **dict.fromkeys(
            ("line_limit", "compressed", "no_summary", "merged"), _OF_SHORT | {"merged"}
        ),
    }
)
"""Gates that a memory comes to no more, once it went by this one; by another, to none at all."""


class Gate(NamedTuple):
    """One gate, as it stands to this memory now."""

    gate: str
    job: str
    value: float | None
    threshold: float | None
    open: bool
    """Whether the job's next run takes it."""

    opens_us: int | None
    """From when on it is open; None when that depends on other things than time."""

    note: str = ""
    kept: str = ""
    """What keeps it here, whatever the value: a gate as jobs count what they skip by it."""

    @property
    def does(self) -> str:
        """What happens to the memory there."""
        return WORDS[self.gate]


class Alike(NamedTuple):
    """A memory of long-term, or on its way there, that is near in meaning."""

    id: str
    likeness: float
    threshold: float
    gate: str
    """`duplicate` where the two become one, else what keeps them apart."""

    @property
    def merges(self) -> bool:
        """Whether the two become one."""
        return self.gate == "duplicate"


@dataclass(frozen=True, slots=True)
class Looked:
    """What says the same as a memory, as the job will find it that makes one of them (row P15)."""

    job: str
    """Which does: merge, or promote."""

    once: str = ""
    """What has to come first: `promoted` or `indexed`."""

    near: tuple[Alike, ...] = ()
    """Nearest first."""

    threshold: float | None = None
    """How near they have to be."""

    why: str = ""
    """Why nobody looked; "" where somebody did."""

    @property
    def merging(self) -> list[Alike]:
        """Those it becomes one with."""
        return [one for one in self.near if one.merges]

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem explain --json` does."""
        near = [{**one._asdict(), "merges": one.merges} for one in self.near]
        told: dict[str, Any] = {"job": self.job, "once": self.once or None}
        told |= {"looked": not self.why, "threshold": self.threshold}
        return {**told, "why": self.why or None, "near": near}


@dataclass(frozen=True, slots=True)
class Exemption:
    """Why a rule leaves a memory alone: it was brought back of late (promise 10)."""

    gate: str
    """Of the rule that had moved it."""

    since: float
    """Epoch seconds."""

    until: float

    @property
    def job(self) -> str:
        """Whose rule it is; "" when that is nobody's."""
        return JOBS.get(self.gate, "")

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem explain --json` does."""
        return {
            "gate": self.gate,
            "job": self.job or None,
            "since": self.since,
            "until": self.until,
        }


def steps(gates: Iterable[Gate], runs: Mapping[str, float | None]) -> list[dict[str, Any]]:
    """What happens to it next, soonest first: of the gates, those that time opens, or are open.

    Where it goes by one it never comes to some others.

    Args:
        gates: in the order jobs ask.
        runs: by job, when it runs next.

    Returns:
        `what`, `job`, `gate`, and `at`: when the job that does it runs next, or from when on it
        may.
    """
    coming = []
    for gate in gates:
        opens = None if gate.opens_us is None else gate.opens_us / 1_000_000
        if gate.open or opens is not None:
            run = runs.get(gate.job)
            at = run if gate.open else max(one for one in (opens, run) if one is not None)
            coming.append({"what": gate.does, "job": gate.job, "gate": gate.gate, "at": at})
    coming.sort(key=lambda one: (one["at"] is None, one["at"] or 0.0))
    found: list[dict[str, Any]] = []
    over: frozenset[str] = frozenset()
    for step in coming:
        if step["gate"] not in over:
            found.append(step)
            over |= _BEHIND.get(str(step["gate"]), frozenset(WORDS))
    return found
