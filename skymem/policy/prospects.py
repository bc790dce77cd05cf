"""What comes next for one memory: each gate it stands before, and when it opens (row X1).

It asks the same rules as the jobs, for a single memory: which gate, its value against its
threshold, and from when on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.rules import RetentionRules
from skymem.policy.due import DAY_US, asked_for, due, microseconds
from skymem.policy.importance import worth
from skymem.policy.promote import decide, keeps
from skymem.policy.standing import expires_us

WORDS: Final = {
    "importance": "promoted to long-term",
    "line_limit": "rotated to an archive",
    "compressed": "compressed: archived, and quoted in a record",
    "merged": "merged with its like into a summary",
    "expired": "moved to trash, as its time is over",
    "superseded": "moved to trash, as it was superseded",
    "old_and_unimportant": "moved to trash, as old and unimportant",
    "archive_age": "moved to trash with its archive",
    "trash_age": "gone for good",
}
"""What a gate does to a memory once it is open."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A memory where it is, with what jobs know of it there."""

    id: str
    memory: Memory
    tier: str
    now_us: int
    line: int = -1
    """Its place among the lines of short-term."""

    lines: int = 0
    """Of short-term."""

    pinned: bool = False
    restored: str = ""
    """The gate that leaves it alone, as it was brought back of late."""

    superseded: tuple[str, int | None] | None = None
    cited: bool = False
    """Whether a living summary rests on it."""

    since_us: int | None = None
    """When its archive ended, or it came to trash."""


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

    @property
    def does(self) -> str:
        """What happens to the memory there."""
        return WORDS[self.gate]


def prospects(placed: Placed, agent: str, rules: RetentionRules) -> tuple[list[Gate], str]:
    """List the gates before a memory, in the order jobs ask; and what keeps it from all, or ""."""
    if placed.pinned:
        return [], "pinned"
    gates = [gate for gate in _gates(placed, agent, rules) if gate.gate != placed.restored]
    if placed.cited and placed.tier != "short":
        return [], "evidence"
    return gates, ""


def _gates(placed: Placed, agent: str, rules: RetentionRules) -> Iterator[Gate]:
    if placed.tier == "short":
        yield from _of_short(placed, agent, rules)
        found = asked_for(placed.memory, placed.superseded, rules.prune)
    elif placed.tier == "trash":
        yield from _of_trash(placed, rules)
        return
    else:
        found = due(placed.memory, placed.superseded, rules.prune, rules.kinds)
    for one in found:
        reason = one.reason(placed.now_us)
        is_open = one.at_us <= placed.now_us
        yield Gate(
            one.gate, "prune", reason.value, reason.threshold, is_open, one.at_us, reason.note
        )
    if placed.tier == "archive":
        yield from _of_archive(placed, rules)


def _of_short(placed: Placed, agent: str, rules: RetentionRules) -> Iterator[Gate]:
    memory, own = placed.memory, rules.for_agent(agent)
    entry = Entry(0, 0, memory, b"")
    reason = decide(entry, own, rules.kinds)
    weighed = worth(memory, rules.kinds)
    kept = keeps(entry, reason, rules.kinds)
    note = "its kind is not promoted" if kept == "kind" else weighed.source
    yield Gate(
        "importance", "promote", weighed.importance, own.promote_threshold, not kept, None, note
    )
    behind = placed.lines - placed.line
    over = behind > own.short_term_max_lines
    note = "it is the newest line" if behind == 1 else f"{behind:,} lines from the newest on"
    yield Gate("line_limit", "rotate", behind, own.short_term_max_lines, over, None, note)
    kind = rules.kinds.of(memory.kind)
    if kind.compress:
        yield from _by_age(placed, "compressed", "compress", rules.compress.older_than_seconds)
    if kind.merge and memory.stability == "volatile" and expires_us(memory) is None:
        yield from _by_age(placed, "merged", "merge", rules.merge.after_seconds)


def _of_archive(placed: Placed, rules: RetentionRules) -> Iterator[Gate]:
    older = rules.prune.archive_older_than_seconds
    if older is not None and placed.since_us is not None:
        yield _aged(placed, "archive_age", "prune", older, placed.since_us)


def _of_trash(placed: Placed, rules: RetentionRules) -> Iterator[Gate]:
    if placed.since_us is not None:
        yield _aged(placed, "trash_age", "compact", rules.trash.keep_seconds, placed.since_us)


def _by_age(placed: Placed, gate: str, job: str, seconds: float) -> Iterator[Gate]:
    if placed.memory.time_us is not None:
        yield _aged(placed, gate, job, seconds, placed.memory.time_us)


def _aged(placed: Placed, gate: str, job: str, seconds: float, since_us: int) -> Gate:
    days = round((placed.now_us - since_us) / DAY_US, 3)
    opens_us = since_us + microseconds(seconds)
    limit = round(microseconds(seconds) / DAY_US, 3)
    return Gate(gate, job, days, limit, opens_us <= placed.now_us, opens_us, "days")
