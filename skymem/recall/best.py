"""The best few of many: bounded memory, and each id once."""

from collections.abc import Callable, Sequence
from typing import Final

from skymem.recall.candidate import Candidate

WAITING_MAX: Final = 256
"""Candidates whose places are looked up at once."""

NOTHING: Final = -1.0
"""Below every score."""


class Best:
    """Keeps the best `limit` of what it is offered."""

    def __init__(
        self, limit: int, in_place: Callable[[Sequence[Candidate]], list[Candidate]]
    ) -> None:
        """Prepare for `limit` results.

        Args:
            limit: how many are kept.
            in_place: leaves out those whose memory has its place elsewhere.
        """
        self._limit = limit
        self._in_place = in_place
        self._kept: list[Candidate] = []
        self._waiting: list[Candidate] = []
        self.floor = NOTHING
        """A score below this can't be among the best any more."""

    def offer(self, candidate: Candidate) -> None:
        """Take one more into account."""
        if candidate.parts.deterministic < self.floor:
            return
        self._waiting.append(candidate)
        if len(self._waiting) >= max(WAITING_MAX, self._limit):
            self._settle()

    def ranked(self) -> list[Candidate]:
        """The best, best first."""
        self._settle()
        return list(self._kept)

    def _settle(self) -> None:
        # A line on its way to another tier is met there last, and that is its place.
        found = {one.id: one for one in (*self._kept, *self._in_place(self._waiting))}
        self._waiting.clear()
        self._kept = sorted(found.values(), key=lambda one: one.standing(one.parts.deterministic))
        del self._kept[self._limit :]
        if len(self._kept) == self._limit:
            self.floor = self._kept[-1].parts.deterministic
