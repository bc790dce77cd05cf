"""`skymem hook prompt`, whole process: with an engine, by words, with the engine hung, cold.

Run: python -m benchmarks.hooks
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

from benchmarks.promote import make_lines
from skymem import app

ROUNDS = 11
LINES = 5_000
EVENT = json.dumps(
    {"hook_event_name": "UserPromptSubmit", "prompt": "which insight was important?"}
)


def measure(name: str, home: str, environment: Mapping[str, str], rounds: int = ROUNDS) -> None:
    """Print the median and the worst of several prompts."""
    command = [sys.executable, "-P", "-m", "skymem", "--home", home, "--agent", "sky"]
    took, answered = [], 0
    for _ in range(rounds):
        start = time.perf_counter()
        done = subprocess.run(
            [*command, "hook", "prompt"], input=EVENT, capture_output=True, text=True, check=True,
            env={**os.environ, **environment},
        )  # fmt: skip
        took.append((time.perf_counter() - start) * 1000)
        answered += "no memory for this prompt" not in done.stderr
    print(
        f"hook prompt, {name}: median {median(took):.0f} ms, worst {max(took):.0f} ms, "
        f"in time {answered}/{rounds} (goal: 300 ms warm)"
    )


def main() -> None:
    """Measure each state of the engine."""
    with tempfile.TemporaryDirectory() as name:
        app.init_home(Path(name))
        make_lines(Path(name) / "memory" / "sky" / "short_term.jsonl", LINES)
        home = app.open_home(name)
        home.run_job("promote")
        measure("no engine", name, {})
        measure("first with new bytecode", name, {"PYTHONPYCACHEPREFIX": f"{name}/cold"}, 1)
        home.run_job("index")
        engine = home.engine()
        engine.query("sky", "hello", 1)
        measure("engine running", name, {})
        pid = json.loads((Path(name) / "status" / "engine.json").read_bytes())["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            measure("engine hung", name, {})
        finally:
            os.kill(pid, signal.SIGCONT)
            engine.leave()


if __name__ == "__main__":
    main()
