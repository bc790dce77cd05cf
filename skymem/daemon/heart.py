"""The daemon's sign of life, `status/sky_heartbeat.json` (row D5)."""

import os
import threading
from collections.abc import Callable, Mapping
from typing import Final

from skymem.daemon.journal import Journal
from skymem.daemon.timing import HEARTBEAT
from skymem.errors import SkymemError
from skymem.model.schedule import Every, Schedule
from skymem.stores.status import SCHEMA_VERSION, StatusFiles


class Heart:
    """Writes the heartbeat, from any thread, one at a time.

    A status directory that can't be written is an error in the log, once, and never stops the
    daemon or a job (promise 8).
    """

    def __init__(
        self,
        status: StatusFiles,
        journal: Journal,
        clock: Callable[[], float],
        *,
        version: str,
        interval_seconds: float | None,
        managed: bool = False,
    ) -> None:
        """Say in each beat whether the daemon is `managed`: a service, whose engine is inside."""
        self._status = status
        self._journal = journal
        self._clock = clock
        self._version = version
        self._interval_seconds = interval_seconds
        self._managed = managed
        self._started = clock()
        self._lock = threading.Lock()
        self._seq = 0
        self._last_error = ""

    def beat(
        self,
        state: str,
        *,
        next_runs: Mapping[str, float],
        running: Mapping[str, float],
        clock: Mapping[str, object] | None = None,
        configuration: Mapping[str, object] | None = None,
    ) -> str:
        """Write one beat; returns "" or why it could not be written.

        Args:
            state: `running`, `stopping` or `stopped`.
            next_runs: epoch seconds, by entry name.
            running: since when, in epoch seconds, by entry name.
            clock: `Clocks.state`.
            configuration: `Configuration.state`.
        """
        with self._lock:
            self._seq += 1
            beat = {
                "ts": self._clock(),
                "pid": os.getpid(),
                "state": state,
                "started": self._started,
                "version": self._version,
                "managed": self._managed,
                "seq": self._seq,
                "interval_seconds": self._interval_seconds,
                "next_runs": dict(next_runs),
                "running": [{"name": name, "since": since} for name, since in running.items()],
                "clock": dict(clock or {}),
                "configuration": dict(configuration or {}),
                "rss_bytes": rss_bytes(),
                "schema_version": SCHEMA_VERSION,
            }
            error = self._write(beat)
            if error and error != self._last_error:
                self._journal.error("can't write the heartbeat", error=error)
            self._last_error = error
        return error

    def set_interval(self, seconds: float | None) -> None:
        """Tell readers of another time between two beats."""
        self._interval_seconds = seconds

    def _write(self, beat: Mapping[str, object]) -> str:
        try:
            if self._seq == 1:
                self._status.begin_heartbeat()
            self._status.write_heartbeat(beat)
        except (SkymemError, OSError) as error:
            return str(error)
        return ""


PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


def rss_bytes() -> int | None:
    """Memory this process holds now; None where the kernel does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return None


def heartbeat_seconds(schedule: Schedule) -> float | None:
    """The shortest time between two beats, by which a reader tells a dead daemon; None: unknown."""
    triggers = [
        entry.trigger for entry in schedule.entries if entry.enabled and entry.job == HEARTBEAT
    ]
    return min((each.seconds for each in triggers if isinstance(each, Every)), default=None)
