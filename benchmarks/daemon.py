"""The idle daemon: memory and processor time, after its first run.

Run: python -m benchmarks.daemon [SECONDS]
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from skymem import app

WARM_UP_SECONDS = 8.0
SECONDS = 60.0


def rss_bytes(pid: int) -> int:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def processor_seconds(pid: int) -> float:
    """User and system time a process has used, without its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds: float = SECONDS) -> None:
    """Let a daemon run its first job, then watch it do nothing."""
    with tempfile.TemporaryDirectory() as name:
        app.init_home(Path(name))
        command = [sys.executable, "-m", "skymem", "--home", name, "run"]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(WARM_UP_SECONDS)
        before = processor_seconds(process.pid)
        time.sleep(seconds)
        used = (processor_seconds(process.pid) - before) / seconds
        resident = rss_bytes(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait()
    print(
        f"daemon, idle: RSS {resident / 1024**2:.0f} MB (goal ≤ 60), "
        f"CPU {used * 100:.3f} % over {seconds:.0f} s (goal < 0.1)"
    )


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
