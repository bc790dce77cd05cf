"""Durable `remember` beside open + flock + append + fsync + close.

Run: python -m benchmarks.remember
"""

import tempfile
import time
from pathlib import Path
from statistics import median

import skymem
from benchmarks import floors
from skymem import app

ROUNDS = 7
WRITES = 300
TEXT = "User wants daily sleep reports at 7am with speech"


def main() -> None:
    """Print the ratio, round by round in turn, so that a drifting machine slows both."""
    ratios, times = [], []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        root = Path(name)
        app.init_home(root)
        memory = skymem.open_memory("sky", home=name)
        line = b'{"ts": 1700000000.123, "type": "short", "content": "' + TEXT.encode() + b'"}\n'
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(WRITES):
                memory.remember(TEXT, tags=["preference"], importance=0.9)
            ours = (time.perf_counter() - start) / WRITES
            start = time.perf_counter()
            for _ in range(WRITES):
                floors.remember(root / "floor.jsonl", line)
            ratios.append(ours / ((time.perf_counter() - start) / WRITES))
            times.append(ours)
    print(
        f"remember: {median(times) * 1e6:.0f} µs, ratio to the floor {median(ratios):.2f} "
        f"(goal ≤ 1.5)"
    )


if __name__ == "__main__":
    main()
