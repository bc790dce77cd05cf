"""`skymem run` with clocks that the soak sets: `python -m benchmarks.soak_daemon CLOCKS WORDS…`.

It is the command itself, all but the clocks. The file CLOCKS, `{"wall": …, "boot": …}`, is how many
seconds those two are ahead of the real ones; what the daemon starts goes by the real ones.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import apscheduler.schedulers.base

from skymem.cli import daemon_verbs, entry
from skymem.daemon.clocks import Reading


def clocks_of(path: Path) -> Callable[[], Reading]:
    """Read the clocks, ahead as the file says."""

    def read() -> Reading:
        try:
            ahead = json.loads(path.read_bytes())
        except FileNotFoundError:
            ahead = {}
        boot = time.clock_gettime(time.CLOCK_BOOTTIME) + ahead.get("boot", 0.0)
        return Reading(time.time() + ahead.get("wall", 0.0), time.monotonic(), boot)

    return read


def main() -> None:
    """Put the clocks in the place of the kernel's, and be the command."""
    read = clocks_of(Path(sys.argv.pop(1)))

    class ClockOnTheWall(datetime):
        """APScheduler's `datetime`."""

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            """Say what the clock that was set says."""
            return datetime.fromtimestamp(read().wall, tz)

    apscheduler.schedulers.base.datetime = ClockOnTheWall
    original = daemon_verbs._setting  # noqa: SLF001  (where a daemon gets its clock)

    def setting(*given: Any) -> Any:
        return replace(original(*given), clock=lambda: read().wall, read=read)

    vars(daemon_verbs)["_setting"] = setting
    entry.main()


if __name__ == "__main__":
    main()
