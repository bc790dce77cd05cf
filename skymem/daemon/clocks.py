"""The three clocks, and what happened to them: set forward, set back, or the machine asleep.

The scheduler waits on the monotonic clock, which stands still while the machine sleeps and does not
see the wall clock being set. So the daemon looks every two seconds and lets `Timer.rearm` do what
follows (hazards C1 and C4). Times are seconds.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from skymem.daemon.fires import zone_is_missing

CHANGE_SECONDS: Final = 1.0
"""Less is no change yet. What time servers do in small steps adds up until it is one."""

SPREAD_SECONDS_MAX: Final = 0.05
"""Three clocks read further apart than this are read again: something came in between."""

READ_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """The three clocks at one moment."""

    wall: float
    """Epoch seconds; may be set forward and back."""

    monotonic: float
    """Stands still while the machine sleeps."""

    boot: float
    """Goes on while the machine sleeps, and is never set."""


Kind = Literal["forward", "back", "suspend"]


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to the clocks since the last look."""

    kind: Kind
    seconds: float
    """How far, always above 0."""

    at: float
    """What the wall clock said when it was noticed."""


def reader(wall: Callable[[], float]) -> Callable[[], Reading]:
    """Read the kernel's clocks, with `wall` for the one on the wall."""

    def read() -> Reading:
        for _ in range(READ_TRIES):
            monotonic = time.monotonic()
            boot = time.clock_gettime(time.CLOCK_BOOTTIME)
            reading = Reading(wall(), monotonic, boot)
            if time.monotonic() - monotonic < SPREAD_SECONDS_MAX:
                break
        return reading

    return read


class Clocks:
    """Compares the clocks at each look; `state` may be called from any thread."""

    def __init__(self, read: Callable[[], Reading], *, timezone: str = "UTC") -> None:
        self._read = read
        self._timezone = timezone
        first = read()
        self._asleep = self._asleep_first = first.boot - first.monotonic
        self._ahead = self._ahead_first = first.wall - first.boot
        self._changes = 0
        self._last: Change | None = None

    def set_timezone(self, timezone: str) -> None:
        """Tell of another zone from now on."""
        self._timezone = timezone

    def look(self) -> Change | None:
        """What changed since the last look.

        A machine that wakes up with its clock set anew is two changes: the sleep, and at the next
        look the clock.
        """
        now = self._read()
        slept = now.boot - now.monotonic - self._asleep
        if abs(slept) >= CHANGE_SECONDS:
            self._asleep += slept
            if slept > 0:
                return self._note(Change("suspend", slept, now.wall))
        moved = now.wall - now.boot - self._ahead
        if abs(moved) < CHANGE_SECONDS:
            return None
        self._ahead += moved
        return self._note(Change("forward" if moved > 0 else "back", abs(moved), now.wall))

    def state(self) -> dict[str, Any]:
        """For the heartbeat: what the clocks did since the daemon came up."""
        last = self._last
        missing = zone_is_missing(self._timezone)
        return {
            "wall": self._read().wall,
            "offset_s": round(self._ahead - self._ahead_first, 3),
            "suspended_s": round(self._asleep - self._asleep_first, 3),
            "changes": self._changes,
            "last_change": last
            and {"kind": last.kind, "seconds": round(last.seconds, 3), "at": last.at},
            "timezone": "UTC" if missing else self._timezone,
            "timezone_missing": self._timezone if missing else None,
        }

    def _note(self, change: Change) -> Change:
        self._changes += 1
        self._last = change
        return change
