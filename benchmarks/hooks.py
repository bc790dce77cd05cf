"""`skymem hook prompt`, whole process: warm and cold, by meaning and by words, and where it hangs.

Run: python -m benchmarks.hooks

Beside it what a process costs that does nothing, and CPU time, which other work on the machine
disturbs less than it does the clock.
"""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.promote import make_lines
from skymem import app
from skymem.hooks import quick
from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of

ROUNDS = 11
SERIES = 3
HUNG_ROUNDS = 7
LINES = 5_000
EVENT = json.dumps(
    {"hook_event_name": "UserPromptSubmit", "prompt": "what was the cause of issue #404?"}
).encode()
NOTHING = ("pass", "import json, socket")
PATIENT = {"SKYMEM_HOOK_SECONDS": "60"}
WARM_SECONDS = 60.0


def measure(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str] = {},
    series: int = SERIES,
    rounds: int = ROUNDS,
) -> None:
    """Print the best median of several series, the worst of all, and the CPU time of one."""
    medians, worst, cpu, told = [], 0.0, 0.0, b""
    for _ in range(series):
        took = []
        for _ in range(rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            start = time.perf_counter()
            done = subprocess.run(
                command, input=EVENT, capture_output=True, check=True,
                env={**os.environ, **environment},
            )  # fmt: skip
            took.append((time.perf_counter() - start) * 1000)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            told = done.stderr
        medians.append(median(took))
        worst = max(worst, *took)
    said = told.decode().strip().split("\n")[-1]
    print(
        f"{name:34} median {min(medians):5.0f} ms, worst {worst:5.0f} ms, "
        f"CPU {cpu / series / rounds * 1000:4.0f} ms  load {os.getloadavg()[0]:.1f}  {said}",
        flush=True,
    )


def prompt(home: str) -> list[str]:
    """The command as `skymem hook install` spells it."""
    words = ("--home", home, "--agent", "sky", "hook", "prompt")
    return [sys.executable, "-P", "-m", "skymem", *words]


def warm_up(home: str) -> None:
    """Have a prompt start what keeps recall at hand, and wait for it."""
    patient = {**os.environ, **PATIENT}
    subprocess.run(prompt(home), input=EVENT, capture_output=True, check=True, env=patient)
    ends = time.monotonic() + WARM_SECONDS
    while (connection := quick.dial(home)) is None:
        if time.monotonic() > ends:
            raise SystemExit("nothing keeps recall at hand")
        time.sleep(0.05)
    connection.close()
    subprocess.run(prompt(home), input=EVENT, capture_output=True, check=True, env=patient)


def pid_of(lock: Path) -> int:
    """Who holds a lock."""
    found = re.search(r"process (\d+)", holder_of(lock))
    if found is None:
        raise SystemExit(f"nobody holds {lock}")
    return int(found[1])


def main() -> None:
    """Measure each state of the engine, and of what keeps recall at hand."""
    for program in NOTHING:
        measure(f"python -c '{program}'", [sys.executable, "-c", program])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        app.init_home(Path(name))
        make_lines(Path(name) / "memory" / "sky" / "short_term.jsonl", LINES)
        home = app.open_home(name)
        home.run_job("promote")
        no_engine = {"SKYMEM_ENGINE": "off"}
        off = {quick.OFF_VARIABLE: "off", **no_engine}
        measure("cold bytecode", prompt(name), {**off, "PYTHONPYCACHEPREFIX": f"{name}/cold"}, 1, 1)
        measure("cold: nothing at hand", prompt(name), off)
        warm_up(name)
        measure("warm, no engine", prompt(name), no_engine)
        measure("the same, given time", prompt(name), {**no_engine, **PATIENT})
        home.run_job("index")
        engine = home.engine()
        engine.query("sky", "hello", 1)
        try:
            _with_engine(name)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid_of(HomePaths(Path(name)).hook_lock), signal.SIGKILL)
            engine.leave()


def _with_engine(name: str) -> None:
    paths = HomePaths(Path(name))
    measure("warm, engine running", prompt(name))
    measure("the same, given time", prompt(name), PATIENT)
    engine, standby = pid_of(paths.engine_lock), pid_of(paths.hook_lock)
    with stopped(engine):
        measure("engine hung", prompt(name))
    with stopped(standby):  # a hung one is ended after some seconds: few rounds
        measure("what keeps it at hand hung", prompt(name), {}, 1, HUNG_ROUNDS)


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Have a process hang for the block, unless somebody ends it meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


if __name__ == "__main__":
    main()
