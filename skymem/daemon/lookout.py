"""The daemon's lookout for alarms: a child that looks and tells, where somebody is to be told.

A child, like every run, so that neither a slow command nor a webhook that hangs is in the way of
the schedule, and the daemon stays as light as it is (row X3).
"""

import math
import threading
import time
from typing import Final

from skymem.daemon.child import run_child
from skymem.daemon.journal import Journal
from skymem.daemon.setting import Setting
from skymem.daemon.stop import Stop
from skymem.errors import SkymemError
from skymem.model.alarm import AlarmRules

TIMEOUT_SECONDS: Final = 60.0
"""For the look itself; what is told has its own deadline beside it."""

END_SECONDS: Final = 15.0
"""How long a look in hand may take once the daemon ends."""


class Lookout:
    """For the daemon's main thread; a look in hand has a thread of its own. None of it raises."""

    def __init__(self, setting: Setting, journal: Journal) -> None:
        """Take up who is to be told, by the rules as they stand."""
        self._command = tuple(setting.command)
        self._read = setting.alarms
        self._journal = journal
        self._ending = _Ending(setting.stop)
        self._rules = AlarmRules()
        self._next = 0.0
        self._thread: threading.Thread | None = None
        self._complaint = ""
        self._already: list[str] = []
        """What was told and is on no record: the disk is full."""

        self.reread()

    def reread(self) -> None:
        """Go by the rules as they stand now; those that can't be read leave the old ones."""
        if self._read is None:
            return
        try:
            self._rules = self._read()
        except SkymemError as error:
            self._journal.error("alarms: what was read before stays", error=error)
        self._next = 0.0

    @property
    def waits(self) -> float:
        """Seconds until it wants to look."""
        return max(0.0, self._next - time.monotonic()) if self._rules.told else math.inf

    def look(self) -> None:
        """Start a look if it is time and none is in hand."""
        if self.waits or (self._thread is not None and self._thread.is_alive()):
            return
        self._next = time.monotonic() + self._rules.look_seconds
        self._thread = threading.Thread(target=self._have_it_looked, name="lookout", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for a look in hand, which is told to end."""
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    def _have_it_looked(self) -> None:
        end = run_child(
            [*self._command, "alarms", "--tell", *(f"--already={key}" for key in self._already)],
            timeout_seconds=TIMEOUT_SECONDS + 2 * self._rules.deadline_seconds,
            stop=self._ending,
        )
        if end.interrupted:
            return
        if end.exit_code:
            self._complain(end.error or f"ended with exit code {end.exit_code}")
            return
        self._already = [str(key) for key in end.detail.get("already", ())]
        self._complain("its record can't be written" if "already" in end.detail else "")
        for whom, told in end.detail.get("told", {}).items():
            say = self._journal.error if "failed" in told else self._journal.info
            say("alarms told" if "failed" not in told else "alarms not told", by=whom, **told)

    def _complain(self, error: str) -> None:
        """Log a trouble once, not at every look."""
        if error and error != self._complaint:
            self._journal.error("can't look for alarms", error=error)
        self._complaint = error


class _Ending:
    """A look is not waited for as a run is: it ends as soon as the daemon is asked to."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop

    @property
    def terminate_at(self) -> float:
        return 0.0 if self._stop.asked() else math.inf
