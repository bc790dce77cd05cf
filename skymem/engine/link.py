"""The link to a Chroma server: HTTP over TLS with a token, and a deadline that holds (R6, R14).

It speaks Chroma's HTTP API itself. Chroma's own client waits for ever, bounds no answer, and builds
whatever embedding function a collection on the server names (chroma#6717, hazard D16): with it a
server could hold the engine up, or run code in it.
"""

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from skymem.config.remote_section import API
from skymem.engine.vectors import IndexAwayError
from skymem.model.rules import RemoteRules
from skymem.stores.token_file import bearer, read_token

TICK_SECONDS: Final = 0.02
"""Between two looks at what waits for the engine, while a call is under way."""

THREADS: Final = 2
"""A question may be asked while a change is under way."""

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
CHUNK_BYTES: Final = 256 * 1024


class Answer(NamedTuple):
    """What a server said."""

    status: int
    body: bytes


@dataclass(slots=True)
class _Call:
    method: str
    path: str
    body: bytes | None
    ends: float
    connection: HTTPConnection | None = None

    @property
    def seconds_left(self) -> float:
        """What is left of its time; raises TimeoutError where nothing is."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def cut(self) -> None:
        """Wake the thread that waits for an answer."""
        found = self.connection.sock if self.connection is not None else None
        if found is not None:
            with contextlib.suppress(OSError, ValueError):
                found.shutdown(socket.SHUT_RDWR)


class Link:
    """Calls to one server. For one thread; what waits for the network are threads of its own."""

    def __init__(self, remote: RemoteRules, environment: Mapping[str, str]) -> None:
        self._remote = remote
        self._environment = environment
        self._parts = urlsplit(remote.url)
        self._pool = ThreadPoolExecutor(THREADS, "chroma server")
        self._idle: list[HTTPConnection] = []
        self._context: ssl.SSLContext | None = None
        self._closed = False

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        seconds: float,
        meanwhile: Callable[[], None],
    ) -> Answer:
        """Ask for `path` below the API, once more where a connection had been closed meanwhile.

        Calls `meanwhile` again and again until the answer is there.

        Raises:
            IndexAwayError: no answer in time, or no way to the server; says why.
        """
        call = _Call(method, path, body, time.monotonic() + seconds)
        coming = self._pool.submit(self._send, call)
        try:
            while not wait([coming], min(TICK_SECONDS, call.seconds_left)).done:
                meanwhile()
            return coming.result()
        except (OSError, ValueError, HTTPException) as error:
            self._context = None  # its files may have been replaced meanwhile
            raise self.away(f"can't be reached: {_reason(error, seconds)}") from error
        finally:
            if not coming.done():
                call.cut()

    def away(self, why: str) -> IndexAwayError:
        """Make the error that says so of this server."""
        return IndexAwayError(f"the Chroma server {self._remote.url} {why}")

    def close(self) -> None:
        """Let the connections go; nobody waits for what is under way."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._drop_idle()

    def _drop_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()

    # -- in threads of its own ------------------------------------------------------------------

    def _send(self, call: _Call) -> Answer:
        headers = {"Content-Type": "application/json", "User-Agent": "skymem", **self._token()}
        try:
            known = self._idle.pop()
        except IndexError:
            return self._exchange(self._connection(), call, headers)
        try:
            return self._exchange(known, call, headers)
        except TimeoutError:
            raise
        except (OSError, HTTPException):
            # Closed since, by the server or on the way: all that is asked may be asked twice.
            return self._exchange(self._connection(), call, headers)

    def _exchange(
        self, connection: HTTPConnection, call: _Call, headers: Mapping[str, str]
    ) -> Answer:
        call.connection = connection
        try:
            connection.timeout = call.seconds_left
            if connection.sock is not None:
                connection.sock.settimeout(connection.timeout)
            path = f"{self._parts.path}{API}{call.path}"
            connection.request(call.method, path, call.body, dict(headers))
            response = connection.getresponse()
            body = bytearray()
            while piece := response.read(CHUNK_BYTES):
                body += piece
                if len(body) > ANSWER_BYTES_MAX:
                    raise ValueError("its answer is too large")
                if connection.sock is not None:
                    connection.sock.settimeout(call.seconds_left)
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:
            self._idle.append(connection)
        if self._closed:  # while this call was under way
            self._drop_idle()
        return Answer(response.status, bytes(body))

    def _connection(self) -> HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return HTTPConnection(host, port)
        if self._context is None:
            self._context = _context(self._remote.ca_file)
        return HTTPSConnection(host, port, context=self._context)

    def _token(self) -> dict[str, str]:
        """The headers that carry the token: proxies look for the first, Chroma for the second."""
        token = ""
        if self._remote.token_env is not None:
            token = self._environment.get(self._remote.token_env, "").strip()
            if not token:
                name = self._remote.token_env
                raise ValueError(f"the engine was started without the variable {name}")
        elif self._remote.token_file is not None:
            token = read_token(self._remote.token_file)
        if not token:
            return {}
        return {"Authorization": bearer(token), "X-Chroma-Token": token}


def _context(ca_file: str | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ValueError(f"ca_file {ca_file}: {error.strerror or error}") from error


def _reason(error: OSError | ValueError | HTTPException, seconds: float) -> str:
    """Say in words what kept a call from being answered."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"no TLS with it ({error.reason or error})"
    if isinstance(error, TimeoutError):
        return f"no answer in {seconds:g} s"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    if isinstance(error, HTTPException):
        return f"it does not answer as HTTP does ({type(error).__name__})"
    return str(error)
