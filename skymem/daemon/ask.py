"""Asking the daemon that keeps a home: to run an entry, or to start an engine that is its to start.

`daemon.triggers` and `daemon.engine_link` are the other ends.
"""

import contextlib
import fcntl
import json
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skymem.daemon.triggers import (
    ANSWERED,
    ASKED,
    ASKING,
    BUSY,
    DIED,
    REFUSED,
    TAKEN,
    UNTOLD,
    Answer,
    read_answer,
    triggers_directory,
)
from skymem.errors import (
    BusyError,
    DaemonGoneError,
    DiskError,
    InterruptedRunError,
    UsageError,
)
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of
from skymem.stores.status import StatusFiles

POLL_SECONDS: Final = 0.05
LOOK_SECONDS: Final = 0.5
"""How often the asker looks whether the daemon lives: each look takes its lock for an instant."""

TAKE_SECONDS: Final = 20.0
"""A daemon looks every few seconds; one that took nothing for so long hangs, or can't."""

INSIDE: Final = "SKYMEM_UNDER_DAEMON"
"""Set for the daemon's children: what they start is inside the service already."""

ONCE: Final = "--once"
"""In the holder's name: `skymem run --once` takes no requests, and ends by itself."""


_NO_ANSWER: Final = "the daemon could not write how the run of {} ended; see: skymem jobs"


@dataclass(frozen=True, slots=True)
class _Request:
    directory: Path
    identity: str
    files: Files

    def path(self, suffix: str) -> Path:
        return self.directory / (self.identity + suffix)

    def was_taken(self) -> bool:
        """Whether the daemon has it in hand, or is done with it."""
        return any(self.path(suffix).exists() for suffix in (TAKEN, ANSWERED, UNTOLD))

    def withdraw(self) -> bool:
        """Take the request back; False where the daemon has it already."""
        with disk_errors(self.path(ASKED)):
            try:
                self.files.unlink(self.path(ASKED))
            except FileNotFoundError:
                return False
        return True


def ask_daemon(
    paths: HomePaths,
    files: Files,
    name: str,
    *,
    stop: Callable[[], str],
    tell: Callable[[str], None],
) -> Answer | None:
    """Have the daemon run the entry `name`, and wait for what becomes of it.

    Args:
        paths: the home.
        files: how its files are written.
        name: the entry.
        stop: names the signal that asks us to end, "" while none came.
        tell: called with what a person should know meanwhile.

    Returns:
        The answer, its exit code the run's; None where no daemon keeps the home (any more) that
        could: then nothing was begun.

    Raises:
        BusyError: the entry's run is in hand, or the daemon takes no requests.
        UsageError: the daemon doesn't know the entry.
        DaemonGoneError: it took the request and was gone.
        InterruptedRunError: a signal came; a run that had begun goes on.
        DiskError: no request can be left, or no answer could.
    """
    holder = holder_of(paths.daemon_lock)
    if not holder or ONCE in holder:
        return None
    with _asked(paths, files, name) as request:
        nudge(paths)
        tell(f"carried out by the daemon: {holder}")
        answer = _wait(paths, request, name, stop, tell)
    if answer is None:
        return None
    if answer.state == BUSY:
        raise BusyError(f"the entry {name}", answer.reason)
    if answer.state == REFUSED:
        raise UsageError(answer.reason)
    if answer.state == DIED:
        raise DaemonGoneError(name)
    return answer


def _wait(
    paths: HomePaths,
    request: _Request,
    name: str,
    stop: Callable[[], str],
    tell: Callable[[str], None],
) -> Answer | None:
    started = time.monotonic()
    look_at, taken = started + LOOK_SECONDS, False
    while (answer := read_answer(request.path(ANSWERED))) is None:
        if signal_name := stop():
            if not request.withdraw():
                tell("the daemon goes on with the run; see: skymem jobs")
            raise InterruptedRunError(signal_name)
        if time.monotonic() >= look_at:
            look_at = time.monotonic() + LOOK_SECONDS
            holder = holder_of(paths.daemon_lock)
            if not holder:
                return _left_alone(request)
            taken = taken or request.was_taken()
            if request.path(UNTOLD).exists():
                raise DiskError(request.directory, _NO_ANSWER.format(name))
            late = not taken and time.monotonic() >= started + TAKE_SECONDS
            if late and (request.withdraw() or not request.was_taken()):
                raise BusyError(f"the entry {name}", f"{holder}, which takes no request")
        time.sleep(POLL_SECONDS)
    return answer


