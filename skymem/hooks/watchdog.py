"""Work that may hang, in a process of its own: whoever waits for it touches no disk and no engine.

A thread or a signal would not do: a process that waits for a dead disk can't be interrupted, and
not even ended before the disk answers. So the work is done in a child, and the parent, which holds
the coding agent's pipes, waits on two pipes with a deadline and then leaves, whatever the child is
at. The child goes on for a while: what it catches up with (a word index after many new lines) is
there for the next, where a child that was ended at once would begin it anew each time.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Final, NamedTuple

PIECE_BYTES: Final = 65_536
STDIN_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of a hook's event: what a tool read may be large; what is larger is not taken in."""

LINGER_SECONDS: Final = 60
"""When the kernel ends a child that nobody waits for any more."""

ENDED_SECONDS: Final = 1.0
"""How long it may take a child that closed its pipes to be gone."""


class Done(NamedTuple):
    """What became of the work."""

    report: bytes | None
    """What it reported; None where it did not come to that."""

    said: str
    """What stood on its stderr, or why there is no report."""


class UnreadableError(ValueError):
    """What came on stdin is no event; says why."""


def read_all(fd: int, until: float) -> bytes:
    """Read to the end of what is sent, by a moment on the monotonic clock.

    What is too large is read to its end all the same: its writer would be told of a broken pipe.

    Raises:
        UnreadableError: it does not end in time, or is too large.
    """
    pieces: list[bytes] = []
    size = 0
    while select.select([fd], [], [], max(0.0, until - time.monotonic()))[0]:
        piece = os.read(fd, PIECE_BYTES)
        if not piece:
            break
        size += len(piece)
        if size <= STDIN_BYTES_MAX:
            pieces.append(piece)
    else:
        raise UnreadableError("what comes on stdin does not end")
    if size > STDIN_BYTES_MAX:
        raise UnreadableError(f"{size:,} bytes on stdin are more than {STDIN_BYTES_MAX:,}")
    return b"".join(pieces)


def within(
    until: float, work: Callable[[Callable[[bytes], None]], None], linger: int = LINGER_SECONDS
) -> Done:
    """Have `work` done in a child process; wait for its report until a moment, and no longer.

    `work` is given what to report by, once. What it does after that nobody waits for,
    and the kernel ends it `linger` seconds from its start.
    """
    report_in, report_out = os.pipe()
    said_in, said_out = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(linger)
        os.close(report_in)
        os.close(said_in)
        _work(work, report_out, said_out)
    os.close(report_out)
    os.close(said_out)
    report, said = _collect(report_in, said_in, until)
    if report.endswith(b"\n"):
        return Done(report, said)
    if time.monotonic() >= until:
        return Done(None, "no answer in time")
    return Done(None, said.strip() or _end_of(child))


def _work(work: Callable[[Callable[[bytes], None]], None], report_out: int, said_out: int) -> None:
    """Be the child: its stdio is nobody's, so that no reader waits for it; does not return."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    os.dup2(said_out, 2)
    os.close(said_out)

    def report(data: bytes) -> None:
        left = memoryview(data + b"\n")
        while left:
            left = left[os.write(report_out, left) :]
        os.close(report_out)
        sys.stderr.flush()
        os.dup2(nowhere, 2)

    work(report)
    sys.stderr.flush()
    os._exit(0)


def _collect(report_in: int, said_in: int, until: float) -> tuple[bytes, str]:
    """Read both pipes until the report is whole, both are closed, or time is up."""
    got = {report_in: bytearray(), said_in: bytearray()}
    waiting = {*got}
    while waiting and not got[report_in].endswith(b"\n"):
        ready = select.select([*waiting], [], [], max(0.0, until - time.monotonic()))[0]
        if not ready:
            break
        for fd in ready:
            piece = os.read(fd, PIECE_BYTES)
            got[fd] += piece
            if not piece:
                waiting.discard(fd)
    for fd in got:
        os.close(fd)
    return bytes(got[report_in]), got[said_in].decode(errors="replace")


def _end_of(child: int) -> str:
    """Say how a child ended that said nothing."""
    until = time.monotonic() + ENDED_SECONDS
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return f"it ended with {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.01)
    return "it ended without a word"
