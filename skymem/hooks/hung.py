"""What is done about a process that takes no question: nobody waits for that."""

import os
import signal
import time
from typing import TYPE_CHECKING, Final

from skymem.hooks.quick import peer, receive

if TYPE_CHECKING:
    import _socket

SECONDS: Final = 10.0
"""Without a sign, from when it was given up. A machine that swaps takes its time."""


def end_if_hung(home: str, connection: "_socket.socket") -> None:
    """See to it, in a process of its own, that one that goes on to hang is ended; comes back.

    It holds nothing of a home's but caches, so that ending it loses nothing.
    """
    if os.fork():
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.setsid()
    wait_and_end(home, connection)
    os._exit(0)


def wait_and_end(home: str, connection: "_socket.socket", seconds: float = SECONDS) -> None:
    """End the process at the other end, unless it gives a sign of life."""
    pid, _ = peer(connection)
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return
    try:
        receive(connection, 1, time.monotonic() + seconds)
    except TimeoutError:
        if _has(home, pid):
            signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:
        pass  # it is gone
    finally:
        os.close(process)


def _has(home: str, pid: int) -> bool:
    """Whether a process still is the one of a home: its number may be another's by now."""
    from pathlib import Path

    from skymem.stores.home import HomePaths
    from skymem.stores.lock import holder_of

    return holder_of(HomePaths(Path(home)).hook_lock).startswith(f"process {pid} ")
