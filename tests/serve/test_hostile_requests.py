"""What an attacker or a broken client sends: each is answered or let go, and the others go on."""

import contextlib
import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.homes import wait_until
from tests.serve.conftest import Api, answer_of, new_home, serving

HURRIED = """
from skymem.serve import connection, service
connection.ARRIVAL_SECONDS = connection.READING_SECONDS = 1.0
connection.CONNECTIONS_MAX = 40
service.AT_ONCE_MAX = 30
from skymem.cli.entry import main
main()
"""

HEAD = (
    b"POST /v1/agents/sky/memories HTTP/1.1\r\nhost: localhost\r\n"
    b"content-type: application/json\r\n"
)


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """An API that waits a second where others wait longer."""
    home = new_home(tmp_path_factory.mktemp("hurried") / "home")
    with serving(home, command=(sys.executable, "-c", HURRIED)) as made:
        made.remember("something to read")
        yield made


def alive(api: Api) -> None:
    """Others are served, as soon as those who had the places are gone."""

    def served() -> bool:
        return api.get("/v1/agents/sky/search", q="something").status_code == 200

    wait_until(served, "others are served")
    assert api.process.poll() is None


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health/live HT",
        HEAD,
        HEAD + b'content-length: 100\r\n\r\n{"content": "ha',
        HEAD + b'transfer-encoding: chunked\r\n\r\n5\r\n{"con\r\n',
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "half a chunked body"],
)
def test_a_request_that_never_ends_is_let_go(hurried: Api, sent: bytes) -> None:
    with hurried.connect() as made:
        made.sendall(sent)
        alive(hurried)

        assert answer_of(made)[0] == 408
        assert made.recv(1) == b""


def test_a_second_request_that_never_ends_is_let_go(hurried: Api) -> None:
    with hurried.connect() as made:
        made.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert answer_of(made) == (200, {"alive": True})
        made.sendall(b"GET /health/li")

        assert answer_of(made)[0] == 408


def test_a_request_that_comes_a_byte_at_a_time_is_let_go(hurried: Api) -> None:
    with hurried.connect() as made, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        made.sendall(HEAD + b"content-length: 100000\r\n\r\n")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            made.sendall(b" ")
            time.sleep(0.05)
        pytest.fail("it was listened to for ever")
    alive(hurried)


def test_who_connects_too_often_is_told_so_and_the_others_are_served_after(hurried: Api) -> None:
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(hurried.connect()) for _ in range(60)]
        status, told = answer_of(made[-1])
    assert (status, told["error"]["message"]) == (503, "too many connections; try again")
    alive(hurried)


def test_a_request_past_what_is_served_at_once_is_refused_politely(hurried: Api) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(32):
            stack.enter_context(hurried.connect()).sendall(b"GET")
        asking = stack.enter_context(hurried.connect())
        asking.sendall(b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert asking.recv(12) == b"HTTP/1.1 503"
    alive(hurried)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_long_is_refused(api: Api, chunked: bool) -> None:
    size = 3 * 1024 * 1024
    with api.connect() as made:
        if chunked:
            made.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for _ in range(size // 65536):
                    made.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        else:
            made.sendall(HEAD + f"content-length: {size}\r\n\r\n".encode())
        status, told = answer_of(made)

    assert (status, told["error"]["code"]) == (413, 2)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b'{"content": "x", "contents": "y"}',
        b'{"content": "x", "importance": NaN}',
        b'{"content": "x", "metadata": {"a": Infinity}}',
        b'{"content": "x", "ts": ' + b"9" * 5000 + b"}",
        b'{"content": ' + b"[" * 50_000,
        b'{"content": "\\ud800"}',
        b'{"content": "  "}',
        b"",
    ],
    ids=lambda body: body[:24].decode("latin-1"),
)
def test_a_body_that_can_not_be_read_is_refused(api: Api, body: bytes) -> None:
    told = api.client.post(
        "/v1/agents/sky/memories", content=body, headers={"content-type": "application/json"}
    )

    assert told.status_code in (400, 422), told.text
    assert told.json()["error"]["message"]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / SPDY/9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET /health/live HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /health/live HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 1_000_000 + b"\r\n\r\n",
    ],
    ids=["no http", "tls", "no host", "two lengths", "a long path", "a long header"],
)
def test_what_is_no_request_is_refused(api: Api, sent: bytes) -> None:
    # One that goes on sending while it is refused may be cut off before it reads why.
    with api.connect() as made, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        made.sendall(sent)
        assert made.recv(12) == b"HTTP/1.1 400"
    assert api.get("/health/live").status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "..%2f..%2fetc",
        "%2e%2e%2fsky",
        "%2fetc",
        "a%2fb",
        ".",
        "-rf",
        "x%00y",
        "x%0ay",
        "a" * 300,
        "SKY",
        "%c3%a9",
        "e%cc%81",
        "%ff",
    ],
)
def test_a_name_that_is_none_makes_nothing(api: Api, name: str) -> None:
    before = {path.name for path in api.home.rglob("*")}
    body = json.dumps({"content": "x"}).encode()
    path = f"/v1/agents/{name}/memories".encode()
    head = b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    size = f"content-length: {len(body)}\r\n\r\n".encode()

    status, told = api.raw(b"POST " + path + head + size + body)

    assert status in (400, 404, 405), told
    assert {path.name for path in api.home.rglob("*")} <= before | {"sky"}


@pytest.mark.parametrize("host", ["evil.com", "localhost.evil.com", "localhost:80", "a\x00b"])
def test_a_host_that_is_not_this_is_refused(api: Api, host: str) -> None:
    with api.connect() as made:
        made.sendall(f"GET /health/live HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
        assert made.recv(12) in (b"HTTP/1.1 403", b"HTTP/1.1 400")


def test_two_hosts_are_refused(api: Api) -> None:
    hosts = b"host: localhost\r\nhost: evil.com\r\n"

    assert made_of(api, hosts) in (400, 403)


def test_a_web_page_is_refused(api: Api) -> None:
    assert made_of(api, b"host: localhost\r\norigin: http://localhost\r\n") == 403


def made_of(api: Api, headers: bytes) -> int:
    with api.connect() as made:
        made.sendall(b"GET /health/live HTTP/1.1\r\n" + headers + b"\r\n")
        return int(made.recv(12).split()[1])


def test_who_does_not_read_the_answer_keeps_no_place(hurried: Api, tmp_path: Path) -> None:
    del tmp_path
    for number in range(300):
        hurried.remember(f"something {number} " + "x" * 4000)
    with hurried.connect() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.sendall(b"GET /v1/agents/sky/memories?limit=300 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        time.sleep(0.1)
        alive(hurried)
        read = 0
        deadline = time.monotonic() + 60
        with contextlib.suppress(ConnectionResetError):
            time.sleep(2.5)
            while (block := made.recv(65536)) and time.monotonic() < deadline:
                read += len(block)
    assert read < 300 * 4000
