"""How an engine goes: idle, asked, signalled or replaced, and no request is lost in the race."""

import contextlib
import os
import random
import re
import signal
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from skymem.engine.client import own_version
from skymem.engine.items import Item
from skymem.errors import EngineUnavailableError, SkymemError
from skymem.model.rules import EngineRules
from tests.engine.processes import EngineHome, home, wait_until

__all__ = ["home"]


BEAT_SECONDS = 0.09
IDLE_SECONDS = 0.05


RACES = 10
"""A busy machine takes longer to come to so many."""


def _ask_in_time(home: EngineHome, who: int, until: float) -> tuple[int, list[str]]:
    """Call in a rhythm that all keep, so that engines are idle for about as long as they wait."""
    client, chance = home.client(), random.Random(who)
    answered, wrong = 0, []
    while time.monotonic() < until or answered < RACES or len(home.lines("started.txt")) < RACES:
        name = f"{who}-{answered}"
        try:
            if answered % 2:
                right = client.query("sky", name, 1)["hits"] == [[name, 1.0]]
            else:
                right = client.put("sky", "memory", [Item(name, "d", "t")])["done"] == [name]
        except SkymemError as error:
            wrong.append(f"{name}: {error}")
            break
        answered += 1
        if not right:
            wrong.append(name)
        time.sleep(BEAT_SECONDS - time.monotonic() % BEAT_SECONDS + chance.uniform(0, 0.02))
    return answered, wrong


def test_no_request_is_lost_where_idle_engines_leave_all_the_time(home: EngineHome) -> None:
    home.say(rules={"idle_seconds": IDLE_SECONDS})
    until = time.monotonic() + 10
    with ThreadPoolExecutor(6) as pool:
        asking = [pool.submit(_ask_in_time, home, who, until) for who in range(6)]
        told = [each.result() for each in asking]
    home.gone()

    assert [wrong for _, wrong in told if wrong] == []
    assert len(home.lines("started.txt")) >= RACES  # the race was run
    assert len(home.lines("closed.txt")) == len(home.lines("started.txt"))
    assert min(answered for answered, _ in told) >= RACES
    put = home.lines("puts.txt")
    assert len(put) == len(set(put)) == sum((answered + 1) // 2 for answered, _ in told)


def test_background_work_is_not_idleness(home: EngineHome) -> None:
    home.say(rules={"idle_seconds": 0.2})
    client = home.client()
    client.rebuild("sky")  # a second of slices
    began = time.monotonic()
    home.gone()

    assert time.monotonic() - began > 0.9
    assert home.status()["left"] == "idle"
    assert home.status()["running"] is False


def test_a_query_does_not_wait_for_background_work(home: EngineHome) -> None:
    client = home.client()
    client.rebuild("sky")
    client.query("sky", "x", 1)

    assert client.overview()["tended"] < 0  # it goes on


@pytest.mark.parametrize("how", ["SIGTERM", "SIGINT", "leave"])
def test_leaving_answers_what_is_in_hand_and_closes_the_index(home: EngineHome, how: str) -> None:
    client = home.client()
    client.overview()
    pid = home.pid()
    with ThreadPoolExecutor(3) as threads:
        answers = _one_in_hand_two_waiting(home, threads)
        if how == "leave":
            client.leave()
        else:
            os.kill(pid, signal.Signals[how])
        wait_until(lambda: not home.paths.engine_socket.exists(), "its name is gone")
        (home.paths.root / "go").touch()
        answered_by = [each.result()["pid"] for each in answers]
    home.gone()

    assert answered_by == [pid] * 3
    assert home.lines("closed.txt") == [str(pid)]
    assert home.status()["running"] is False


def test_what_would_take_too_long_is_left_to_the_next_engine(home: EngineHome) -> None:
    home.say(limits={"backlog": 0.1})
    home.client().overview()
    pid = home.pid()
    with ThreadPoolExecutor(3) as threads:
        in_hand, *waiting = _one_in_hand_two_waiting(home, threads)
        home.kill(signal.SIGTERM)
        time.sleep(2)  # twenty times what it waits for the one in hand
        (home.paths.root / "go").touch()
        in_hand.result()

        assert all(each.result()["pid"] != pid for each in waiting)


def _one_in_hand_two_waiting(
    home: EngineHome, threads: ThreadPoolExecutor
) -> list[Future[dict[str, Any]]]:
    """Ask three things; the first is answered once there is a file `go`, the others after it."""
    client = home.client()
    answers = [threads.submit(home.client().query, "sky", "until go", 1)]
    wait_until(lambda: client.overview()["doing"] == "query", "one is in hand")
    answers += [threads.submit(home.client().query, "sky", "x", 1) for _ in range(2)]
    wait_until(lambda: client.overview()["waiting"] == 2, "two wait")
    return answers


def test_a_call_right_after_leave_is_answered_by_the_next_engine(home: EngineHome) -> None:
    client = home.client()
    first = client.query("sky", "x", 1)["pid"]
    client.leave()
    second = client.query("sky", "x", 1)["pid"]

    assert first != second
    assert len(home.lines("started.txt")) == 2


def test_an_engine_whose_socket_was_deleted_leaves_so_that_another_can_come(
    home: EngineHome,
) -> None:
    home.client().overview()
    first = home.pid()
    home.paths.engine_socket.unlink()

    assert home.client().query("sky", "x", 1)["pid"] != first


def test_an_engine_whose_home_was_moved_away_leaves_and_makes_nothing_anew(
    home: EngineHome,
) -> None:
    home.client().overview()
    pid = home.pid()
    home.paths.root.rename(home.paths.root.with_name("elsewhere"))
    wait_until(lambda: not _runs(pid), "the engine has left")

    assert not home.paths.root.exists()
    home.paths.root.mkdir()


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] != "Z"
    return False


