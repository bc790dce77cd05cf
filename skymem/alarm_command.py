"""Telling by a command: what it is given, and how long it has (row X3).

No shell: its words are its words. The message is on its stdin; what it prints goes nowhere, so that
it can neither fill a disk nor hold anybody up. It runs in a process group of its own, all of which
is ended when its time is over.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

TICK_SECONDS: Final = 0.2
"""How soon a deadline or a signal is noticed."""

KILL_AFTER_SECONDS: Final = 2.0
"""What it gets between SIGTERM and SIGKILL."""


def by_command(
    words: Sequence[str],
    message: bytes,
    *,
    deadline_seconds: float,
    environment: Mapping[str, str],
    stop: Callable[[], str],
) -> str:
    """Give a command a message; returns "" or why it was not taken.

    Args:
        words: the program and its arguments.
        message: for its stdin.
        deadline_seconds: after which it is ended.
        environment: its own.
        stop: names the signal that came: then it is ended as well.
    """
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"{words[0]} can't be started: {reason}"
    try:
        why = _to_its_end(process, message, time.monotonic() + deadline_seconds, stop)
    finally:
        if process.poll() is None:
            _end(process)
    if why:
        return f"{words[0]} {why}"
    return "" if process.returncode == 0 else f"{words[0]} ended with {process.returncode}"


def _to_its_end(
    process: "subprocess.Popen[bytes]", message: bytes, ends: float, stop: Callable[[], str]
) -> str:
    """Wait for it; returns why that was given up, "" where it came to its end."""
    given: bytes | None = message
    while True:
        try:
            process.communicate(given, timeout=TICK_SECONDS)
        except subprocess.TimeoutExpired:
            given = None  # it holds what is left of it
            if signal_name := stop():
                return f"was ended by {signal_name}"
            if time.monotonic() >= ends:
                return "was ended: its time was over"
        else:
            return ""


def _end(process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        # The group's number is the child's, and stays taken as long as anyone is left in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(KILL_AFTER_SECONDS)
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
