"""How the daemon is asked to end, or to reload: signals set flags, everything else looks at them.

The first SIGTERM or SIGINT, or the SIGHUP of a terminal that closes, lets the runs in hand finish,
within `GRACE_SECONDS`; the second ends them at once (hazards C10 and F8). Any other SIGHUP asks for
the configuration to be read anew (hazard F4); SIGUSR1 only wakes.

A signal that comes before there are flags, or when all is done, must not end the process as if
nobody had listened: `skymem.cli.entry` has the kernel keep it back, and `Stop` lets it through.
"""

import contextlib
import math
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Final, Self

GRACE_SECONDS: Final = 60.0
"""How long a run in hand may go on after the first signal; systemd's own limit is 90 s."""

HARD_END_SECONDS: Final = 25.0
"""How long after its children were told to end the daemon may take for its own end. A thread that
hangs (a dead disk, a scheduler that waits for itself) must not keep it until systemd kills all."""

HARD_END: Final = 1
HARD_LOOK_SECONDS: Final = 0.5

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1)


class Stop:
    """The flags, and the main thread's sleep that a signal or `wake` cuts short.

    A context manager for the main thread: it puts the handlers in place and takes them away. Flags
    are plain attributes, written by one assignment: a handler must not touch a lock.
    """

    def __init__(
        self, *, grace_seconds: float = GRACE_SECONDS, hard_seconds: float = HARD_END_SECONDS
    ) -> None:
        self.name = ""
        """What asked to stop, "" while nothing did."""

        self.terminate_at = math.inf
        """When children still running are sent SIGTERM, on the monotonic clock."""

        self._hung_up = self._had_terminal = False
        self._grace_seconds = grace_seconds
        self._hard_seconds = hard_seconds
        self._read_end = self._write_end = -1
        self._previous: dict[signal.Signals, Any] = {}
        self._previous_mask: set[int] = set()
        self._previous_wakeup = -1

    def __enter__(self) -> Self:
        self._had_terminal = _has_terminal()
        self._read_end, self._write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._previous_wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        self._previous = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        self._previous_mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._previous_mask)
        for number, handler in self._previous.items():
            # Asked to stop, the process ends now, and one more signal must not change what with:
            # the mask holds for this thread, and another that is still there would take it (F8).
            signal.signal(number, signal.SIG_IGN if self.name else handler)
        signal.set_wakeup_fd(self._previous_wakeup)
        os.close(self._read_end)
        os.close(self._write_end)

    def begin(self, name: str) -> None:
        """Ask to stop, as the first signal does; asked again, end the children now."""
        now = time.monotonic()
        self.terminate_at = now if self.name else now + self._grace_seconds
        self.name = self.name or name

    @contextlib.contextmanager
    def hard_end(self, last_words: Callable[[], object]) -> Iterator[None]:
        """End the process with 1 where the block, the daemon's last steps, does not in time."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(HARD_LOOK_SECONDS):
                if time.monotonic() >= self.terminate_at + self._hard_seconds:
                    # On a thread of their own: what hangs may be whoever reads them.
                    threading.Thread(target=last_words, daemon=True).start()
                    time.sleep(HARD_LOOK_SECONDS)
                    os._exit(HARD_END)

        threading.Thread(target=watch, name="hard end", daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def asked(self) -> bool:
        """Whether anything asked to stop."""
        return bool(self.name)

    def reload_asked(self) -> bool:
        """Whether a SIGHUP came since the last look, and not from a terminal that went away."""
        hung_up, self._hung_up = self._hung_up, False
        if hung_up and self._had_terminal and not _has_terminal():
            self.begin(signal.SIGHUP.name)
            return False
        return hung_up

    def wake(self) -> None:
        """End the main thread's sleep; from any thread."""
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes it just as well
            os.write(self._write_end, b"\0")

    def sleep(self, seconds: float) -> None:
        """Sleep until a signal, `wake`, or for `seconds`."""
        if select.select([self._read_end], [], [], seconds)[0]:
            os.read(self._read_end, 4096)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            return  # it only wakes the main thread: somebody asks for something (`daemon.ask`)
        if number == signal.SIGHUP:
            self._hung_up = True  # once we are stopping nobody looks: it is not a second signal
        else:
            self.begin(signal.Signals(number).name)


def _has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
