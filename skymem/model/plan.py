"""A plan: the decisions a job would take, each with its reason, as a value.

It can be printed, saved and applied; it holds ids, places and numbers, never text (promise 6).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from skymem.model.memory import Memory

Action = Literal["promote", "archive", "repeat", "quarantine", "trash"]

STAYING: Final = ("repeat", "quarantine")
"""Actions that take a line out of short-term and bring it to no other tier."""


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
    """What happens to the line at `start` to `end` of a file, and why."""

    action: Action
    id: str
    line: int
    """Its place among the readable lines of short-term, from 0; -1 for damage and elsewhere."""

    start: int
    end: int
    reason: Reason
    file: str = ""
    """Where the line stands: "" is short-term, else long-term or an archive by its name."""


class Stored(NamedTuple):
    """A memory of long-term or an archive, as far as the catalog knows it."""

    id: str
    tier: str
    file: str
    start: int
    end: int
    time_us: int | None
    importance: float
    """What its writer says, else what its kind is worth."""


@dataclass(frozen=True, slots=True)
class Addition:
    """A new memory that a job makes of others, written to long-term before they move."""

    what: str
    """`profile`, `project`, `merge` or `correction`."""

    id: str
    line: bytes
    """As it is to stand there, with its newline."""

    evidence: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()

    def basis(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """What it is made of: by this two plans are compared, since its text has a time."""
        return self.what, tuple(sorted(self.evidence)), tuple(sorted(self.supersedes))


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

    additions: list[Addition] = field(default_factory=list)
    redacted: dict[str, int] = field(default_factory=dict)
    """Secrets taken out of the lines that moved, by kind: known once it is carried out."""

    withheld: dict[str, int] = field(default_factory=dict)
    """Statements that a check kept out of a summary, by what was wrong (row X7)."""

    unasked: int = 0
    """Memories quoted because a summariser was not asked about them: not yet, or not in time."""

    duplicates: int = 0
    """Memories that became part of one that says the same (row P15)."""

    likened: list[tuple[str, str, float, float]] = field(default_factory=list)
    """Of those in long-term: which, of what, the cosine and the threshold."""

    judged: dict[str, int] = field(default_factory=dict)
    """Of what is removed, how many by judgement, by tier: what the loss budget counts (row X4)."""

    judged_later: dict[str, int] = field(default_factory=dict)
    """The same of later rounds: a run that is over its budget stops before its first."""

    held: dict[str, Reason] = field(default_factory=dict, compare=False)
    """What would be promoted and waits, by id: it is more than is usual of the agent."""

    calibration: dict[str, Any] = field(default_factory=dict, compare=False)
    """Of those, the numbers: `held`, `share` and `usual`."""

    predicted: dict[str, int] = field(default_factory=dict, compare=False)
    """Of a model that goes by `vectors` and by `text`: of how many it said something, by which."""

    highest: float | None = field(default=None, compare=False)
    """The highest importance of what promote left; None where it left none."""

    budget: dict[str, dict[str, int]] = field(default_factory=dict)
    """What 30 days have removed by judgement with this run, and what they may, by tier."""

    over: str = ""
    """By how much it is over the loss budget: then it is to be looked at, and not carried out."""

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
            "decisions": [_decision_json(decision) for decision in self.decisions],
            "additions": [
                [one.what, one.id, list(one.evidence), list(one.supersedes)]
                for one in self.additions
            ],
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
            Decision(action, name, int(line), int(start), int(end), Reason(*reason), *file)
            for action, name, line, start, end, reason, *file in value["decisions"]
        ]
        additions = [
            Addition(str(what), str(name), b"", tuple(evidence), tuple(supersedes))
            for what, name, evidence, supersedes in value.get("additions", ())
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
            additions=additions,
        )


def highest_of(numbers: Iterable[float | None]) -> float | None:
    """The highest of these numbers, as far as there are any."""
    return max((each for each in numbers if each is not None), default=None)


def _decision_json(decision: Decision) -> list[Any]:
    place = [decision.file] if decision.file else []
    return [*decision[:5], list(decision.reason), *place]


class Damage(NamedTuple):
    """Bytes that are no memory: where, and why."""

    start: int
    end: int
    reason: str


class Entry:
    """A readable line of short-term, as a policy sees it."""

    __slots__ = (
        "digest", "elsewhere", "end", "id", "line", "memory", "pinned", "restored", "start",
    )  # fmt: skip

    def __init__(self, start: int, end: int, memory: Memory, digest: bytes) -> None:
        self.start = start
        self.end = end
        self.memory = memory
        self.digest = digest
        self.id = ""
        self.line = -1
        self.elsewhere = ""
        """The tier that has this very memory already, or `erased`; "" when none has."""

        self.pinned = False
        """Whether every job leaves it where it is."""

        self.restored = ""
        """The gate that moved it before it was brought back of late: that leaves it alone now."""
