"""A real Chroma server on this machine, and a real proxy with TLS and a token in front of it."""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

COLLECTIONS = "/api/v2/tenants/default_tenant/databases/default_database/collections"
START_SECONDS = 60.0
COMMAND = (sys.executable, "-c", "from chromadb.cli.cli import app; app()", "run")


def free_port() -> int:
    """A port nobody listens on."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class ChromaServer:
    """A process of its own, with its data in `directory`; reached on 127.0.0.1 alone."""

    directory: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.directory.mkdir(exist_ok=True)
        where = ["--path", str(self.directory), "--host", "127.0.0.1", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*COMMAND, *where],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.directory,
            env={**os.environ, "ANONYMIZED_TELEMETRY": "False"},
        )
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.get("/api/v2/heartbeat")
                return
            except OSError:
                assert time.monotonic() < deadline, "the server does not start"
                assert self.process.poll() is None, "the server ended"
                time.sleep(0.02)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it at once, as a power cut would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, 20)) as connection:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return json.loads(response.read())

    def get(self, path: str) -> Any:
        return self.ask("GET", path)

    def collections(self) -> dict[str, int]:
        """Each collection by name, with how many vectors it counts."""
        return {
            each["name"]: self.get(f"{COLLECTIONS}/{each['id']}/count")
            for each in self.get(COLLECTIONS)
        }


@contextmanager
def chroma_server(directory: Path) -> Iterator[ChromaServer]:
    """A server that runs, and does not any more afterwards."""
    made = ChromaServer(directory)
    try:
        made.start()
        yield made
    finally:
        made.kill()


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    certificate, key = directory / "ca.pem", directory / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=chroma", "-addext"),
            *("subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


@dataclass
class Proxy:
    """Passes on what has the token, over TLS where it has a certificate; keeps all it was sent."""

    server: ChromaServer
    token: str = ""
    certificate: tuple[Path, Path] | None = None
    refuse_with: int = 0
    """A status to answer with instead; 0 for none."""

    sent: bytearray = field(default_factory=bytearray)
    paths: list[str] = field(default_factory=list)
    turned_away: int = 0
    _listening: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self._listening is not None
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://127.0.0.1:{self._listening.server_address[1]}"

    def __enter__(self) -> Self:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer = proxy.answer(self.command, self.path, dict(self.headers), body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_DELETE = pass_on  # noqa: N815

            def log_message(self, *_: Any) -> None:
                return

        self._listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._listening.daemon_threads = True
        self._listening.handle_error = lambda *_: None  # type: ignore[method-assign]
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self._listening.socket = context.wrap_socket(
                self._listening.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._listening.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._listening is not None
        self._listening.shutdown()
        self._listening.server_close()

    def answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, bytes]:
        self.sent += path.encode() + body
        self.paths.append(f"{method} {path}")
        wanted = {f"Bearer {self.token}", self.token} if self.token else {None}
        if {headers.get("Authorization"), headers.get("X-Chroma-Token")} != wanted:
            self.turned_away += 1
            return 401, b"<html>who are you?</html>"
        if self.refuse_with:
            return self.refuse_with, b"<html>not now</html>"
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.port, 20)) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