def _left_alone(request: _Request) -> Answer | None:
    """What a daemon that is gone leaves: nothing begun (None), its answer, or no word."""
    if request.withdraw():
        return None
    return read_answer(request.path(ANSWERED)) or Answer(DIED)


@contextlib.contextmanager
def _asked(paths: HomePaths, files: Files, name: str) -> Iterator[_Request]:
    """Leave a request for the block; its file is locked all the while, and gone in the end."""
    directory = triggers_directory(paths)
    files.make_directory(directory)
    request = _Request(directory, secrets.token_hex(8), files)
    with disk_errors(directory):
        try:
            fd = _write(request, name)
        except FileNotFoundError:  # swept away in the instant before it was locked
            fd = _write(request, name)
    try:
        yield request
    finally:
        for suffix in (ASKED, TAKEN, ANSWERED, UNTOLD):
            with disk_errors(directory), contextlib.suppress(FileNotFoundError):
                files.unlink(request.path(suffix))
        os.close(fd)


def _write(request: _Request, name: str) -> int:
    making = request.directory / f".{request.identity}{ASKING}"
    fd = request.files.create(making)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        request.files.write(fd, json.dumps({"name": name}).encode())
        request.files.rename(making, request.path(ASKED))
    except OSError:
        os.close(fd)
        with contextlib.suppress(OSError):
            request.files.unlink(making)
        raise
    return fd


def ask_for_engine(paths: HomePaths, files: Files, environment: Mapping[str, str]) -> bool:
    """Ask the daemon to start the engine, where it is the daemon's to start; whether that is so.

    Raises:
        DiskError: no request can be left.
    """
    if INSIDE in environment or not holder_of(paths.daemon_lock):
        return False
    if not (StatusFiles(paths, files).read_heartbeat() or {}).get("managed"):
        return False
    with disk_errors(paths.engine_wanted), contextlib.suppress(FileExistsError):
        os.close(files.create(paths.engine_wanted))
    nudge(paths)
    return True


def nudge(paths: HomePaths) -> bool:
    """Wake the daemon at once with SIGUSR1; returns whether that was safe to do.

    Not sent unless the kernel itself says that this very process holds the daemon's lock and
    handles the signal: its default ends a process. A daemon that isn't woken looks by itself soon.
    """
    told = re.match(r"process (\d+) \(", holder_of(paths.daemon_lock))
    if told is None:
        return False
    pid = int(told[1])
    try:
        handle = os.pidfd_open(pid)  # from here on the number can't come to mean another process
    except OSError:
        return False
    try:
        safe = _holds(pid, paths.daemon_lock) and _handles(pid, signal.SIGUSR1)
        if safe:
            signal.pidfd_send_signal(handle, signal.SIGUSR1)
    except OSError:
        return False
    finally:
        os.close(handle)
    return safe


def _holds(pid: int, lock: Path) -> bool:
    """Whether the kernel's list of locks has it: `1: FLOCK ADVISORY WRITE pid dev:inode …`."""
    inode = os.stat(lock).st_ino
    with open("/proc/locks", encoding="ascii") as stream:
        rows = [line.split() for line in stream]
    return any(
        row[1] == "FLOCK" and row[4] == str(pid) and row[5].endswith(f":{inode}")
        for row in rows
        if len(row) > 5
    )


def _handles(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler of its own for a signal: SigCgt, a mask in hex."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as stream:
        masks = [line.split()[1] for line in stream if line.startswith("SigCgt:")]
    return bool(masks) and bool(int(masks[0], 16) >> (number - 1) & 1)
