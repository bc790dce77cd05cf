"""A Chroma server that is away, slow or refuses: answers come all the same, and say so (row R6)."""

import os
import shutil
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

import skymem.engine.remote as remote_module
from tests.engine.chroma_server import ChromaServer, Proxy, free_port
from tests.engine.conftest import Bench
from tests.engine.remote_bench import degraded, impatient, server, sizes, use, whole

__all__ = ["impatient", "server"]


def test_no_server_at_all_is_told_and_costs_no_answer(bench: Bench) -> None:
    use(bench, f"http://127.0.0.1:{free_port()}")
    put = bench.put(range(50))
    bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
    reason = degraded(bench, 7)
    seen = bench.seen()
    stats = bench.index.stats("sky", 5)

    url = bench.rules.remote.url if bench.rules.remote else ""
    expected = f"the Chroma server {url} can't be reached: Connection refused"
    assert put["embedded"] == 50
    assert reason == seen["problems"] == stats["problems"] == [expected]
    assert seen["owed"] == 50
    assert stats["sample"] == {"asked": 0, "found": 0}


def test_a_server_killed_while_vectors_come_in_is_caught_up_with_once_it_is_back(
    bench: Bench, server: ChromaServer
) -> None:
    with Proxy(server) as proxy:
        passing_on, upserts = proxy.answer, 0

        def answer(
            method: str, path: str, headers: dict[str, str], body: bytes
        ) -> tuple[int, bytes]:
            nonlocal upserts
            if path.endswith("/upsert"):
                upserts += 1
                if upserts == 3:  # the server has it, and nobody is told
                    passing_on(method, path, headers, body)
                    server.kill()
                    return 502, b"<html>Bad Gateway</html>"
            try:
                return passing_on(method, path, headers, body)
            except OSError:
                return 502, b"<html>Bad Gateway</html>"

        proxy.answer = answer  # type: ignore[method-assign]
        use(bench, proxy.url)
        bench.put(range(900))
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        reason = degraded(bench, 800)
        owed = bench.seen()["owed"]
        bench.put(range(900, 950))
        bench.index.drop("sky", ["m0"])
        server.start()
        bench.tend_until(lambda: whole(bench), "it has caught up")
        stats = bench.index.stats("sky", 100)

    assert upserts > 3
    assert reason == [f"the Chroma server {proxy.url} answers with 502"]
    assert 0 < owed < 900
    assert sizes(server) == [0, 949]
    assert (stats["missing"], stats["extra"]) == (0, 0)
    assert stats["sample"]["found"] == stats["sample"]["asked"]
    assert bench.embedder.encoded == 950
    assert degraded(bench, 800) == bench.seen()["problems"] == []


@pytest.mark.parametrize("restored", ["an older state", "nothing"])
def test_a_server_that_comes_back_without_what_it_had_is_given_it_again(
    bench: Bench, server: ChromaServer, tmp_path: Path, restored: str
) -> None:
    use(bench, server.url)
    bench.put(range(60))
    bench.settle()
    server.kill()
    shutil.copytree(server.directory, tmp_path / "backup")
    server.start()
    bench.put(range(60, 100))
    bench.tend_until(lambda: sizes(server) == [0, 100], "it has all")
    server.kill()
    reason = degraded(bench, 70)
    shutil.rmtree(server.directory)
    if restored == "an older state":
        shutil.copytree(tmp_path / "backup", server.directory)
    server.start()
    bench.tend_until(lambda: whole(bench), "it has all again")

    assert "Connection refused" in reason[0]
    assert sizes(server) == [0, 100]
    assert bench.embedder.encoded == 100
    assert degraded(bench, 70) == []


def test_a_server_that_stands_still_holds_one_question_up_and_no_other(
    bench: Bench, server: ChromaServer
) -> None:
    with Proxy(server) as proxy:
        use(bench, proxy.url, timeout_seconds=4)
        bench.put(range(100))
        bench.settle()
        before = degraded(bench, 1)
        asked = len(proxy.paths)
        server.signal(signal.SIGSTOP)
        reasons = [degraded(bench, number) for number in range(2, 12)]
        waited_for = proxy.paths[asked:]
        server.signal(signal.SIGCONT)
        bench.tend_until(lambda: whole(bench), "it is verified again")

    told = f"the Chroma server {proxy.url} can't be reached: no answer in 2 s"
    assert before == []
    assert reasons == [[told]] * 10
    assert [path.rpartition("/")[2] for path in waited_for] == ["query"]
    assert degraded(bench, 20) == []


