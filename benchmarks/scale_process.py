"""One command as a whole process, with what it took: for the page on scale."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TypeAlias

Figures: TypeAlias = dict[str, Any]

INTERRUPTED = 130

START = """
import os, signal, sys, time
start = time.perf_counter()
null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=[null])
signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGTERM))
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
_, status, used = os.wait4(pid, 0)
print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def environment(*, engine: bool = False) -> dict[str, str]:
    """With what Python compiles kept, as where it is installed."""
    kept = {name: value for name, value in os.environ.items() if name != "SKYMEM_ENGINE"}
    place = str(Path(tempfile.gettempdir()) / "skymem-scale-compiled")
    return {**kept, "PYTHONPYCACHEPREFIX": place} | ({} if engine else {"SKYMEM_ENGINE": "off"})


class Process:
    """A command, started by a small process: to the kernel, who starts one has a part in its peak.

    After `seconds` it gets SIGTERM; 0 lets it come to its own end.
    """

    def __init__(self, home: Path, words: str, *, engine: bool = False, seconds: float = 0) -> None:
        self._words = words
        self._may_stop = bool(seconds)
        command = [sys.executable, "-m", "skymem", "--home", str(home), *words.split()]
        starting = [sys.executable, "-S", "-c", START, str(seconds), *command]
        pipe = subprocess.PIPE
        self._started = subprocess.Popen(
            starting, env=environment(engine=engine), stdout=pipe, stderr=pipe, text=True
        )

    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._started.poll() is None

    def figures(self) -> Figures:
        """Wait for its end; what it took.

        Raises:
            SystemExit: it ended otherwise than it should.
        """
        out, err = self._started.communicate()
        code = self._started.returncode
        if code and not (self._may_stop and code == INTERRUPTED):
            sys.exit(f"{self._words} ended with {code}: {err}")
        wall, cpu, rss = map(float, out.split())
        return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "rss_mb": round(rss / 1024, 1)}


def run(home: Path, words: str) -> Figures:
    """A command from its start to its end, without an engine."""
    return Process(home, words).figures()
