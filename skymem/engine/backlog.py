"""Requests that wait for the engine's worker: bounded, what somebody waits for first."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from skymem.engine.wire import error_frame, pack
from skymem.errors import EngineUnavailableError

WAITING_MAX: Final = 64
"""Requests that may wait; the next one is told that the engine is busy."""

REMEMBERED_MAX: Final = 256
REMEMBERED_BYTES_MAX: Final = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """A frame to send back, and whether what was asked for has been tried."""

    frame: bytes
    tried: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """One call that the worker is to make."""

    id: str
    name: str
    arguments: dict[str, Any]
    deadline: float
    """On the monotonic clock; from then on nobody waits for the answer."""

    quick: bool
    finish: Callable[[Answer], None]
    """Takes the answer, from any thread."""

    def too_late(self) -> bool:
        """Answer and say True when nobody waits any more."""
        if time.monotonic() < self.deadline:
            return False
        error = EngineUnavailableError("too late: the request waited until its deadline")
        self.finish(Answer(pack({"id": self.id, **error_frame(error)}), tried=False))
        return True


class Backlog:
    """The requests not yet begun. For any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._quick: deque[Request] = deque()
        self._slow: deque[Request] = deque()
        self._woken = False

    def __len__(self) -> int:
        return len(self._quick) + len(self._slow)

    def add(self, request: Request) -> bool:
        """Let a request wait; False where too many do already."""
        with self._changed:
            if len(self) >= WAITING_MAX:
                self._forget_the_late()
            if len(self) >= WAITING_MAX:
                return False
            (self._quick if request.quick else self._slow).append(request)
            self._changed.notify()
        return True

    def take(self, patience_seconds: float) -> Request | None:
        """The next request, waited for; None after `patience_seconds` or `wake`."""
        with self._changed:
            if not self and not self._woken:
                self._changed.wait(patience_seconds)
            self._woken = False
            if self._quick:
                return self._quick.popleft()
            return self._slow.popleft() if self._slow else None

    def take_query(self) -> Request | None:
        """The next query, for the pauses of long work; None where none waits."""
        with self._changed:
            for request in self._quick:
                if request.name == "query":
                    self._quick.remove(request)
                    return request
        return None

    def withdraw(self) -> list[Request]:
        """Take all that wait."""
        with self._changed:
            taken = [*self._quick, *self._slow]
            self._quick.clear()
            self._slow.clear()
        return taken

    def wake(self) -> None:
        """End a wait in `take`."""
        with self._changed:
            self._woken = True
            self._changed.notify()

    def _forget_the_late(self) -> None:
        for waiting in (self._quick, self._slow):
            for request in [each for each in waiting if each.too_late()]:
                waiting.remove(request)


class Remembered:
    """The last answers to changes by request id, so that a repeat gets the same; bounded."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, request_id: str) -> bytes | None:
        """The answer given before, if it is still known."""
        return self._answers.get(request_id)

    def keep(self, request_id: str, frame: bytes) -> None:
        """Remember an answer; the oldest ones give way."""
        self._answers[request_id] = frame
        self._bytes += len(frame)
        while len(self._answers) > REMEMBERED_MAX or self._bytes > REMEMBERED_BYTES_MAX:
            self._bytes -= len(self._answers.popitem(last=False)[1])
