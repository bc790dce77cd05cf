"""When entries run: pure times, with `now` as an argument, and the thread that keeps them."""

import threading
import time as clock
from datetime import UTC, datetime, time
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.daemon.clocks import reader
from skymem.daemon.runs import RunRecord
from skymem.daemon.timing import FirstRun, Timer, due_time, first_runs, next_runs
from skymem.model.cron import parse_cron
from skymem.model.schedule import Cron, Daily, Every, Schedule, ScheduleEntry, Trigger

BERLIN = "Europe/Berlin"


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def entry(trigger: Trigger, name: str = "promote", *, jitter: float = 0.0) -> ScheduleEntry:
    return ScheduleEntry(name, name, trigger, jitter_seconds=jitter)


def schedule(*entries: ScheduleEntry, timezone: str = "UTC") -> Schedule:
    return Schedule(entries, timezone)


def only(found: list[FirstRun]) -> FirstRun:
    assert len(found) == 1
    return found[0]


NOW = at("2026-11-28T12:00:00")
TEN = Every(600)


@pytest.mark.parametrize(
    ("trigger", "last", "expected"),
    [
        pytest.param(TEN, "2026-11-28T11:55", "2026-11-28T12:05", id="interval"),
        pytest.param(TEN, "2026-11-28T11:00", "2026-11-28T11:10", id="interval overdue"),
        pytest.param(Daily(time(6, 45)), "2026-11-28T06:45", "2026-11-29T06:45", id="daily"),
        pytest.param(Daily(time(6, 45)), "2026-11-27T06:45", "2026-11-28T06:45", id="daily missed"),
        # 28 November 2026 is a Saturday.
        pytest.param(Cron("0 3 * * 0"), "2026-11-28T11:00", "2026-11-29T03:00", id="sunday is 0"),
        pytest.param(Cron("0 3 * * 7"), "2026-11-28T11:00", "2026-11-29T03:00", id="sunday is 7"),
        pytest.param(Cron("0 3 * * 1"), "2026-11-28T11:00", "2026-11-30T03:00", id="monday is 1"),
        pytest.param(Cron("0 3 1 * 1"), "2026-11-28T11:00", "2026-11-30T03:00", id="dow of either"),
        pytest.param(Cron("0 3 1 * 1"), "2026-11-30T11:00", "2026-12-01T03:00", id="dom of either"),
        pytest.param(Cron("0 3 29 2 *"), "2026-11-28T11:00", "2028-02-29T03:00", id="leap day"),
        pytest.param(Cron("@hourly"), "2026-11-28T11:00", "2026-11-28T12:00", id="macro"),
    ],
)
def test_due_counts_from_the_last_start(trigger: Trigger, last: str, expected: str) -> None:
    record = RunRecord(0, last_start=at(last))
    now = max(NOW, at(last))
    assert due_time(entry(trigger), record, "UTC", now) == at(expected)


def test_a_day_is_one_of_the_schedules_time_zone() -> None:
    record = RunRecord(at("2026-07-01T12:00", BERLIN))
    due = due_time(entry(Daily(time(6, 45))), record, BERLIN, NOW)
    assert due == at("2026-07-02T06:45", BERLIN)


def test_a_time_that_the_clock_change_leaves_out_still_has_a_run_that_day() -> None:
    record = RunRecord(at("2026-03-28T12:00", BERLIN))
    due = due_time(entry(Daily(time(2, 30))), record, BERLIN, at("2026-03-28T13:00", BERLIN))
    assert datetime.fromtimestamp(due, ZoneInfo(BERLIN)).date().isoformat() in {
        "2026-03-29",
        "2026-03-30",
    }


CRON = st.builds(
    lambda *parts: " ".join(parts),
    st.sampled_from(["*", "0", "*/7", "1-5,59"]),
    st.sampled_from(["*", "3", "*/5", "22-23"]),
    st.sampled_from(["*", "1", "*/2", "13,31", "28-30"]),
    st.sampled_from(["*", "2", "*/3", "jan,dec"]),
    st.sampled_from(["*", "0", "7", "mon-fri", "*/2", "5-7"]),
)


