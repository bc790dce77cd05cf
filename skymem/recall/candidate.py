"""A memory that may answer, with what it is weighed by."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from skymem.model.memory import Memory
from skymem.policy import rank
from skymem.policy.importance import worth
from skymem.policy.rank import Parts, Standing


@dataclass(frozen=True, slots=True)
class Candidate:
    """One memory at one place."""

    id: str
    tier: str
    file: str
    start: int
    memory: Memory
    parts: Parts

    def standing(self, score: float) -> Standing:
        """Its place among others, with this score."""
        return rank.standing(score, self.parts.importance, self.memory.time_us, self.id)


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
