"""The engine's side of its connections: each is a task that reads a frame and writes an answer.

A connection that sends half a frame and stops, sends no frame of ours, or does not read what it
asked for is dropped after a time, and holds up nobody but itself.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, Final

from skymem.engine.socket_file import peer_uid
from skymem.engine.wire import (
    GOODBYE,
    HEADER_BYTES,
    FrameError,
    Greeting,
    body_size,
    error_frame,
    pack,
    unpack,
)
from skymem.errors import BusyError, UsageError

CONNECTIONS_MAX: Final = 512
IN_HAND_BYTES_MAX: Final = 64 * 1024 * 1024
"""Of all requests read and not yet answered: what waits must not take the memory of the host."""

FRAME_SECONDS: Final = 10.0
"""How long a frame may take from its first byte to its last, and an answer until it is read."""


class Connections:
    """All connections of the engine.

    `greet` answers the other side's greeting, `answer` each request after it, as a whole frame.
    """

    def __init__(
        self,
        greet: Callable[[Greeting], Greeting],
        answer: Callable[[dict[str, Any]], Awaitable[bytes]],
        *,
        frame_seconds: float = FRAME_SECONDS,
    ) -> None:
        self._greet = greet
        self._answer = answer
        self._frame_seconds = frame_seconds
        self._open: set[_Connection] = set()
        self._leaving = False

    def __len__(self) -> int:
        return len(self._open)

    def busy(self) -> int:
        """Connections whose request is in hand."""
        return sum(each.busy for each in self._open)

    def say_goodbye(self) -> None:
        """Send all away: at once where nothing is in hand, else after the answer."""
        self._leaving = True
        for each in self._open:
            if not each.busy:
                each.close_with(pack(GOODBYE))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        connection = _Connection(reader, writer, self._frame_seconds)
        if not connection.allowed():
            connection.drop()
            return
        if self._leaving or len(self._open) >= CONNECTIONS_MAX:
            full = BusyError("the engine", f"{CONNECTIONS_MAX} connections")
            connection.close_with(pack(GOODBYE if self._leaving else error_frame(full)))
            return
        self._open.add(connection)
        try:
            await self._talk(connection)
        except BusyError as error:
            connection.close_with(pack(error_frame(error)))
        except FrameError as error:
            connection.close_with(pack(error_frame(UsageError(str(error)))))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            connection.drop()
        finally:
            self._open.discard(connection)

    async def _talk(self, connection: "_Connection") -> None:
        greeted = False
        while not self._leaving:
            frame = await connection.read(self._check_room)
            if frame is None or self._closed_meanwhile():
                break
            connection.busy = True
            if greeted or frame.get("op") == "leave":
                await connection.write(await self._answer(frame))
            else:
                await connection.write(self._greet(Greeting.read(frame)).frame())
                greeted = True
            connection.busy = False
            connection.size = 0
        connection.close_with(pack(GOODBYE))

    def _check_room(self, size: int) -> None:
        if size + sum(each.size for each in self._open) > IN_HAND_BYTES_MAX:
            raise BusyError("the engine", f"requests of {IN_HAND_BYTES_MAX} bytes")

    def _closed_meanwhile(self) -> bool:
        return self._leaving


class _Connection:
    """One of them."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frame_seconds: float
    ) -> None:
        self.busy = False
        self.size = 0  # bytes of the request in hand
        self._reader = reader
        self._writer = writer
        self._frame_seconds = frame_seconds
        # Otherwise the first 64 KiB of what is never read would count as sent.
        writer.transport.set_write_buffer_limits(0)

    def allowed(self) -> bool:
        """Only the engine's own user, and root, may ask."""
        return peer_uid(self._writer.get_extra_info("socket")) in {os.geteuid(), 0}

    async def read(self, check_room: Callable[[int], None]) -> dict[str, Any] | None:
        """The next frame, however long it is until it begins; None where the other side left.

        Raises:
            FrameError: it is none of ours, or too large.
            BusyError: `check_room` says there is none for so many bytes.
            TimeoutError: it began and did not end.
        """
        first = await self._reader.read(1)
        if not first:
            return None
        async with asyncio.timeout(self._frame_seconds):
            header = first + await self._reader.readexactly(HEADER_BYTES - 1)
            size = body_size(header)
            check_room(size)
            self.size = size
            return unpack(await self._reader.readexactly(size))

    async def write(self, frame: bytes) -> None:
        """Send, and wait until the kernel has it all.

        Raises:
            TimeoutError: the other side does not read.
        """
        self._writer.write(frame)
        async with asyncio.timeout(self._frame_seconds):
            await self._writer.drain()

    def close_with(self, frame: bytes) -> None:
        """Send one last frame and close, without waiting."""
        if not self._writer.is_closing():
            self._writer.write(frame)
            self._writer.close()

    def drop(self) -> None:
        """Close at once, whatever was still to be sent."""
        self._writer.transport.abort()
