"""A UNIX socket of the home's: a name of any length, and who is at the other end.

The kernel takes no socket name over 107 bytes. So it is bound and dialled through the descriptor
of its directory, `/proc/self/fd/N/engine.sock`, which is short wherever the home lies.
"""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from skymem.stores.files import disk_errors

BACKLOG: Final = 128
"""Connections the kernel keeps until the engine takes them."""

_CREDENTIALS: Final = struct.Struct("3i")  # pid, uid, gid


def listen(path: Path, mode: int = 0o600) -> socket.socket:
    """Bind a new socket, for its owner alone unless told; what is there under its name goes.

    Only the holder of the socket's lock may call this: nobody else's can be there then. The
    engine's is its owner's also under `access: group`: it serves nobody else.

    Raises:
        DiskError: no socket can be made there.
    """
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with disk_errors(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            mask = os.umask(0o777 & ~mode)
            try:
                with _short(path) as name:
                    made.bind(name)
            finally:
                os.umask(mask)
            made.listen(BACKLOG)
        made.settimeout(0)
    except BaseException:
        made.close()
        raise
    return made


def dial(path: Path) -> socket.socket | None:
    """Connect to the engine, without blocking; None when nobody answers there now."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(0)
    try:
        with _short(path) as name:
            made.connect(name)
    except OSError:
        # No engine, a dead one's socket, one too busy to take another connection, or no way there:
        # who starts one then replaces what is in the way, or is told why that can't be done.
        made.close()
        return None
    except BaseException:
        made.close()
        raise
    return made


def peer_uid(connection: socket.socket) -> int:
    """Whose process is at the other end, as the kernel knows it."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
