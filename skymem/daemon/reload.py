"""A new schedule in the place of the old, whole or not at all (hazard F4).

What is the same in both is not touched: its next run stays where it is, and a run in hand goes on
whatever becomes of its entry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skymem.daemon.journal import Journal
from skymem.errors import SkymemError
from skymem.model.schedule import Schedule, ScheduleEntry


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new schedule asks of the timer."""

    gone: tuple[str, ...]
    """Names that don't run by themselves any more."""

    placed: tuple[ScheduleEntry, ...]
    """Entries that are new, changed or enabled: each gets its next run by its record."""


def difference(old: Schedule, new: Schedule) -> Difference:
    """Compare the entries that are enabled; another time zone moves every one of them."""
    before = {entry.name: entry for entry in old.entries if entry.enabled}
    after = {entry.name: entry for entry in new.entries if entry.enabled}
    moved = old.timezone != new.timezone
    placed = [entry for name, entry in after.items() if moved or before.get(name) != entry]
    gone = [name for name in before if name not in after]
    return Difference(tuple(gone), tuple(placed))


class Configuration:
    """What the daemon goes by, and what became of the last try to read it anew."""

    def __init__(
        self, reread: Callable[[], Schedule] | None, journal: Journal, clock: Callable[[], float]
    ) -> None:
        """Use `reread` to read both files of the home; it raises what is wrong with either."""
        self._reread = reread
        self._journal = journal
        self._clock = clock
        self._read_at = clock()
        self._problem: str | None = None

    def read(self) -> Schedule | None:
        """Read the files anew; None where they can't be used, and what was read before stays."""
        if self._reread is None:
            return None
        try:
            schedule = self._reread()
        except SkymemError as error:
            self._problem = str(error)
            for line in self._problem.splitlines():
                self._journal.error("not reloaded, what was read before stays", error=line)
            return None
        self._read_at, self._problem = self._clock(), None
        self._journal.info("reloaded", entries=len(schedule.entries), timezone=schedule.timezone)
        return schedule

    def state(self) -> dict[str, Any]:
        """For the heartbeat: when it was read, and why the last try to read it failed."""
        return {"read": self._read_at, "problem": self._problem}
