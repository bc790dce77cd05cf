"""A real daemon in a real process, on a home in `tmp_path`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


class DaemonProcess:
    """One process of `driver.py`, and what can be seen of it from outside."""

    def __init__(self, home: Path, process: subprocess.Popen[str]) -> None:
        self.home = home
        self.process = process

    def wait_for(self, what: Callable[[], Any], *, seconds: float = 60) -> Any:
        """Wait until `what` gives something true, and return it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := what():
                return found
            time.sleep(0.02)
        self.process.kill()
        pytest.fail(f"waited {seconds} s; runs: {self.log()}\n{self.process.communicate()[1]}")

    def log(self) -> list[str]:
        """What the children noted: `start NAME PID TIME`."""
        path = self.home / "log"
        return path.read_text().splitlines() if path.exists() else []

    def noted(self, start: str) -> list[str]:
        return [line for line in self.log() if line.startswith(start)]

    def heartbeat(self) -> dict[str, Any]:
        return read(self.home / "status/sky_heartbeat.json")

    def record(self, name: str) -> dict[str, Any]:
        found = read(self.home / "state/runs.json").get("entries", {}).get(name, {})
        return dict(found)

    def started(self) -> None:
        self.wait_for(lambda: self.heartbeat().get("pid") == self.process.pid)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, *, seconds: float = 60) -> tuple[int, str]:
        """Wait for the end and return the exit code and the log on stderr."""
        _, stderr = self.process.communicate(timeout=seconds)
        return self.process.returncode, stderr

    def end_now(self) -> tuple[int, str]:
        """The second signal, when the first was seen."""
        self.wait_for(lambda: self.heartbeat()["state"] == "stopping")
        self.signal(signal.SIGTERM)
        return self.end()

    def stop(self) -> tuple[int, str]:
        self.signal(signal.SIGTERM)
        return self.end()


def read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return {}


StartDaemon = Callable[..., DaemonProcess]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def daemon(home: Path) -> Iterator[StartDaemon]:
    """Start `driver.py VERB HOME SCHEDULE FLAGS…`; what is left of it at the end is killed."""
    made: list[DaemonProcess] = []

    def start(*entries: dict[str, Any], verb: str = "keep", **more: Any) -> DaemonProcess:
        driver = ROOT / "tests/daemon" / more.get("driver", "driver.py")
        command = [sys.executable, str(driver), verb, str(home)]
        process = subprocess.Popen(
            [*more.get("prefix", []), *command, json.dumps(entries), *more.get("flags", [])],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT), **more.get("env", {})},
        )
        made.append(DaemonProcess(home, process))
        return made[-1]

    yield start
    for each in made:
        if each.process.poll() is None:
            each.process.kill()
            each.process.communicate()


@pytest.fixture
def remember_runs(home: Path) -> Callable[..., None]:
    """Write `state/runs.json` as an earlier daemon left it, times in seconds before now."""

    def write(**ages: float) -> None:
        now = time.time()
        entries = {
            name: {"first_seen": now - age, "last_start": now - age} for name, age in ages.items()
        }
        (home / "state").mkdir(exist_ok=True)
        (home / "state/runs.json").write_text(json.dumps({"entries": entries}))

    return write
