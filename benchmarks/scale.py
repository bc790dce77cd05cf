"""What each operation costs by how much is stored: one agent with a million memories, 1,000 agents.

Run: python -m benchmarks.scale [--json FILE] [--plot FILE] [--memories N…] [--agents N…]

One run makes its homes (under $TMPDIR: some gigabytes), measures all rows in them, says on
stderr how far it is, and takes them away. Each operation is a process of its own, as a person or
the schedule starts it; told are its wall time, its work (user and system time of the processor) and
its peak of memory. Of what an operation finds new there is as much at every size. There is no
engine but for the rows about meaning and about `index`: see `benchmarks/scale_engine.py`.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.recall_home import AGENT
from benchmarks.scale_daemon import Daemon, watch
from benchmarks.scale_engine import by_meaning, index_what_is_owed
from benchmarks.scale_homes import VECTORS_MAX, with_agents, with_memories
from benchmarks.scale_process import Figures, run, say
from benchmarks.texts import texts

MEMORIES = (1_000, 10_000, 100_000, 1_000_000)
AGENTS = (1, 10, 50, 200, 1_000)
NEW_LINES = 100
NEW_PROMOTED = 10

IDLE = ("promote", "rotate", "compress", "merge", "prune")
"""Jobs that find nothing new."""

READING = ("status", "recall deadline --mode deterministic", "doctor")


class Measuring(NamedTuple):
    """One home, operation by operation; each is told, and kept, as it is done."""

    home: Path
    figures: Figures

    def take(self, name: str, call: Callable[[], Figures]) -> None:
        """Measure one."""
        self.keep(name, call())

    def once(self, name: str, words: str) -> None:
        """Measure one command."""
        self.take(name, lambda: run(self.home, words))

    def keep(self, name: str, found: Figures) -> None:
        """Keep what was measured."""
        self.figures[name] = found
        say(f"{self.home.name}: {name}: {found}")


def of_memories(measuring: Measuring, count: int, vectors: int) -> None:
    """One agent with many memories, the first `vectors` of which have vectors."""
    first_reading(measuring)
    for words in READING:
        measuring.once(words.split()[0], words)
    write_new(measuring.home)
    measuring.once(f"promote, {NEW_LINES} new lines", "promote")
    measuring.once("fsck", "fsck")
    measuring.once("forget one", "forget m7")
    if vectors:
        measuring.take("recall by meaning", lambda: by_meaning(measuring.home, vectors))
        measuring.once("index, counting what is owed", "index --dry-run")
    if 0 < vectors < count:
        for name, found in index_what_is_owed(measuring.home):
            measuring.keep(name, found)


def of_agents(measuring: Measuring) -> None:
    """Many agents."""
    first_reading(measuring)
    for words in ("status", "doctor", "fsck"):
        measuring.once(words, words)


def first_reading(measuring: Measuring) -> None:
    """Have all made and looked through that is once; then nothing is new."""
    measuring.once("first reading", "promote")
    measuring.once("first merge", "merge")
    for job in IDLE:
        measuring.once(f"{job}, nothing new", job)


def write_new(home: Path) -> None:
    """Append to short-term what an agent says in an hour or so; a tenth is worth keeping."""
    said = texts(NEW_LINES, seed=11)
    with (home / "memory" / AGENT / "short_term.jsonl").open("a") as stream:
        for number, text in enumerate(said):
            worth = 0.9 if number < NEW_PROMOTED else 0.3
            fields = {"ts": time.time(), "content": f"{time.time_ns()} {text}", "importance": worth}
            stream.write(json.dumps(fields) + "\n")


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
    each = []
    for measuring in _each_home(root, asked, found):
        found["load"] = max(found["load"], round(os.getloadavg()[1], 1))
        each.append(measuring)
    daemons = watch([Daemon(one.home) for one in each])
    for one, told in zip(each, daemons, strict=True):
        one.keep("daemon", told)
    return found


def _each_home(root: Path, asked: argparse.Namespace, found: Figures) -> Iterator[Measuring]:
    """Make and measure one home after the other, what takes longest first."""
    for count in sorted(asked.memories, reverse=True):
        say(f"making a home of {count:,} memories")
        home = with_memories(root, count, vectors=asked.vectors)
        measuring = Measuring(home, found["memories"].setdefault(str(count), {}))
        of_memories(measuring, count, asked.vectors)
        yield measuring
    for count in sorted(asked.agents, reverse=True):
        say(f"making a home of {count:,} agents")
        measuring = Measuring(with_agents(root, count), found["agents"].setdefault(str(count), {}))
        of_agents(measuring)
        yield measuring


def main(words: Sequence[str] = ()) -> None:
    """Measure, keep and draw."""
    reader = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=(__doc__ or "").splitlines()[0]
    )
    reader.add_argument("--memories", nargs="*", type=int, default=MEMORIES, metavar="N")
    reader.add_argument("--agents", nargs="*", type=int, default=AGENTS, metavar="N")
    reader.add_argument(
        "--vectors", type=int, default=VECTORS_MAX, metavar="N",
        help="of one agent's memories so many have vectors; 0: no row needs an engine",
    )  # fmt: skip
    reader.add_argument("--json", metavar="FILE", help="keep the figures there; else on stdout")
    reader.add_argument("--plot", metavar="FILE", help="draw the curves; needs the extra `bench`")
    asked = reader.parse_args(words)
    if asked.plot:
        from benchmarks.scale_page import draw  # what it lacks is told before, not after
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="skymem-scale-") as temporary:
        found = measure(Path(temporary), asked)
    say(f"all of it in {(time.monotonic() - begun) / 60:.0f} minutes")
    told = json.dumps(found, indent=1) + "\n"
    if asked.json:
        Path(asked.json).write_text(told)
    else:
        sys.stdout.write(told)
    if asked.plot:
        draw(found, Path(asked.plot))


if __name__ == "__main__":
    main(sys.argv[1:])
