"""The API's process: one for a home, its sockets, its end (`skymem serve`)."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvicorn

from skymem.app import Home, now
from skymem.daemon.notify import Notifier
from skymem.engine.socket_file import BACKLOG, listen
from skymem.errors import BusyError, DiskError, UsageError
from skymem.serve.api import make_app
from skymem.serve.caller import Token, read_tokens
from skymem.serve.connection import Connection
from skymem.serve.keeper import Keeper
from skymem.serve.run_records import RunRecords
from skymem.serve.runs import Runs
from skymem.stores.files import disk_errors
from skymem.stores.lock import held

AT_ONCE_MAX: Final = 100
"""Connections, or requests in hand; who comes then is told 503."""

HEAD_BYTES_MAX: Final = 32 * 1024
"""Of a request's first line and its headers: a query can be long."""

IDLE_SECONDS: Final = 30
LAST_SECONDS: Final = 20
"""How long requests in hand may go on once the process is to end."""

LOCK_SECONDS: Final = 0.5
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Place:
    """Where it listens."""

    socket: Path
    port: int | None
    tokens: tuple[Token, ...]


def place_of(home: Home, chosen: Path | None) -> Place:
    """Where the API of a home listens, and the tokens for it.

    Raises:
        ConfigurationError: the token file is not usable; DiskError.
    """
    rules = home.rules.api
    tokens: tuple[Token, ...] = ()
    if rules.tcp_port is not None:
        tokens = read_tokens(home.paths.root / rules.token_file, home.files)
    path = home.paths.api_socket if chosen is None else chosen.absolute()
    return Place(path, rules.tcp_port, tokens)


def serve(home: Home, chosen: Path | None, environment: MutableMapping[str, str]) -> int:
    """Serve a home until SIGTERM or Ctrl-C; gives the exit code, 0.

    Raises:
        BusyError: another API serves this home.
        ConfigurationError, DiskError, UsageError: it can't listen there.
    """
    notifier = Notifier(environment)
    home.files.make_directory(home.paths.run)
    place = place_of(home, chosen)
    with contextlib.ExitStack() as stack:
        try:
            lock = held(home.paths.api_lock, "skymem serve", deadline_seconds=LOCK_SECONDS)
            stack.enter_context(lock)
        except BusyError as error:
            raise BusyError("the API of this home", error.args[1]) from None
        sockets = [stack.enter_context(one) for one in _listening(home, place)]
        stack.callback(_unlink, place.socket)
        command = [sys.executable, "-m", "skymem", "--home", str(home.paths.root)]
        runs = Runs(command, now, RunRecords(home.paths, home.files))
        stack.callback(runs.end)
        app = make_app(Keeper(home), runs, port=place.port, tokens=place.tokens)
        logging.basicConfig(format="skymem: %(message)s", level=logging.WARNING)
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            lifespan="off",
            loop="asyncio",
            log_config=None,
            access_log=False,  # a path may hold what somebody looks for
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=AT_ONCE_MAX,
            timeout_keep_alive=IDLE_SECONDS,
            timeout_graceful_shutdown=LAST_SECONDS,
        )
        asyncio.run(_serve(_Server(config), sockets, notifier, runs, place))
    return 0


class _Server(uvicorn.Server):
    """Uvicorn's, whose signals are ours: its own would end the process by them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


async def _serve(
    server: _Server, sockets: list[socket.socket], notifier: Notifier, runs: Runs, place: Place
) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if server.should_exit:
            server.force_exit = True
            runs.hurry()
        else:
            notifier.stopping()
        server.should_exit = True

    had_terminal = sys.stdin is not None and sys.stdin.isatty()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    # The rules are read anew whenever they change; a terminal that closes is another matter.
    loop.add_signal_handler(signal.SIGHUP, stop if had_terminal else lambda: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    serving = asyncio.create_task(server.serve(sockets=sockets))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    where = f"the API answers on {place.socket}"
    where += f" and 127.0.0.1:{place.port}" if place.port is not None else ""
    notifier.ready(where)
    sys.stderr.write(f"skymem: {where}\n")
    while not serving.done():
        notifier.watchdog()
        await asyncio.wait({serving}, timeout=_pause(notifier))
    await serving


def _pause(notifier: Notifier) -> float:
    seconds = notifier.watchdog_seconds
    return 60.0 if seconds is None else seconds / 2


def _listening(home: Home, place: Place) -> Sequence[socket.socket]:
    everyone = home.rules.api.reach == "everyone"
    shared = 0o660 if home.rules.access == "group" else 0o600
    if place.socket.exists() and not stat.S_ISSOCK(os.lstat(place.socket).st_mode):
        raise UsageError(f"{place.socket} is there, and no socket; name another place")
    made = [listen(place.socket, 0o666 if everyone else shared)]
    if place.port is not None:
        made.append(_on_tcp(place.port))
    return made


def _on_tcp(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(("127.0.0.1", port))
        made.listen(BACKLOG)
        made.settimeout(0)
    except OSError as error:
        made.close()
        raise DiskError(f"127.0.0.1:{port}", error.strerror or str(error)) from None
    return made


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError), disk_errors(path):
        os.unlink(path)
