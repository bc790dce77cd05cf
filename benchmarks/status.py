"""`skymem status`, cold, beside `python -c "import typer"`.

Run: python -m benchmarks.status
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.promote import make_lines
from skymem import app

ROUNDS = 21


def seconds(command: Sequence[str]) -> float:
    """Wall time of one whole process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Print the ratio, pair by pair."""
    with tempfile.TemporaryDirectory() as name:
        app.init_home(Path(name))
        make_lines(Path(name) / "memory" / "sky" / "short_term.jsonl", 5_000)
        app.open_home(name).run_job("memory_rotate_check")
        ours = [sys.executable, "-m", "skymem", "--home", name, "status"]
        floor = [sys.executable, "-c", "import typer"]
        pairs = [(seconds(ours), seconds(floor)) for _ in range(ROUNDS)]
    took = median(one for one, _ in pairs)
    ratio = median(one / least for one, least in pairs)
    print(f"status, cold: {took * 1000:.0f} ms, ratio to the floor {ratio:.2f} (goal ≤ 2)")


if __name__ == "__main__":
    main()
