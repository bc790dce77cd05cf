"""A home whose engine is a process of its own, and what tests look at and break from outside."""

import contextlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skymem.engine.client import Engine
from skymem.engine.launch import COMMAND
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in.py")))
REAL = COMMAND


def wait_until(true: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    """Wait for a thing another process does."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.005)


@dataclass
class EngineHome:
    """The home, and clients of its engine."""

    paths: HomePaths
    command: tuple[str, ...] = STAND_IN
    rules: EngineRules = field(default_factory=EngineRules)
    _clients: list[Engine] = field(default_factory=list)

    def say(self, **how: Any) -> None:
        """Set what stand-ins started from now on are like."""
        (self.paths.root / "stand_in.json").write_text(json.dumps(how))

    def client(self, rules: EngineRules | None = None, **more: Any) -> Engine:
        made = Engine(self.paths, Files(), rules or self.rules, command=self.command, **more)
        self._clients.append(made)
        return made

    def pid(self) -> int:
        """The process that holds the engine's lock; 0 where none does."""
        found = re.search(r"process (\d+)", holder_of(self.paths.engine_lock))
        return int(found[1]) if found else 0

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send the engine a signal, and say which process got it."""
        pid = self.pid()
        assert pid, "there is no engine to kill"
        os.kill(pid, number)
        return pid

    def gone(self, seconds: float = 60.0) -> None:
        wait_until(lambda: not self.pid(), "the engine has left", seconds)

    def lines(self, name: str) -> list[str]:
        path = self.paths.root / name
        return path.read_text().splitlines() if path.exists() else []

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.paths.engine_status.read_text())
        return found

    def end(self) -> None:
        for each in self._clients:
            each.close()
        pid = self.pid()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
            self.gone()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[EngineHome]:
    """A home with the stand-in for an engine."""
    made = EngineHome(HomePaths(tmp_path / "home"))
    made.paths.root.mkdir()
    made.say()
    yield made
    made.end()
