"""Signals: the first lets the run in hand finish, the second ends it (hazards C10, C11, F8)."""

import json
import os
import pty
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.conftest import ROOT


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_finishes_the_run_in_hand_and_starts_no_other(
    number: signal.Signals, daemon: Any, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_5=1e6, told=5.5)
    up = daemon({"name": "sleep_5"}, {"name": "told", "seconds": 10})
    up.wait_for(lambda: up.noted("start sleep_5"))
    up.signal(number)
    up.wait_for(lambda: up.heartbeat()["state"] == "stopping")
    code, log = up.end()
    assert code == 0
    assert up.noted("end sleep_5")
    assert up.record("sleep_5")["last_exit_code"] == 0
    assert not up.noted("start told"), "it fell due while that one ended"
    assert up.heartbeat()["state"] == "stopped"
    assert "Traceback" not in log


def test_the_second_signal_does_not_wait(daemon: Any, remember_runs: Callable[..., None]) -> None:
    remember_runs(sleep_60=1e6)
    up = daemon({"name": "sleep_60"})
    up.wait_for(lambda: up.noted("start"))
    up.signal(signal.SIGTERM)
    asked = time.monotonic()
    code, log = up.end_now()
    assert code == 0
    assert time.monotonic() - asked < 30  # of 60
    (ended,) = [line for line in log.splitlines() if 'event="run ended"' in line]
    assert "level=info" in ended
    assert "stopped with the daemon" in ended
    record = up.record("sleep_60")
    assert record["last_error"] == "stopped with the daemon; killed by SIGTERM"
    assert record["consecutive_failures"] == 0, "the job is not to blame"


def test_a_signal_at_the_instant_a_job_is_due_leaves_no_traceback(daemon: Any) -> None:
    entries = [{"name": f"exit_0{number}", "seconds": 0.05} for number in range(3)]
    for wait in (0.05, 0.1, 0.15, 0.2):
        up = daemon(*entries)
        up.started()
        time.sleep(wait)
        code, log = up.stop()
        assert code == 0
        assert "Traceback" not in log
        assert "complain" not in log


def test_an_idle_daemon_ends_at_once(daemon: Any) -> None:
    up = daemon({"name": "told"})
    up.started()
    asked = time.monotonic()
    assert up.stop()[0] == 0
    assert time.monotonic() - asked < 10  # of 30 until its next look


def test_once_finishes_the_run_in_hand_and_ends_interrupted(daemon: Any) -> None:
    up = daemon({"name": "sleep_1"}, {"name": "told"}, verb="once")
    up.wait_for(lambda: up.noted("start"))
    up.signal(signal.SIGINT)
    code, log = up.end()
    assert code == 130
    assert [line.split()[0] for line in up.log()] == ["start", "end"]
    assert "stopped by SIGINT" in log


def test_a_terminal_that_closes_ends_the_daemon_as_sigterm_does(home: Path) -> None:
    schedule = json.dumps([{"name": "told"}])
    driver = Path(__file__).with_name("driver.py")
    pid, terminal = pty.fork()
    if not pid:  # the daemon, with a terminal of its own
        command = [sys.executable, str(driver), "keep", str(home), schedule]
        os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": str(ROOT)})
    heartbeat = home / "status/sky_heartbeat.json"
    until = time.monotonic() + 10
    while not heartbeat.exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert json.loads(heartbeat.read_text())["state"] == "stopped"


def test_a_daemon_that_hangs_ends_all_the_same(daemon: Any, home: Path) -> None:
    up = daemon({"name": "told"}, flags=["--hang-scheduler", "--short-grace"])
    up.started()
    (home / "hang").touch()
    time.sleep(0.5)
    code, log = up.stop()
    assert code == 1
    assert "daemon hangs and is ended" in log
