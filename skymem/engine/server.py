"""The engine: one process per home that owns the model and the index, and answers on a socket.

The main thread speaks with the clients and never waits for the worker. It leaves when nobody has
asked for anything for a while, when it is asked to or signalled, and when its files are gone:
first the socket's name goes, then what is in hand is answered, then the index is closed, all under
the home's engine lock, so that no two engines ever have it open. Design §5, hazard D4.
"""

import asyncio
import contextlib
import faulthandler
import functools
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.engine.backlog import Answer, Backlog, Remembered, Request
from skymem.engine.connections import FRAME_SECONDS, Connections
from skymem.engine.engine_status import EngineStatus, keep_log_short
from skymem.engine.operations import OPERATIONS, Index, read_arguments
from skymem.engine.socket_file import listen
from skymem.engine.wire import GOODBYE, PROTOCOL, Greeting, error_frame, pack, settings_key
from skymem.engine.worker import Worker, stay
from skymem.errors import BusyError, ConfigurationError, SkymemError, UsageError
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.stamp import Identity, identity_of

STUCK: Final = 70
"""The exit code of an engine whose worker does not come back."""

DEADLINE_SECONDS_MAX: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things may take, in seconds; tests have less patience."""

    hang: float = 300.0
    """Without a sign of life from the worker; opening a damaged index may never end (D4)."""

    backlog: float = 20.0
    """For what is in hand, once the engine is leaving."""

    close: float = 20.0
    """For closing the index."""

    idle_without_index: float = 10.0
    """Idle time of an engine that could not load its model: the next one may fare better."""

    frame: float = FRAME_SECONDS


@dataclass(frozen=True, slots=True)
class Setting:
    """What an engine is given by the process it runs in."""

    paths: HomePaths
    files: Files
    rules: EngineRules
    version: str
    read_rules: Callable[[], EngineRules]
    """Reads the home's file anew; raises ConfigurationError, DiskError."""

    open_index: Callable[[Callable[[], None]], Index]
    """Opens model and index, in the worker; is given what long work calls between its steps."""

    now: Callable[[], float]
    """Epoch seconds."""

    follow: Callable[[Index], tuple[Index, bool]] = stay
    """The index to go on with, asked before each request, and whether another one is coming."""

    limits: Limits = field(default_factory=Limits)


