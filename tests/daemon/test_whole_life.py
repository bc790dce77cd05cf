"""A service's whole life as its manager sees it; what a reload does and leaves alone (F1, F4)."""

import json
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WATCHDOG_SECONDS = 1.0


class Manager:
    """The socket that a service manager listens on."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.environment = {"NOTIFY_SOCKET": str(path)}
        self.told: list[str] = []

    def hear(self, wanted: str, *, seconds: float = 60) -> str:
        """Wait for a message that begins so."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                message = self.socket.recv(4096).decode()
            except TimeoutError:
                break
            self.told.append(message)
            if message.startswith(wanted):
                return message
        pytest.fail(f"no {wanted!r} in {seconds} s: {self.told}")

    def hear_running(self, name: str) -> None:
        """Wait until it is ready and at a run; which is told first is a matter of speed."""
        if f"STATUS=running {name}" not in self.hear("READY=1"):
            self.hear(f"STATUS=running {name}")

    def signs_of_life(self, seconds: float) -> int:
        """How many signs of life come in some seconds."""
        until, count = time.monotonic() + seconds, 0
        while (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                count += self.socket.recv(4096) == b"WATCHDOG=1"
            except TimeoutError:
                break
        return count


@pytest.fixture
def manager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Manager]:
    made = Manager(tmp_path_factory.mktemp("manager") / "notify")
    yield made
    made.socket.close()


def write(home: Path, *entries: dict[str, Any]) -> None:
    (home / "schedule.json").write_text(json.dumps(entries))


def test_ready_reload_and_end_are_told_in_order(
    daemon: Any, home: Path, manager: Manager, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_2=1e6)
    up = daemon({"name": "sleep_2"}, env=manager.environment)
    ready = manager.hear("READY=1")
    assert "STATUS=" in ready
    assert up.heartbeat()["pid"] == up.process.pid  # all of it was up before it said so
    if "STATUS=running sleep_2" not in ready:
        manager.hear("STATUS=running sleep_2")

    before = time.monotonic_ns() // 1000
    write(home, {"name": "sleep_2"}, {"name": "told", "seconds": 600})
    up.signal(signal.SIGHUP)
    stamp = re.search(r"MONOTONIC_USEC=(\d+)", manager.hear("RELOADING=1"))
    assert stamp is not None
    assert before <= int(stamp[1]) <= time.monotonic_ns() // 1000
    manager.hear("READY=1")
    assert set(up.heartbeat()["next_runs"]) == {"sleep_2", "told"}

    up.signal(signal.SIGTERM)
    manager.hear("STOPPING=1")
    code, log = up.end()
    assert code == 0
    assert up.noted("end sleep_2"), "the run in hand was disturbed by the reload or the end"
    assert "reloaded" in log


def test_a_reload_of_bad_files_changes_nothing_and_says_where(daemon: Any, home: Path) -> None:
    up = daemon({"name": "told", "seconds": 900})
    up.started()
    before = up.heartbeat()
    (home / "schedule.json").write_text('[{"name": "told", ')
    up.signal(signal.SIGHUP)
    beat = up.wait_for(lambda: _with_problem(up))

    assert beat["next_runs"] == before["next_runs"]
    assert beat["configuration"]["read"] == before["configuration"]["read"]
    assert beat["configuration"]["problem"].startswith("schedule.json:1:1: ")

    write(home, {"name": "told", "seconds": 60})
    up.signal(signal.SIGHUP)
    beat = up.wait_for(lambda: not _with_problem(up) and up.heartbeat())
    assert beat["next_runs"]["told"] < before["next_runs"]["told"] - 800
    _, log = up.stop()
    assert (
        'event="not reloaded, what was read before stays" error=schedule.json:1:1:'
        in log.replace('error="schedule', "error=schedule")
    )


def test_a_bad_reload_is_told_to_the_manager_and_the_run_in_hand_ends_as_it_began(
    daemon: Any, home: Path, manager: Manager, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_8=1e6)
    up = daemon({"name": "sleep_8"}, env=manager.environment)
    manager.hear_running("sleep_8")
    (home / "schedule.json").write_text('[{"name": "told", ')
    up.signal(signal.SIGHUP)

    assert "MONOTONIC_USEC=" in manager.hear("RELOADING=1")
    assert "STATUS=running sleep_8; not reloaded: schedule.json:1:1: " in manager.hear("READY=1")
    up.wait_for(lambda: up.record("sleep_8").get("last_exit_code") == 0)
    assert up.noted("end sleep_8")
    assert set(up.heartbeat()["next_runs"]) == {"sleep_8"}
    write(home, {"name": "told", "seconds": 60})
    up.signal(signal.SIGHUP)
    manager.hear("RELOADING=1")
    assert "not reloaded" not in manager.hear("READY=1")
    assert up.stop()[0] == 0


