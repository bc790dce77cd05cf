"""A home that is only touched from outside: the command in processes of its own, and files."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "skymem")
PROCESS_SECONDS = 60.0
START = 1_700_000_000


@dataclass(frozen=True)
class Told:
    """What one command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def firsts(self, count: int = 1) -> list[str]:
        """The texts that a recall found first."""
        return [one["content"] for one in self.json["results"][:count]]


def line(content: str, importance: float = 0.9, **more: Any) -> bytes:
    fields = {"ts": START, "content": content, "importance": importance, **more}
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


@dataclass
class Outside:
    """The home of one test."""

    paths: HomePaths

    @property
    def short_term(self) -> Path:
        return self.paths.agent("sky").short_term

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [*COMMAND, "--home", str(self.paths.root), *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd="/")

    def __call__(self, *words: str, seconds: float = PROCESS_SECONDS) -> Told:
        return told_by(self.start(*words), seconds)

    def done(self, *words: str) -> Any:
        """What a command that has to succeed tells in JSON."""
        told = self(*words, "--json")
        assert told.code == 0, told
        return told.json

    def echo(self, *lines: bytes) -> None:
        for each in lines:
            with self.short_term.open("ab", buffering=0) as stream:
                stream.write(each)

    def engine_pid(self) -> int:
        """The process that holds the engine's lock; 0 where none does."""
        found = re.search(r"process (\d+)", holder_of(self.paths.engine_lock))
        return int(found[1]) if found else 0

    def end_engine(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal and wait until it has gone; which process it was."""
        pid = self.engine_pid()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            wait_until(lambda: self.engine_pid() != pid, "the engine has left")
        return pid

    def close(self) -> None:
        """Leave no engine behind, whatever state it is in."""
        with contextlib.suppress(AssertionError):
            self.end_engine()
        self.end_engine(signal.SIGKILL)


def told_by(process: subprocess.Popen[str], seconds: float = PROCESS_SECONDS) -> Told:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Told(process.returncode, out, err)


def wait_until(true: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    """Wait for a thing another process does."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not in {seconds} s: {what}"
        time.sleep(0.02)


def whole(found: Mapping[str, Any], agent: str = "sky") -> list[str]:
    """What `skymem index --stats --json` finds wrong with an index; nothing where it is whole."""
    one = found["agents"][agent]
    wrong = [
        f"{name} has {compared[key]} {key}"
        for name, compared in one["compared"].items()
        for key in ("missing", "stale")
        if compared[key]
    ]
    stats = one["stats"]
    wrong += [f"{key}: {stats[key]}" for key in ("missing", "extra", "owed") if stats[key]]
    wrong += [f"building: {stats['building']}"] if stats["building"] else []
    sample = stats["sample"]
    if sample["found"] < 0.9 * sample["asked"] or not sample["asked"]:
        wrong.append(f"sample: {sample}")
    return wrong
