"""Mode `fusion`: words, meaning and what stands around a memory, in one order (row R5).

Measured on LoCoMo (`benchmarks/recall_quality.py`): the weights were chosen on five of its ten
conversations and are reported on the other five. What each part adds is in docs/recall.md.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

WORDS: Final = 0.5
MEANING: Final = 0.5
AROUND: Final = (0.5, 0.3)
"""Of the better neighbour on either side in its conversation, and of the better one beyond."""

SUBSTANCE: Final = 0.12
"""Of having something to say: a greeting answers nothing."""

SUBSTANCE_WORDS: Final = 50
"""Different words from which more of them say no more."""

QUESTION: Final = 0.05
"""What a text that is a question loses: it answers none."""

TIME_NAMED: Final = 0.06
"""For a text that says when, where the query asks when."""

PERIOD: Final = 0.15
"""For what happened at the time that the query speaks of."""

RECENCY: Final = 0.05
IMPORTANCE: Final = 0.05

HIGHEST: Final = (
    WORDS + MEANING + sum(AROUND) + SUBSTANCE + TIME_NAMED + PERIOD + RECENCY + IMPORTANCE
)
"""All of it: a score is a share of this, 0 to 1."""

UNEMBEDDED: Final = 0.5
"""What a memory without a vector has of meaning, for each bit of its words: it still competes."""


class Signs(NamedTuple):
    """What a memory shows by itself, whatever is asked."""

    words: int
    """Different words in it."""

    question: bool
    """Whether it ends as a question does."""

    names_a_time: bool


class Fused(NamedTuple):
    """The parts of a score; they sum to it."""

    words: float
    meaning: float
    around: float
    form: float
    time: float
    prior: float

    @property
    def score(self) -> float:
        """The sum; 0 at least, as a question mark can't count for less than nothing."""
        return max(0.0, sum(self))


def rarity(having: int, all_memories: int) -> float:
    """Weigh a word by how few memories have it (the idf of BM25)."""
    return math.log(1.0 + (all_memories - having + 0.5) / (having + 0.5))


def meaning_of(words: float, cosine: float | None) -> float:
    """The share of meaning: the cosine; without one a guess by the words, both 0 to 1."""
    return UNEMBEDDED * words if cosine is None else min(1.0, max(0.0, cosine))


def own(words: float, cosine: float | None) -> float:
    """What a memory has for itself: words found by their rarity, and meaning."""
    return WORDS * words + MEANING * meaning_of(words, cosine)


def around(neighbours: Sequence[Sequence[float]]) -> float:
    """Weigh what stands around: by distance, what the neighbours there have for themselves."""
    return sum(
        weight * max(there, default=0.0) for weight, there in zip(AROUND, neighbours, strict=True)
    )


def form(signs: Signs) -> float:
    """Weigh how much a text can say at all."""
    said = min(1.0, math.log1p(signs.words) / math.log1p(SUBSTANCE_WORDS))
    return SUBSTANCE * said - QUESTION * signs.question


def time(signs: Signs, nearness: float, *, asks: bool) -> float:
    """Weigh the times a query asks for or speaks of."""
    return TIME_NAMED * (asks and signs.names_a_time) + PERIOD * nearness


def prior(recency: float, importance: float) -> float:
    """Weigh what is likelier wanted whatever is asked, gently."""
    return RECENCY * recency + IMPORTANCE * importance


def fused(  # noqa: PLR0917  (the parts, in their order)
    words: float, cosine: float | None, beside: float, form_: float, time_: float, prior_: float
) -> Fused:
    """Put the parts together, each as its share of the highest score."""
    parts = (WORDS * words, MEANING * meaning_of(words, cosine), beside, form_, time_, prior_)
    return Fused(*(part / HIGHEST for part in parts))