class Server:
    """An engine of one home, whose lock the caller holds."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._paths = setting.paths
        self._limits = setting.limits
        self._settings_key = settings_key(setting.rules)
        self._backlog = Backlog()
        self._remembered = Remembered()
        self._in_hand: dict[str, asyncio.Future[Answer]] = {}
        self._worker = Worker(setting.open_index, self._backlog, setting.follow)
        self._status = EngineStatus(setting.paths, setting.files, setting.now)
        self._connections = Connections(
            self._greet, self._answer, frame_seconds=setting.limits.frame
        )
        self._leaving = asyncio.Event()
        self._why = ""
        self._backlog_until = float("inf")
        self._asked_at = time.monotonic()

    async def run(self, ready: Callable[[], None]) -> int:
        """Serve until it is time to leave; the exit code. `ready` is called when it listens.

        Raises:
            DiskError: no socket can be made.
        """
        listening = listen(self._paths.engine_socket)
        self._names = _names(self._paths)
        server = await _start_server(self._connections.serve, listening)
        ready()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._leave, signal.Signals(number).name)
        self._worker.start()
        await self._watch()
        await asyncio.sleep(0.01)  # who connected before the name went is still told
        server.close()
        return await self._finish()

    # -- what connections ask -------------------------------------------------------------------

    def _greet(self, theirs: Greeting) -> Greeting:
        self._asked_at = time.monotonic()
        current = theirs.settings == self._settings_key or self._settings_are_current()
        return Greeting(PROTOCOL, self._setting.version, self._settings_key, current)

    def _settings_are_current(self) -> bool:
        try:
            return settings_key(self._setting.read_rules()) == self._settings_key
        except (ConfigurationError, SkymemError):
            return True  # a file that can't be read is no reason to go

    async def _answer(self, frame: dict[str, Any]) -> bytes:
        self._asked_at = time.monotonic()
        request_id = str(frame.get("id", ""))[:64]
        try:
            if frame.get("op") == "leave":
                self._leave("a client asked")
                return pack({"id": request_id, "result": {"leaving": True}})
            if frame.get("op") == "overview":
                return self._overview(request_id)
            return await self._let_do(request_id, frame)
        except SkymemError as error:
            return pack({"id": request_id, **error_frame(error)})
        finally:
            self._asked_at = time.monotonic()

    def _overview(self, request_id: str) -> bytes:
        if self._worker.problem is not None:
            raise self._worker.problem
        return pack({"id": request_id, "result": self._facts()})

    async def _let_do(self, request_id: str, frame: dict[str, Any]) -> bytes:
        """Have the worker do it; a repeat of a change joins the first, or gets its answer."""
        name = str(frame.get("op"))
        arguments = read_arguments(name, frame.get("args"))
        change = OPERATIONS[name].change
        known = self._remembered.get(request_id) if change else None
        if known is not None:
            return known
        coming = self._in_hand.get(request_id) if change else None
        if coming is None:
            coming = self._begin(request_id, name, arguments, _deadline(frame))
        answer = await asyncio.shield(coming)
        return answer.frame

    def _begin(
        self, request_id: str, name: str, arguments: dict[str, Any], deadline: float
    ) -> "asyncio.Future[Answer]":
        loop = asyncio.get_running_loop()
        coming: asyncio.Future[Answer] = loop.create_future()

        def arrived(answer: Answer) -> None:
            if not coming.done():
                coming.set_result(answer)
            if OPERATIONS[name].change:
                self._in_hand.pop(request_id, None)
                if answer.tried:
                    self._remembered.keep(request_id, answer.frame)

        request = Request(
            request_id,
            name,
            arguments,
            deadline,
            OPERATIONS[name].quick,
            finish=lambda answer: _call_in(loop, functools.partial(arrived, answer)),
        )
        if OPERATIONS[name].change:
            self._in_hand[request_id] = coming
        if not self._backlog.add(request):
            self._in_hand.pop(request_id, None)
            raise BusyError("the engine", f"{len(self._backlog)} requests that wait")
        return coming

    # -- staying and leaving --------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look after the worker, the status and the clock until something says to leave."""
        tick = min(1.0, max(0.02, self._idle_seconds() / 4))
        while not self._leaving.is_set():
            self._look_after_worker()
            keep_log_short()
            await self._status.tell(self._facts())
            if _names(self._paths) != self._names:
                self._leave("its files are gone")
            elif self._idle():
                self._leave("idle")
            try:
                async with asyncio.timeout(tick):
                    await self._leaving.wait()
            except TimeoutError:
                continue

    def _look_after_worker(self) -> None:
        silent = time.monotonic() - self._worker.progress_at
        stuck = bool(self._worker.doing) and silent > self._limits.hang
        if stuck or not self._worker.alive():
            sys.stderr.write(f"the worker does not come back from {self._worker.doing!r}\n")
            sys.stderr.flush()
            faulthandler.dump_traceback(all_threads=True)
            os._exit(STUCK)

    def _idle_seconds(self) -> float:
        idle = self._setting.rules.idle_seconds
        return min(idle, self._limits.idle_without_index) if self._worker.problem else idle

    def _idle(self) -> bool:
        at_rest = not (self._connections.busy() or len(self._backlog) or self._worker.doing)
        if not at_rest or self._worker.background:
            return False
        return time.monotonic() - self._asked_at >= self._idle_seconds()

    def _leave(self, why: str) -> None:
        patience = 0.0 if self._leaving.is_set() else self._limits.backlog
        if not self._leaving.is_set() or why.startswith("SIG"):  # a second signal is impatient
            self._backlog_until = time.monotonic() + patience
        if not self._leaving.is_set():
            self._why = why
            self._leaving.set()
            # At once: who asks an engine to leave must not meet it again.
            self._unlink()
            self._connections.say_goodbye()

    async def _finish(self) -> int:
        """Answer what is in hand, within the time there is, then close the index."""
        while self._connections.busy() and time.monotonic() < self._backlog_until:
            await asyncio.sleep(0.005)
        for request in self._backlog.withdraw():
            request.finish(Answer(pack(GOODBYE), tried=False))
        await asyncio.sleep(0.01)
        closed = await asyncio.to_thread(self._worker.stop, self._limits.close)
        if not closed:
            faulthandler.dump_traceback(all_threads=True)
        await self._status.tell({**self._facts(), "running": False, "left": self._why}, last=True)
        return 0 if closed else STUCK

    def _unlink(self) -> None:
        with contextlib.suppress(OSError):
            if _names(self._paths)[0] == self._names[0]:  # else it is another engine's, or none
                os.unlink(self._paths.engine_socket)

    def _facts(self) -> dict[str, Any]:
        worker = self._worker
        return {
            "running": True,
            "pid": os.getpid(),
            "version": self._setting.version,
            "protocol": PROTOCOL,
            "problem": str(worker.problem) if worker.problem else None,
            "doing": worker.doing or None,
            "served": worker.served,
            "waiting": len(self._backlog),
            "connections": len(self._connections),
            **worker.overview,
        }


async def _start_server(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    listening: socket.socket,
) -> asyncio.Server:
    if sys.version_info >= (3, 13):
        # By default it would look for the socket's file under the name that was bound, which was
        # good for the binding alone.
        return await asyncio.start_unix_server(serve, sock=listening, cleanup_socket=False)
    return await asyncio.start_unix_server(serve, sock=listening)


def _deadline(frame: dict[str, Any]) -> float:
    seconds = frame.get("deadline_s")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise UsageError("deadline_s: a number of seconds is expected")
    return time.monotonic() + min(float(seconds), DEADLINE_SECONDS_MAX)


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        return  # the loop has ended, and with it everybody who waited


def _names(paths: HomePaths) -> tuple[Identity, ...]:
    """Which files stand under the names of socket and lock; others can't be ours."""
    return identity_of(paths.engine_socket), identity_of(paths.engine_lock)
