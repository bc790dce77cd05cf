"""The daemon as a process: what it starts, records and survives."""

import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem.stores.home import HomePaths
from skymem.stores.status import StatusFiles

CHECK = {"name": "told", "job": "memory_rotate_check"}


def actions(home: Path) -> dict[str, dict[str, Any]]:
    return StatusFiles(HomePaths(home), None).read_jobs()  # type: ignore[arg-type]


def test_a_new_home_checks_memory_within_seconds_and_says_so(home: Path, daemon: Any) -> None:
    """Rows P3, D2 and D5 in one: run, status of the child, record, heartbeat, log."""
    up = daemon(CHECK, {"name": "promote"}, env={"TOKEN_OF_THE_TEST": "passed on"})
    up.started()
    beat = up.heartbeat()
    assert beat["state"] == "running"
    assert beat["version"] == "0.0-test"
    assert 0 < beat["next_runs"]["told"] - beat["started"] < 60
    assert 3590 < beat["next_runs"]["promote"] - beat["started"] < 3610
    assert 1e7 < beat["rss_bytes"] < 60e6
    up.wait_for(lambda: up.record("told").get("last_success"))
    code, log = up.stop()

    assert code == 0
    assert len(up.noted("start")) == 1
    assert actions(home)["told"]["detail"] == {"ok": True, "acted": 2, "token": "passed on"}
    assert actions(home)["told"]["seq"] == 1, "the daemon wrote none of its own"
    record = up.record("told")
    assert record["last_start"] <= record["last_end"] == record["last_effective"]
    assert (record["last_exit_code"], record["consecutive_failures"]) == (0, 0)
    assert up.record("promote")["last_start"] is None
    beat = up.heartbeat()
    assert (beat["state"], beat["running"]) == ("stopped", [])
    assert re.search(r"event=entry name=promote job=promote next_run=20..-..-..T", log)
    ended = r'event="run ended" name=told ok=true exit_code=0 duration_s=\S+ acted=2\n'
    assert re.search(ended, log)
    assert "Traceback" not in log


def test_journald_needs_no_second_timestamp(daemon: Any) -> None:
    # The daemon's stderr is a pipe that is not known before it starts: a shell names it.
    names_it = 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$@"'
    up = daemon(prefix=["sh", "-c", names_it, "sh"])
    up.started()
    assert up.stop()[1].startswith('<6>{"level": "info", "event": "daemon started", "home":')


def test_a_missed_run_is_caught_up_once(daemon: Any, remember_runs: Callable[..., None]) -> None:
    remember_runs(told=86_400)
    up = daemon({"name": "told", "seconds": 600})
    up.wait_for(lambda: up.record("told").get("last_success"))
    up.stop()
    again = daemon({"name": "told", "seconds": 600})
    again.started()
    assert 590 < again.heartbeat()["next_runs"]["told"] - time.time() < 601
    _, log = again.stop()
    assert len(again.noted("start")) == 1
    assert (again.record("told")["caught_up"], again.record("told")["missed"]) == (1, 0)
    assert "catching up" not in log


def test_without_catch_up_it_is_recorded_as_missed_once(
    daemon: Any, remember_runs: Callable[..., None]
) -> None:
    remember_runs(told=1000)
    for _ in range(2):
        up = daemon({"name": "told", "seconds": 600}, flags=["--no-catch-up"])
        up.started()
        assert 180 < up.heartbeat()["next_runs"]["told"] - time.time() < 200
        up.stop()
    assert up.log() == []
    record = up.record("told")
    assert record["missed"] == 1
    assert record["missed_at"] == pytest.approx(time.time() - 400, abs=30)


def test_restarts_do_not_reset_an_interval(daemon: Any, remember_runs: Callable[..., None]) -> None:
    """Killed and started anew every half second, an interval of two still comes round."""
    remember_runs(told=0.5)
    deadline = time.monotonic() + 60
    lives: list[tuple[float, float]] = []
    while not (up := daemon({"name": "told", "seconds": 2})).record("told").get("last_success"):
        assert time.monotonic() < deadline
        up.started()
        beat = up.heartbeat()
        lives.append((beat["started"], beat["next_runs"]["told"]))
        time.sleep(0.5)
        up.process.kill()
        up.process.communicate()
    up.started()
    up.stop()
    starts = [float(line.split()[3]) for line in up.noted("start")]
    first_due = up.record("told")["first_seen"] + 2
    armed = [due for begun, due in lives if begun < first_due]
    assert armed == pytest.approx([first_due] * len(armed), abs=0.1), "each life goes by the first"
    assert first_due - 0.1 < starts[0], "late by a busy machine at most"


def test_a_run_still_going_when_due_again_is_a_recorded_skip(
    daemon: Any, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_60=100, told=100)
    up = daemon({"name": "sleep_60", "seconds": 1}, {"name": "told", "seconds": 1})
    up.wait_for(lambda: up.record("sleep_60").get("skipped_still_running", 0) >= 2)
    up.wait_for(lambda: len(up.noted("start told")) >= 2)
    running = {each["name"] for each in up.heartbeat()["running"]}
    assert "sleep_60" in running
    up.signal(signal.SIGTERM)
    _, log = up.end_now()
    assert len(up.noted("start sleep_60")) == 1
    assert "run skipped: still running" in log


