"""The command line, called as a shell calls it: its words in, exit code, stdout and stderr out."""

import contextlib
import io
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from skymem.cli import entry

RULES = "promote_threshold: 0.70\nshort_term_max_lines: 5000\n"
OWNER, OTHER = 61_001, 61_002
"""Two users nobody is; a uid needs no entry in /etc/passwd."""


@dataclass(frozen=True)
class Told:
    """What one command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document that stdout holds, whole."""
        return json.loads(self.out)


class Others:
    """Users who may not reach the interpreter: a driver that has loaded all becomes them."""

    def __init__(self) -> None:
        self._driver: subprocess.Popen[str] | None = None

    def run(self, uid: int, words: list[str], groups: tuple[int, ...]) -> Told:
        """Run a command line in a process of its own."""
        asked = {"uid": uid, "groups": groups, "words": words, "place": os.getcwd()}
        with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
            asked |= {"out": out.name, "err": err.name, "environment": {**os.environ}}
            code = self._ask(json.dumps(asked))
            return Told(code, out.read().decode(), err.read().decode())

    def _ask(self, request: str) -> int:
        if self._driver is None:
            command = [sys.executable, str(Path(__file__).with_name("as_user.py"))]
            pipe = subprocess.PIPE
            self._driver = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd="/")
        assert self._driver.stdin is not None
        assert self._driver.stdout is not None
        self._driver.stdin.write(request + "\n")
        self._driver.stdin.flush()
        return int(self._driver.stdout.readline())

    def close(self) -> None:
        """End the driver, where one was needed."""
        if self._driver is not None:
            self._driver.communicate(timeout=60)


OTHERS: Final = Others()
"""One driver for all tests: each command it runs is a process of its own."""


def texts(status: dict[str, Any]) -> list[str]:
    """The alarms of a document, in words."""
    return [one["text"] for one in status["alarms"]]


@dataclass
class Shell:
    """Runs the command on one home."""

    home: Path
    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    @property
    def agent_directory(self) -> Path:
        return self.home / "memory/sky"

    @property
    def short_term(self) -> Path:
        return self.agent_directory / "short_term.jsonl"

    def alarms(self, *words: str) -> list[str]:
        """What `status` says is wrong, in words."""
        return texts(self(*words, "status", "--json").json)

    def __call__(self, *words: str, stdin: bytes = b"") -> Told:
        """In this process, through the one boundary that prints errors: for breadth."""
        return self.bare("--home", str(self.home), *words, stdin=stdin)

    def bare(self, *words: str, stdin: bytes = b"") -> Told:
        """The same, but the home is left to be found."""
        self.monkeypatch.setattr(sys, "argv", ["skymem", *words])
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self.capture.readouterr()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        with pytest.raises(SystemExit) as ended:
            entry.main()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)  # `run` ends with signals kept back
        out, err = self.capture.readouterr()
        code = ended.value.code
        return Told(code if isinstance(code, int) else int(bool(code)), out, err)

    def process(self, *words: str, stdin: bytes = b"", **more: Any) -> Told:
        """In a process of its own."""
        command = [sys.executable, "-m", "skymem", "--home", str(self.home), *words]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60}
        done = subprocess.run(command, check=False, input=stdin, **{**streams, **more})
        return Told(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())

    def on_a_terminal(self, columns: int, *words: str) -> str:
        """In a process of its own whose stdout is a terminal; gives what that shows."""
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "skymem", "--home", str(self.home), *words]
        environment = {**os.environ, "COLUMNS": str(columns)}
        shown = b""
        with subprocess.Popen(command, stdout=theirs, env=environment) as process:
            os.close(theirs)
            with contextlib.suppress(OSError):  # how the end of a terminal shows
                while block := os.read(ours, 65536):
                    shown += block
            os.close(ours)
            assert process.wait(60) == 0
        return shown.decode().replace("\r\n", "\n")

    def as_user(self, uid: int, *words: str, groups: tuple[int, ...] = ()) -> Told:
        """In a process of its own, as another user; only root can ask for it."""
        return OTHERS.run(uid, ["--home", str(self.home), *words], groups)

    def snapshot(self) -> dict[str, bytes]:
        """Every file of the home that is not derived, with its bytes."""
        derived = ("state/", "run/")
        names = {str(path.relative_to(self.home)): path for path in self.home.rglob("*")}
        return {
            name: path.read_bytes()
            for name, path in names.items()
            if path.is_file() and not name.startswith(derived) and not name.endswith(".lock")
        }


@pytest.fixture(autouse=True)
def boundary_left_clean() -> Iterator[None]:
    """`main` sets the umask and the job verbs handle signals: a test leaves neither behind."""
    umask = os.umask(0o022)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    os.umask(umask)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session", autouse=True)
def others_end_with_us() -> Iterator[None]:
    """No driver is left behind."""
    yield
    OTHERS.close()


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    """The command, on a new home."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # where `demo` makes its home
    made = Shell(tmp_path / "home", monkeypatch, capsys)
    made.bare("init", str(made.home))
    return made
