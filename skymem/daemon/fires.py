"""When a time of day or a crontab expression fires next, in a time zone that changes its clock.

Two kinds, as cron has always told them apart (row P2, hazard C6):

- *Fixed* times (`daily`, or cron with its own minutes and hours) fire exactly once a day. One that
  the spring change leaves out fires as much later as the change is long (02:30 becomes 03:30); of
  one that comes twice in autumn the first counts.
- *Paced* ones (cron whose minute or hour starts with `*`) follow real time: every minute that reads
  right on the wall fires, so that `*/15` fires each quarter of an hour through both changes.

Times are epoch seconds. Light to import: `skymem jobs` needs it.
"""

import math
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from skymem.model.cron import MACROS, CronFields, parse_cron
from skymem.model.schedule import Cron, Daily, Trigger

_MINUTE: Final = timedelta(minutes=1)
_DAY_SECONDS: Final = 86_400.0
_ALL_DAYS: Final = parse_cron("* * * * *")


def next_fire(trigger: Daily | Cron, timezone: str, after: float) -> float:
    """When `trigger` fires first after `after`; infinity when not before the year 9999 ends."""
    zone = zone_of(timezone)
    try:
        if isinstance(trigger, Daily):
            at = trigger.at
            fields = _at(at.hour, at.minute)
            return _next_fixed(fields, timedelta(seconds=at.second), zone, after)
        fields = parse_cron(trigger.expression)
        if keeps_pace(trigger):
            return _next_paced(fields, zone, after)
        return _next_fixed(fields, timedelta(), zone, after)
    except (OverflowError, ValueError):  # what datetime says past its last day
        return math.inf


def keeps_pace(trigger: Trigger) -> bool:
    """Whether a trigger follows real time, and not fixed times of the day."""
    if isinstance(trigger, Daily):
        return False
    if isinstance(trigger, Cron):
        text = trigger.expression.strip()
        return any(part.startswith("*") for part in MACROS.get(text.lower(), text).split()[:2])
    return True


def zone_of(name: str) -> tzinfo:
    """The time zone of that name; UTC where the host does not know it (hazard C15).

    Configuration refuses an unknown name, so this is a host that lost its time zone data:
    `zone_is_missing` tells, and the daemon says so.
    """
    try:
        # UTC is there also where the host has no time zone data.
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def zone_is_missing(name: str) -> bool:
    """Whether UTC stands in for the time zone of that name."""
    return name != "UTC" and zone_of(name) is UTC


def _at(hour: int, minute: int) -> CronFields:
    days = _ALL_DAYS
    return CronFields(
        frozenset({minute}), frozenset({hour}), days.days, days.months, days.weekdays,
        days_restricted=False, weekdays_restricted=False,
    )  # fmt: skip


def _next_fixed(fields: CronFields, second: timedelta, zone: tzinfo, after: float) -> float:
    # Where the clock was put forward within a day, times it left out may be yet to come.
    ahead = _offset(after, zone) - _offset(after - _DAY_SECONDS, zone)
    wall = _wall(after, zone) - max(timedelta(), ahead)
    first = math.inf
    while True:
        wall = _next_minute(fields, wall - second) + second
        at = wall.replace(tzinfo=zone).timestamp()
        if at <= after:
            continue
        first = min(first, at)
        if _wall(at, zone) == wall:  # else it was left out and moved past later ones, perhaps
            return first


def _next_paced(fields: CronFields, zone: tzinfo, after: float) -> float:
    wall, offset = _wall(after, zone), _offset(after, zone)
    while True:
        at = (_next_minute(fields, wall) - offset).replace(tzinfo=UTC).timestamp()
        if _offset(at, zone) == offset:
            return at
        after = _change(zone, after, at)
        wall, offset = _wall(after, zone) - timedelta(microseconds=1), _offset(after, zone)


def _change(zone: tzinfo, low: float, high: float) -> int:
    """The first second, between two with different offsets, at which the clock reads anew."""
    before, start, end = _offset(low, zone), math.floor(low), math.ceil(high)
    while end - start > 1:
        middle = (start + end) // 2
        if _offset(middle, zone) == before:
            start = middle
        else:
            end = middle
    return end


def _next_minute(fields: CronFields, after: datetime) -> datetime:
    """The first minute on the wall after `after` that matches; OverflowError past year 9999."""
    start = after.replace(second=0, microsecond=0) + _MINUTE
    opening = time(min(fields.hours), min(fields.minutes))
    if fields.matches(datetime.combine(start, opening)):
        for hour in sorted(fields.hours):
            earliest = start.minute if hour == start.hour else 0
            minutes = [minute for minute in fields.minutes if minute >= earliest]
            if hour >= start.hour and minutes:
                return start.replace(hour=hour, minute=min(minutes))
    day = _day_after(start.date(), fields)
    while not fields.matches(found := datetime.combine(day, opening)):
        day = _day_after(day, fields)
    return found


def _day_after(day: date, fields: CronFields) -> date:
    if day.month in fields.months:
        return day + timedelta(days=1)
    return (day.replace(day=1) + timedelta(days=31)).replace(day=1)


def _wall(at: float, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at, zone).replace(tzinfo=None, fold=0)


def _offset(at: float, zone: tzinfo) -> timedelta:
    return datetime.fromtimestamp(at, zone).utcoffset() or timedelta()
