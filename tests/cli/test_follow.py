"""`status --follow`: in a pipe what happens, on a terminal a picture that stays true."""

import contextlib
import itertools
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem.app import Home, open_home
from skymem.stores import status
from tests.cli.conftest import Shell

BUSY = 60  # seconds a busy machine may take


class Follower:
    """A `status --follow` in a process of its own, and what it printed so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", fd: int) -> None:
        self.process = process
        self.text = ""
        self._fd = fd

    def until(self, words: str, *, seconds: float = BUSY) -> str:
        """Read until it printed `words`."""
        deadline = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < deadline, self.text
            self.read()
        return self.text

    def read(self, seconds: float = 0.2) -> None:
        if select.select([self._fd], [], [], seconds)[0]:
            with contextlib.suppress(OSError):  # a terminal whose program ended
                self.text += os.read(self._fd, 65536).decode()

    def lines(self, count: int) -> list[str]:
        deadline = time.monotonic() + BUSY
        while self.text.count("\n") < count:
            assert time.monotonic() < deadline, self.text
            self.read()
        return self.text.splitlines()

    def told(self, enough: Callable[[list[tuple[int, bool]]], bool]) -> list[tuple[int, bool]]:
        """Lines in short-term, and whether there is a pause, by each document until `enough`."""
        count = 1
        while True:
            documents = [json.loads(line) for line in self.lines(count)[:count]]
            states = [
                (one["agents"][0]["tiers"]["short"]["count"], bool(one["paused"]))
                for one in documents
            ]
            if enough(states):
                return states
            count += 1

    def listening(self) -> None:
        """Wait until it handles signals."""
        deadline = time.monotonic() + BUSY
        mask = 1 << (signal.SIGTERM - 1)
        while True:
            told = Path(f"/proc/{self.process.pid}/status").read_text()
            found = re.search(r"SigCgt:\s*(\w+)", told)
            if found and int(found[1], 16) & mask:
                break
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def looking(self, home: Home) -> None:
        """Wait until it tells what happens; what it told meanwhile is forgotten."""
        deadline = time.monotonic() + BUSY
        while "is it there?" not in self.text:
            assert time.monotonic() < deadline
            home.record("promote", {"ok": False, "error": "is it there?"})
            self.read()
        home.record("promote", {"ok": False, "error": "it is."})
        self.until("it is.")
        self.text = ""

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=BUSY)


@pytest.fixture
def following(shell: Shell) -> Iterator[Any]:
    made: list[subprocess.Popen[bytes]] = []

    def start(
        *words: str, before: tuple[str, ...] = (), stdout: int = subprocess.PIPE
    ) -> "subprocess.Popen[bytes]":
        at_home = [sys.executable, "-m", "skymem", "--home", str(shell.home)]
        command = [*at_home, *before, "status", "--follow"]
        env = {**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": ""}
        made.append(
            subprocess.Popen([*command, *words], stdout=stdout, stderr=subprocess.PIPE, env=env)
        )
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.communicate()


def piped(process: "subprocess.Popen[bytes]") -> Follower:
    assert process.stdout is not None
    return Follower(process, process.stdout.fileno())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pipe_gets_a_line_for_each_action_from_now_on(
    shell: Shell, following: Any, number: signal.Signals
) -> None:
    shell("promote")
    follower = piped(following())
    follower.looking(open_home(str(shell.home)))
    shell("remember", "x", "--importance", "0.9")
    shell("rotate")
    shell("promote")
    first, second = follower.lines(2)

    assert re.fullmatch(r"20\d\d-.* rotate: 0 archived, 1 remain in short-term.*", first)
    assert " promote: 1 promoted" in second
    assert follower.end(number) == 0
    assert follower.process.stderr is not None
    assert follower.process.stderr.read() == b""


def test_with_an_agent_it_follows_that_agent_alone(shell: Shell, following: Any) -> None:
    shell("remember", "x")
    shell("--agent", "hobbs", "remember", "x")
    actions = piped(following(before=("--agent", "hobbs")))
    documents = piped(following("--json", before=("--agent", "hobbs")))
    actions.looking(open_home(str(shell.home)))
    shell("--agent", "sky", "promote")
    shell("--agent", "hobbs", "rotate")

    (line,) = actions.lines(1)
    assert " rotate: " in line
    assert [one["name"] for one in json.loads(documents.lines(1)[0])["agents"]] == ["hobbs"]


def test_rotation_loses_no_action_and_repeats_none(
    shell: Shell, following: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "ACTIONS_BYTES_MAX", 1000)
    home = open_home(str(shell.home))
    follower = piped(following())
    follower.looking(home)
    for number in range(16):  # six a file, and three are kept: however late it looks
        home.record("promote", {"ok": False, "error": f"number {number}."})
    follower.until("number 15.")
    told = [int(number) for number in re.findall(r"number (\d+)\.", follower.text)]

    assert (shell.home / "status/actions.jsonl.1").exists()
    assert told == list(range(16))


def test_status_files_that_are_removed_begin_anew(shell: Shell, following: Any) -> None:
    home = open_home(str(shell.home))
    for _ in range(3):
        home.record("promote", {"ok": False, "error": "before"})
    follower = piped(following())
    follower.looking(home)
    for name in ("actions.jsonl", "sky_last_action.json"):
        (shell.home / "status" / name).unlink()
    home.record("promote", {"ok": False, "error": "after"})

    assert follower.until("after").count("\n") == 1


def test_json_is_a_whole_document_a_line_at_each_change(shell: Shell, following: Any) -> None:
    follower = piped(following("--json"))
    follower.lines(1)
    shell("remember", "x", "--importance", "0.9")
    follower.told(lambda one: one[-1] == (1, False))
    shell("pause", "memory_rotate_check")
    states = follower.told(lambda one: one[-1][1])

    # A look between two writes of one change tells the same twice.
    assert [state for state, _ in itertools.groupby(states)] == [(0, False), (1, False), (1, True)]
    assert follower.end() == 0


def test_nothing_is_printed_while_nothing_happens(following: Any) -> None:
    follower = piped(following("--json"))
    follower.lines(1)
    for _ in range(10):
        follower.read()

    assert follower.text.count("\n") == 1


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_it_ends_when_its_reader_is_gone(following: Any, words: list[str]) -> None:
    """Though nothing happens that it could print."""
    follower = piped(following(*words))
    follower.listening()
    follower.process.stdout.close()  # type: ignore[union-attr]

    assert follower.process.wait(timeout=BUSY) == 0
    assert follower.process.stderr is not None
    assert follower.process.stderr.read() == b""


def test_a_terminal_is_redrawn_in_place(shell: Shell, following: Any) -> None:
    ours, theirs = pty.openpty()
    follower = Follower(following(stdout=theirs), ours)
    os.close(theirs)
    follower.until("healthy")
    open_home(str(shell.home)).record("promote", {"ok": False, "error": "\x1b[31mfull"})
    follower.until("degraded")
    follower.until("promote failed: \\u001b[31mfull")

    assert follower.text.count("\x1b[2J") == 1, "cleared once, then written over"
    assert follower.text.count("\x1b[H") >= 2
    assert follower.end() == 0
    os.close(ours)
