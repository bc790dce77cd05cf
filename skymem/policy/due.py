"""What one memory is due for, and from when on: for the prune job and for who asks what is next.

A gate was either asked for, by the memory's own ttl or by what superseded it, or it is a judgement
of rules, which counts against the loss budget (rows N3, P18, X4).
"""

from typing import Final, NamedTuple

from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory
from skymem.model.plan import Reason
from skymem.model.preference import PREFERENCE
from skymem.model.rules import PruneRules
from skymem.policy.importance import worth
from skymem.policy.standing import EARLIEST_US, expires_us

DAY_US: Final = 86_400_000_000

JUDGEMENTS: Final = frozenset({"old_and_unimportant", "archive_age", "archive_size"})
"""Gates that count against the loss budget."""


class Due(NamedTuple):
    """A gate that a memory comes to."""

    gate: str
    at_us: int
    """From this moment on, microseconds since the epoch."""

    since_us: int
    """From when its days are counted."""

    threshold: float
    """Days, or an importance."""

    note: str = ""
    importance: float | None = None
    """What is held against the threshold, where it isn't days."""

    def reason(self, now_us: int) -> Reason:
        """Say it as it is at a moment."""
        days = round((now_us - self.since_us) / DAY_US, 3)
        if self.importance is None:
            return Reason(self.gate, days, self.threshold, self.note)
        over = (self.at_us - self.since_us) / DAY_US
        note = f"{days:.6g} d old, over {over:.6g} d"
        return Reason(self.gate, self.importance, self.threshold, note)


def due(
    memory: Memory,
    superseded: tuple[str, int | None] | None,
    rules: PruneRules,
    kinds: Kinds = KINDS,
    *,
    pinned: bool = False,
) -> list[Due]:
    """List the gates a memory of long-term or an archive comes to, in the order they are asked.

    Args:
        memory: as its line says.
        superseded: what took its place and when, if anything did.
        rules: what is pruned.
        kinds: what a memory is worth that doesn't say.
        pinned: whether it is; then nothing is ever due.
    """
    if pinned:
        return []
    found = asked_for(memory, superseded, rules)
    judged = _old_and_unimportant(memory, rules, kinds)
    return found if judged is None else [*found, judged]


def asked_for(
    memory: Memory, superseded: tuple[str, int | None] | None, rules: PruneRules
) -> list[Due]:
    """List the gates that a memory of any tier comes to without a judgement."""
    found: list[Due] = []
    ends = expires_us(memory)
    if ends is not None:
        found.append(Due("expired", ends, ends, 0.0))
    since = None if superseded is None else _later(superseded[1], memory.time_us)
    if is_history(memory):  # what somebody preferred before is asked for, however long ago (W4)
        return found
    if superseded is not None and since is not None and rules.superseded_after_seconds >= 0:
        after = microseconds(rules.superseded_after_seconds)
        found.append(Due("superseded", since + after, since, after / DAY_US, superseded[0]))
    return found


def archive_age(ended_us: int, memory: Memory, older_seconds: float) -> Due:
    """Say when a memory goes with its archive, which ended then: not before it was there."""
    after = microseconds(older_seconds)
    since = max(ended_us, known_us(memory.time_us) or 0)
    return Due("archive_age", since + after, since, after / DAY_US)


def is_lasting(memory: Memory, kinds: Kinds = KINDS) -> bool:
    """Whether it is to stay for good, by its line or by what is usual for its kind.

    A line is never given its kind's stability; but who judges by age takes the word for it.
    """
    usual = kinds.of(memory.kind).stability
    return (memory.stability or usual) == "permanent"


def is_history(memory: Memory) -> bool:
    """Whether a memory is kept when it is superseded: of preferences the history stays (W4)."""
    return memory.record_type == PREFERENCE


def known_us(time_us: int | None) -> int | None:
    """Take a time for what it says, unless it comes from a clock that was never set."""
    return None if time_us is None or time_us < EARLIEST_US else time_us


def microseconds(seconds: float) -> int:
    """Convert a rule's seconds."""
    return round(seconds * 1_000_000)


def _later(since_us: int | None, time_us: int | None) -> int | None:
    """When it was superseded: not before it was there, whatever its superseder's clock said."""
    since = known_us(since_us)
    return since if since is None or time_us is None else max(since, time_us)


def _old_and_unimportant(memory: Memory, rules: PruneRules, kinds: Kinds) -> Due | None:
    older, below = rules.older_than_seconds, rules.importance_below
    time_us = known_us(memory.time_us)
    if older is None or below is None or not older > 0 or time_us is None:
        return None
    importance = worth(memory, kinds).importance
    if not importance < below or is_lasting(memory, kinds):
        return None
    at_us = time_us + microseconds(older)
    return Due("old_and_unimportant", at_us, time_us, below, importance=importance)
