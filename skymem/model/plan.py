"""A plan: the decisions a job would take, each with its reason, as a value.

It can be printed, saved and applied; it holds ids, places and numbers, never text (promise 6).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from skymem.model.memory import Memory

Action = Literal["promote", "archive", "repeat", "quarantine"]


class Reason(NamedTuple):
    """Why: the gate that decided, and its value against its threshold."""

    gate: str
    value: float | None = None
    threshold: float | None = None
    note: str = ""

    def words(self) -> str:
        """Say it in a line."""
        if self.value is None:
            return f"{self.gate}: {self.note}" if self.note else self.gate
        against = "" if self.threshold is None else f" against {self.threshold:g}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.gate} {self.value:g}{against}{note}"


class Decision(NamedTuple):
    """What happens to the line at `start` to `end` of short-term, and why."""

    action: Action
    id: str
    line: int
    """Its place among the readable lines of short-term, from 0; -1 for damage."""

    start: int
    end: int
    reason: Reason


class Inputs(NamedTuple):
    """What a plan was made from: it applies to nothing else."""

    device: int
    inode: int
    size: int
    consumed: int
    """Bytes up to and with the last newline: what the plan covers."""

    content: str
    """Hash of those bytes."""

    surroundings: str
    """Hash of the rules and of the sizes of the other tiers."""


@dataclass(slots=True)
class Plan:
    """The decisions of one job about one agent; lines that stay are counted, not listed."""

    job: str
    agent: str
    decisions: list[Decision] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    """Lines that stay, by the gate that kept them."""

    lines: int = 0
    """Readable lines in short-term."""

    threshold: float | None = None
    inputs: Inputs | None = None
    unfinished: bool = False
    """There was more to decide than one round takes; the job goes round again."""

    def count(self, action: Action) -> int:
        """How many decisions are of this kind."""
        return sum(1 for decision in self.decisions if decision.action == action)

    @property
    def leaving(self) -> int:
        """Readable lines that leave short-term."""
        return sum(1 for decision in self.decisions if decision.line >= 0)

    def to_json(self) -> dict[str, Any]:
        """Spell the plan for a file."""
        return {
            "job": self.job,
            "agent": self.agent,
            "decisions": [[*decision[:5], list(decision.reason)] for decision in self.decisions],
            "kept": self.kept,
            "lines": self.lines,
            "threshold": self.threshold,
            "inputs": list(self.inputs) if self.inputs else None,
            "unfinished": self.unfinished,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Plan":
        """Read what `to_json` spelled.

        Raises:
            KeyError, TypeError, ValueError: it is no plan.
        """
        decisions = [
            Decision(action, name, int(line), int(start), int(end), Reason(*reason))
            for action, name, line, start, end, reason in value["decisions"]
        ]
        return cls(
            job=str(value["job"]),
            agent=str(value["agent"]),
            decisions=decisions,
            kept={str(gate): int(count) for gate, count in value["kept"].items()},
            lines=int(value["lines"]),
            threshold=value["threshold"],
            inputs=Inputs(*value["inputs"]) if value["inputs"] else None,
            unfinished=bool(value["unfinished"]),
        )


class Damage(NamedTuple):
    """Bytes that are no memory: where, and why."""

    start: int
    end: int
    reason: str


class Entry:
    """A readable line of short-term, as a policy sees it."""

    __slots__ = ("digest", "elsewhere", "end", "id", "line", "memory", "start")

    def __init__(self, start: int, end: int, memory: Memory, digest: bytes) -> None:
        self.start = start
        self.end = end
        self.memory = memory
        self.digest = digest
        self.id = ""
        self.line = -1
        self.elsewhere = ""
        """The tier that has this very memory already; "" when none has."""
