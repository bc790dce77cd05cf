"""What breaks around a running engine, and what each caller gets: an answer or a clear word."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from skymem.engine.backlog import WAITING_MAX
from skymem.engine.client import Engine, own_version
from skymem.engine.items import Item
from skymem.engine.socket_file import dial
from skymem.engine.wire import PROTOCOL, Greeting, pack, settings_key, unpack
from skymem.errors import BusyError, EngineUnavailableError, SkymemError, UsageError
from tests.engine.processes import EngineHome, home, wait_until

__all__ = ["home"]

QUERY = {
    "id": "1",
    "op": "query",
    "deadline_s": 30,
    "args": {"agent": "sky", "text": "x", "limit": 1, "collections": ["memory"], "also": []},
}


@contextlib.contextmanager
def raw(home: EngineHome, *, greet: bool = True) -> Iterator[socket.socket]:
    """A connection of a client that is none of ours."""
    found = dial(home.paths.engine_socket)
    assert found is not None
    with found:
        found.settimeout(10)
        if greet:
            found.sendall(Greeting(PROTOCOL, own_version(), settings_key(home.rules)).frame())
            assert "hello" in receive(found)
        yield found


def receive(connection: socket.socket) -> dict[str, Any]:
    header = connection.recv(4, socket.MSG_WAITALL)
    if not header:
        return {}
    return unpack(connection.recv(int.from_bytes(header, "big"), socket.MSG_WAITALL))


def query(text: str, request_id: str = "1") -> bytes:
    return pack({**QUERY, "id": request_id, "args": {**QUERY["args"], "text": text}})  # type: ignore[dict-item]


def in_threads(count: int, work: Callable[[int], Any]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    return threads


# -- clients that misbehave -------------------------------------------------------------------


def test_a_client_that_never_reads_is_dropped_and_holds_up_nobody(home: EngineHome) -> None:
    home.say(limits={"frame": 6.0})
    client = home.client()
    client.overview()
    with raw(home) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        deaf.settimeout(0.2)
        with pytest.raises(OSError, match=r"timed out|reset|pipe"):
            _send_without_end(deaf)
        began = time.monotonic()
        assert client.query("sky", "still here", 1)["hits"]
        assert time.monotonic() - began < 5  # of 6 that the deaf one has
        wait_until(lambda: client.overview()["connections"] == 1, "it is dropped")


def _send_without_end(deaf: socket.socket) -> None:
    while True:  # until neither end can send any more
        deaf.sendall(query("x" * 100_000))


def test_a_client_that_stops_in_the_middle_of_a_frame_is_dropped(home: EngineHome) -> None:
    home.say(limits={"frame": 0.3})
    client = home.client()
    client.overview()
    for part in (query("x")[:2], query("x")[:20]):
        with raw(home) as slow:
            slow.sendall(part)
            assert client.query("sky", "still here", 1)["hits"]
            with contextlib.suppress(ConnectionError):
                assert slow.recv(1) == b""
    assert client.overview()["connections"] == 1


def test_a_frame_in_small_pieces_is_a_frame(home: EngineHome) -> None:
    home.client().overview()
    with raw(home) as slow:
        for byte in query("slowly"):
            slow.sendall(bytes([byte]))
        assert receive(slow)["result"]["hits"] == [["slowly", 1.0]]


@pytest.mark.parametrize(
    ("garbage", "told"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "too large"),
        (b"\x00\x00\x00\x02{}", "no greeting"),
        (b"\x00\x00\x00\x03{]}", "must hold JSON"),
        (b"\xff\xff\xff\xff", "too large"),
    ],
)
def test_garbage_gets_an_error_and_is_closed(home: EngineHome, garbage: bytes, told: str) -> None:
    home.client().overview()
    with raw(home, greet=False) as stranger:
        stranger.sendall(garbage)
        assert told in receive(stranger)["error"]["args"][0]
        with contextlib.suppress(ConnectionError):
            assert stranger.recv(1) == b""
    assert home.client().query("sky", "still here", 1)["hits"]


def test_a_request_the_engine_does_not_know_is_refused_and_the_connection_goes_on(
    home: EngineHome,
) -> None:
    client = home.client()
    with pytest.raises(UsageError):
        client.query("../up", "x", 1)
    assert client.query("sky", "x", 1)["hits"]
    with pytest.raises(EngineUnavailableError, match="more than a frame holds"):
        client.query("sky", "x" * 40_000_000, 1)
    assert client.query("sky", "x", 1)["hits"]


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else takes root")
def test_another_user_is_not_listened_to_even_where_the_modes_would_let_him(
    home: EngineHome,
) -> None:
    client = home.client()
    client.overview()
    home.paths.run.chmod(0o755)
    home.paths.engine_socket.chmod(0o666)
    child = os.fork()
    if not child:
        os.chdir(home.paths.run)
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect("engine.sock")
            stranger.settimeout(5)
            with contextlib.suppress(ConnectionError):
                stranger.sendall(pack({"op": "leave"}))
                os._exit(0 if stranger.recv(1) == b"" else 1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert client.query("sky", "x", 1)["hits"]
    assert len(home.lines("started.txt")) == 1


# -- too much, too late -----------------------------------------------------------------------


def test_one_request_too_many_is_told_that_the_engine_is_busy(home: EngineHome) -> None:
    client = home.client()
    client.overview()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(raw(home)) for _ in range(WAITING_MAX + 3)]
        connections[0].sendall(query("sleep 6"))
        wait_until(lambda: client.overview()["doing"] == "query", "the worker is busy")
        for each in connections[1:]:
            each.sendall(query("x"))
        began = time.monotonic()
        wait_until(lambda: client.overview()["waiting"] == WAITING_MAX, "the backlog is full")
        assert time.monotonic() - began < 5  # overview is answered meanwhile
        with pytest.raises(BusyError, match="64 requests"):
            client.query("sky", "x", 1)
        answers = [receive(each) for each in connections]

    assert sum("result" in each for each in answers) == WAITING_MAX + 1
    assert [each["error"]["kind"] for each in answers if "error" in each] == ["busy"] * 2


def test_requests_that_would_take_too_much_memory_together_are_told_that_it_is_busy(
    home: EngineHome,
) -> None:
    client = home.client()
    client.overview()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(home.client().query, "sky", "sleep 6", 1)
        wait_until(lambda: client.overview()["doing"] == "query", "the worker is busy")
        large = "x" * 25_000_000
        sent = [pool.submit(home.client().query, "sky", large, 1) for _ in range(3)]
        errors = [each.exception() for each in sent]
        first.result()

    assert [type(each) for each in errors if each] == [BusyError]
    assert client.query("sky", "x", 1)["hits"]


def test_what_waited_until_its_deadline_is_not_carried_out(home: EngineHome) -> None:
    client = home.client()
    client.overview()
    slow = in_threads(1, lambda _: home.client().query("sky", "sleep 1", 1))
    wait_until(lambda: client.overview()["doing"] == "query", "the worker is busy")

    with pytest.raises(EngineUnavailableError, match=r"deadline|too late"):
        client.put("sky", "memory", [Item("late", "d", "t")], deadline_seconds=0.3)
    slow[0].join()
    client.query("sky", "x", 1)
    assert home.lines("puts.txt") == []


def test_queries_do_not_wait_for_a_long_put(home: EngineHome) -> None:
    home.say(put_seconds=0.05)
    client = home.client()
    client.overview()
    items = [Item(str(number), "d", "t") for number in range(100)]
    put = in_threads(1, lambda _: home.client().put("sky", "memory", items))
    wait_until(lambda: home.lines("puts.txt"), "the put has begun")
    taken = []
    for _ in range(10):
        began = time.monotonic()
        client.query("sky", "x", 1)
        taken.append(time.monotonic() - began)
    assert len(home.lines("puts.txt")) < 100  # it was still at it
    put[0].join()

    assert max(taken) < 4  # of 5
    assert len(home.lines("puts.txt")) == 100


def test_a_repeat_with_the_same_id_joins_the_first_or_gets_its_answer(home: EngineHome) -> None:
    home.say(put_seconds=0.3)
    home.client().overview()
    arguments = {"agent": "sky", "collection": "memory", "items": [["a", "d", "t"]]}
    frame = pack({"id": "same", "op": "put", "args": arguments, "deadline_s": 10})
    with raw(home) as first, raw(home) as second:
        first.sendall(frame)
        second.sendall(frame)
        assert receive(first)["result"] == receive(second)["result"]
    with raw(home) as third:
        third.sendall(frame)
        assert receive(third)["result"]["done"] == ["a"]

    assert home.lines("puts.txt") == ["sky memory a"]


# -- the engine breaks ------------------------------------------------------------------------


def test_a_bug_in_one_request_stops_no_other_and_is_logged_without_the_text(
    home: EngineHome,
) -> None:
    client = home.client()
    with pytest.raises(EngineUnavailableError, match="a bug, ValueError"):
        client.query("sky", "bug secret-word", 1)

    assert client.query("sky", "x", 1)["hits"]
    assert len(home.lines("started.txt")) == 1
    log = home.paths.engine_log.read_text()
    assert "in query" in log
    assert "secret-word" not in log


def test_an_engine_killed_between_two_calls_costs_one_retry(home: EngineHome) -> None:
    client = home.client()
    first = client.query("sky", "x", 1)["pid"]
    assert home.kill() == first
    second = client.query("sky", "x", 1)["pid"]

    assert second != first
    assert second == home.pid()


def test_a_call_that_kills_every_engine_fails_with_a_clear_word(home: EngineHome) -> None:
    with pytest.raises(EngineUnavailableError, match="died twice"):
        home.client().query("sky", "die", 1)
    assert len(home.lines("started.txt")) == 2


def test_an_engine_that_stands_still_costs_a_caller_its_deadline_and_no_more(
    home: EngineHome,
) -> None:
    client = home.client()
    client.overview()
    home.kill(signal.SIGSTOP)
    for caller in (client, home.client()):
        began = time.monotonic()
        with pytest.raises(EngineUnavailableError, match="deadline"):
            caller.query("sky", "x", 1, deadline_seconds=0.5)
        assert 0.4 < time.monotonic() - began < 10
    home.kill(signal.SIGCONT)

    assert client.query("sky", "after", 1)["hits"] == [["after", 1.0]]
    assert len(home.lines("started.txt")) == 1


def test_a_worker_that_hangs_ends_the_engine_with_its_stacks_in_the_log(home: EngineHome) -> None:
    home.say(limits={"hang": 0.5})
    client = home.client()
    client.overview()
    first = home.pid()
    with pytest.raises(EngineUnavailableError, match="died twice"):
        client.query("sky", "sleep 60", 1)

    assert client.query("sky", "x", 1)["pid"] != first
    assert "in query" in home.paths.engine_log.read_text()


def test_a_full_disk_for_the_status_hurts_no_request(home: EngineHome) -> None:
    home.say(full_disk=True)
    client = home.client()
    for _ in range(3):
        assert client.query("sky", "x", 1)["hits"]
        time.sleep(0.5)

    assert "status" in home.lines("full.txt")  # the fault: it was tried, and there was no room
    assert not home.paths.engine_status.exists()
    assert len(home.lines("started.txt")) == 1
    client.leave()
    home.gone()
    assert home.lines("closed.txt")


def _put_and_query(client: Engine, who: int, until: float, told: Counter[str]) -> list[str]:
    acknowledged: list[str] = []
    number = 0
    while time.monotonic() < until:
        number += 1
        name = f"{who}-{number}"
        try:
            assert client.put("sky", "memory", [Item(name, "d", "t")])["done"] == [name]
            acknowledged.append(name)
            assert client.query("sky", name, 1)["hits"] == [[name, 1.0]]
            told["answered"] += 2
        except EngineUnavailableError as error:
            told[str(error)] += 1
    return acknowledged


def test_engines_killed_in_the_middle_of_calls_cost_no_call_its_answer_or_a_clear_word(
    home: EngineHome,
) -> None:
    home.say(put_seconds=0.005)
    told: Counter[str] = Counter()
    acknowledged: list[str] = []
    wrong: list[BaseException] = []
    until = time.monotonic() + 4

    def work(who: int) -> None:
        try:
            acknowledged.extend(_put_and_query(home.client(), who, until, told))
        except (SkymemError, AssertionError) as error:
            wrong.append(error)

    threads = in_threads(4, work)
    killed = 0
    while time.monotonic() < until - 0.8:
        time.sleep(0.3)
        pid = home.pid()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                killed += 1
    for each in threads:
        each.join()

    assert wrong == []
    assert killed >= 5
    assert len(home.lines("started.txt")) >= killed
    assert told["answered"] > 100
    put = Counter(line.split()[2] for line in home.lines("puts.txt"))
    assert set(acknowledged) <= set(put)
    assert max(put.values()) <= 2  # once more only where the first answer was lost
    unclear = [
        each for each in told if each != "answered" and "engine is not available" not in each
    ]
    assert unclear == []


def test_one_engine_at_a_time_holds_the_home_whoever_kills_whom(home: EngineHome) -> None:
    for _ in range(3):
        threads = in_threads(4, lambda _: home.client().overview())
        for each in threads:
            each.join()
        home.kill()
    home.gone()

    assert len(home.lines("started.txt")) == 3
