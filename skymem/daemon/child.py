"""One scheduled run: a child process in its own group, watched to its end.

Spawned, never forked, so that a run is the same code path as the CLI (design §5); a timeout or the
daemon's own end kills the whole group (hazards C9 and C10).
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

TICK_SECONDS: Final = 0.2
"""How soon a timeout or a signal is noticed while a run is in hand; an idle daemon has no ticks."""

KILL_AFTER_SECONDS: Final = 5.0
"""What a child gets between SIGTERM and SIGKILL to finish its step."""

GIVE_UP_SECONDS: Final = 5.0
"""How long SIGKILL may take: a child stuck in a dead disk's call can't keep the daemon here."""

OUTPUT_BYTES_MAX: Final = 1024 * 1024
"""Bounds the memory a child's report can take; a job's detail is some kilobytes."""

READ_BYTES: Final = 65536

READS_LEFT_MAX: Final = OUTPUT_BYTES_MAX // READ_BYTES + 1
"""Bounds what is read once the child has ended: one it left behind may go on writing for ever."""

CANNOT_START: Final = 127
"""The exit code of a child that never was, as shells have it."""

TIMED_OUT: Final = 124
"""The exit code of a child that ended with 0 only when its time was over, as timeout(1) has it."""


class Ending(Protocol):
    """Who says when children must end: `Stop`."""

    @property
    def terminate_at(self) -> float:
        """When those still running are sent SIGTERM, on the monotonic clock."""


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended."""

    exit_code: int
    """128 + N where signal N ended it."""

    detail: dict[str, Any] = field(default_factory=dict)
    """The JSON object it printed, {} where it printed none."""

    error: str | None = None
    """What was wrong as seen from outside; None where the child ended by itself with a code."""

    interrupted: bool = False
    """It was ended because the daemon ends."""


def run_child(command: Sequence[str], *, timeout_seconds: float, stop: Ending) -> ChildEnd:
    """Run `command` to its end, its stderr ours, and say how it went; raises nothing.

    After `timeout_seconds`, or when `stop` says so, its group gets SIGTERM and later SIGKILL.
    """
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        reason = f"can't start {command[0]}: {error.strerror or error}"
        return ChildEnd(CANNOT_START, error=reason)
    with contextlib.closing(_Watch(process, timeout_seconds, stop)) as watch:
        return watch.to_the_end()


class _Watch:
    """Reads what a child prints until it ends, and ends it when it must."""

    def __init__(
        self, process: subprocess.Popen[bytes], timeout_seconds: float, stop: Ending
    ) -> None:
        self._process = process
        self._timeout_seconds = timeout_seconds
        self._deadline = time.monotonic() + timeout_seconds
        self._stop = stop
        self._output = bytearray()
        self._fd = process.stdout.fileno() if process.stdout else -1
        self._open = True
        self._reason = ""
        self._interrupted = False
        self._kill_at = self._give_up_at = float("inf")
        os.set_blocking(self._fd, False)

    def close(self) -> None:
        if self._process.stdout:
            self._process.stdout.close()

    def to_the_end(self) -> ChildEnd:
        while self._process.poll() is None:
            self._wait_a_tick()
            now = time.monotonic()
            if now >= self._give_up_at:
                return ChildEnd(128 + signal.SIGKILL, error=f"{self._reason}; it can't be killed")
            self._end_it_when_due(now)
        if self._reason:
            # What it started and left behind goes with it.
            self._signal_group(signal.SIGKILL)
        for _ in range(READS_LEFT_MAX):
            if not self._open or not self._read():
                break
        return self._report(self._process.returncode)

    def _wait_a_tick(self) -> None:
        if not self._open:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(TICK_SECONDS)
        elif select.select([self._fd], [], [], TICK_SECONDS)[0]:
            self._read()

    def _read(self) -> bool:
        """Take one block of output; False when there is none now."""
        try:
            block = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return False
        self._open = bool(block)
        if len(self._output) <= OUTPUT_BYTES_MAX:
            self._output += block
        return self._open

    def _end_it_when_due(self, now: float) -> None:
        if self._reason:
            if now >= self._kill_at:
                self._signal_group(signal.SIGKILL)
                self._kill_at = float("inf")
            return
        if now >= self._deadline:
            self._reason = f"timed out after {self._timeout_seconds:g} s"
        elif now >= self._stop.terminate_at:
            self._reason = "stopped with the daemon"
            self._interrupted = True
        else:
            return
        self._signal_group(signal.SIGTERM)
        self._kill_at = now + KILL_AFTER_SECONDS
        self._give_up_at = self._kill_at + GIVE_UP_SECONDS

    def _signal_group(self, number: signal.Signals) -> None:
        # The group's number is the child's, and stays taken as long as anyone is left in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _report(self, code: int) -> ChildEnd:
        exit_code = code if code >= 0 else 128 - code
        if self._reason and not self._interrupted:
            exit_code = exit_code or TIMED_OUT
        killer = f"killed by {_signal_name(-code)}" if code < 0 else ""
        reason = "; ".join(part for part in (self._reason, killer) if part) if exit_code else ""
        return ChildEnd(exit_code, _json_object(self._output), reason or None, self._interrupted)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # the real-time ones between the first and the last have no name
        return f"signal {number}"


def _json_object(output: bytearray) -> dict[str, Any]:
    if len(output) > OUTPUT_BYTES_MAX:
        return {}
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
