"""Clocks that are set, and a machine that sleeps, under a real daemon."""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

HOUR, MONTH, YEAR = 3600.0, 30 * 86_400.0, 365 * 86_400.0
SECOND = {"name": "told_second", "seconds": 1}
TEN = {"name": "told_ten", "seconds": 600}
BEAT = {"name": "beat", "job": "heartbeat", "seconds": 0.25}
STALL_SECONDS_MAX = 5.0
GROWTH_BYTES_MAX = 10e6


@pytest.fixture
def clocked(daemon: Any, remember_runs: Callable[..., None]) -> Callable[..., Any]:
    """Start a daemon whose entries have just run, and wait for its first beat."""

    def start(*entries: dict[str, Any]) -> Any:
        remember_runs(**{each["name"]: 0 for each in entries})
        up = daemon(*entries, driver="clock_driver.py")
        up.started()
        return up

    return start


def set_clocks(home: Path, **ahead: float) -> float:
    """Set the daemon's clocks ahead of the real ones; returns the real time of it."""
    fresh = home / "clocks.new"
    fresh.write_text(json.dumps(ahead))
    fresh.replace(home / "clocks.json")
    return time.time()


def rss(up: Any) -> int:
    pages = Path(f"/proc/{up.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def starts(up: Any, name: str, since: float = 0.0) -> list[float]:
    """When the runs of an entry began, on the real clock."""
    found = [float(line.split()[3]) for line in up.noted(f"start {name} ")]
    return [at for at in found if at >= since]


def longest_silence(up: Any, seconds: float) -> float:
    """Watch the heartbeat, and return the longest time that it did not change."""
    end = time.monotonic() + seconds
    last, changed, longest = 0, time.monotonic(), 0.0
    while time.monotonic() < end:
        seq = up.heartbeat()["seq"]
        if seq != last:
            last, changed = seq, time.monotonic()
        longest = max(longest, time.monotonic() - changed)
        time.sleep(0.02)
    return longest


@pytest.mark.parametrize("seconds", [HOUR, MONTH, YEAR], ids=["hour", "month", "year"])
def test_set_forward_each_entry_runs_once_at_once_and_then_at_its_pace(
    clocked: Any, home: Path, seconds: float
) -> None:
    up = clocked(SECOND, TEN, BEAT)
    up.wait_for(lambda: len(starts(up, "told_second")) >= 2)
    before, late_at_start = rss(up), up.record("told_second").get("caught_up", 0)
    at = set_clocks(home, wall=seconds)
    silence = longest_silence(up, 6)
    assert silence < STALL_SECONDS_MAX
    assert rss(up) - before < GROWTH_BYTES_MAX
    assert len(starts(up, "told_ten")) == 1
    assert starts(up, "told_ten", at)[0] < at + STALL_SECONDS_MAX
    assert 3 <= len(starts(up, "told_second", at)) <= 8
    assert up.record("told_ten")["caught_up"] == 1
    assert up.record("told_second")["caught_up"] == late_at_start + 1
    beat = up.heartbeat()
    assert beat["clock"]["last_change"]["kind"] == "forward"
    assert beat["clock"]["offset_s"] == pytest.approx(seconds, abs=0.1)
    assert beat["clock"]["wall"] == pytest.approx(time.time() + seconds, abs=2)
    assert 590 < beat["next_runs"]["told_ten"] - up.record("told_ten")["last_start"] < 601
    code, log = up.stop()
    assert code == 0
    assert 'event="the clocks changed" kind=forward' in log
    assert 'event="catching up a run" name=told_ten' in log
    assert "Traceback" not in log


def test_set_back_intervals_go_on_as_if_nothing_was(clocked: Any, home: Path) -> None:
    up = clocked(SECOND, TEN, {"name": "told_4", "seconds": 4}, BEAT)
    up.wait_for(lambda: len(starts(up, "told_second")) >= 2)
    due = up.heartbeat()["next_runs"]["told_ten"]
    set_clocks(home, wall=-HOUR)
    up.wait_for(lambda: up.heartbeat()["clock"]["changes"] == 1)
    assert up.heartbeat()["next_runs"]["told_ten"] == pytest.approx(due - HOUR, abs=0.1)
    assert longest_silence(up, 6) < STALL_SECONDS_MAX
    up.wait_for(lambda: len(starts(up, "told_second")) >= 7, seconds=40)
    up.wait_for(lambda: len(starts(up, "told_4")) >= 2, seconds=40)
    for name, pace in (("told_second", 1), ("told_4", 4)):
        times = starts(up, name)
        assert max(b - a for a, b in pairwise(times)) < pace + 10, name  # an hour is far away
    assert starts(up, "told_ten") == []
    assert up.heartbeat()["clock"]["last_change"]["kind"] == "back"
    up.process.kill()
    up.process.communicate()
    counted = up.record("told_ten")["counted_from"]
    assert counted == pytest.approx(due - HOUR - 600, abs=0.1), "a daemon after this one goes on"


@pytest.mark.parametrize("others", [[BEAT, SECOND], []], ids=["busy", "nothing else due"])
def test_a_machine_that_slept_runs_what_fell_due_once_when_it_wakes(
    clocked: Any, home: Path, others: list[dict[str, Any]]
) -> None:
    up = clocked({"name": "told_hour", "seconds": HOUR}, *others)
    before = rss(up)
    at = set_clocks(home, wall=8 * HOUR, boot=8 * HOUR)
    up.wait_for(lambda: starts(up, "told_hour"), seconds=STALL_SECONDS_MAX)
    time.sleep(2)
    assert len(starts(up, "told_hour", at)) == 1
    assert rss(up) - before < GROWTH_BYTES_MAX
    assert up.record("told_hour")["caught_up"] == 1
    clock = up.heartbeat()["clock"]
    assert clock["suspended_s"] == pytest.approx(8 * HOUR, abs=0.1)
    assert (clock["offset_s"], clock["last_change"]["kind"]) == (
        pytest.approx(0, abs=0.1),
        "suspend",
    )
    assert "kind=suspend seconds=2880" in up.stop()[1]


def test_a_time_of_the_day_that_comes_again_is_not_run_again(clocked: Any, home: Path) -> None:
    soon = datetime.now(UTC) + timedelta(seconds=3)
    up = clocked({"name": "told_daily", "daily": f"{soon:%H:%M:%S}"}, SECOND)
    up.wait_for(lambda: starts(up, "told_daily"))
    up.wait_for(lambda: up.record("told_daily").get("last_success"))
    set_clocks(home, wall=-5)
    up.wait_for(lambda: up.heartbeat()["clock"]["changes"] == 1)
    time.sleep(6)
    assert len(starts(up, "told_daily")) == 1
    tomorrow = up.heartbeat()["next_runs"]["told_daily"] - soon.timestamp()
    assert tomorrow == pytest.approx(86_400, abs=1)


def test_the_machines_own_time_zone_is_nobodys_business(daemon: Any) -> None:
    up = daemon({"name": "told", "seconds": 600}, env={"TZ": "Nonsense/Nowhere"})
    up.started()
    assert up.heartbeat()["clock"]["timezone"] == "UTC"
    assert up.stop()[0] == 0
