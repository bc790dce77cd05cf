"""The days the clocks change, under a real daemon: it lives through the very moment (hazard C6)."""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

DAY = 86_400.0
BEFORE_SECONDS = 3.0
"""How long before a moment the daemon's clock is set to it."""

GROWTH_BYTES_MAX = 10e6


class Change(NamedTuple):
    """A change of the clocks, and a time of day that it skips or makes twice."""

    zone: str
    at: str
    """When, in UTC."""

    wall: str
    """Spring: where the gap begins. Autumn: what comes twice, at `first` and at the change."""

    first: str = ""


SPRING = [
    Change("Europe/Vienna", "2026-03-29T01:00", "02:00"),
    Change("America/New_York", "2026-03-08T07:00", "02:00"),
    Change("Australia/Lord_Howe", "2026-10-03T15:30", "02:00"),
]
AUTUMN = [
    Change("Europe/Vienna", "2026-10-25T01:00", "02:00", first="2026-10-25T00:00"),
    Change("America/New_York", "2026-11-01T06:00", "01:00", first="2026-11-01T05:00"),
    Change("Australia/Lord_Howe", "2026-04-04T15:00", "01:30", first="2026-04-04T14:30"),
]


def epoch(moment: str) -> float:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


@pytest.fixture
def living(
    daemon: Any, home: Path, remember_runs: Callable[..., None]
) -> Callable[[Change, float], Any]:
    """Start a daemon just before a moment, whose entries ran a day before that."""

    def start(change: Change, moment: float) -> Any:
        set_clock(home, moment - BEFORE_SECONDS)
        hour, minute = change.wall.split(":")
        entries = [
            {"name": "told_daily", "daily": change.wall},
            {"name": "told_cron", "cron": f"{int(minute)} {int(hour)} * * *"},
            {"name": "told_second", "seconds": 1},
            {"name": "beat", "job": "heartbeat", "seconds": 0.25},
        ]
        ago = time.time() - moment
        remember_runs(told_daily=ago + DAY, told_cron=ago + DAY, told_second=ago + BEFORE_SECONDS)
        up = daemon(*entries, driver="clock_driver.py", env={"ZONE": change.zone})
        up.started()
        return up

    return start


def set_clock(home: Path, moment: float) -> None:
    fresh = home / "clocks.new"
    fresh.write_text(json.dumps({"wall": moment - time.time()}))
    fresh.replace(home / "clocks.json")


def clock(up: Any) -> float:
    """The daemon's own, by its last beat."""
    return float(up.heartbeat()["clock"]["wall"])


def rss(up: Any) -> int:
    pages = Path(f"/proc/{up.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def runs(up: Any, name: str) -> int:
    return len(up.noted(f"start {name} "))


def past(up: Any, moment: float) -> None:
    """Wait until the daemon has lived past a moment and done what was due."""
    up.wait_for(lambda: clock(up) > moment + 2, seconds=60)


def local_time(moment: float, zone: str) -> str:
    return datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%H:%M")


@pytest.mark.parametrize("change", SPRING, ids=lambda change: change.zone)
def test_a_time_that_spring_skips_comes_once_when_it_is_over(
    living: Callable[..., Any], change: Change
) -> None:
    at = epoch(change.at)
    assert local_time(at - 60, change.zone) < change.wall < local_time(at, change.zone)  # the gap
    up = living(change, at)
    before = rss(up)
    up.wait_for(lambda: runs(up, "told_daily") and runs(up, "told_cron"), seconds=60)
    past(up, at)

    assert (runs(up, "told_daily"), runs(up, "told_cron")) == (1, 1)
    assert runs(up, "told_second") >= 3
    assert rss(up) - before < GROWTH_BYTES_MAX
    beat = up.heartbeat()
    assert beat["clock"]["changes"] == 0  # nobody set a clock
    for name in ("told_daily", "told_cron"):
        assert local_time(beat["next_runs"][name], change.zone) == change.wall
        assert at < beat["next_runs"][name] < at + DAY
        assert up.record(name)["missed"] == 0
    code, log = up.stop()
    assert (code, "Traceback" in log) == (0, False)


@pytest.mark.parametrize("change", AUTUMN, ids=lambda change: change.zone)
def test_a_time_that_comes_twice_in_autumn_counts_once(
    living: Callable[..., Any], home: Path, change: Change
) -> None:
    first, at = epoch(change.first), epoch(change.at)
    assert local_time(first, change.zone) == local_time(at, change.zone) == change.wall  # twice
    up = living(change, first)
    before = rss(up)
    up.wait_for(lambda: runs(up, "told_daily") and runs(up, "told_cron"), seconds=60)
    set_clock(home, at - BEFORE_SECONDS)
    past(up, at)

    assert (runs(up, "told_daily"), runs(up, "told_cron")) == (1, 1)
    assert rss(up) - before < GROWTH_BYTES_MAX
    beat = up.heartbeat()
    for name in ("told_daily", "told_cron"):
        assert local_time(beat["next_runs"][name], change.zone) == change.wall
        assert at + DAY / 2 < beat["next_runs"][name] < at + 1.5 * DAY
    code, log = up.stop()
    assert (code, "Traceback" in log) == (0, False)