# -- releases and settings --------------------------------------------------------------------


def test_an_engine_of_an_older_release_is_replaced(home: EngineHome) -> None:
    home.say(version="0.0.9")
    old = home.client()
    old._version = "0.0.9"
    first = old.query("sky", "x", 1)["pid"]
    home.say()
    second = home.client().query("sky", "x", 1)["pid"]

    assert first != second
    assert home.lines("closed.txt") == [str(first)]
    wait_until(lambda: home.status()["version"] == own_version(), "the new one has told its state")


def test_a_process_of_an_older_release_does_not_replace_a_newer_engine(home: EngineHome) -> None:
    home.say(version="97.2.0")
    new = home.client()
    new._version = "97.2.0"
    first = new.query("sky", "x", 1)["pid"]

    with pytest.raises(EngineUnavailableError, match=r"release 97\.2\.0.*restart this process"):
        home.client().query("sky", "x", 1)
    assert new.query("sky", "x", 1)["pid"] == first


def test_a_process_of_a_newer_release_than_what_is_installed_does_not_start_it_for_ever(
    home: EngineHome,
) -> None:
    client = home.client()
    client._version = "97.3.0"

    with pytest.raises(
        EngineUnavailableError, match=rf"installed is of release {re.escape(own_version())}"
    ):
        client.query("sky", "x", 1)
    assert len(home.lines("started.txt")) <= 5


def test_one_who_starts_no_engine_sends_none_away(home: EngineHome) -> None:
    home.say(version="0.0.9")
    old = home.client()
    old._version = "0.0.9"
    first = old.query("sky", "x", 1)["pid"]

    with pytest.raises(EngineUnavailableError, match="other release or settings"):
        home.client(start=False).overview()
    assert home.pid() == first


def test_an_engine_of_settings_that_the_file_has_no_more_is_replaced(home: EngineHome) -> None:
    first = home.client().query("sky", "x", 1)["pid"]
    home.say(rules={"batch_size": 8})
    second = home.client(EngineRules(batch_size=8)).query("sky", "x", 1)["pid"]

    assert first != second


def test_a_client_of_stale_settings_goes_on_with_the_engine_of_the_files(home: EngineHome) -> None:
    home.say(rules={"batch_size": 8})
    fresh = home.client(EngineRules(batch_size=8))
    stale = home.client(EngineRules(batch_size=16))
    first = fresh.query("sky", "x", 1)["pid"]

    for _ in range(3):
        stale.close()
        fresh.close()
        assert stale.query("sky", "x", 1)["pid"] == first
        assert fresh.query("sky", "x", 1)["pid"] == first
    assert len(home.lines("started.txt")) == 1
