"""Promote 100,000 lines, 1 % of them promoted, beside a bare script; and the memory of a million.

Run: python -m benchmarks.promote
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks import floors

LINES = 100_000
MANY_LINES = 1_000_000
ROUNDS = 5
THRESHOLD = 0.70


def make_lines(path: Path, lines: int) -> None:
    """Write lines as agents do, every hundredth worth promoting."""
    with path.open("w") as stream:
        for number in range(lines):
            fields = {
                "ts": 1_700_000_000 + number * 0.731,
                "type": "short",
                "content": f"step {number}: read src/module_{number % 97}.py, found the cause of "
                f"issue #{number % 1013}; the retry at 07:{number % 60:02d} went through",
                "tags": ["tool", f"module_{number % 97}"],
                "importance": 0.9 if number % 100 == 0 else 0.3,
            }
            stream.write(json.dumps(fields) + "\n")


def ours(root: Path, lines: int) -> tuple[float, int]:
    """Seconds of plan and apply in a process of its own, and its peak memory in KiB."""
    program = (
        "import sys, time; from pathlib import Path; from skymem import app;"
        "home = app.open_home(sys.argv[1]); start = time.perf_counter();"
        "detail, _ = home.run_job('promote'); took = time.perf_counter() - start;"
        "assert detail['promoted'] == int(sys.argv[2]), detail;"
        "status = Path('/proc/self/status').read_text();"  # getrusage tells a parent's peak, too
        "print(took, status.split('VmHWM:')[1].split()[0])"
    )
    from skymem import app

    app.init_home(root)
    make_lines(root / "memory" / "sky" / "short_term.jsonl", lines)
    command = [sys.executable, "-c", program, str(root), str(lines // 100)]
    # Embedding has a benchmark of its own: here the lines are told as owed, and nothing is started.
    without = {**os.environ, "SKYMEM_ENGINE": "off"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=without)
    took, peak = done.stdout.split()
    return float(took), int(peak)


def floor(root: Path, lines: int) -> float:
    """Seconds of the bare script."""
    root.mkdir()
    make_lines(root / "short_term.jsonl", lines)
    start = time.perf_counter()
    promoted = floors.promote(root, THRESHOLD)
    took = time.perf_counter() - start
    assert promoted == lines // 100
    return took


def main() -> None:
    """Print the ratio, pair by pair, and the memory."""
    ratios, times, bare = [], [], []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        for number in range(ROUNDS):
            took, _ = ours(Path(name) / f"ours{number}", LINES)
            least = floor(Path(name) / f"floor{number}", LINES)
            times.append(took)
            bare.append(least)
            ratios.append(took / least)
        print(
            f"promote {LINES:,} lines, 1 % promoted: {median(times):.3f} s, floor "
            f"{median(bare):.3f} s, ratio {median(ratios):.2f} (goal ≤ 1.3)"
        )
        took, peak = ours(Path(name) / "many", MANY_LINES)
        print(f"promote {MANY_LINES:,} lines: {took:.1f} s, RSS {peak / 1024:.0f} MB (goal < 150)")


if __name__ == "__main__":
    main()
