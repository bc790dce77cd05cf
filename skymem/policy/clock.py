"""Did the clock move since it was last seen? Then nothing may be removed by it (promise 5, row X4).

A wall clock ten years ahead makes everything expired and old; one set back makes what was just kept
too young, and then old again. The clock since boot can't be set: against it the wall clock is held.
"""

import math
from datetime import UTC, datetime
from typing import Final, NamedTuple

BACK_SECONDS_MAX: Final = 300.0
"""Time servers step back by less."""

DRIFT_SECONDS_MAX: Final = 3600.0
"""Within one boot, wall and boot clock may differ by so much: slow clocks, leap seconds, steps."""

OFF_SECONDS_MAX: Final = 400 * 86_400.0
"""A machine may be off for so long before its clock is not believed."""

_SECONDS_MAX: Final = 253_402_300_799.0  # the last second of the year 9999


class Seen(NamedTuple):
    """The clocks at one moment; recorded only by who found that they had not moved."""

    wall: float
    """Epoch seconds."""

    boot_id: str
    """The kernel's name for this boot; "" when it has none."""

    uptime: float
    """Seconds since boot, asleep or not."""


def moved(last: Seen | None, now: Seen) -> str | None:
    """Say how the wall clock moved since `last`; None when it went on as clocks do.

    Nothing seen before is no evidence of a move. What is no number is a move: who wrote it was not
    this program.
    """
    if not _real(now):
        return f"it says {now.wall!r} with {now.uptime!r} s since boot, which is no time"
    if last is None:
        return None
    if not _real(last):
        return f"it was last seen at {last.wall!r}, which is no time, and says {_spell(now.wall)}"
    how = _how(last, now)
    both = f"it says {_spell(now.wall)}, and was last seen at {_spell(last.wall)}"
    return None if how is None else f"{both}{how}"


def _how(last: Seen, now: Seen) -> str | None:
    advanced = now.wall - last.wall
    if advanced < -BACK_SECONDS_MAX:
        return f": it was set back by {_length(-advanced)}"
    if last.boot_id and last.boot_id == now.boot_id and now.uptime >= last.uptime:
        ran = now.uptime - last.uptime
        if abs(advanced - ran) <= DRIFT_SECONDS_MAX:
            return None
        way = "forward" if advanced > ran else "back"
        off = _length(abs(advanced - ran))
        return f", but this machine ran for {_length(ran)} between: it was set {way} by {off}"
    if advanced > OFF_SECONDS_MAX:
        return f": {_length(advanced)} in which this machine was started anew"
    return None


def _real(seen: Seen) -> bool:
    return 0 <= seen.wall <= _SECONDS_MAX and math.isfinite(seen.uptime)


def _spell(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _length(seconds: float) -> str:
    """Spell a length of time in the unit that fits."""
    for unit, name in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,.0f} seconds"
