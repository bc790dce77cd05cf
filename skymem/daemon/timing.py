"""When each entry of the schedule runs; the only module that speaks to APScheduler.

The record of runs decides, not the moment the daemon came up: an interval counts from the last
start, so a restart neither resets nor repeats it, and a time that passed while no daemon was up is
caught up once (rows P2 and D2, hazards C1, C4, C6, C11 and C12). Times are epoch seconds.

What the clock does (`daemon.clocks`) changes this much: whatever it passed over, set forward or
while the machine slept, is one run, at once. Set back, an interval goes on by the clock that is
never set, and a fixed time of the day that was reached does not come a second time, unless the
clock was set back by more than a day: then it was wrong before.

APScheduler costs 0.1 s to import, so only what needs it imports it.
"""

import contextlib
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from skymem.daemon.clocks import Change, Reading
from skymem.daemon.fires import keeps_pace, next_fire, zone_of
from skymem.daemon.runs import RunRecord, Runs
from skymem.daemon.turn import LATEST, REPEAT_SECONDS, Turn
from skymem.model.schedule import Every, Schedule, ScheduleEntry
from skymem.policy.backoff import backoff_seconds

FIRST_JOB: Final = "memory_rotate_check"
"""What a new home runs first: whoever tries skymem sees it work within a minute."""

FIRST_RUN_SECONDS: Final = 45.0
"""Late enough for a newcomer to append the first lines by hand, and still within the minute."""

CATCH_UP_SPACING_SECONDS: Final = 0.5
"""Between runs that are all overdue at start: a small host is not hit by every job at once."""

HEARTBEAT: Final = "heartbeat"

WORKERS_MIN: Final = 32
"""Threads are started when they are needed: a reload may bring entries."""


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
    """When `entry` is due next by its record, jitter left out; in the past if it is overdue.

    An interval whose runs fail grows (`policy.backoff`). Infinity says never again.
    """
    seen = record.first_seen if record.last_start is None else record.last_start
    trigger, waived, counted = entry.trigger, record.waived_until, record.counted_from
    if counted is not None and (isinstance(trigger, Every) or (keeps_pace(trigger) and seen > now)):
        seen = counted
    # A record from a clock that was ahead must not put a job off until that day comes.
    base = min(now, seen)
    floor = max(base, min(now, waived or base))
    if isinstance(trigger, Every):
        seconds = backoff_seconds(record.consecutive_failures, trigger.seconds)
        if waived is not None and waived > now:  # said by a clock that was set back since
            floor = base
        return base + seconds * (math.floor((floor - base) / seconds) + 1)
    if not keeps_pace(trigger):
        reached = max(record.last_start or 0.0, waived or 0.0)
        floor = max(floor, reached if reached <= now + REPEAT_SECONDS else 0.0)
    return next_fire(trigger, timezone, floor)


def next_runs(schedule: Schedule, runs: Runs, now: float) -> dict[str, float | None]:
    """When each entry runs next, by name, for when no daemon runs; None says not at all.

    A time in the past is overdue and is caught up when a daemon starts. The heartbeat belongs to
    the daemon and has none. With a daemon up, its heartbeat file knows better.
    """
    found: dict[str, float | None] = {entry.name: None for entry in schedule.entries}
    for entry in _timed(schedule):
        due = _due(entry, schedule, runs, now)
        found[entry.name] = due if due < LATEST else None
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
    run comes `first_run_seconds` after it was first seen. Infinity says never.
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