@given(CRON, st.integers(1_700_000_000, 1_900_000_000))
def test_cron_fires_where_its_fields_say(expression: str, after: int) -> None:
    """Our own reading of the expression agrees with the trigger, and no minute is passed over."""
    fields = parse_cron(expression)
    due = due_time(entry(Cron(expression)), RunRecord(after), "UTC", after)
    assert due > after
    assert fields.matches(datetime.fromtimestamp(due, UTC))
    between = range(after - after % 60 + 60, int(min(due, after + 86_400 * 3)), 60)
    assert not any(fields.matches(datetime.fromtimestamp(minute, UTC)) for minute in between)


def test_a_new_home_checks_memory_within_the_first_minute_and_nothing_else() -> None:
    check = entry(TEN, "memory_rotate_check")
    found = first_runs(schedule(entry(TEN), check), {}, NOW)
    assert [(each.entry.name, each.at - NOW, each.late) for each in found] == [
        ("promote", 600, False),
        ("memory_rotate_check", 45, False),
    ]


@pytest.mark.parametrize("catch_up", [True, False])
def test_a_first_check_that_a_crash_cut_off_comes_at_the_next_start(*, catch_up: bool) -> None:
    runs = {"memory_rotate_check": RunRecord(NOW - 900)}
    check = schedule(entry(TEN, "memory_rotate_check"))
    first = only(first_runs(check, runs, NOW, catch_up=catch_up))
    assert (first.at, first.late) == (NOW, False)


def test_an_entry_that_never_ran_waits_its_interval_from_when_it_was_first_seen() -> None:
    runs = {"promote": RunRecord(NOW - 500), "other": RunRecord(0, last_start=NOW)}
    assert only(first_runs(schedule(entry(TEN)), runs, NOW)).at == NOW + 100


def test_restarts_never_reset_an_interval() -> None:
    """Restarted every 5 minutes for a day, a 10-minute job still runs every 10 minutes."""
    record = RunRecord(NOW)
    starts: list[float] = []
    for restart in range(288):
        up = NOW + restart * 300
        first = only(first_runs(schedule(entry(TEN)), {"promote": record}, up))
        if first.at < up + 300:
            starts.append(first.at)
            record = RunRecord(NOW, last_start=first.at)
    assert starts == [NOW + 600 * number for number in range(1, 144)]


def test_what_was_missed_is_caught_up_once_one_after_the_other() -> None:
    runs = {name: RunRecord(0, last_start=NOW - 86_400) for name in ("promote", "rotate")}
    both = schedule(entry(TEN), entry(TEN, "rotate"))
    found = first_runs(both, runs, NOW)
    assert [(each.at - NOW, each.late) for each in found] == [(0, True), (0.5, True)]
    assert found[0].due == NOW - 86_400 + 600


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        pytest.param(TEN, "2026-11-28T12:03", id="on the old grid"),
        pytest.param(Daily(time(6, 45)), "2026-11-29T06:45", id="daily"),
        pytest.param(Cron("0 3 * * *"), "2026-11-29T03:00", id="cron"),
    ],
)
def test_without_catch_up_a_missed_run_waits_for_its_next_regular_time(
    trigger: Trigger, expected: str
) -> None:
    runs = {"promote": RunRecord(0, last_start=at("2026-11-26T11:53"))}
    first = only(first_runs(schedule(entry(trigger)), runs, NOW, catch_up=False))
    assert first.late
    assert first.at == at(expected)


def test_a_waived_run_is_not_missed_a_second_time() -> None:
    record = RunRecord(0, last_start=NOW - 1000, waived_until=NOW - 100)
    first = only(first_runs(schedule(entry(TEN)), {"promote": record}, NOW))
    assert (first.at, first.late) == (NOW + 200, False)


def test_a_changed_trigger_keeps_the_last_run() -> None:
    runs = {"promote": RunRecord(0, last_start=NOW - 500)}
    assert only(first_runs(schedule(entry(Every(900))), runs, NOW)).at == NOW + 400


@given(st.floats(0, 1000))
def test_jitter_puts_off_and_is_no_miss(age: float) -> None:
    runs = {"promote": RunRecord(0, last_start=NOW - age)}
    first = only(first_runs(schedule(entry(TEN, jitter=500)), runs, NOW))
    assert not first.late
    assert max(NOW, NOW - age + 600) <= first.at <= NOW - age + 1100


