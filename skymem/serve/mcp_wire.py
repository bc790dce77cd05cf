"""The client's end of stdin, line by line, in a way that a signal can end."""

import fcntl
import os
from collections.abc import AsyncIterator
from typing import Final

import anyio

BLOCK_BYTES: Final = 65536
STDIN: Final = 0
ABOVE_STANDARD: Final = 3


def take_stdin() -> int:
    """Take stdin away: nothing that is started here reads what is the protocol's."""
    taken = fcntl.fcntl(STDIN, fcntl.F_DUPFD_CLOEXEC, ABOVE_STANDARD)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    return taken


class Lines:
    """Lines of a descriptor.

    The SDK reads stdin in a thread, which nothing can wake: SIGTERM would wait for the next line.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def __aiter__(self) -> AsyncIterator[str]:
        """Go through them until the client closes its end; half a line is none."""
        parts: list[bytes] = []
        while block := await self._read():
            first, *others = block.split(b"\n")
            parts.append(first)
            for begun in others:
                yield b"".join(parts).decode("utf-8", "replace")
                parts = [begun]

    async def _read(self) -> bytes:
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:  # a file, which always is
            await anyio.lowlevel.checkpoint()
        return os.read(self._descriptor, BLOCK_BYTES)
