"""A run with nothing to do, at a thousand and at a million long-term memories.

Run: python -m benchmarks.idle_run
"""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.promote import make_lines
from skymem import app

ROUNDS = 15


def seconds_of_idle_run(root: Path, lines: int) -> float:
    """Median seconds of a promote that finds nothing, in a home with that much in long-term."""
    app.init_home(root)
    agent = root / "memory" / "sky"
    make_lines(agent / "long_term.jsonl", lines)
    (agent / "short_term.jsonl").touch()
    home = app.open_home(str(root))
    home.run_job("promote")  # reads long-term into the catalog, once
    os.sync()  # what the first reading left to write is not part of an idle run
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        home.run_job("promote")
        times.append(time.perf_counter() - start)
    return median(times)


def main() -> None:
    """Print both and their ratio."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        small = seconds_of_idle_run(Path(name) / "small", 1_000)
        large = seconds_of_idle_run(Path(name) / "large", 1_000_000)
    print(
        f"a run with nothing to do: {small * 1000:.1f} ms at 1,000 long-term memories, "
        f"{large * 1000:.1f} ms at 1,000,000, ratio {large / small:.2f} (goal: 1)"
    )


if __name__ == "__main__":
    main()
