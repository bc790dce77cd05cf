"""What each operation costs by how much is stored: one agent with a million memories, 200 agents.

Run: python -m benchmarks.scale [--memories N…] [--agents N…] [--homes DIRECTORY]
     [--json FILE] [--plot FILE]

Each operation is a process of its own, as a person or the schedule starts it; told are its wall
time, its work (user and system time of the processor) and its peak of memory. Nothing is embedded:
that has a benchmark of its own. Of what an operation finds new there is as much at every size.
With `--homes` a home that was made there before is used again; its first reading is told as it was
when it was made.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.daemon import processor_seconds, rss_bytes
from benchmarks.recall_home import AGENT
from benchmarks.recall_speed import PIECE, wait_for_index
from benchmarks.scale_homes import VECTORS_MAX, with_agents, with_memories
from benchmarks.texts import texts
from skymem import app, open_memory
from skymem.stores.cursors import IndexCursors

MEMORIES = (1_000, 10_000, 100_000, 1_000_000)
AGENTS = (1, 10, 50, 200)
NEW_LINES = 100
NEW_PROMOTED = 10
QUERIES = 30
IDLE_SECONDS = 60.0
START_SECONDS_MAX = 120.0

Figures = dict[str, Any]

IDLE = ("promote", "rotate", "compress", "merge", "prune")
"""Jobs that find nothing new."""

READING = ("status", "recall deadline --mode deterministic", "doctor")


START = """
import os, sys, time
start = time.perf_counter()
null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[null])
_, status, used = os.wait4(pid, 0)
print(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def environment() -> dict[str, str]:
    """Without an engine, and with what Python compiles kept, as where it is installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    place = str(Path(tempfile.gettempdir()) / "skymem-scale-compiled")
    return {**kept, "SKYMEM_ENGINE": "off", "PYTHONPYCACHEPREFIX": place}


def run(home: Path, words: str) -> Figures:
    """One command as a whole process, started by a small one.

    To the kernel, who starts a process has a part in that one's peak of memory.
    """
    command = [sys.executable, "-m", "skymem", "--home", str(home), *words.split()]
    starting = [sys.executable, "-S", "-c", START, *command]
    done = subprocess.run(starting, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words}: {done.stderr}")
    wall, cpu, rss = map(float, done.stdout.split())
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "rss_mb": round(rss / 1024, 1)}


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Measuring:
    """One home, operation by operation; each is told, and kept, as it is done."""

    def __init__(self, home: Path, figures: Figures, keep: Callable[[], None]) -> None:
        self._home = home
        self._figures = figures
        self._keep = keep

    def take(self, name: str, call: Callable[[], Figures]) -> None:
        """Measure one."""
        self._figures[name] = found = call()
        self._keep()
        say(f"{self._home.name}: {name}: {found}")

    def once(self, name: str, words: str) -> None:
        """Measure one command."""
        self.take(name, lambda: run(self._home, words))


def of_memories(home: Path, measuring: Measuring, *, vectors: bool) -> None:
    """One agent with many memories."""
    first_reading(home, measuring)
    for job in IDLE:
        measuring.once(f"{job}, nothing new", job)
    for words in READING:
        measuring.once(f"{words.split()[0]}", words)
    write_new(home)
    measuring.once(f"promote, {NEW_LINES} new lines", "promote")
    measuring.once("fsck", "fsck")
    measuring.once("forget one", f"forget m{time.time_ns() // 1000 % 900}")
    measuring.take("daemon", lambda: daemon(home))
    if vectors:
        measuring.take("recall by meaning", lambda: by_meaning(home))


def of_agents(home: Path, measuring: Measuring) -> None:
    """Many agents."""
    first_reading(home, measuring)
    for job in IDLE:
        measuring.once(f"{job}, nothing new", job)
    measuring.once("status", "status")
    measuring.once("doctor", "doctor")
    measuring.once("fsck", "fsck")
    measuring.take("daemon", lambda: daemon(home))


def write_new(home: Path) -> None:
    """Append to short-term what an agent says in an hour or so; a tenth is worth keeping."""
    said = texts(NEW_LINES, seed=11)
    with (home / "memory" / AGENT / "short_term.jsonl").open("a") as stream:
        for number, text in enumerate(said):
            worth = 0.9 if number < NEW_PROMOTED else 0.3
            fields = {"ts": time.time(), "content": f"{time.time_ns()} {text}", "importance": worth}
            stream.write(json.dumps(fields) + "\n")


def daemon(home: Path) -> Figures:
    """Start it, wait until it keeps the home, and watch it do nothing."""
    beat = home / "status" / "sky_heartbeat.json"
    beat.unlink(missing_ok=True)
    command = [sys.executable, "-m", "skymem", "--home", str(home), "run", "--no-catch-up"]
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
    try:
        while not beat.exists():
            if time.perf_counter() - start > START_SECONDS_MAX:
                sys.exit("the daemon does not start")
            time.sleep(0.05)
        started, worked = time.perf_counter() - start, processor_seconds(process.pid)
        time.sleep(2.0)
        before = processor_seconds(process.pid)
        time.sleep(IDLE_SECONDS)
        used = (processor_seconds(process.pid) - before) / IDLE_SECONDS
        resident = rss_bytes(process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    return {
        "wall_s": round(started, 3),
        "cpu_s": round(worked, 3),
        "rss_mb": round(resident / 1024**2, 1),
        "idle_cpu_percent": round(used * 100, 3),
    }


def by_meaning(home: Path) -> Figures:
    """Recall in the default mode, warm: this process's work, and all of the time it takes."""
    os.environ.pop("SKYMEM_ENGINE", None)
    opened = app.open_home(str(home))
    try:
        wait_for_index(opened)
        pass_some(opened)
        memory, took, worked = open_memory(AGENT, home=str(home)), [], []
        memory.recall("warm up")
        for number, text in enumerate(texts(QUERIES, 7)):
            start, cpu = time.perf_counter(), time.process_time()
            memory.recall(f"question {number}: {text[:60]}", limit=10)
            took.append(time.perf_counter() - start)
            worked.append(time.process_time() - cpu)
        status = json.loads((home / "status" / "engine.json").read_text())
        engine = rss_bytes(status["pid"])
    finally:
        opened.engine().leave()
    return {
        "wall_s": round(median(took), 4),
        "cpu_s": round(median(worked), 4),
        "rss_mb": round(engine / 1024**2, 1),
    }


def pass_some(home: app.Home) -> None:
    """Have the catalog know what has a vector, as the job that made them would."""
    epoch = str(home.engine().query(AGENT, "deadline", 1)["epoch"])
    with home.workplace().catalog() as catalog:
        cursors = IndexCursors(catalog, AGENT, epoch)
        for piece in islice(cursors.pieces("long", PIECE), VECTORS_MAX // PIECE):
            cursors.passed(piece)


def measure(root: Path, asked: argparse.Namespace) -> Figures:
    """All that was asked for, in one run."""
    found: Figures = {
        "run": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": 0.0,
        "agents": {},
        "memories": {},
    }

    def keep() -> None:
        found["load"] = max(found["load"], round(os.getloadavg()[1], 1))
        if asked.json:
            Path(asked.json).write_text(json.dumps(found, indent=1) + "\n")

    vectors = not asked.without_vectors
    for count in sorted(asked.memories, reverse=True):  # what takes longest first
        home = with_memories(root, count, vectors=vectors)
        figures = found["memories"].setdefault(str(count), {})
        of_memories(home, Measuring(home, figures, keep), vectors=vectors)
    for count in sorted(asked.agents, reverse=True):
        home = with_agents(root, count)
        figures = found["agents"].setdefault(str(count), {})
        of_agents(home, Measuring(home, figures, keep))
    return found


def first_reading(home: Path, measuring: Measuring) -> None:
    """Have the catalog and the word index made, once; what that took stays with the home."""
    told = home / "first_reading.json"
    if not told.exists():
        told.write_text(json.dumps(run(home, "promote")))
    measuring.take("first reading", lambda: dict(json.loads(told.read_text())))
    run(home, "merge")  # what a job has to look through once


def main(words: Sequence[str] = ()) -> None:
    """Measure, keep and draw."""
    reader = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    reader.add_argument("--memories", nargs="*", type=int, default=MEMORIES, metavar="N")
    reader.add_argument("--agents", nargs="*", type=int, default=AGENTS, metavar="N")
    reader.add_argument("--homes", metavar="DIRECTORY", help="where homes are kept")
    reader.add_argument("--json", metavar="FILE", help="keep the figures there")
    reader.add_argument("--plot", metavar="FILE", help="draw the curves; needs the extra `bench`")
    reader.add_argument("--without-vectors", action="store_true", help="no recall by meaning")
    asked = reader.parse_args(words)
    with tempfile.TemporaryDirectory() as temporary:
        found = measure(Path(asked.homes or temporary), asked)
    if not asked.json:
        print(json.dumps(found, indent=1))
    if asked.plot:
        from benchmarks.scale_page import draw

        draw(found, Path(asked.plot))


if __name__ == "__main__":
    main(sys.argv[1:])
