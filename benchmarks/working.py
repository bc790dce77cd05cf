"""What working memory costs in process, warm, each beside its floor.

Run: python -m benchmarks.working
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import skymem
from benchmarks import floors
from skymem import app
from skymem.agent import AgentMemory

ROUNDS = 7
TIMES = 500
SNIPPET = "Half of the rows from May have no region, as the import of that month was cut short."


def microseconds(work: Callable[[], object], times: int = TIMES) -> float:
    """How long one call takes: the median of some rounds."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(times):
            work()
        rounds.append((time.perf_counter() - start) / times)
    return median(rounds) * 1e6


def tell(what: str, ours: float, floor: float, of: str, goal: str = "") -> None:
    """Print one line."""
    aim = f" (goal {goal})" if goal else ""
    print(f"{what}: {ours:.0f} µs{aim}; {of}: {floor:.1f} µs")


def scratchpad(memory: AgentMemory, root: Path) -> None:
    """Row W1: a full scratchpad read again, read after a write, and written to."""
    pad = memory.scratchpad
    pad.write(*(f"{number}: {SNIPPET}" for number in range(64)))
    known = {"default": pad.read()}
    stated = root / "memory" / memory.agent / "short_term.jsonl"
    tell(
        "scratchpad read",
        microseconds(pad.read),
        microseconds(lambda: (os.stat(stated), known["default"])),
        "one stat and a dict",
        "≤ 50 µs",
    )
    count = iter(range(10**9))

    def write() -> None:
        pad.write(f"{next(count)}: {SNIPPET}")

    line = stated.read_bytes().splitlines(keepends=True)[-1]
    beside = root / "floor.jsonl"
    unsynced = microseconds(lambda: floors.remember(beside, line, synced=False))
    tell("scratchpad write", microseconds(write), unsynced, "open, flock, one write, close")

    def both() -> None:
        write()
        pad.read()

    tell(
        "scratchpad write, then read", microseconds(both), unsynced, "open, flock, one write, close"
    )


MEASURED: tuple[Callable[[AgentMemory, Path], None], ...] = (scratchpad,)


def main() -> None:
    """Print each, in a home of its own."""
    for measure in MEASURED:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            app.init_home(Path(name))
            measure(skymem.open_memory("sky", home=name), Path(name))


if __name__ == "__main__":
    main()
