"""One connection of a client: a frame out, a frame in, by a deadline."""

import os
import select
import socket
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from skymem.engine.socket_file import peer_uid
from skymem.engine.wire import HEADER_BYTES, body_size, unpack
from skymem.errors import EngineUnavailableError, InterruptedRunError

TICK_SECONDS: Final = 0.1
"""How soon a signal is noticed while waiting."""

BLOCK_BYTES: Final = 1024 * 1024


class LostError(Exception):
    """The connection ended before an answer came: whether it was done is not known."""


class GoodbyeError(Exception):
    """The engine leaves, and did not begin what it was asked."""


class Dialogue:
    """A connected, non-blocking socket to an engine."""

    def __init__(self, connection: socket.socket, stop: Callable[[], str]) -> None:
        self._socket = connection
        self._stop = stop
        # Callers of the Python API rarely say when they are done. A finalizer is called before the
        # socket's own, which would complain, also where both are in a cycle.
        self._end = weakref.finalize(self, connection.close)
        self._end.atexit = False

    def refuse_strangers(self, home: Path) -> None:
        """Raise EngineUnavailableError where another user's process sits on the socket."""
        uid = peer_uid(self._socket)
        allowed = {os.geteuid()}
        if os.geteuid() == 0:
            allowed.add(os.stat(home).st_uid)
        if uid not in allowed:
            self.close()
            raise EngineUnavailableError(f"its socket belongs to a process of uid {uid}")

    def ask(self, frame: bytes, deadline: float) -> dict[str, Any]:
        """Send a frame and return the one that comes back.

        Raises:
            GoodbyeError, LostError: the connection ended; a goodbye says it was not begun.
            FrameError: what came back is none of ours.
            EngineUnavailableError: the deadline came first.
            InterruptedRunError: `stop` named a signal.
        """
        sent = self._send(frame, deadline)
        try:
            size = body_size(self._receive(HEADER_BYTES, deadline))
            answer = unpack(self._receive(size, deadline))
        except LostError:
            # Half a request is none: whatever ended the connection, nothing was begun.
            raise (LostError if sent else GoodbyeError) from None
        if answer.get("goodbye"):
            raise GoodbyeError
        return answer

    def is_open(self) -> bool:
        """Whether the other side has not gone or said goodbye: unasked, it says nothing else."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close the connection."""
        self._end()

    def _send(self, frame: bytes, deadline: float) -> bool:
        """Whether all of the frame went; where it did not, the engine may have said why."""
        rest = memoryview(frame)
        while rest:
            try:
                rest = rest[self._socket.send(rest[:BLOCK_BYTES], socket.MSG_NOSIGNAL) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, deadline)
            except ConnectionError:
                return False
        return True

    def _receive(self, size: int, deadline: float) -> bytes:
        received = bytearray()
        while len(received) < size:
            try:
                block = self._socket.recv(min(size - len(received), BLOCK_BYTES))
            except BlockingIOError:
                self._wait(select.POLLIN, deadline)
                continue
            except ConnectionError as error:
                raise LostError from error
            if not block:
                raise LostError
            received += block
        return bytes(received)

    def _wait(self, event: int, deadline: float) -> None:
        waiting = select.poll()  # select() knows no descriptor beyond 1023
        waiting.register(self._socket, event)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise EngineUnavailableError("no answer by the deadline")
            if waiting.poll(min(left, TICK_SECONDS) * 1000):
                return
            if name := self._stop():
                raise InterruptedRunError(name)
