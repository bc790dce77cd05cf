"""A memory that may answer, with what it is weighed by."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import isnan
from typing import Final, TypeAlias

from skymem.model.memory import Memory
from skymem.policy import rank
from skymem.policy.importance import worth
from skymem.policy.rank import Parts, Standing

UNKNOWN: Final = float("nan")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One memory at one place."""

    id: str
    tier: str
    file: str
    start: int
    memory: Memory
    parts: Parts

    @property
    def deterministic(self) -> float:
        """Row R2's score of it."""
        return self.parts.deterministic

    def standing(self, score: float) -> Standing:
        """Its place among others, with this score."""
        return rank.standing(score, self.parts.importance, self.memory.time_us, self.id)


@dataclass(frozen=True, slots=True)
class Sketch:
    """A memory that is surely active, as the word index tells of it: its line is not read yet."""

    id: str
    deterministic: float
    """Row R2's score of it; `UNKNOWN` where nobody needs that."""

    importance: float
    time_us: int | None

    def standing(self, score: float) -> Standing:
        """Its place among others, with this score."""
        return rank.standing(score, self.importance, self.time_us, self.id)

    def fits(self, one: Candidate) -> bool:
        """Whether its line says the same of it."""
        merits = (self.importance, self.time_us) == (one.parts.importance, one.memory.time_us)
        return merits and (isnan(self.deterministic) or self.deterministic == one.deterministic)


Contender: TypeAlias = Candidate | Sketch
"""What may answer, be its line read or not."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Weighs memories for one query at one time."""

    tokens: AbstractSet[str]
    bias: float
    now_us: int

    @staticmethod
    def words_of(memory: Memory) -> set[str]:
        """The words it is found by."""
        return rank.tokens_of(memory.searchable, memory.tags)

    def weigh(self, memory: Memory, words: AbstractSet[str] | None = None) -> Parts:
        """Weigh one; its words are given by who has them already."""
        text = rank.text_score(self.tokens, self.words_of(memory) if words is None else words)
        recent = rank.recency(memory.time_us, self.now_us)
        importance = worth(memory).importance
        score = rank.deterministic(text, recent, importance, self.bias)
        return Parts(text, recent, importance, score)