def test_a_timeout_kills_the_whole_group_and_later_runs_come(
    daemon: Any, home: Path, remember_runs: Callable[..., None]
) -> None:
    remember_runs(stubborn=1e6, told=1e6)
    up = daemon({"name": "stubborn", "timeout": 0.4}, {"name": "told"})
    up.wait_for(lambda: up.record("stubborn").get("last_exit_code") is not None, seconds=60)
    up.stop()
    grandchild = up.noted("grandchild=")[0].split()[0].partition("=")[2]
    assert gone(int(grandchild))
    action = actions(home)["stubborn"]["detail"]
    assert action.pop("duration_s") == pytest.approx(5.4, abs=1)
    assert action.pop("started") == up.record("stubborn")["last_start"]
    assert action == {
        "ok": False,
        "job": "promote",
        "error": "timed out after 0.4 s; killed by SIGKILL",
        "exit_code": 137,
    }
    assert up.record("told")["last_exit_code"] == 0


def test_a_child_that_could_not_tell_is_told_about(
    daemon: Any, home: Path, remember_runs: Callable[..., None]
) -> None:
    remember_runs(crash=1e6, exit_3=1e6, unwell=1e6)
    up = daemon({"name": "crash"}, {"name": "exit_3"}, {"name": "unwell"})
    up.wait_for(lambda: up.record("unwell").get("last_end"))
    up.stop()
    found = actions(home)
    assert found["crash"]["detail"]["error"] == "killed by SIGKILL"
    assert found["exit_3"]["detail"]["error"] == "ended with exit code 3"
    assert found["unwell"]["detail"] == {"ok": False, "error": "the loss budget is reached"}
    assert {each["seq"] for each in found.values()} == {1, 2, 3}, "one action each"
    record = up.record("unwell")
    assert record["last_error"] == "the loss budget is reached"
    assert (record["last_exit_code"], record["consecutive_failures"]) == (21, 1)
    assert record["last_success"] is None


def test_a_child_that_talks_too_much_is_not_kept_in_memory(
    daemon: Any, remember_runs: Callable[..., None]
) -> None:
    remember_runs(chatty=1e6)
    up = daemon({"name": "chatty"})
    up.wait_for(lambda: up.record("chatty").get("last_success"))
    _, log = up.stop()
    assert up.heartbeat()["rss_bytes"] < 60e6
    assert "a word on stderr\n" in log


def test_the_heartbeat_goes_on_beating(daemon: Any, home: Path) -> None:
    up = daemon({"name": "pulse", "job": "heartbeat", "seconds": 0.3})
    up.started()
    first = up.heartbeat()
    assert first["interval_seconds"] == 0.3
    later = up.wait_for(lambda: (beat := up.heartbeat())["seq"] > first["seq"] + 1 and beat)
    assert later["ts"] > first["ts"]
    assert later["started"] == first["started"]
    up.stop()
    assert up.log() == []
    assert not (home / "status/sky_last_action.json").exists(), "no job wrote it"


def test_a_second_daemon_is_refused_and_the_holder_named(daemon: Any) -> None:
    first = daemon()
    first.started()
    code, message = daemon().end()
    assert code == 12
    assert f"process {first.process.pid} (skymem run)" in message
    assert daemon(verb="once").end()[0] == 12
    first.stop()


def test_a_dead_scheduler_ends_the_daemon_with_an_error(daemon: Any) -> None:
    up = daemon({"name": "pulse", "job": "heartbeat", "seconds": 0.3}, flags=["--kill-scheduler"])
    code, log = up.end(seconds=60)
    assert code == 1
    assert "the scheduler's thread died" in log


def test_once_runs_every_enabled_entry_in_order(daemon: Any, home: Path) -> None:
    up = daemon(
        {"name": "told_b"},
        {"name": "pulse", "job": "heartbeat"},
        {"name": "exit_3", "enabled": False},
        {"name": "exit_4"},
        {"name": "told_a"},
        verb="once",
    )
    stdout, _ = up.process.communicate(timeout=60)
    assert up.process.returncode == 4
    assert stdout == (
        '[{"name": "told_b", "ok": true, "exit": 0}, {"name": "pulse", "ok": true, "exit": 0}, '
        '{"name": "exit_4", "ok": false, "exit": 4}, {"name": "told_a", "ok": true, "exit": 0}]'
    )
    assert [line.split()[:2] for line in up.log()] == [
        ["start", "told_b"],
        ["end", "told_b"],
        ["start", "exit_4"],
        ["start", "told_a"],
        ["end", "told_a"],
    ]
    assert up.heartbeat()["state"] == "stopped"
    assert up.record("told_a")["last_success"]


def gone(pid: int) -> bool:
    """Whether the process ends within a second; one that init has yet to reap has ended."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("moved", [True, False])
def test_a_daemon_whose_home_or_lock_is_gone_ends_and_makes_nothing_anew(
    daemon: Any, home: Path, *, moved: bool
) -> None:
    up = daemon({"name": "told", "seconds": 3600})
    up.started()
    if moved:
        home.rename(home.with_name("elsewhere"))
    else:
        (home / "run" / "daemon.lock").unlink()
    code, log = up.end(seconds=60)
    assert code == 10
    assert "the home was moved or its lock removed" in log
    assert home.exists() is not moved


def test_a_run_in_hand_makes_no_home_anew_where_it_was(
    daemon: Any, home: Path, remember_runs: Callable[..., None]
) -> None:
    remember_runs(sleep_2=1e6)
    up = daemon({"name": "sleep_2"})
    up.wait_for(lambda: up.noted("start"))
    home.rename(home.with_name("somewhere"))
    code, log = up.end(seconds=60)
    assert code == 10
    assert 'event="run ended" name=sleep_2 ok=false' in log
    assert not home.exists()
