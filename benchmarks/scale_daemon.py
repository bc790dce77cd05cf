"""Daemons that have nothing to do: started one after the other, and watched all at once."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.daemon import processor_seconds, rss_bytes
from benchmarks.scale_process import Figures, environment, say

IDLE_SECONDS = 90.0
"""Three heartbeats."""

START_SECONDS_MAX = 120.0
SETTLE_SECONDS = 2.0


class Daemon:
    """The one of a home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._before = 0.0

    def start(self) -> Figures:
        """Start it, and wait until it keeps the home.

        Raises:
            SystemExit: it does not start.
        """
        beat = self.home / "status" / "sky_heartbeat.json"
        beat.unlink(missing_ok=True)
        command = [sys.executable, "-m", "skymem", "--home", str(self.home), "run", "--no-catch-up"]
        start = time.perf_counter()
        self._process = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
        while not beat.exists():
            if time.perf_counter() - start > START_SECONDS_MAX:
                sys.exit(f"the daemon of {self.home} does not start")
            time.sleep(0.05)
        took = time.perf_counter() - start
        return {"wall_s": round(took, 3), "cpu_s": round(self._worked(), 3)}

    def begin_idle(self) -> None:
        """From now on it has nothing to do."""
        self._before = self._worked()

    def idle(self, seconds: float) -> Figures:
        """What it worked since, and its memory."""
        assert self._process is not None
        used = (self._worked() - self._before) / seconds
        resident = rss_bytes(self._process.pid)
        return {
            "rss_mb": round(resident / 1024**2, 1),
            "idle_cpu_percent": round(used * 100, 3),
        }

    def end(self) -> None:
        """Have it end."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def _worked(self) -> float:
        assert self._process is not None
        return processor_seconds(self._process.pid)


def watch(daemons: Sequence[Daemon]) -> Iterator[Figures]:
    """Of each: what its start took, and what it costs while nothing happens."""
    try:
        started = [one.start() for one in daemons]
        time.sleep(SETTLE_SECONDS)
        say(f"{len(daemons)} daemons with nothing to do, for {IDLE_SECONDS:.0f} s")
        for one in daemons:
            one.begin_idle()
        time.sleep(IDLE_SECONDS)
        idle = [one.idle(IDLE_SECONDS) for one in daemons]
    finally:
        for one in daemons:
            one.end()
    for start, rest in zip(started, idle, strict=True):
        yield start | rest
