"""How the soak's writers remember: in Python, over HTTP, and as a client of the MCP server."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import skymem
from tests.acceptance.homes import COMMAND
from tests.serve.mcp_client import speaking

OPEN_SECONDS = 60.0
ANSWER_SECONDS = 30.0
CREATED = 201

Remember: TypeAlias = Callable[[str, float, str], str]
"""Takes a text, its importance and its kind; gives back its id."""


class UnansweredError(Exception):
    """The connection broke, or the door was too busy: the text may be there or not."""


class Served:
    """The API of the home, which is killed and started again."""

    def __init__(self, home: Path, log: Path) -> None:
        self._command = [*COMMAND, "--home", str(home), "serve"]
        self.log = log
        """All that any of them said."""

        self.wrong: list[str] = []
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(self._command, stdout=log, stderr=log, cwd="/")

    def kill(self) -> bool:
        """SIGKILL, in the middle of whatever it answers, and another one."""
        self._process.kill()
        self._process.wait()
        self._process = self._start()
        return True

    def look(self) -> None:
        """See that it is up."""
        if (code := self._process.poll()) is not None:
            said = self.log.read_text(errors="replace").splitlines()[-1:]
            self.wrong.append(f"the API ended by itself, with {code}: {''.join(said)[:300]}")
            self._process = self._start()

    def end(self) -> None:
        """SIGTERM: it has to end with 0."""
        self._process.terminate()
        try:
            code = self._process.wait(ANSWER_SECONDS)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"the API did not end in {ANSWER_SECONDS:.0f} s")
            return
        if code not in (0, -signal.SIGTERM):  # the latter before it was up
            self.wrong.append(f"the API ended with {code} at SIGTERM")

    def close(self) -> None:
        """Leave it not behind."""
        self._process.kill()
        self._process.wait()


@contextmanager
def by_python(home: Path, agent: str) -> Iterator[Remember]:
    """`skymem.open_memory`, in this process."""
    memory = skymem.open_memory(agent, home=str(home))
    yield lambda text, importance, kind: memory.remember(text, importance=importance, kind=kind)


@contextmanager
def by_http(home: Path, agent: str) -> Iterator[Remember]:
    """`skymem serve`, which somebody else starts, kills, and starts again."""

    def remember(text: str, importance: float, kind: str) -> str:
        body = json.dumps({"content": text, "importance": importance, "kind": kind})
        with _connected(home / "run/api.sock") as connection:
            try:
                path = f"/v1/agents/{agent}/memories"
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                told = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError) as error:
                raise UnansweredError from error
        if answer.status != CREATED:
            raise UnansweredError(f"{answer.status}: {told}")
        return str(told["id"])

    yield remember


@contextmanager
def by_mcp(home: Path, agent: str) -> Iterator[Remember]:
    """A `skymem mcp` of its own, with the protocol's client."""
    with speaking(home, agent) as spoken:
        yield lambda text, importance, kind: spoken.store(text, importance=importance, kind=kind)


DOORS: dict[str, Callable[[Path, str], AbstractContextManager[Remember]]] = {
    "python": by_python,
    "http": by_http,
    "mcp": by_mcp,
}


@contextmanager
def _connected(place: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to whoever serves there, who may still be on its way."""
    deadline = time.monotonic() + OPEN_SECONDS
    connection = http.client.HTTPConnection("localhost", timeout=ANSWER_SECONDS)
    while True:
        found = socket.socket(socket.AF_UNIX)
        found.settimeout(ANSWER_SECONDS)
        try:
            directory = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
            try:  # a socket's path may have a hundred letters, and this one has more
                found.connect(f"/proc/self/fd/{directory}/{place.name}")
            finally:
                os.close(directory)
            break
        except OSError as error:
            found.close()
            if time.monotonic() > deadline:
                raise UnansweredError from error
            time.sleep(0.1)
    connection.sock = found
    try:
        yield connection
    finally:
        connection.close()
