"""`skymem top` on a real terminal: a pty, with a terminal emulator that says what is seen there."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyte
import pytest

from skymem.app import init_home

BUSY = 90.0  # seconds a busy machine may take
KEYS = {
    "Tab": "\t",
    "Shift+Tab": "\x1b[Z",
    "Enter": "\r",
    "Esc": "\x1b",
    "Up": "\x1b[A",
    "Down": "\x1b[B",
}


class Seen(pyte.Screen):
    """What a terminal shows; it passes over what it does not know, as real ones do."""


class Terminal:
    """A program on a terminal of its own, and what is seen there."""

    def __init__(
        self, command: list[str], environment: dict[str, str], columns: int = 80, lines: int = 24
    ) -> None:
        self.screen = Seen(columns, lines)
        self._stream = pyte.ByteStream(self.screen)
        self.written = b""
        self._fd, theirs = pty.openpty()
        self._theirs = os.ttyname(theirs)
        self._resize(columns, lines)
        self.before = termios.tcgetattr(theirs)
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
            preexec_fn=_own_terminal,  # noqa: PLW1509  (no thread of ours is about)
        )
        self.tty = theirs

    def _resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns: int, lines: int) -> None:
        """Make the terminal another size, as dragging a window does."""
        self.screen.resize(lines, columns)
        self._resize(columns, lines)

    def press(self, *keys: str) -> None:
        for key in keys:
            os.write(self._fd, KEYS.get(key, key).encode())

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def line(self, words: str) -> str:
        """The line on which these words stand."""
        return next((line for line in self.text.split("\n") if words in line), "")

    def read(self, seconds: float = 0.2) -> bool:
        """Take in what was written; False at its end."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            block = os.read(self._fd, 65536)
        except OSError:  # how the end of a terminal shows
            return False
        self.written += block
        self._stream.feed(block)
        return bool(block)

    def until(self, fact: "str | Callable[[Terminal], object]") -> str:
        """Wait until words are on the screen, or something is true of it; gives what is seen."""
        holds = fact if callable(fact) else (lambda seen: fact in seen.text)
        deadline = time.monotonic() + BUSY
        while not holds(self):
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None, self.written.decode(errors="replace")[-3000:]
            self.read()
        return self.text

    def end(self, number: signal.Signals | None = None) -> int:
        """Wait for its end, after a signal where one is named; gives its exit code."""
        if number is not None:
            self.process.send_signal(number)
        deadline = time.monotonic() + BUSY
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.text
            self.read()
        while select.select([self._fd], [], [], 0)[0] and self.read():
            pass
        return self.process.returncode

    def hang_up(self) -> None:
        """Take the terminal away, as a line that breaks does."""
        os.close(self.tty)
        os.close(self._fd)
        self.tty = self._fd = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in (self.tty, self._fd):
            with contextlib.suppress(OSError):
                os.close(fd)


def _own_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A new home."""
    init_home(tmp_path / "home")
    return tmp_path / "home"


def command(home: Path, *words: str) -> str:
    """A command of ours, which is to succeed; gives what it said."""
    program = [sys.executable, "-m", "skymem", "--home", str(home), *words]
    return subprocess.run(program, check=True, capture_output=True, text=True, timeout=BUSY).stdout


@pytest.fixture
def top(home: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts `skymem top` on a terminal."""
    made: list[Terminal] = []

    def start(
        *words: str, columns: int = 80, lines: int = 24, program: Any = None, **more: str
    ) -> Terminal:
        environment = {
            **{name: value for name, value in os.environ.items() if name != "NO_COLOR"},
            "TERM": "xterm-256color",
            "PYTHONWARNINGS": "error",
            **more,
        }
        for name in ("COLUMNS", "LINES"):
            environment.pop(name, None)
        called = program or [sys.executable, "-m", "skymem", "--home", str(home), *words, "top"]
        made.append(Terminal(called, environment, columns, lines))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def daemon(home: Path) -> Iterator[Callable[[], "subprocess.Popen[bytes]"]]:
    """Starts a daemon that keeps the home, and waits until it lives."""
    made: list[subprocess.Popen[bytes]] = []

    def start() -> "subprocess.Popen[bytes]":
        program = [sys.executable, "-m", "skymem", "--home", str(home), "run"]
        made.append(subprocess.Popen(program, stderr=subprocess.DEVNULL))
        beat = home / "status/sky_heartbeat.json"
        deadline = time.monotonic() + BUSY
        while not (beat.exists() and f'"pid": {made[-1].pid}' in beat.read_text()):
            assert made[-1].poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return made[-1]

    yield start
    for one in made:
        if one.poll() is None:
            one.terminate()
            try:
                one.wait(BUSY)
            except subprocess.TimeoutExpired:
                one.kill()
        one.wait()


def sgr(written: bytes) -> set[str]:
    """Every attribute that was asked of the terminal for its letters."""
    found = re.findall(rb"\x1b\[([\d;:]*)m", written)
    return {part for each in found for part in re.split("[;:]", each.decode())}
