"""An append is told to be safe only when it is; one that fails leaves nothing behind."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem import app
from skymem.errors import DiskError
from skymem.stores.files import Files

from . import world
from .faulty import FailingFiles, FaultyFiles, FullFiles, UnsyncedFiles
from .world import AGENT, ROOT, look

BEFORE = world.line("before", 0.1)
NEW = world.line("new", 0.2)
OTHER = world.line("from-elsewhere", 0.3)
CHILD_SECONDS = 60


@pytest.fixture
def home(disk: Path) -> Path:
    app.init_home(disk / "home")
    (disk / "home" / AGENT / "short_term.jsonl").write_bytes(BEFORE)
    return disk / "home"


def append(home: Path, data: bytes, files: Files | None = None) -> None:
    opened = app.open_home(str(home))
    if files is not None:
        opened.files = files
    opened.shelf("sky").append([data])


def short_term(home: Path) -> bytes:
    return (home / AGENT / "short_term.jsonl").read_bytes()


def lines(home: Path) -> list[bytes]:
    """Lines without the blank ones every reader passes over."""
    return [line + b"\n" for line in short_term(home).split(b"\n") if line]


class CrowdedFiles(FaultyFiles):
    """The sync fails, and by then another process has appended behind what it was for."""

    def __init__(self, short_term: Path) -> None:
        super().__init__()
        self._short_term = short_term

    def fsync(self, fd: int) -> None:
        with self._short_term.open("ab") as other:
            other.write(OTHER)
        self.fired = True
        raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda: FullFiles(1), id="short write, then full"),
        pytest.param(lambda: FailingFiles(2, errno.ENOSPC), id="full"),
        pytest.param(lambda: UnsyncedFiles(1), id="not synced"),
        pytest.param(lambda: FailingFiles(1, errno.EACCES), id="not opened"),
    ],
)
def test_a_failed_append_leaves_nothing_and_a_retry_doubles_nothing(
    home: Path, fault: Callable[[], FaultyFiles]
) -> None:
    files = fault()
    with pytest.raises(DiskError):
        append(home, NEW, files)
    assert files.fired
    assert short_term(home) == BEFORE
    append(home, NEW)
    assert short_term(home) == BEFORE + NEW


def test_what_others_wrote_behind_a_failed_append_stays(home: Path) -> None:
    files = CrowdedFiles(home / AGENT / "short_term.jsonl")
    with pytest.raises(DiskError):
        append(home, NEW, files)
    assert files.fired
    assert lines(home) == [BEFORE, OTHER]
    append(home, NEW)
    assert lines(home) == [BEFORE, OTHER, NEW]


def test_a_torn_tail_keeps_a_line_of_its_own(home: Path) -> None:
    (home / AGENT / "short_term.jsonl").write_bytes(BEFORE + world.TORN)
    append(home, NEW)
    assert short_term(home) == BEFORE + world.TORN + b"\n" + NEW


def test_a_last_memory_without_its_newline_is_kept_beside_the_new_one(home: Path) -> None:
    (home / AGENT / "short_term.jsonl").write_bytes(BEFORE.rstrip(b"\n"))
    append(home, NEW)
    assert short_term(home) == BEFORE + NEW


LIMITED = """
import resource, sys
from skymem import app
from skymem.errors import DiskError
home, limit = sys.argv[1], int(sys.argv[2])
shelf = app.open_home(home).shelf("sky")
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    shelf.append([sys.stdin.buffer.read()])
except DiskError as error:
    sys.exit(error.exit_code)
"""


@pytest.mark.parametrize("room", [0, 1, len(NEW) - 1])
def test_a_limit_on_file_size_is_an_error_and_not_half_a_line(home: Path, room: int) -> None:
    limit = len(BEFORE) + room
    ended = child(LIMITED, home, str(limit), data=NEW)
    assert ended.returncode == DiskError.exit_code, ended.stderr
    assert short_term(home) == BEFORE
    append(home, NEW)
    assert short_term(home) == BEFORE + NEW


def child(
    program: str, home: Path, *arguments: str, data: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", program, str(home), *arguments],
        input=data, capture_output=True, timeout=CHILD_SECONDS, cwd=ROOT, check=False,
    )  # fmt: skip


MANY = """
import json, random, sys
from skymem import app
shelf = app.open_home(sys.argv[1]).shelf("sky")
writer, count = int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(writer)
for number in range(count):
    size = chance.randint(16 * 1024, 64 * 1024)
    fields = {"ts": number, "content": f"{writer}-{number}", "filling": "x" * size}
    shelf.append([json.dumps(fields).encode() + b"\\n"])
    print(f"{writer}-{number}", flush=True)
"""


def test_eight_writers_at_once_never_mix_their_lines(home: Path) -> None:
    writers, count = 8, 100
    processes = [start_writer(home, number, count) for number in range(writers)]
    try:
        told = [process.communicate(timeout=CHILD_SECONDS)[0].split() for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    expected = {f"{writer}-{number}" for writer in range(writers) for number in range(count)}
    assert {name for names in told for name in names} == expected
    found = [world.memories(line) for line in lines(home)]
    assert sorted(one["content"] for (one,) in found) == sorted([*expected, "before"])


def start_writer(home: Path, number: int, count: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", MANY, str(home), str(number), str(count)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT)


@pytest.mark.parametrize("after", [1, 2, 5, 9, 14])
def test_a_killed_writer_loses_nothing_it_was_told_is_safe(home: Path, after: int) -> None:
    process = start_writer(home, 1, 10_000)
    assert process.stdout is not None
    told = [process.stdout.readline().strip() for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    told += process.communicate(timeout=CHILD_SECONDS)[0].split()
    assert process.returncode == -signal.SIGKILL
    append(home, NEW)
    world.run(home, "promote")
    names = look(home).tiers["short"]
    assert {name: names[name] for name in [*told, "before", "new"]} == dict.fromkeys(
        [*told, "before", "new"], 1
    )
