"""One entry's place in the daemon's queue: when it runs next, whatever the clocks did meanwhile.

Times are epoch seconds. To APScheduler this is the entry's trigger (`daemon.timing`); nothing of it
is imported here.
"""

import math
import random
from collections.abc import Callable
from datetime import datetime
from typing import Final

from skymem.daemon.clocks import Change, Reading
from skymem.daemon.fires import keeps_pace, next_fire, zone_of
from skymem.model.schedule import Every, ScheduleEntry

REPEAT_SECONDS: Final = 86_400.0
"""Set back by at most this, the clock does not bring a fixed time of the day a second time."""

LATE_SECONDS: Final = 10.0
"""A run that starts this long after it was due is one caught up."""

GRID_SECONDS: Final = 1.0
"""A run later than this starts its interval anew, as the record says; before, it keeps its beat."""

SOONEST_SECONDS: Final = 0.001
"""APScheduler asks until it is given a time that has not passed."""

LATEST: Final = 253_402_300_800.0 - 2 * 86_400
"""Past this, near the end of the year 9999, no zone's clock can be shown."""


class Turn:
    """One entry's place in the queue; to APScheduler it is the entry's trigger."""

    def __init__(
        self,
        entry: ScheduleEntry,
        run: Callable[[], object],
        zone: str,
        read: Callable[[], Reading],
    ) -> None:
        self.entry = entry
        self.run = run
        self.at = math.inf
        """When it is handed out next."""

        self.owed: float | None = None
        """When a run was due that is late, handed out or not, and has not begun."""

        self._boot_at = math.inf
        self._zone = zone
        self._read = read
        self._asked: datetime | None = None

    def arm(self, at: float) -> None:
        """Set the next run."""
        reading = self._read()
        self.at = at
        self._boot_at = reading.boot + (at - reading.wall)

    def moment(self) -> datetime | None:
        """`at` as APScheduler wants it, None for never."""
        return datetime.fromtimestamp(self.at, zone_of(self._zone)) if self.at < LATEST else None

    def get_next_fire_time(self, _previous: datetime, now: datetime) -> datetime | None:
        """Give APScheduler the run after the one it hands out at `now`.

        It asks twice, and would ask for every run that a jump of the clock passed over: it is given
        a time after `now` at once.
        """
        if now != self._asked:
            self._asked = now
            # It is skipped if the entry still runs: then the next run makes up for it.
            self.owe(self.at, now.timestamp())
            self.arm(self._following(now.timestamp()))
        return self.moment()

    def owe(self, due: float, now: float) -> None:
        """Note that a run due at `due` is late at `now`, if it is; the first such one counts."""
        if self.owed is None and now - due > LATE_SECONDS:
            self.owed = due

    def after_change(self, change: Change, now: Reading) -> float:
        """When it is due, now that the clock was changed."""
        trigger = self.entry.trigger
        if isinstance(trigger, Every):
            return min(self.at, now.wall + max(0.0, self._boot_at - now.boot))
        if change.kind != "back":
            return self.at
        again = keeps_pace(trigger) or change.seconds > REPEAT_SECONDS
        after = now.wall if again else now.wall + REPEAT_SECONDS
        return min(self.at, next_fire(trigger, self._zone, after) + self._jitter())

    def _following(self, now: float) -> float:
        trigger = self.entry.trigger
        if isinstance(trigger, Every):
            base = self.at if 0 <= now - self.at < GRID_SECONDS else now
            due = base + trigger.seconds * (math.floor((now - base) / trigger.seconds) + 1)
        else:
            due = next_fire(trigger, self._zone, now)
        return max(due + self._jitter(), now + SOONEST_SECONDS)

    def _jitter(self) -> float:
        # Not for secrets: it only spreads load.
        return random.uniform(0.0, self.entry.jitter_seconds)  # noqa: S311
