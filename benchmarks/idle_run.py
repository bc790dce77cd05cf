"""A run with nothing to do, at a thousand and at a million long-term memories.

Run: python -m benchmarks.idle_run
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.promote import make_lines
from skymem import app

ROUNDS = 15
JOBS = ("memory_rotate_check", "compress", "merge", "prune")


def seconds_of_idle_runs(root: Path, lines: int) -> dict[str, float]:
    """Median seconds of each job that finds nothing, in a home with that much in long-term.

    By the rules a memory of a hundred years goes, so that prune has to ask for old ones, too.
    """
    app.init_home(root)
    agent = root / "memory" / "sky"
    (root / "retention_rules.yaml").write_text(
        "prune: {older_than: 36500d, importance_below: 0.1}\n"
    )
    make_lines(agent / "long_term.jsonl", lines)
    (agent / "short_term.jsonl").touch()
    home = app.open_home(str(root))
    start = time.perf_counter()
    home.run_job("promote")  # reads long-term into the catalog and the word index, once
    took = time.perf_counter() - start
    print(f"  {lines:,} lines are read into catalog and word index in {took:.1f} s")
    os.sync()  # what the first reading left to write is not part of an idle run
    found = {}
    for job in JOBS:
        home.run_job(job)  # what it has to look through once
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            detail, _ = home.run_job(job)
            times.append(time.perf_counter() - start)
            if not detail["ok"] or detail["acted"]:
                sys.exit(f"{job} was not idle: {detail}")
        found[job] = median(times)
    return found


def main() -> None:
    """Print both of each job, and their ratio."""
    os.environ["SKYMEM_ENGINE"] = "off"
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        small = seconds_of_idle_runs(Path(name) / "small", 1_000)
        large = seconds_of_idle_runs(Path(name) / "large", 1_000_000)
    for job in JOBS:
        print(
            f"{job} with nothing to do: {small[job] * 1000:.1f} ms at 1,000 long-term memories, "
            f"{large[job] * 1000:.1f} ms at 1,000,000, "
            f"ratio {large[job] / small[job]:.2f} (goal: 1)"
        )


if __name__ == "__main__":
    main()
