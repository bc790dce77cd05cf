"""A real API in a real process, on a home in `tmp_path`, spoken to over its socket."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from skymem.app import init_home
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside, wait_until

ROOT = Path(__file__).parents[2]
REQUEST_SECONDS = 60.0


class Api:
    """One process of `skymem serve`, and what can be asked of it."""

    def __init__(self, home: Path, process: "subprocess.Popen[str]", place: Path) -> None:
        self.home = home
        self.process = process
        self.directory = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
        self.address = f"/proc/self/fd/{self.directory}/{place.name}"
        """However deep the test's directory lies."""

        transport = httpx.HTTPTransport(uds=self.address)
        self.client = httpx.Client(
            transport=transport, base_url="http://localhost", timeout=REQUEST_SECONDS
        )

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.client.get(path, params=query or None)

    def post(self, path: str, body: Any = None) -> httpx.Response:
        return self.client.post(path, json=body)

    def remember(self, content: str, agent: str = "sky", **fields: Any) -> str:
        told = self.post(f"/v1/agents/{agent}/memories", {"content": content, **fields})
        assert told.status_code == 201, told.text
        return str(told.json()["id"])

    def connect(self) -> socket.socket:
        """A bare connection, for what no client would send."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(REQUEST_SECONDS)
        made.connect(self.address)
        return made

    def raw(self, data: bytes) -> tuple[int, dict[str, Any]]:
        """Send bytes as they are; the status and the document that came back."""
        with self.connect() as made:
            made.sendall(data)
            return answer_of(made)

    def violations(self) -> list[tuple[str, str, str]]:
        """Who reached for whom by which door, as the ledger has it."""
        found = []
        for path in sorted((self.home / "audit").glob("*.jsonl")):
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                if entry.get("op") == "violation":
                    found.append((entry["agent"], entry["whose"], entry["door"]))
        return found

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(REQUEST_SECONDS)

    def close(self) -> None:
        self.client.close()
        os.close(self.directory)
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.communicate(timeout=REQUEST_SECONDS)
        finally:
            self.process.kill()


def answer_of(made: socket.socket) -> tuple[int, dict[str, Any]]:
    """Read one answer to the end of the connection, or of its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = made.recv(65536)
        if not block:
            raise AssertionError(f"closed without an answer: {data!r}")
        data += block
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    sizes = [line.partition(":")[2] for line in lines if line.lower().startswith("content-length")]
    while sizes and len(body) < int(sizes[0]):
        block = made.recv(65536)
        if not block:
            break
        body += block
    return int(lines[0].split()[1]), json.loads(body)


def new_home(place: Path, rules: str = "") -> Path:
    init_home(place)
    with (place / "retention_rules.yaml").open("a") as stream:
        stream.write(rules)
    return place


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def answers(place: Path) -> bool:
    """Whether somebody takes connections there."""
    try:
        directory = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
            made.settimeout(REQUEST_SECONDS)
            return made.connect_ex(f"/proc/self/fd/{directory}/{place.name}") == 0
    finally:
        os.close(directory)


@contextmanager
def serving(home: Path, *words: str, place: Path | None = None, **more: Any) -> Iterator[Api]:
    """Start one, wait until it answers, and leave nothing of it behind."""
    environment = {**os.environ, "SKYMEM_ENGINE": "off", **more.pop("env", {})}
    place = place or home / "run/api.sock"
    command = more.pop("command", (sys.executable, "-m", "skymem"))
    process = subprocess.Popen(
        [*command, "--home", str(home), "serve", *words],
        cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True, **more,
    )  # fmt: skip
    try:
        wait_until(lambda: answers(place) or process.poll() is not None, "the API answers")
        if process.poll() is not None:
            pytest.fail(f"it ended with {process.returncode}: {process.communicate()[1]}")
        api = Api(home, process, place)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    try:
        yield api
    finally:
        api.close()


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One API for a module's tests, which keep to agents of their own."""
    with serving(new_home(tmp_path_factory.mktemp("served") / "home")) as made:
        yield made


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    return Outside(HomePaths(new_home(tmp_path / "home")))
