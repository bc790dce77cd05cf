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
from benchmarks.texts import texts
from skymem import app
from skymem.agent import AgentMemory
from skymem.stores.lock import holder_of

ROUNDS = 7
TIMES = 500
PREFERENCES = 100
FOUND = 100
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


def preferences(memory: AgentMemory, root: Path) -> None:
    """Rows W3, W5 and W7: a preference by its id, what applies, and by likeness with the engine."""
    kept = memory.preferences
    situations = [*texts(2 * PREFERENCES + FOUND)]
    for number in range(PREFERENCES):
        kept.update(f"key {number}", situations[number][:200], user_id=f"user{number % 10}")
        kept.add_rule(f"rule {number}", when={"persona": f"p{number}"}, effect={"depth": "deep"})
    home = app.open_home(str(root))
    home.run_job("promote")
    home.run_job("index")
    stated = root / "memory" / memory.agent / "short_term.jsonl"
    floor = microseconds(lambda: os.stat(stated))
    last = f"key {PREFERENCES - 1}"
    user = f"user{(PREFERENCES - 1) % 10}"
    by_id = microseconds(lambda: kept.get(last, user_id=user))
    tell("preference by its id", by_id, floor, "one stat", "≤ 1000 µs")
    applied = microseconds(lambda: kept.apply({"persona": "p7"}, user_id=user), TIMES // 10)
    tell(f"{2 * PREFERENCES} preferences applied", applied, floor, "one stat")
    asked = iter(situations[PREFERENCES:] * ROUNDS)
    assert kept.find(next(asked)).mode == "meaning"
    engine = home.engine()
    encoded = microseconds(lambda: engine.likeness(next(asked), ["x"]), FOUND // 10)
    found = microseconds(lambda: kept.find(next(asked)), FOUND // 10)
    tell("preference by likeness", found, encoded, "one encode by the engine", "≤ 50 ms")
    engine.leave()
    while holder_of(home.paths.engine_lock):  # it still puts its files in order
        time.sleep(0.05)


MEASURED: tuple[Callable[[AgentMemory, Path], None], ...] = (scratchpad, preferences)


def main() -> None:
    """Print each, in a home of its own."""
    for measure in MEASURED:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            app.init_home(Path(name))
            measure(skymem.open_memory("sky", home=name), Path(name))


if __name__ == "__main__":
    main()
