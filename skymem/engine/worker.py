"""The one thread that owns model and index: makes every call, one after the other.

What waits is answered quick things first; in the pauses of long work it answers queries; when
nothing waits it tends the index. The main thread only reads its plain attributes.
"""

import functools
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, Final, TypeVar

from skymem.engine.backlog import Answer, Backlog, Request
from skymem.engine.operations import OPERATIONS, Index
from skymem.engine.wire import FrameError, error_frame, pack
from skymem.errors import EngineUnavailableError, SkymemError
from skymem.model.harmless import harmless

TEND_EVERY_SECONDS: Final = 60.0
"""How often an index at rest is asked whether it needs anything."""

TEND_AGAIN_SECONDS: Final = 5.0
"""The pause after background work that failed, such as on a full disk."""

PAUSE_QUERIES_MAX: Final = 8
"""Queries answered in one pause of long work, so that it gets on all the same."""

OVERVIEW_SECONDS: Final = 0.5

FOLLOW_SECONDS: Final = 0.05
"""How often it is looked whether another model is loaded by now."""

T = TypeVar("T")


def stay(index: Index) -> tuple[Index, bool]:
    """Go on with the same index: of an engine whose model does not change."""
    return index, False


class Worker:
    """Carries out requests from `backlog` on the index that `open_index` opens."""

    def __init__(
        self,
        open_index: Callable[[Callable[[], None]], Index],
        backlog: Backlog,
        follow: Callable[[Index], tuple[Index, bool]] = stay,
    ) -> None:
        self.problem: SkymemError | None = None
        """Why there is no index; every request is answered with it."""

        self.background = True
        """The index has work of its own to go on with."""

        self.doing = "open"
        """What is in hand, "" for nothing; `progress_at` is when it last gave a sign of life."""

        self.progress_at = time.monotonic()
        self.overview: dict[str, Any] = {}
        self.served = 0
        self._open_index = open_index
        self._follow = follow
        self._backlog = backlog
        self._index: Index | None = None
        self._overview_at = self._tend_at = 0.0
        self._pausing = False
        self._ends = float("inf")
        """When nobody waits for the question in hand any more."""

        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine-worker", daemon=True)

    def start(self) -> None:
        """Begin, by opening model and index."""
        self._thread.start()

    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def stop(self, patience_seconds: float) -> bool:
        """Close the index after the call in hand; whether that is done within the time."""
        self._stopping.set()
        self._backlog.wake()
        self._thread.join(patience_seconds)
        return not self._thread.is_alive()

    def pause(self) -> None:
        """Answer queries that wait: long work calls this between its steps.

        Raises:
            EngineUnavailableError: nobody waits for that work any more, and it changes nothing.
        """
        self.progress_at = time.monotonic()
        if self.progress_at > self._ends and not self._pausing:
            raise EngineUnavailableError("no time left: its deadline came while it was at work")
        doing = OPERATIONS.get(self.doing)
        if self._pausing or self._index is None or (doing is not None and doing.quick):
            return
        self._pausing = True
        try:
            for _ in range(PAUSE_QUERIES_MAX):
                request = self._backlog.take_query()
                if request is None:
                    break
                self._serve(request)
        finally:
            self._pausing = False

    def _run(self) -> None:
        self._open()
        while not self._stopping.is_set():
            request = self._backlog.take(self._patience_seconds())
            self._call_as("follow", self._go_over)
            if request is not None:
                changes = OPERATIONS[request.name].change
                self._ends = float("inf") if changes else request.deadline
                self._call_as(request.name, functools.partial(self._serve, request))
                self._ends = float("inf")
            elif self._index is not None and not self._stopping.is_set():
                self._call_as("tend", self._tend)
        if self._index is not None:
            self._call_as("close", self._close)

    def _call_as(self, doing: str, call: Callable[[], None]) -> None:
        self.progress_at = time.monotonic()
        self.doing = doing
        call()
        self.doing = ""

    def _go_over(self) -> None:
        """Go on with the index of another model where that is in use by now."""
        if self._index is None:
            return
        found = self._attempt(functools.partial(self._follow, self._index))
        if isinstance(found, SkymemError):
            return
        another, is_coming = found
        if is_coming:
            self.background = True
            self._tend_at = time.monotonic() + FOLLOW_SECONDS
        elif another is not self._index:
            self._index = another
            self.background = True
            self._tend_at = 0.0
            self._look(fresh=True)

    def _patience_seconds(self) -> float:
        if self._index is None:
            return TEND_EVERY_SECONDS
        pause = max(0.0, self._tend_at - time.monotonic())
        return pause if self.background else max(pause, TEND_EVERY_SECONDS)

    def _open(self) -> None:
        opened = self._attempt(lambda: self._open_index(self.pause))
        if isinstance(opened, SkymemError):
            self.problem = opened
            self.background = False
            told = f"no index: {harmless(str(opened))}"
            print(told, file=sys.stderr, flush=True)  # noqa: T201  (the log)
        else:
            self._index = opened
            self._look(fresh=True)
        self.doing = ""

    def _close(self) -> None:
        if self._index is not None:
            self._attempt(self._index.close)

    def _serve(self, request: Request) -> None:
        if request.too_late():
            return
        self.served += 1
        request.finish(Answer(self._answer(request)))

    def _answer(self, request: Request) -> bytes:
        index = self._index
        if index is None:
            problem = self.problem or EngineUnavailableError("it has no index")
            return pack({"id": request.id, **error_frame(problem)})
        call = getattr(index, request.name)
        result = self._attempt(
            lambda: pack({"id": request.id, "result": call(**request.arguments)})
        )
        if OPERATIONS[request.name].change:
            self.background = True  # a change may have left something to tidy
            self._look(fresh=not self._backlog)
        if isinstance(result, SkymemError):
            return pack({"id": request.id, **error_frame(result)})
        return result

    def _tend(self) -> None:
        if self._index is None or time.monotonic() < self._tend_at:
            return
        more = self._attempt(self._index.tend)
        if isinstance(more, SkymemError):
            self.background = False
            self._tend_at = time.monotonic() + TEND_AGAIN_SECONDS
        else:
            self.background = more
        self._look(fresh=not self.background)

    def _look(self, *, fresh: bool) -> None:
        """Take a new overview; unless it must be `fresh`, only where the last one is old."""
        now = time.monotonic()
        if self._index is None or (not fresh and now < self._overview_at + OVERVIEW_SECONDS):
            return
        found = self._attempt(self._index.overview)
        if not isinstance(found, SkymemError):
            self.overview = found
            self._overview_at = now

    def _attempt(self, call: Callable[[], T]) -> T | SkymemError:
        """Call; give back what it returns, or the error it raised: no request stops the others."""
        try:
            return call()
        except SkymemError as error:
            return error
        except FrameError as error:
            return EngineUnavailableError(f"the answer is too large: {error}")
        except Exception as error:  # noqa: BLE001  (a bug in one request must not stop the others)
            # Where, and of what kind; not its message, which may quote a memory (promise 6).
            traceback.print_tb(error.__traceback__)
            kind = type(error).__name__
            print(kind, file=sys.stderr, flush=True)  # noqa: T201  (the log)
            return EngineUnavailableError(f"a bug, {kind}; run/engine.log says where")
