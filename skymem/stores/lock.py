"""Locks: `flock` on permanent files, with a deadline, naming who holds them.

Order, everywhere: job lock → append lock → ledger lock → status lock. `flock`, because a POSIX lock
vanishes when its process closes any descriptor of the file; permanent files, because unlinking one
lets a second holder in (hazards B10 to B13).
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from skymem.errors import BusyError, InterruptedRunError, NotAllowedError
from skymem.stores.files import disk_errors

POLL_SECONDS: Final = 0.005
HOLDER_BYTES_MAX: Final = 200


def never_stopped() -> str:
    """Say that nobody asked to stop: the stop flag of callers without one."""
    return ""


@contextlib.contextmanager
def held(
    path: Path,
    holder: str,
    *,
    deadline_seconds: float,
    stop: Callable[[], str] = never_stopped,
    mode: int = 0o600,
) -> Iterator[None]:
    """Hold the lock file `path` for the block; `holder` is what others are told meanwhile.

    An empty `holder` writes nothing: for locks held so briefly and often that the write would cost
    more than the work. Others then learn the process from the kernel's own list.

    `stop` is looked at while waiting: what it returns, if anything, names the signal that came.

    Raises:
        BusyError: someone else held it for `deadline_seconds`.
        InterruptedRunError: a signal came while waiting.
    """
    fd = _open(path, mode)
    try:
        _wait(fd, path, time.monotonic() + deadline_seconds, stop)
        pid = os.getpid()
        if holder:
            with contextlib.suppress(OSError):  # a courtesy: a full disk can't refuse the lock
                told = f"process {pid} ({holder})".encode()
                os.pwrite(fd, told, 0)
                if os.fstat(fd).st_size > len(told):  # ext4 syncs what is cut off to nothing
                    os.ftruncate(fd, len(told))
        try:
            yield
        finally:
            # A forked child shares the lock: its copy must not free its parent's (hazard B10).
            if os.getpid() == pid:
                fcntl.flock(fd, fcntl.LOCK_UN)
    finally:
        os.close(fd)


def holder_of(path: Path) -> str:
    """Name who holds the lock now, or "" when it is free."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(fd)
    finally:
        os.close(fd)
    return ""


def _open(path: Path, mode: int) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotAllowedError(f"lock file {path} is a symbolic link; remove it") from error
        with disk_errors(path):
            raise
    status = os.fstat(fd)
    if mode != 0o600 and status.st_uid == os.geteuid() and status.st_mode & 0o777 != mode:
        os.fchmod(fd, mode)
    return fd


def _wait(fd: int, path: Path, deadline: float, stop: Callable[[], str]) -> None:
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if signal_name := stop():
                raise InterruptedRunError(signal_name) from None
            if time.monotonic() >= deadline:
                raise BusyError(str(path), _read_holder(fd)) from None
            time.sleep(POLL_SECONDS)
        else:
            return


def _read_holder(fd: int) -> str:
    text = os.pread(fd, HOLDER_BYTES_MAX, 0).decode(errors="replace")
    return text or _ask_kernel(fd) or "a process that has not said its name"


def _ask_kernel(fd: int) -> str:
    """Find the holder in the kernel's list of locks: `1: FLOCK ADVISORY WRITE pid dev:inode …`."""
    inode = os.fstat(fd).st_ino
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return ""
    for line in lines:
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
            return f"process {fields[4]}"
    return ""
