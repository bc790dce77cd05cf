"""`skymem trigger` and a daemon that is a process: what the one asks and the other does."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skymem.app import init_home
from skymem.daemon.ask import ask_daemon
from skymem.daemon.runs import read_runs
from skymem.daemon.triggers import Answer
from skymem.errors import BusyError, DaemonGoneError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held, never_stopped
from tests.daemon.test_triggers import CHILD, Keeper


@pytest.fixture(autouse=True)
def children_find_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


@pytest.fixture
def asks(home: Path) -> Iterator[Callable[[str], "Future[Answer | None]"]]:
    """Ask from a thread of its own, as a process of its own would."""
    with ThreadPoolExecutor() as pool:

        def start(name: str) -> "Future[Answer | None]":
            return pool.submit(
                ask_daemon,
                HomePaths(home),
                Files(),
                name,
                stop=never_stopped,
                tell=lambda _text: None,
            )

        yield start


@pytest.fixture
def real(home: Path) -> Iterator[Keeper]:
    """A keeper of a real home whose runs are the command itself; it looks from a thread."""
    init_home(home)
    (home / "schedule.yaml").write_text(
        "every:\n"
        "  - {name: told, job: promote, hours: 1}\n"
        "  - {name: sleep_2, job: rotate, hours: 1}\n"
    )
    with held_by(home) as made:
        yield made


@contextlib.contextmanager
def held_by(home: Path) -> Iterator[Keeper]:
    made = Keeper(home, [sys.executable, "-m", "skymem", "--home", str(home)])
    made.paths.run.mkdir(exist_ok=True)
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            made.triggers.look(lambda: None)

    with held(made.paths.daemon_lock, "skymem run", deadline_seconds=1):
        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield made
        finally:
            over.set()
            thread.join()
            made.triggers.close()


def trigger(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "skymem", "--home", str(home), "trigger", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_the_command_prints_what_the_daemons_run_reports(real: Keeper, home: Path) -> None:
    with (home / "memory/sky/short_term.jsonl").open("a") as stream:
        stream.write('{"ts": 1, "type": "short", "content": "x", "importance": 0.9}\n')
    done = trigger(home, "told", "--json")

    assert done.returncode == 0
    detail = json.loads(done.stdout)
    assert (detail["job"], detail["promoted"]) == ("promote", 1)
    assert read_runs(real.paths)["told"].last_success is not None
    done = trigger(home, "told")
    assert done.stdout.startswith("promote: 0 promoted")
    assert done.stderr == ""
    assert real.strays() == []


def test_the_command_says_since_when_the_entry_is_busy(real: Keeper, home: Path) -> None:
    real.runner._running["told"] = 1_700_000_000.0
    done = trigger(home, "told")

    assert done.returncode == 11
    assert "the entry told is held by its run since 2023-11-14T22:13:20Z" in done.stderr


@pytest.mark.parametrize("words", [["--dry-run"], ["--scheduled", "promote"]])
def test_what_is_not_the_daemons_is_done_here(real: Keeper, home: Path, words: list[str]) -> None:
    done = trigger(home, "told", *words)

    assert done.returncode == 0
    assert read_runs(real.paths) == {}


def test_ctrl_c_ends_the_wait_and_not_the_run(real: Keeper, home: Path) -> None:
    real.runner._command = (*CHILD, str(home))
    command = [sys.executable, "-m", "skymem", "--home", str(home), "trigger", "sleep_2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as asker:
        while not real.runner.running():
            time.sleep(0.02)
        asker.send_signal(signal.SIGINT)
        assert asker.wait(timeout=60) == 130

    assert real.runner.running()


def test_a_daemon_carries_out_what_is_asked_of_it(home: Path, daemon: Any, asks: Any) -> None:
    up = daemon({"name": "told", "seconds": 3600}, {"name": "sleep_2", "seconds": 3600})
    up.started()
    answer = asks("told").result()
    assert (answer.exit_code, answer.detail["acted"]) == (0, 2)
    assert up.record("told")["last_success"] is not None

    slow = asks("sleep_2")
    up.wait_for(lambda: up.noted("start sleep_2"))
    assert "sleep_2" in {one["name"] for one in up.heartbeat()["running"]}
    with pytest.raises(BusyError, match="its run since"):
        asks("sleep_2").result()
    up.signal(signal.SIGTERM)
    assert slow.result().exit_code == 0, "a stop lets the run in hand end, and its asker hear of it"
    assert up.end()[0] == 0
    assert list((home / "run/triggers").iterdir()) == []


def test_a_killed_daemon_is_told_to_whoever_waits_for_it(daemon: Any, asks: Any) -> None:
    up = daemon({"name": "sleep_2", "seconds": 3600})
    up.started()
    asked = asks("sleep_2")
    up.wait_for(lambda: up.noted("start sleep_2"))
    up.process.kill()
    up.process.communicate()
    with pytest.raises(DaemonGoneError):
        asked.result()


def test_a_run_that_falls_due_beside_one_by_hand_is_a_recorded_skip(daemon: Any, asks: Any) -> None:
    up = daemon({"name": "sleep_2", "seconds": 1})
    up.started()
    asked = asks("sleep_2")
    up.wait_for(lambda: up.record("sleep_2").get("skipped_still_running", 0) >= 1)
    with contextlib.suppress(BusyError):  # the schedule's own run was first
        asked.result()
    up.signal(signal.SIGTERM)
    assert "Traceback" not in up.end()[1]
