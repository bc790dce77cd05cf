"""The best few of many: bounded memory, and each id once."""

from collections.abc import Callable, Sequence
from typing import Final

from skymem.recall.candidate import Contender

WAITING_MAX: Final = 256
"""Candidates whose places are looked up at once."""

NOTHING: Final = -1.0
"""Below every score."""


class Best:
    """Keeps the best `limit` of what it is offered."""

    def __init__(
        self, limit: int, in_place: Callable[[Sequence[Contender]], list[Contender]]
    ) -> None:
        """Prepare for `limit` results.

        Args:
            limit: how many are kept.
            in_place: leaves out those whose memory has its place elsewhere.
        """
        self._limit = limit
        self._in_place = in_place
        self._kept: list[Contender] = []
        self._waiting: list[Contender] = []
        self.floor = NOTHING
        """A score below this can't be among the best any more."""

    def offer(self, candidate: Contender) -> None:
        """Take one more into account."""
        if candidate.deterministic < self.floor:
            return
        self._waiting.append(candidate)
        if len(self._waiting) >= max(WAITING_MAX, self._limit):
            self._settle()

    def ranked(self) -> list[Contender]:
        """The best, best first."""
        self._settle()
        return list(self._kept)

    def _settle(self) -> None:
        # A line on its way to another tier is met there last, and that is its place.
        found = {one.id: one for one in (*self._kept, *self._in_place(self._waiting))}
        self._waiting.clear()
        self._kept = sorted(found.values(), key=lambda one: one.standing(one.deterministic))
        del self._kept[self._limit :]
        if len(self._kept) == self._limit:
            self.floor = self._kept[-1].deterministic
