"""When each entry of the schedule runs; the only module that speaks to APScheduler.

The record of runs decides, not the moment the daemon came up: an interval counts from the last
start, so a restart neither resets nor repeats it, and a time that passed while no daemon was up is
caught up once (rows P2 and D2, hazards C1, C6, C11 and C12). Times are epoch seconds.

APScheduler costs 0.1 s to import, so only what needs it imports it.
"""

import logging
import math
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from skymem.daemon.runs import RunRecord, Runs
from skymem.model.cron import CronFields, parse_cron
from skymem.model.schedule import Cron, Daily, Every, Schedule, ScheduleEntry, Trigger

FIRST_JOB: Final = "memory_rotate_check"
"""What a new home runs first: whoever tries skymem sees it work within a minute."""

FIRST_RUN_SECONDS: Final = 45.0
"""Late enough for a newcomer to append the first lines by hand, and still within the minute."""

CATCH_UP_SPACING_SECONDS: Final = 0.5
"""Between runs that are all overdue at start: a small host is not hit by every job at once."""

HEARTBEAT: Final = "heartbeat"


@dataclass(frozen=True, slots=True)
class FirstRun:
    """When an entry runs first after the daemon came up."""

    entry: ScheduleEntry
    at: float
    due: float
    """When it should have run by the record."""

    late: bool = False
    """`due` passed while no daemon was up."""


def due_time(entry: ScheduleEntry, record: RunRecord, timezone: str, now: float) -> float:
    """When `entry` is due next by its record, jitter left out; in the past if it is overdue."""
    # A record from a clock that was ahead must not put a job off until that day comes.
    base = min(now, record.first_seen if record.last_start is None else record.last_start)
    floor = max(base, min(now, record.waived_until or base))
    if isinstance(entry.trigger, Every):
        seconds = entry.trigger.seconds
        return base + seconds * (math.floor((floor - base) / seconds) + 1)
    return _next_fire(entry.trigger, timezone, floor)


def next_runs(schedule: Schedule, runs: Runs, now: float) -> dict[str, float | None]:
    """When each entry runs next, by name, for when no daemon runs; None says not at all.

    A time in the past is overdue and is caught up when a daemon starts. The heartbeat belongs to
    the daemon and has none. With a daemon up, its heartbeat file knows better.
    """
    found: dict[str, float | None] = {entry.name: None for entry in schedule.entries}
    for entry in _timed(schedule):
        found[entry.name] = _due(entry, schedule, runs, now)
    return found


def first_runs(
    schedule: Schedule,
    runs: Runs,
    now: float,
    *,
    catch_up: bool = True,
    first_run_seconds: float = FIRST_RUN_SECONDS,
) -> list[FirstRun]:
    """When each enabled entry runs first after a start at `now`; heartbeats are left to the caller.

    An overdue entry runs at once, one after the other, or without `catch_up` at its next regular
    time. Jitter is added, also to a due time that it could still have put off. A new home's first
    run comes `first_run_seconds` after it was first seen.
    """
    plans: list[FirstRun] = []
    overdue = 0
    for entry in _timed(schedule):
        due = _due(entry, schedule, runs, now, first_run_seconds)
        latest = due + entry.jitter_seconds
        if latest > now or _is_first_ever(entry, runs):
            # Not for secrets: it only spreads load.
            at = random.uniform(max(due, now), max(latest, now))  # noqa: S311
            plans.append(FirstRun(entry, at, due))
        elif catch_up:
            plans.append(FirstRun(entry, now + overdue * CATCH_UP_SPACING_SECONDS, due, late=True))
            overdue += 1
        else:
            waived = replace(runs.get(entry.name, RunRecord(now)), waived_until=now)
            at = due_time(entry, waived, schedule.timezone, now)
            plans.append(FirstRun(entry, at, due, late=True))
    return plans


def _timed(schedule: Schedule) -> list[ScheduleEntry]:
    return [entry for entry in schedule.entries if entry.enabled and entry.job != HEARTBEAT]


def _due(
    entry: ScheduleEntry,
    schedule: Schedule,
    runs: Runs,
    now: float,
    first_run_seconds: float = FIRST_RUN_SECONDS,
) -> float:
    record = runs.get(entry.name, RunRecord(now))
    if _is_first_ever(entry, runs):
        return min(now, record.first_seen) + first_run_seconds
    return due_time(entry, record, schedule.timezone, now)


def _is_first_ever(entry: ScheduleEntry, runs: Runs) -> bool:
    """Whether this is a new home's first run: no entry has run, ever."""
    return entry.job == FIRST_JOB and all(record.last_start is None for record in runs.values())


def _next_fire(trigger: Daily | Cron, timezone: str, after: float) -> float:
    # A microsecond on, since APScheduler gives a time that fires right now as the next one.
    start = datetime.fromtimestamp(after, _zone(timezone)) + timedelta(microseconds=1)
    fire: datetime | None = _wall_clock_trigger(trigger, timezone, 0.0).get_next_fire_time(
        None, start
    )
    # None only past the year 9999: config refuses an expression that never fires (hazard C8).
    return math.inf if fire is None else fire.timestamp()


def _zone(name: str) -> tzinfo:
    # UTC is there also where the host has no time zone data (hazard C15).
    return UTC if name == "UTC" else ZoneInfo(name)