class Timer:
    """APScheduler's background thread: calls each entry's function when it is due.

    No run is dropped for being late, many that fell due meanwhile are one, and an entry never runs
    beside itself: `on_skip` hears its name instead. `on_late` hears the name and the due time of a
    run that starts more than `LATE_SECONDS` after it, on the run's own thread and before it; not
    of heartbeats.
    """

    def __init__(
        self,
        timezone: str,
        *,
        workers: int,
        read: Callable[[], Reading],
        on_skip: Callable[[str], None],
        on_late: Callable[[str, float], None],
        complain: Callable[[str], None],
    ) -> None:
        from apscheduler.events import EVENT_ALL, EVENT_JOB_MAX_INSTANCES
        from apscheduler.executors.pool import ThreadPoolExecutor
        from apscheduler.jobstores.memory import MemoryJobStore
        from apscheduler.schedulers.background import BackgroundScheduler
        from apscheduler.triggers.base import BaseTrigger

        BaseTrigger.register(Turn)
        self._timezone = timezone
        self._read = read
        self._on_skip = on_skip
        self._on_late = on_late
        self._turns: dict[str, Turn] = {}
        self._closed = False
        self._skip_code: int = EVENT_JOB_MAX_INSTANCES
        self._scheduler = BackgroundScheduler(
            timezone=zone_of(timezone),
            jobstores={"default": MemoryJobStore()},
            executors={"default": ThreadPoolExecutor(max_workers=max(WORKERS_MIN, workers))},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        # APScheduler holds it while it hands out: nothing is handed out in the midst of a change.
        self._passes: threading.RLock = getattr(self._scheduler, "_jobstores_lock")  # noqa: B009
        self._looked_at = time.monotonic()
        self._note_each_pass()
        self._scheduler.add_listener(self._listen, EVENT_ALL)
        _hear_apscheduler(complain)

    def _note_each_pass(self) -> None:
        look: Callable[[], object] = getattr(self._scheduler, "_process_jobs")  # noqa: B009

        def noted() -> object:
            self._looked_at = time.monotonic()
            return look()

        setattr(self._scheduler, "_process_jobs", noted)  # noqa: B010

    def add(
        self,
        entry: ScheduleEntry,
        run: Callable[[], object],
        at: float,
        *,
        owed: float | None = None,
    ) -> None:
        """Call `run` at `at` and from then on by the entry's trigger.

        An entry of that name is replaced; a run of it in hand goes on, and is not run beside.
        `owed` is when the first run was due, if it is late.
        """
        with self._between_passes() as open_:
            if open_:
                turn = self._turns[entry.name] = Turn(entry, run, self._timezone, self._read)
                turn.owed = owed
                self._place(turn, at)

    def arm(self, name: str, at: float) -> None:
        """Put the entry's next run to `at`: after a failure, say. A name it has not is ignored."""
        with self._between_passes() as open_:
            if open_ and name in self._turns:
                self._place(self._turns[name], at)

    def set_timezone(self, timezone: str) -> None:
        """Mean the times of entries that are added from now on in another zone."""
        self._timezone = timezone

    def remove(self, name: str) -> None:
        """Forget the entry; a run of it in hand goes on. A name it has not is ignored."""
        with self._between_passes() as open_:
            turn = self._turns.pop(name, None)
            if open_ and turn is not None:
                self._place(turn, math.inf)

    def rearm(self, change: Change) -> None:
        """Give every entry its next run anew after `change`; what is overdue runs once, at once."""
        with self._between_passes() as open_:
            if not open_:
                return
            now = self._read()
            due = {name: turn.after_change(change, now) for name, turn in self._turns.items()}
            overdue = 0
            for name in sorted(due, key=due.__getitem__):
                at, turn = due[name], self._turns[name]
                if at <= now.wall:
                    turn.owe(at, now.wall)
                    at = now.wall + overdue * CATCH_UP_SPACING_SECONDS
                    overdue += 1
                self._place(turn, at)

    @contextlib.contextmanager
    def _between_passes(self) -> Iterator[bool]:
        """Hold up what would be handed out; gives False once the timer ends.

        `close` holds the same lock until the runs in hand have ended: one that waited for it here
        would never end.
        """
        while not self._passes.acquire(timeout=0.05):
            if self._closed:
                yield False
                return
        try:
            yield not self._closed
        finally:
            self._passes.release()

    def _place(self, turn: Turn, at: float) -> None:
        turn.arm(at)
        name, moment = turn.entry.name, turn.moment()
        if moment is not None:
            call = partial(self._call, turn)
            self._scheduler.add_job(
                call, turn, id=name, name=name, next_run_time=moment, replace_existing=True
            )
        elif self._scheduler.get_job(name) is not None:
            self._scheduler.remove_job(name)

    def _call(self, turn: Turn) -> None:
        owed, turn.owed = turn.owed, None
        if owed is not None and turn.entry.job != HEARTBEAT:
            self._on_late(turn.entry.name, owed)
        turn.run()

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def turns_over(self, within_seconds: float) -> bool:
        """Whether the scheduler's thread has looked at its queue lately; has it look again.

        A thread that is there and hangs is as bad as one that died: systemd's watchdog hangs on
        this (design of the unit).
        """
        self._scheduler.wakeup()
        return time.monotonic() - self._looked_at < within_seconds

    def alive(self) -> bool:
        """Whether the thread that looks at the time is still there (hazard C13)."""
        thread: threading.Thread | None = getattr(self._scheduler, "_thread", None)
        return thread is not None and thread.is_alive()

    def next_runs(self) -> dict[str, float]:
        """When each entry runs next, by name; one that never does is left out."""
        return {turn.entry.name: turn.at for turn in list(self._turns.values()) if turn.at < LATEST}

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
        self._closed = True
        self._scheduler.shutdown(wait=True)
        self._turns = {}

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
