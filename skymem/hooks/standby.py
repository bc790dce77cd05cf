"""The process that keeps recall at hand: what it needs is loaded, and a question costs a fork.

Each question is answered in a child, in the environment of who asked: one that hangs or dies takes
nothing with it, and whatever is wrong with it is found, and told, by the usual way, to which the
child leaves what it can't answer by closing. What this process holds is on disk too, so that it
may be ended at any moment: it has read short-term of the agents that were asked about, and looks
every few seconds whether the lines are still there. It leaves when nobody has asked for a while,
when its home is gone or moved, and when its code is not the one any more that is installed.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from skymem.app import Home, agent_from_environment, binding, open_home
from skymem.engine.client import own_version
from skymem.engine.socket_file import listen, peer_uid
from skymem.errors import NotAllowedError, SkymemError, UsageError
from skymem.hooks import quick
from skymem.hooks.event import Event, NoEventError
from skymem.hooks.run import answer_of, spelled
from skymem.policy.admit import check_agent_name
from skymem.stores.home import HomePaths
from skymem.stores.short_lines import read_ahead
from skymem.stores.stamp import Identity, Stamp, identity_of, stamp_of

IDLE_SECONDS: Final = 1800.0
TICK_SECONDS: Final = 5.0
"""Between two looks whether it has a reason to leave."""

CHILDREN_MAX: Final = 8
LINGER_SECONDS: Final = 10
"""When the kernel ends a child, whatever it is at."""

READ_SECONDS: Final = 5.0
HEAD_BYTES_MAX: Final = 1024 * 1024

AGENTS_MAX: Final = 4
"""Agents whose lines are at hand; those asked about last."""

AT_HAND: Final = (
    "skymem.hooks.answers", "skymem.hooks.starting", "skymem.engine.client", "skymem.recall.search",
    "skymem.recall.request", "skymem.policy.context", "skymem.config.hook_variables",
    "skymem.config.makeshift", "skymem.stores.recall_log", "skymem.model.harmless", "numpy.ma",
)  # fmt: skip
"""What is loaded with all it needs, before the first question."""

LEAVE: Final = b"."


def load() -> None:
    """Load all that an answer needs, without a look at a memory."""
    for name in AT_HAND:
        importlib.import_module(name)
    own_version()


class Standby:
    """The one process of a home, whose lock the caller holds."""

    def __init__(
        self, paths: HomePaths, agent: str = "", *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        """Answer for a home, likely about an agent; leave when idle for so long."""
        self._paths = paths
        self._idle_seconds = idle_seconds
        self._home: Home | None = None
        self._seen: tuple[Stamp | None, ...] = ()
        self._agents = [agent] if agent else []
        self._children: set[int] = set()
        self._asked_at = time.monotonic()
        self._wake_in, self._wake_out = os.pipe()

    def run(self) -> None:
        """Answer until it is time to leave.

        Raises:
            DiskError: no socket can be made.
        """
        code = _code()
        listening = listen(self._paths.hook_socket)
        names = _names(self._paths)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._wake())
        waiting = select.poll()
        waiting.register(listening, select.POLLIN)
        waiting.register(self._wake_in, select.POLLIN)
        with contextlib.closing(listening):
            while not self._idle() and _names(self._paths) == names and _code() == code:
                self._read_ahead()
                ready = {fd for fd, _ in waiting.poll(self._tick() * 1000)}
                self._reap()
                if self._wake_in in ready and self._is_told_to_leave():
                    break
                if listening.fileno() in ready and _names(self._paths) == names and _code() == code:
                    self._take(listening)
            if _names(self._paths) == names:
                os.unlink(self._paths.hook_socket)

    def _wake(self, told: bytes = LEAVE) -> None:
        os.write(self._wake_out, told + b"\n")

    def _is_told_to_leave(self) -> bool:
        """Hear what children say: about whom they were asked, or that it is time to leave."""
        for told in os.read(self._wake_in, select.PIPE_BUF).splitlines():
            if told == LEAVE:
                return True
            agent = told.decode()
            self._agents = [agent, *(one for one in self._agents if one != agent)][:AGENTS_MAX]
        return False

    def _read_ahead(self) -> None:
        home = self._renewed()
        if home is None:
            return
        for agent in self._agents:
            with contextlib.suppress(SkymemError, OSError):  # who asks is told
                read_ahead(home.shelf(check_agent_name(agent)))

    def _tick(self) -> float:
        return min(TICK_SECONDS, self._idle_seconds)

    def _idle(self) -> bool:
        return time.monotonic() - self._asked_at >= self._idle_seconds and not self._children

    def _reap(self) -> None:
        for pid in [*self._children]:
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._children.discard(pid)

    def _take(self, listening: socket.socket) -> None:
        """Take one connection, and have a child answer on it."""
        try:
            connection = listening.accept()[0]
        except OSError:  # who asked has left already
            return
        with connection:
            if peer_uid(connection) not in {os.geteuid(), 0}:
                return
            self._asked_at = time.monotonic()
            if len(self._children) >= CHILDREN_MAX:
                with contextlib.suppress(OSError):
                    connection.send(quick.BUSY)
                return
            self._read_ahead()
            home = self._renewed()
            child = os.fork()
            if child:
                self._children.add(child)
                return
            self._be_child(connection, home)

    def _renewed(self) -> Home | None:
        """The home by its rules as they are now; None where they are not usable."""
        seen = (stamp_of(self._paths.rules), stamp_of(self._paths.format))
        if self._home is None or seen != self._seen:
            try:
                home = open_home(str(self._paths.root), appending=True, lenient=True)
            except SkymemError:
                home = None
            self._home = home if home is not None and home.owned and not home.faults else None
            self._seen = seen
        return self._home

    def _be_child(self, connection: socket.socket, home: Home | None) -> None:
        """Answer, and end; whatever fails, ends it."""
        signal.alarm(LINGER_SECONDS)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        code = 1
        try:
            kept = sorted((connection.fileno(), self._wake_out))
            for first, last in zip((2, *kept), (*kept, 65_536), strict=True):
                os.closerange(first + 1, last)  # not least the lock, which would outlive us
            gc.disable()  # it would copy what we share with the parent
            if home is not None:
                self._wake(_answer(connection, home))
            code = 0
        except (OSError, SkymemError):
            pass  # the usual way says it
        finally:
            sys.stderr.flush()
            os._exit(code)


def _answer(connection: socket.socket, home: Home) -> bytes:
    """Answer a question; gives about whom, or that another installation asks, which takes over.

    Raises:
        OSError, SkymemError: it can't be answered.
    """
    until = time.monotonic() + READ_SECONDS
    connection.settimeout(READ_SECONDS)
    connection.sendall(quick.TAKEN)
    head = quick.receive(connection, _size(connection, until, HEAD_BYTES_MAX), until)
    data = quick.receive(connection, _size(connection, until, quick.STDIN_BYTES_MAX), until)
    who, agent, *environment = head.split(b"\0")
    if who != quick.identity():
        return LEAVE
    _be_in(environment)
    whom = os.fsdecode(agent) or None
    if binding() not in (None, whom):
        raise NotAllowedError("bound to another agent")  # the usual way records that
    try:
        event = Event.read(data)
    except NoEventError as error:
        raise UsageError(str(error)) from None
    answer = answer_of(replace(home, _ready={}, _engine=None), "prompt", whom, event)
    said, told = (text.encode() for text in spelled("prompt", answer))
    given = True  # else this raises
    connection.sendall(quick.sized(said) + quick.sized(told))
    connection.close()
    answer.afterwards(given)
    return (whom or agent_from_environment()).encode()


def _size(connection: socket.socket, until: float, most: int) -> int:
    size = int.from_bytes(quick.receive(connection, quick.SIZE, until), "big")
    if size > most:
        raise OSError("more than anybody asks")
    return size


def _be_in(environment: list[bytes]) -> None:
    """Be in the environment of who asks, as far as it changes an answer."""
    for name in [*os.environb]:
        if name.startswith(quick.KINDS):
            del os.environb[name]
    for one in environment:
        name, _, value = one.partition(b"=")
        os.environb[name] = value
    time.tzset()


def _names(paths: HomePaths) -> tuple[Identity, ...]:
    """What stands under the names of home, socket and lock: other files can't be ours."""
    return tuple(identity_of(one) for one in (paths.root, paths.hook_socket, paths.hook_lock))


def _code() -> tuple[Stamp | None, ...]:
    """How the files look that we run: an upgrade changes them."""
    return tuple(stamp_of(path) for path in _sources())


def _sources() -> Iterator[Path]:
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == "skymem" and (file := getattr(module, "__file__", None)):
            yield Path(file)