def _trigger(trigger: Trigger, timezone: str, jitter_seconds: float, at: float) -> Any:
    """The APScheduler trigger that continues after a run at `at`."""
    from apscheduler.triggers.interval import IntervalTrigger

    if isinstance(trigger, Every):
        zone = _zone(timezone)
        return IntervalTrigger(
            seconds=trigger.seconds,
            start_date=datetime.fromtimestamp(at, zone),
            timezone=zone,
            jitter=jitter_seconds or None,
        )
    return _wall_clock_trigger(trigger, timezone, jitter_seconds)


def _wall_clock_trigger(trigger: Daily | Cron, timezone: str, jitter_seconds: float) -> Any:
    from apscheduler.triggers.combining import OrTrigger
    from apscheduler.triggers.cron import CronTrigger

    common: dict[str, Any] = {"timezone": _zone(timezone), "jitter": jitter_seconds or None}
    if isinstance(trigger, Daily):
        at = trigger.at
        return CronTrigger(hour=at.hour, minute=at.minute, second=at.second, **common)
    fields = parse_cron(trigger.expression)
    time_of_day = {
        "month": _listed(fields.months, 12),
        "hour": _listed(fields.hours, 24),
        "minute": _listed(fields.minutes, 60),
        "second": "0",
    }
    days, weekdays = _listed(fields.days, 31), _listed(_from_monday(fields), 7)
    if not (fields.days_restricted and fields.weekdays_restricted):
        return CronTrigger(day=days, day_of_week=weekdays, **time_of_day, **common)
    common["jitter"] = None
    either = [
        CronTrigger(day=days, **time_of_day, **common),
        CronTrigger(day_of_week=weekdays, **time_of_day, **common),
    ]
    return OrTrigger(either, jitter=jitter_seconds or None)


def _from_monday(fields: CronFields) -> frozenset[int]:
    """Weekdays as APScheduler counts them: cron's Sunday is 0, its Monday is."""
    return frozenset((day - 1) % 7 for day in fields.weekdays)


def _listed(values: frozenset[int], all_of_them: int) -> str:
    return "*" if len(values) == all_of_them else ",".join(map(str, sorted(values)))


class Timer:
    """APScheduler's background thread: calls each entry's function when it is due.

    No run is dropped for being late, many that fell due meanwhile are one, and an entry never runs
    beside itself: `on_skip` hears its name instead.
    """

    def __init__(
        self,
        timezone: str,
        *,
        workers: int,
        on_skip: Callable[[str], None],
        complain: Callable[[str], None],
    ) -> None:
        from apscheduler.events import EVENT_ALL, EVENT_JOB_MAX_INSTANCES
        from apscheduler.executors.pool import ThreadPoolExecutor
        from apscheduler.jobstores.memory import MemoryJobStore
        from apscheduler.schedulers.background import BackgroundScheduler

        self._timezone = timezone
        self._on_skip = on_skip
        self._skip_code: int = EVENT_JOB_MAX_INSTANCES
        self._scheduler = BackgroundScheduler(
            timezone=_zone(timezone),
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(max_workers=max(1, workers))},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_listener(self._listen, EVENT_ALL)
        _hear_apscheduler(complain)

    def add(self, entry: ScheduleEntry, run: Callable[[], object], at: float) -> None:
        """Call `run` at `at` and from then on by the entry's trigger."""
        self._scheduler.add_job(
            run,
            _trigger(entry.trigger, self._timezone, entry.jitter_seconds, at),
            id=entry.name,
            name=entry.name,
            next_run_time=datetime.fromtimestamp(at, _zone(self._timezone)),
        )

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def alive(self) -> bool:
        """Whether the thread that looks at the time is still there (hazard C13)."""
        thread: threading.Thread | None = getattr(self._scheduler, "_thread", None)
        return thread is not None and thread.is_alive()

    def next_runs(self) -> dict[str, float]:
        """When each entry runs next, by name."""
        return {job.id: job.next_run_time.timestamp() for job in self._scheduler.get_jobs()}

    def halt(self) -> None:
        """Let nothing new fall due; runs in hand go on.

        A pass under way may still hand out what was due when it began.
        """
        self._scheduler.pause()

    def close(self) -> None:
        """End the threads, after the runs in hand.

        APScheduler takes the lock of its passes for this and empties its store under it, so that
        a pass that comes late finds nothing to schedule (hazard C11).
        """
        self._scheduler.shutdown(wait=True)

    def _listen(self, event: Any) -> None:
        # Every class of event comes by here, and not every class has a job (hazard C12).
        name = getattr(event, "job_id", None)
        if event.code == self._skip_code and isinstance(name, str):
            self._on_skip(name)


class _Complaints(logging.Handler):
    """Hands APScheduler's own errors to the daemon's journal."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._complain = complain

    def emit(self, record: logging.LogRecord) -> None:
        self._complain(self.format(record))


def _hear_apscheduler(complain: Callable[[str], None]) -> None:
    logger = logging.getLogger("apscheduler")
    logger.handlers = [_Complaints(complain)]
    logger.propagate = False
    # Its warnings are the skips, which the listener tells better.
    logger.setLevel(logging.ERROR)
