"""How old memories are, and how important: then and now, in short-term and long-term, and by tier.

What was there when the time of the report began is told from what there is now: a memory that
happened before it was in short-term or long-term, unless it was moved or removed before it as well.
What is gone for good is in neither.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from skymem.reporting.days import DAY
from skymem.reporting.figures import TIERS, Distribution

AGES: Final = (
    ("under a day", 1.0),
    ("1–7 days", 7.0),
    ("7–30 days", 30.0),
    ("30–90 days", 90.0),
    ("90–365 days", 365.0),
)
OLDEST: Final = "over a year"
TIMELESS: Final = "no time"

KEPT: Final = ("short", "long")
TENTHS: Final = 10


@dataclass(slots=True)
class _Counts:
    ranges: tuple[str, ...]
    then: list[int] = field(default_factory=list)
    now: list[int] = field(default_factory=list)
    tiers: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        zeros = [0] * len(self.ranges)
        self.then, self.now = [*zeros], [*zeros]
        self.tiers = {tier: [*zeros] for tier in TIERS}

    def told(self) -> Distribution:
        """Give them as they are to be reported."""
        tiers = {tier: tuple(counts) for tier, counts in self.tiers.items()}
        return Distribution(self.ranges, tuple(self.then), tuple(self.now), tiers)


@dataclass(slots=True)
class Spread:
    """Counts memories, one after the other."""

    since: float
    until: float
    _ages: _Counts = field(
        default_factory=lambda: _Counts((*(word for word, _ in AGES), OLDEST, TIMELESS))
    )
    _worths: _Counts = field(
        default_factory=lambda: _Counts(
            tuple(f"{at / TENTHS:.1f}–{(at + 1) / TENTHS:.1f}" for at in range(TENTHS))
        )
    )

    def add(self, tier: str, at: float | None, importance: float, left: float | None) -> None:
        """Count one.

        Args:
            tier: where it is now.
            at: when it happened, epoch seconds.
            importance: 0 to 1.
            left: when it left short-term or long-term; None where it is there.
        """
        worth = min(TENTHS - 1, max(0, int(importance * TENTHS + 1e-9)))
        now = _age(at, self.until)
        self._ages.tiers[tier][now] += 1
        self._worths.tiers[tier][worth] += 1
        if tier in KEPT:
            self._ages.now[now] += 1
            self._worths.now[worth] += 1
        if at is not None and at < self.since and (tier in KEPT or (left or 0.0) >= self.since):
            self._ages.then[_age(at, self.since)] += 1
            self._worths.then[worth] += 1

    def ages(self) -> Distribution:
        """How old they are."""
        return self._ages.told()

    def importances(self) -> Distribution:
        """How important they are."""
        return self._worths.told()


_BORDERS: Final = tuple(days for _, days in AGES)


def _age(at: float | None, moment: float) -> int:
    if at is None:
        return len(AGES) + 1
    return bisect_right(_BORDERS, (moment - at) / DAY)