def test_questions_are_answered_while_the_server_takes_its_time_over_a_change(
    bench: Bench, server: ChromaServer
) -> None:
    """The engine has one thread for all: what waits for a slow server must not be it."""
    use(bench, server.url, timeout_seconds=4)
    bench.put(range(100))
    bench.settle()
    answers: list[list[str]] = []

    def ask() -> None:
        if not answers:
            answers.append(degraded(bench, 5))
            server.signal(signal.SIGCONT)

    bench.between = ask
    bench.put(range(100, 130))
    answers.clear()
    server.signal(signal.SIGSTOP)
    bench.tend_until(lambda: whole(bench), "it has caught up")

    assert answers == [[f"the Chroma server {server.url} can't be reached: no answer in 2 s"]]
    assert sizes(server) == [0, 130]
    assert bench.seen()["healed"] == []


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (307, b"", "answers with 307"),
        (404, b"<html>nothing here</html>", "answers with 404"),
        (413, b"<html></html>", "takes no body of 1 MiB (nginx: client_max_body_size 2m)"),
        (429, b'{"error":"x","message":"slow\\u001b[1m down"}', "answers with 429: slow[1m down"),
        (200, b"<html>welcome</html>", "answers, but not as Chroma does"),
        (200, b"[]", "answers, but not as Chroma does"),
        (400, b'{"error":"x","message":"Database [d] does not exist"}', "Database [d] does not"),
    ],
)
def test_an_answer_that_is_not_chromas_is_no_damage(
    bench: Bench, server: ChromaServer, status: int, body: bytes, reason: str
) -> None:
    with Proxy(server) as proxy:
        use(bench, proxy.url)
        bench.put(range(10))
        passing_on = proxy.answer
        proxy.answer = lambda *_: (status, body)  # type: ignore[method-assign]
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        (told,) = degraded(bench, 3)
        proxy.answer = passing_on  # type: ignore[method-assign]
        bench.tend_until(lambda: whole(bench), "it is filled")

    assert reason in told
    assert bench.seen()["healed"] == []
    assert sizes(server) == [0, 10]


@pytest.mark.parametrize(
    ("what", "status", "body"),
    [
        ("query", 400, b'{"error":"InvalidArgumentError","message":"n_results: at most 300"}'),
        ("query", 404, b'{"error":"no such route"}'),
        ("query", 200, b"{}"),
        ("query", 200, b'{"ids":[[1, null]],"distances":[]}'),
        ("query", 200, b'{"ids":null,"distances":[[[]]]}'),
        ("count", 200, b'{"count":60}'),
        ("count", 503, b""),
    ],
)
def test_a_refusal_costs_neither_the_answer_nor_what_the_server_has(
    bench: Bench, server: ChromaServer, what: str, status: int, body: bytes
) -> None:
    with Proxy(server) as proxy:
        passing_on = proxy.answer
        use(bench, proxy.url)
        bench.put(range(60))
        bench.settle()
        names = set(server.collections())

        def answer(method: str, path: str, *rest: object) -> tuple[int, bytes]:
            refused = path.endswith(f"/{what}")
            return (status, body) if refused else passing_on(method, path, *rest)  # type: ignore[arg-type]

        proxy.answer = answer  # type: ignore[assignment,method-assign]
        bench.index._open["sky"].keeper._queries = 1000
        asked = len(proxy.paths)
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        (told,) = degraded(bench, 3)
        proxy.answer = passing_on  # type: ignore[method-assign]
        bench.tend_until(lambda: whole(bench), "it is verified again")
        again = proxy.paths[asked:]

    assert told.startswith(f"the Chroma server {proxy.url} answers")
    assert set(server.collections()) == names
    assert not [path for path in again if path.endswith("/upsert")]


def test_a_server_that_never_ends_its_answer_is_given_up(
    bench: Bench, server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then resets every timeout of a socket: the deadline is of the whole call."""
    monkeypatch.setattr(remote_module, "WORK_SECONDS", 0.5)
    with Dripping() as url:
        use(bench, url)
        bench.put(range(10))
        began = time.monotonic()
        bench.tend_until(lambda: bench.seen()["away"], "it is noticed")
        taken = time.monotonic() - began
        (told,) = degraded(bench, 3)

    assert told.endswith("can't be reached: no answer in 0.5 s")
    assert taken < 20


class Dripping:
    """A server that sends a header for ever, byte by byte."""

    def __enter__(self) -> str:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def _serve(self) -> None:
        self._listening.settimeout(60)
        while not self._over.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Much: ")
            while not self._over.wait(0.05):
                connection.sendall(b"x")
        except OSError:
            pass
        connection.close()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listening.close()


def test_connections_and_threads_stay_few(
    bench: Bench, server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_module, "WORK_SECONDS", 0.5)
    use(bench, server.url)
    bench.put(range(50))
    seen = []
    for turn in range(30):
        server.signal(signal.SIGSTOP if turn % 10 == 5 else signal.SIGCONT)
        bench.close()
        bench.put(range(50 + turn, 51 + turn))
        for _ in range(20):
            bench.index.tend()
        server.signal(signal.SIGCONT)
        bench.tend_until(lambda: whole(bench), "it is whole")
        seen.append((len(os.listdir("/proc/self/fd")), threading.active_count()))

    assert max(seen[-5:])[0] <= max(seen[2:6])[0] + 4
    assert max(count for _, count in seen) < 12
