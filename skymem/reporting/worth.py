"""Which memories are most and least worth keeping, of those in short-term and long-term.

Most: what is pinned, then what answered most often, then what is most important, then the newest.
Least is the other end of that order, without what is pinned. A memory's place is of its numbers; of
the few that are told of the text is read.
"""

from bisect import insort
from dataclasses import dataclass, field
from typing import NamedTuple


class Weighed(NamedTuple):
    """One memory: compares higher for what is more worth keeping."""

    pinned: bool
    asked: int
    importance: float
    at: float
    """When it happened; 0 for one without a time."""

    id: str
    agent: str
    tier: str


@dataclass(slots=True)
class Ends:
    """The two ends of the order, each of at most `size`: no more is held."""

    size: int
    _most: list[Weighed] = field(default_factory=list)
    _least: list[Weighed] = field(default_factory=list)

    def add(self, one: Weighed) -> None:
        """Weigh one more."""
        if len(self._most) < self.size or one > self._most[0]:
            insort(self._most, one)
            del self._most[: -self.size]
        if not one.pinned and (len(self._least) < self.size or one < self._least[-1]):
            insort(self._least, one)
            del self._least[self.size :]

    def most(self) -> list[Weighed]:
        """The most worth keeping, the very first before all."""
        return self._most[::-1]

    def least(self) -> list[Weighed]:
        """The least worth keeping, the very last before all; none that is among the most."""
        return [one for one in self._least if one not in self._most]
