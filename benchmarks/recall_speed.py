"""Recall: warm, beside a Chroma query and one encode in process; cold, as a whole process.

Run: python -m benchmarks.recall [MEMORIES…]
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median, quantiles

from benchmarks.indexing import rss_megabytes
from benchmarks.texts import texts
from skymem import app, open_memory

SIZES = (1_000, 10_000, 100_000)
QUERIES = 100
COLD_ROUNDS = 5
LIMIT = 10


def milliseconds(call: Callable[[str], object], queries: Sequence[str]) -> list[float]:
    """How long each of the calls takes."""
    found = []
    for query in queries:
        start = time.perf_counter()
        call(query)
        found.append((time.perf_counter() - start) * 1000)
    return found


def fill(name: str, count: int) -> None:
    """Write long-term and, with made-up vectors, the index of it: encoding would take hours."""
    home = app.open_home(name)
    directory = home.paths.agent("sky").directory
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "long_term.jsonl").open("w") as stream:
        for number, text in enumerate(texts(count)):
            stream.write(f'{{"ts": {1.7e9 + number}, "content": "{text}", "id": "m{number}"}}\n')
    # In a process of its own, so that this one's memory and libraries stay as a client's are.
    subprocess.run([sys.executable, "-m", "benchmarks.filled_index", name], check=True)


def cold_seconds(name: str, *, leave: bool) -> float:
    """One `skymem recall`, with or without an engine that runs."""
    command = [sys.executable, "-m", "skymem", "--home", name, "recall", "when is the deadline"]
    took = []
    for _ in range(COLD_ROUNDS):
        engine = app.open_home(name).engine()
        if leave:
            engine.leave()
            while engine.running():
                time.sleep(0.05)
        else:
            engine.overview()
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took.append(time.perf_counter() - start)
    return median(took)


def measure(count: int) -> None:
    """Print the figures of one size."""
    with tempfile.TemporaryDirectory() as name:
        app.init_home(Path(name))
        fill(name, count)
        queries = [
            f"question {number}: {text[:60]}" for number, text in enumerate(texts(QUERIES, 7))
        ]
        floor = subprocess.check_output(
            [sys.executable, "-m", "benchmarks.raw_recall", name, str(LIMIT), *queries], text=True
        )
        memory = open_memory("sky", home=name)
        engine = app.open_home(name).engine()
        while engine.stats("sky", 1)["sample"]["asked"] == 0:  # until it is open and verified
            time.sleep(0.1)

        def by_meaning(text: str) -> object:
            return memory.recall(text, mode="semantic", limit=LIMIT)

        by_meaning("warm up")
        meaning = milliseconds(by_meaning, queries)
        some = queries[:5] if count > 10_000 else queries
        auto = milliseconds(lambda text: memory.recall(text, limit=LIMIT), some)
        running = cold_seconds(name, leave=False) if count == SIZES[0] else None
        absent = cold_seconds(name, leave=True) if count == SIZES[0] else None
        rss = rss_megabytes(app.open_home(name))
        engine.leave()
    least = float(floor)
    print(
        f"recall by meaning, warm, {count:,}: {median(meaning):.1f} ms, p99 {_p99(meaning):.1f} "
        f"(goal ≤ 100), ratio to the floor {median(meaning) / least:.2f} (goal ≤ 1.5); "
        f"auto {median(auto):.0f} ms"
    )
    print(f"  engine with {count:,} vectors: {rss:.0f} MB (goal < 700)")
    if running is not None and absent is not None:
        print(
            f"  cold process: {running:.2f} s with an engine (goal ≤ 0.4), "
            f"{absent:.2f} s without (goal ≤ 3.5)"
        )


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def main() -> None:
    """Measure each size."""
    os.environ.pop("SKYMEM_ENGINE", None)
    for count in [int(word) for word in sys.argv[1:]] or SIZES:
        measure(count)


if __name__ == "__main__":
    main()
