"""A daemon whose clocks a test sets: `clock_driver.py keep HOME SCHEDULE`, as `driver.py` keeps.

`HOME/clocks.json`, `{"wall": …, "boot": …}`, is how many seconds those clocks are ahead of the real
ones. An entry has `daily` (HH:MM) or `cron` in place of `seconds`, and `$ZONE` is their time zone.
"""

import json
import os
import sys
import time
from datetime import datetime, tzinfo
from datetime import time as time_of_day
from pathlib import Path
from typing import Any

import apscheduler.schedulers.base

from skymem.daemon.clocks import Reading
from skymem.daemon.service import serve
from skymem.daemon.setting import Setting
from skymem.model.schedule import Cron, Daily, Every, Schedule, ScheduleEntry, Trigger
from skymem.stores.files import Files
from skymem.stores.home import HomePaths

HOME = Path(sys.argv[2])


def read() -> Reading:
    try:
        ahead = json.loads((HOME / "clocks.json").read_bytes())
    except FileNotFoundError:
        ahead = {}
    boot = time.clock_gettime(time.CLOCK_BOOTTIME) + ahead.get("boot", 0)
    return Reading(time.time() + ahead.get("wall", 0), time.monotonic(), boot)


class ClockOnTheWall(datetime):
    """APScheduler's `datetime`."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Any:
        return datetime.fromtimestamp(read().wall, tz)


def trigger(described: dict[str, Any]) -> Trigger:
    if "daily" in described:
        return Daily(time_of_day.fromisoformat(described["daily"]))
    if "cron" in described:
        return Cron(described["cron"])
    return Every(described["seconds"])


def entry(described: dict[str, Any]) -> ScheduleEntry:
    job = described.get("job", "promote")
    return ScheduleEntry(described["name"], job, trigger(described), timeout_seconds=60)


def main(_verb: str, home: str, schedule: str) -> int:
    apscheduler.schedulers.base.datetime = ClockOnTheWall
    setting = Setting(
        paths=HomePaths(Path(home)),
        files=Files(),
        schedule=Schedule(
            tuple(entry(each) for each in json.loads(schedule)), os.environ.get("ZONE", "UTC")
        ),
        clock=lambda: read().wall,
        read=read,
        command=[sys.executable, "-S", str(Path(__file__).with_name("child.py")), home],
        version="0.0-test",
    )
    return serve(setting)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
