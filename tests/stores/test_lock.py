"""Locks are `flock` on permanent files: a deadline, a name, no way in by accident (B10 to B16)."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.errors import BusyError, InterruptedRunError, NotAllowedError
from skymem.stores.lock import held, holder_of

ROOT = Path(__file__).parents[2]

SOON = 60  # seconds: far less than the holder stays, far more than a busy machine needs

HOLDER = """
import os, sys, time
from pathlib import Path
from skymem.stores.lock import held
with held(Path(sys.argv[1]), "promote", deadline_seconds=5):
    print(os.getpid(), flush=True)
    time.sleep(300)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lock"


@pytest.fixture
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_waiting_ends_at_the_deadline_and_names_the_holder(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    started = time.monotonic()
    with (
        pytest.raises(BusyError, match=f"held by process {holder.pid} .promote.") as caught,
        held(path, "rotate", deadline_seconds=0.2),
    ):
        pass
    assert 0.2 <= time.monotonic() - started < SOON
    assert caught.value.exit_code == 11
    assert holder_of(path) == f"process {holder.pid} (promote)"


def test_a_signal_ends_the_waiting_within_moments(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    started = time.monotonic()
    with (
        pytest.raises(InterruptedRunError, match="SIGTERM"),
        held(path, "rotate", deadline_seconds=200, stop=lambda: "SIGTERM"),
    ):
        pass
    assert time.monotonic() - started < SOON
    assert holder.poll() is None


def test_a_killed_holder_frees_the_lock_and_the_file_stays(
    path: Path, holder: subprocess.Popen[str]
) -> None:
    inode = path.stat().st_ino
    holder.kill()
    with held(path, "rotate", deadline_seconds=5):
        assert path.stat().st_ino == inode
    assert path.stat().st_ino == inode
    assert holder_of(path) == ""


def test_nobody_holds_a_lock_that_was_never_taken(path: Path) -> None:
    assert holder_of(path) == ""
    assert not path.exists()


def test_a_lock_without_a_name_is_a_lock(path: Path) -> None:
    with (
        held(path, "", deadline_seconds=1),
        pytest.raises(BusyError),
        held(path, "", deadline_seconds=0),
    ):
        pass
    assert path.read_bytes() == b""


def test_opening_and_closing_the_file_elsewhere_frees_nothing(path: Path) -> None:
    """What a POSIX lock would do (B11)."""
    with held(path, "promote", deadline_seconds=1):
        path.read_bytes()
        with pytest.raises(BusyError), held(path, "rotate", deadline_seconds=0):
            pass


def test_a_lock_file_that_is_a_link_is_refused_and_its_victim_stays(
    path: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    with (
        pytest.raises(NotAllowedError, match="is a symbolic link; remove it"),
        held(path, "promote", deadline_seconds=1),
    ):
        pass
    assert victim.read_bytes() == b"precious"


def test_a_new_lock_is_for_the_owner_alone_and_a_shared_one_for_the_group(path: Path) -> None:
    old = os.umask(0)
    try:
        with held(path, "promote", deadline_seconds=1):
            assert path.stat().st_mode & 0o777 == 0o600
        with held(path, "append", deadline_seconds=1, mode=0o660):
            assert path.stat().st_mode & 0o777 == 0o660
    finally:
        os.umask(old)


FORK = """
import os, sys
from pathlib import Path
from skymem.errors import BusyError
from skymem.stores.lock import held
path = Path(sys.argv[1])
try:
    with held(path, "promote", deadline_seconds=1):
        child = os.fork()
        if child == 0:
            raise KeyboardInterrupt  # leaves the block, in the child
        os.waitpid(child, 0)
        try:
            with held(path, "rotate", deadline_seconds=0):
                print("free")
        except BusyError:
            print("held")
except KeyboardInterrupt:
    os._exit(0)
"""


def test_a_forked_child_that_leaves_does_not_free_its_parents_lock(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == "held\n"


COUNTER = """
import sys
from pathlib import Path
from skymem.stores.lock import held
path, total = Path(sys.argv[1]), Path(sys.argv[2])
for _ in range(100):
    with held(path, "count", deadline_seconds=60):
        total.write_text(str(int(total.read_text()) + 1))
"""


def test_only_one_holds_it_at_a_time(path: Path, tmp_path: Path) -> None:
    total = tmp_path / "total"
    total.write_text("0")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COUNTER, str(path), str(total)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for _ in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    assert total.read_text() == "400"
