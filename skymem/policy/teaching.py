"""What a home's history teaches about the worth of a memory (row P12).

Each memory is a lesson: what it turned out to be worth, 0 to 1, and how much that counts. Four
things speak, and what speaks both ways is weighed:

- a person: pinned, corrected or restored is worth keeping; forgotten by hand, or a promotion that
  was undone, is not;
- recall: it was among the first of an answer; the more different questions, the more it counts;
- silence: so many questions later it never was;
- its writer: the importance that was given, as far as the writer is believed. Who rates everything
  alike says nothing by it, and teaches nothing.

What a job made, and what another agent shared, is no lesson: neither is the agent's own rating.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Final, NamedTuple

from skymem.model.memory import Memory

HAND_WEIGHT: Final = 4.0
GIVEN_WEIGHT: Final = 1.0
RECALL_WEIGHT: Final = 1.0
"""For each different question, up to `QUESTIONS_MAX` of them."""

QUESTIONS_MAX: Final = 3
SILENCE_WEIGHT: Final = 0.5

QUESTIONS_LEAST: Final = 20
"""Answers since a memory came, before its never being among them means anything."""

SPREAD_LEAST: Final = 0.05
"""Standard deviation of what a writer gives, from which it tells memories apart."""

SAME_MOST: Final = 0.9
"""Share of one and the same number, above which the rest is noise."""


@dataclass(slots=True)
class Past:
    """What the record tells of one memory."""

    kept: bool = False
    """A person pinned, corrected or restored it."""

    refused: bool = False
    """A person forgot it, or undid its promotion."""

    questions: int = 0
    """Different questions it was recalled by."""

    answers: int = 0
    """Answers since it came, with it or without."""


class Lesson(NamedTuple):
    """One memory as a model learns from it."""

    id: str
    time_us: int
    target: float
    """What it turned out to be worth, 0 to 1."""

    weight: float
    guide: float
    """What the scoring guide says, to be compared with."""

    seen: tuple[tuple[str, float], ...]
    """Its features: keys and values."""


class Voice(NamedTuple):
    """One that speaks for or against a memory."""

    what: str
    """`hand`, `recall`, `silence` or `given`."""

    target: float
    weight: float


class Rater(NamedTuple):
    """How an agent gives importance."""

    given: int
    spread: float
    same: float
    """Share of the number it gives most often."""

    @property
    def teaches(self) -> bool:
        """Whether its numbers tell one memory from another."""
        return self.given > 1 and self.spread >= SPREAD_LEAST and self.same <= SAME_MOST

    @classmethod
    def of(cls, given: Sequence[float]) -> "Rater":
        """Look at all it gave."""
        if not given:
            return cls(0, 0.0, 0.0)
        most = max(Counter(round(one, 2) for one in given).values())
        return cls(len(given), round(spread_of(given), 4), round(most / len(given), 4))


def spread_of(numbers: Sequence[float]) -> float:
    """The standard deviation of numbers that are all there are."""
    # The standard library's module is loaded late, and is not there for who has left root behind.
    middle = fsum(numbers) / len(numbers)
    return sqrt(fsum((one - middle) ** 2 for one in numbers) / len(numbers))


def is_own(memory: Memory) -> bool:
    """Whether a memory is the agent's own, and no job's and no other agent's work."""
    if memory.record_type is not None or memory.evidence_ids or "shared_from" in memory.fields:
        return False
    return bool(memory.content.strip())


def voices(past: Past, given: float | None, believed: float) -> list[Voice]:
    """Who speaks for or against a memory.

    Args:
        past: what the record tells of it.
        given: its importance; None when none was given, or its writer teaches nothing by it.
        believed: how far its writer is believed, 0 to 1.
    """
    found = []
    if past.kept or past.refused:
        # Who changed their mind said both; the later is not told, so neither counts alone.
        found.append(Voice("hand", (past.kept + (not past.refused)) / 2, HAND_WEIGHT))
    if past.questions:
        times = min(past.questions, QUESTIONS_MAX)
        found.append(Voice("recall", 1.0, RECALL_WEIGHT * times))
    elif past.answers >= QUESTIONS_LEAST:
        found.append(Voice("silence", 0.0, SILENCE_WEIGHT))
    if given is not None and believed > 0:
        found.append(Voice("given", given, GIVEN_WEIGHT * believed))
    return found


def weighed(said: Iterable[Voice], copies: int = 1) -> tuple[float, float] | None:
    """Target and weight of a lesson; None when nobody says anything.

    What stands there in several copies is said once, however often it is written.
    """
    each = [*said]
    weight = sum(voice.weight for voice in each)
    if not weight:
        return None
    target = sum(voice.target * voice.weight for voice in each) / weight
    return round(target, 6), round(weight / copies, 6)