def test_a_stop_under_load_is_told_first_and_ends_what_does_not_end(
    daemon: Any, home: Path, manager: Manager, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_61=1e6, sleep_60=1e6)
    flags = ["--short-grace"]
    up = daemon({"name": "sleep_61"}, {"name": "sleep_60"}, env=manager.environment, flags=flags)
    up.wait_for(lambda: up.noted("start sleep_6"))
    children = [int(line.split()[2]) for line in up.noted("start ")]
    up.signal(signal.SIGTERM)
    manager.hear("STOPPING=1")

    assert not up.noted("end "), "it was told after the runs had ended"
    code, log = up.end(seconds=60)
    assert code == 0
    assert "Traceback" not in log
    for pid in children:
        assert not os.path.exists(f"/proc/{pid}"), "a run outlived the daemon"
    assert up.heartbeat()["state"] == "stopped"


def _with_problem(up: Any) -> dict[str, Any] | None:
    beat: dict[str, Any] = up.heartbeat()
    return beat if beat["configuration"]["problem"] else None


def test_what_a_reload_does_not_change_keeps_its_next_run(daemon: Any, home: Path) -> None:
    entries = [{"name": "told", "seconds": 900}, {"name": "exit_0", "seconds": 900}]
    up = daemon(*entries)
    up.started()
    before = up.heartbeat()["next_runs"]
    write(home, entries[0], {"name": "exit_0", "seconds": 1800}, {"name": "new", "seconds": 60})
    up.signal(signal.SIGHUP)
    after = up.wait_for(lambda: "new" in up.heartbeat()["next_runs"] and up.heartbeat())[
        "next_runs"
    ]
    assert after["told"] == before["told"]
    assert after["exit_0"] == pytest.approx(before["exit_0"] + 900, abs=2)

    write(home, entries[0])
    up.signal(signal.SIGHUP)
    up.wait_for(lambda: set(up.heartbeat()["next_runs"]) == {"told"})
    assert up.stop()[0] == 0


def test_a_run_in_hand_ends_as_it_began_though_its_entry_is_gone(
    daemon: Any, home: Path, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_2=1e6)
    up = daemon({"name": "sleep_2"})
    up.wait_for(lambda: up.noted("start sleep_2"))
    write(home, {"name": "told", "seconds": 60})
    up.signal(signal.SIGHUP)
    up.wait_for(lambda: up.noted("end sleep_2"))
    up.wait_for(lambda: up.record("sleep_2").get("last_exit_code") == 0)
    assert set(up.heartbeat()["next_runs"]) == {"told"}
    assert up.stop()[0] == 0


def test_the_watchdog_hears_of_a_scheduler_that_hangs_and_not_of_a_long_job(
    daemon: Any, home: Path, manager: Manager, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_60=1e6)
    usec = str(int(WATCHDOG_SECONDS * 1e6))
    environment = {**manager.environment, "WATCHDOG_USEC": usec}
    up = daemon({"name": "sleep_60"}, env=environment, flags=["--hang-scheduler"])
    manager.hear("STATUS=running sleep_60")
    assert manager.signs_of_life(3 * WATCHDOG_SECONDS) >= 6  # at least twice a period

    (home / "hang").touch()
    manager.signs_of_life(2 * WATCHDOG_SECONDS)  # what was on its way
    assert manager.signs_of_life(2 * WATCHDOG_SECONDS) == 0
    assert up.process.poll() is None
    up.signal(signal.SIGKILL)
    os.kill(int(up.noted("start")[0].split()[2]), signal.SIGKILL)  # it has our stderr
    assert up.end()[0] == -signal.SIGKILL


def test_no_job_inherits_the_manager(
    daemon: Any, manager: Manager, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_60=1e6)
    up = daemon({"name": "sleep_60"}, env=manager.environment)
    manager.hear("STATUS=running")
    pid = up.wait_for(lambda: up.noted("start"))[0].split()[2]
    inherited = Path(f"/proc/{pid}/environ").read_bytes()

    assert b"PYTHONPATH=" in inherited
    assert b"NOTIFY_SOCKET" not in inherited
    up.signal(signal.SIGTERM)
    up.end_now()
    assert not os.path.exists(f"/proc/{pid}")