def test_a_record_from_the_future_does_not_put_a_job_off_for_years() -> None:
    record = RunRecord(NOW + 1e8, last_start=NOW + 1e8, waived_until=NOW + 1e8)
    assert due_time(entry(TEN), record, "UTC", NOW) == NOW + 600


def test_next_runs_names_every_entry() -> None:
    off = ScheduleEntry("rotate", "rotate", TEN, enabled=False)
    beat = entry(Every(30), "heartbeat")
    runs = {"promote": RunRecord(0, last_start=NOW - 700)}
    found = next_runs(schedule(entry(TEN), off, beat), runs, NOW)
    assert found == {"promote": NOW - 100, "rotate": None, "heartbeat": None}


def make_timer(skipped: list[str], complaints: list[str], *, workers: int = 4) -> Timer:
    return Timer(
        "UTC",
        workers=workers,
        read=reader(clock.time),
        on_skip=skipped.append,
        on_late=lambda *_: None,
        complain=complaints.append,
    )


@pytest.mark.parametrize("halted_seconds", [0, 0.9])
def test_an_end_while_jobs_fall_due_starts_none_and_complains_of_nothing(
    halted_seconds: float,
) -> None:
    """Hazard C11: one run in hand, others due while it ends."""
    complaints: list[str] = []
    ran: list[int] = []
    timer = make_timer([], complaints)
    timer.add(entry(Every(3600), "in_hand"), lambda: clock.sleep(0.7), clock.time())
    for number in range(10):
        at = clock.time() + 0.5 + number / 100
        timer.add(entry(Every(3600), f"due_{number}"), partial(ran.append, number), at)
    timer.start()
    clock.sleep(0.05)
    timer.halt()
    clock.sleep(halted_seconds)
    timer.close()
    assert (ran, complaints, timer_threads()) == ([], [], [])


def timer_threads() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("APScheduler", "ThreadPool"))]


def test_late_runs_come_once_and_none_is_dropped_for_being_late() -> None:
    ran: list[float] = []
    timer = make_timer([], [])
    timer.add(entry(Every(3600)), lambda: ran.append(clock.time()), clock.time() - 5.5 * 3600)
    timer.start()
    clock.sleep(0.2)
    due = timer.next_runs()["promote"]
    timer.halt()
    timer.close()
    assert len(ran) == 1
    assert 3590 < due - clock.time() < 3601, "as the record says, it counts from the last start"


def test_an_entry_that_still_runs_is_skipped_by_name_and_a_bug_is_complained_about() -> None:
    skipped: list[str] = []
    complaints: list[str] = []
    release = threading.Event()
    timer = make_timer(skipped, complaints)
    timer.add(entry(Every(0.05)), lambda: release.wait(5), clock.time())
    timer.add(entry(Every(3600), "rotate"), lambda: 1 / 0, clock.time())
    timer.start()
    assert timer.alive()
    clock.sleep(0.3)
    timer.halt()
    release.set()
    timer.close()
    assert set(skipped) == {"promote"}
    assert len(complaints) == 1
    assert "ZeroDivisionError" in complaints[0]
    assert not timer.alive()


def test_a_run_that_ends_with_the_timer_may_still_put_its_entry_off() -> None:
    """The end waits for the run with APScheduler's lock in hand, which the run asks for."""
    timer = make_timer([], [])
    begun, ended = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        clock.sleep(0.3)
        timer.arm("promote", clock.time() + 10)
        timer.remove("promote")
        timer.next_runs()
        ended.set()

    timer.add(entry(Every(3600)), run, clock.time())
    timer.start()
    assert begun.wait(5)
    timer.halt()
    closing = threading.Thread(target=timer.close, daemon=True)
    closing.start()
    closing.join(5)
    assert (closing.is_alive(), ended.is_set()) == (False, True)


def test_a_run_left_out_by_a_clock_that_was_ahead_puts_nothing_off() -> None:
    hour, start = 3600.0, 1_800_000_000.0
    entry = ScheduleEntry("index", "index", Every(hour))
    record = RunRecord(
        start, last_start=start + 24 * hour, waived_until=start + 25 * hour, counted_from=start
    )

    assert due_time(entry, record, "UTC", start + 10.5 * hour) == start + hour
    assert due_time(entry, record, "UTC", start + 25.5 * hour) == start + 26 * hour
