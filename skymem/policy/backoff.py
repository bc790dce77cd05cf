"""How long an entry that fails is left alone before it is tried again.

A run that fails for a reason that lasts (a full disk, a missing model) is not made better by trying
it at full pace for a year, and a reason that passes must not keep it away for days.
"""

from typing import Final

BACKOFF_SECONDS_MAX: Final = 6 * 3600.0
"""The longest wait that failures alone can cause; an interval that is longer stays as it is."""

DOUBLINGS_MAX: Final = 60
"""More can't be told from this many, and a float can still hold the product."""


def backoff_seconds(failures: int, interval: float) -> float:
    """The time between two starts of an interval entry, in seconds.

    After n failures in a row it is the interval × 2^(n-1): one failure changes nothing yet, the
    second doubles it. Entries with a time of day keep to it and are never asked here.

    Args:
        failures: runs in a row that failed; 0 after a success.
        interval: the entry's own, in seconds, above 0.
    """
    doublings = min(max(failures - 1, 0), DOUBLINGS_MAX)
    return min(interval * 2.0**doublings, max(BACKOFF_SECONDS_MAX, interval))
