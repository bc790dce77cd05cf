"""What the service manager is told: sd_notify(3), spoken without a library (hazard F1).

Says nothing where nobody listens, raises nothing and waits for nothing: what systemd makes of a
message must never decide over a run. Our children hear of none of it: a job that inherited
NOTIFY_SOCKET could end or prolong the service in our name.
"""

import contextlib
import os
import socket
import threading
import time
from collections import deque
from collections.abc import MutableMapping
from typing import Final

VARIABLES: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""Meant for this process alone, and taken out of the environment."""

STATUS_CHARS_MAX: Final = 500
"""A status is one line for `systemctl status`; the rest is in our own status files."""

ADDRESS_BYTES_MAX: Final = 107
"""The longest path a UNIX socket's address can hold."""

OWED_MAX: Final = 4
"""How many messages that must arrive are kept while nobody takes them."""


class Notifier:
    """Sends each change of state to the manager that started us, if one did.

    From any thread. A message about the state (not a status, not a sign of life, which
    the next one replaces) that could not be sent goes before the next message.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        """Take what is meant for us out of `environment`: call it before any child is started."""
        found = {name: environment.pop(name, "") for name in VARIABLES}
        self._address = found["NOTIFY_SOCKET"]
        self._owed: deque[str] = deque(maxlen=OWED_MAX)
        self._lock = threading.Lock()
        self.watchdog_seconds = _watchdog_seconds(found["WATCHDOG_USEC"], found["WATCHDOG_PID"])
        """After so long without `watchdog` we are killed; None: nobody watches. Call it at half."""

    @property
    def listened_to(self) -> bool:
        """Whether a manager asked to be told."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """Say that the service is up, or up again after `reloading`."""
        self._tell(f"READY=1\nSTATUS={_one_line(status)}", must_arrive=True)

    def status(self, text: str) -> None:
        """Say in a line what the service does now."""
        self._tell(f"STATUS={_one_line(text)}")

    def reloading(self) -> None:
        """Say that a reload has begun; `ready` ends it, whether it succeeded or not."""
        # The manager tells by the time which of several reloads this one answers.
        microseconds = time.monotonic_ns() // 1000
        self._tell(f"RELOADING=1\nMONOTONIC_USEC={microseconds}", must_arrive=True)

    def stopping(self) -> None:
        """Say that the service is on its way down."""
        self._tell("STOPPING=1", must_arrive=True)

    def watchdog(self) -> None:
        """Give the sign of life, if anyone waits for it."""
        if self.watchdog_seconds is not None:
            self._tell("WATCHDOG=1")

    def _tell(self, message: str, *, must_arrive: bool = False) -> None:
        if not self._address:
            return
        with self._lock:
            while self._owed and self._send(self._owed[0]):
                self._owed.popleft()
            if (self._owed or not self._send(message)) and must_arrive:
                self._owed.append(message)

    def _send(self, message: str) -> bool:
        with contextlib.suppress(OSError, ValueError), contextlib.ExitStack() as stack:
            made = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            made.sendto(
                message.encode("utf-8", "replace"),
                socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL,
                _address(self._address, stack),
            )
            return True
        return False


def _address(spoken: str, stack: contextlib.ExitStack) -> bytes:
    """The address as the kernel takes it; a path too long for it goes through a descriptor.

    Raises:
        OSError: nothing is there.
    """
    name = os.fsencode(spoken)
    if name.startswith(b"@"):
        return b"\0" + name[1:]
    if len(name) <= ADDRESS_BYTES_MAX:
        return name
    fd = os.open(name, os.O_PATH | os.O_CLOEXEC)
    stack.callback(os.close, fd)
    return b"/proc/self/fd/%d" % fd


def _watchdog_seconds(microseconds: str, pid: str) -> float | None:
    """The watchdog's time, where it is ours: an exec in between may have made it another's."""
    if pid and pid != str(os.getpid()):
        return None
    if not (microseconds.isascii() and microseconds.isdecimal()):
        return None
    return int(microseconds[:18]) / 1e6 or None


def _one_line(text: str) -> str:
    """A status that can't be read as another assignment."""
    line = "".join(one if one.isprintable() else " " for one in text)
    return line if len(line) <= STATUS_CHARS_MAX else f"{line[: STATUS_CHARS_MAX - 1]}…"
