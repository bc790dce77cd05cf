"""The time a report is about, cut into days, or into weeks or months where it is long."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

DAY: Final = 86_400.0

STEPS: Final = ((100, 1, "day"), (700, 7, "week"), (1 << 30, 30, "30 days"))
"""Up to how many days, cut into how many days each, and what that is called."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days of UTC, the first of them whole, the last up to now."""

    starts: tuple[float, ...]
    """When each begins, epoch seconds."""

    until: float
    step: str
    """What each is: `day`, `week` or `30 days`."""

    @property
    def since(self) -> float:
        """When the first begins."""
        return self.starts[0]

    def place(self, at: float) -> int:
        """Which of them a moment is in; -1 for what was before."""
        return bisect_right(self.starts, at) - 1

    def labels(self) -> list[str]:
        """The date each begins with."""
        return [date_of(start) for start in self.starts]

    def zeros(self) -> list[int]:
        """A count for each, of nothing so far."""
        return [0] * len(self.starts)


def calendar(since: float, until: float) -> Calendar:
    """Cut the time between two moments, from the midnight before the first on."""
    first = min(since, until) // DAY * DAY
    days = (until - first) / DAY
    length, step = next((length, word) for most, length, word in STEPS if days <= most)
    count = max(1, -(-int(until - first) // int(length * DAY)))
    return Calendar(tuple(first + number * length * DAY for number in range(count)), until, step)


def date_of(at: float) -> str:
    """The day of a moment, in UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
