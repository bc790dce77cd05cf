"""`status/engine.json`: what the engine is and has, for those who don't talk to it.

Written whole, at most once a second, and never in the way of a request: a full disk leaves the
last one there, whose `ts` tells its age.
"""

import asyncio
import fcntl
import json
import os
import resource
import stat
import time
from collections.abc import Callable
from typing import Any, Final

from skymem.engine.settings import LOG_BYTES_MAX
from skymem.errors import SkymemError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths

EVERY_SECONDS: Final = 1.0
STDERR: Final = 2


class EngineStatus:
    """The writer of the file; for the engine's main thread."""

    def __init__(self, paths: HomePaths, files: Files, now: Callable[[], float]) -> None:
        self._path = paths.engine_status
        self._files = files
        self._now = now
        self._started = now()
        self._told: dict[str, Any] = {}
        self._told_at = float("-inf")
        self._begun = False

    async def tell(self, facts: dict[str, Any], *, last: bool = False) -> None:
        """Write `facts` if they are news; the `last` time in any case."""
        due = time.monotonic() >= self._told_at + EVERY_SECONDS
        if not last and not (due and facts != self._told):
            return
        self._told = facts
        self._told_at = time.monotonic()
        record = {
            "ts": self._now(),
            "started": self._started,
            "pid": os.getpid(),
            "rss_bytes": rss_bytes(),
            **facts,
        }
        await asyncio.to_thread(self._write, record)

    def _write(self, record: dict[str, Any]) -> None:
        try:
            if not self._path.parent.parent.is_dir():
                return  # a home that was removed is not made again
            self._files.make_directory(self._path.parent)
            if not self._begun:  # the engine's lock says that no other engine writes it
                self._files.remove_left(self._path.parent, self._path.name)
                self._begun = True
            self._files.replace(self._path, json.dumps(record, allow_nan=False).encode() + b"\n")
        except SkymemError:
            return  # its age tells readers; requests go on


def rss_bytes() -> int:
    """Memory of this process that is in RAM."""
    with open("/proc/self/statm", "rb") as stream:
        return int(stream.read().split()[1]) * resource.getpagesize()


def keep_log_short() -> None:
    """Begin stderr anew when it has grown: a log must not fill the disk it complains of."""
    status = os.fstat(STDERR)
    appends = fcntl.fcntl(STDERR, fcntl.F_GETFL) & os.O_APPEND
    if stat.S_ISREG(status.st_mode) and appends and status.st_size > LOG_BYTES_MAX:
        os.ftruncate(STDERR, 0)
