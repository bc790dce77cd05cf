"""What follows when a clock is set or the machine sleeps: policy, with clocks made up here."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skymem.daemon.clocks import Change, Clocks, Reading, reader
from skymem.daemon.runs import RunBook, RunRecord
from skymem.daemon.timing import Timer, due_time, first_runs, next_runs
from skymem.daemon.turn import LATE_SECONDS
from skymem.model.schedule import Cron, Daily, Every, Schedule, ScheduleEntry, Trigger
from skymem.stores.files import Files
from skymem.stores.home import HomePaths

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC).timestamp()
HOUR, DAY, YEAR = 3600.0, 86_400.0, 365 * 86_400.0
LOOK_SECONDS = 2.0


def entry(name: str, trigger: Trigger, *, jitter: float = 0.0) -> ScheduleEntry:
    return ScheduleEntry(name, "promote", trigger, jitter_seconds=jitter)


@dataclass
class World:
    """Three clocks, a timer, and a daemon that looks every two seconds; nothing takes time."""

    wall: float = NOON
    monotonic: float = 1000.0
    boot: float = 1500.0
    ran: list[tuple[str, float, float]] = field(default_factory=list)
    """Name, monotonic and wall time of each run."""

    late: list[str] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.timer = Timer(
            "UTC",
            workers=1,
            read=self.read,
            on_skip=lambda _: None,
            on_late=lambda name, _: self.late.append(name),
            complain=lambda _: None,
        )
        self.clocks = Clocks(self.read)

    def read(self) -> Reading:
        return Reading(self.wall, self.monotonic, self.boot)

    def add(self, *entries: ScheduleEntry) -> None:
        for first in first_runs(Schedule(entries), {}, self.wall):
            self.timer.add(first.entry, self.noting(first.entry.name), first.at)

    def noting(self, name: str) -> Callable[[], None]:
        return lambda: self.ran.append((name, self.monotonic, self.wall))

    def set(self, seconds: float) -> None:
        self.wall += seconds

    def sleep(self, seconds: float) -> None:
        self.wall += seconds
        self.boot += seconds

    def go(self, seconds: float) -> None:
        """Let time pass: what is due is handed out as APScheduler does it."""
        end, look = self.monotonic + seconds, self.monotonic
        while self.monotonic < end:
            if self.monotonic >= look:
                look += LOOK_SECONDS
                if change := self.clocks.look():
                    self.changes.append(change)
                    self.timer.rearm(change)
            self.hand_out()
            due = (
                min([turn.at for turn in self.timer._turns.values()], default=math.inf) - self.wall
            )
            step = max(0.001, min(look - self.monotonic, end - self.monotonic, due))
            self.wall, self.monotonic, self.boot = (
                self.wall + step,
                self.monotonic + step,
                self.boot + step,
            )

    def hand_out(self) -> None:
        now = datetime.fromtimestamp(self.wall, UTC)
        for turn in self.timer._turns.values():
            due = turn.moment()
            if due is not None and due <= now:
                following = turn.get_next_fire_time(due, now)
                assert following is None or following > now, "no second question"
                assert following == turn.get_next_fire_time(due, now), "the same answer again"
                self.timer._call(turn)

    def times(self, name: str) -> list[float]:
        return [monotonic for each, monotonic, _ in self.ran if each == name]


@pytest.fixture
def world() -> World:
    return World()


SECOND, TEN = entry("second", Every(1)), entry("ten", Every(600))


def test_clocks_that_only_tick_are_no_change(world: World) -> None:
    for _ in range(1000):
        world.go(1)
        world.set(0.0001)
        world.set(-0.0001)
    assert world.changes == []
    assert world.clocks.state() == {
        "wall": world.wall,
        "offset_s": 0.0,
        "suspended_s": 0.0,
        "changes": 0,
        "last_change": None,
        "timezone": "UTC",
        "timezone_missing": None,
    }


@pytest.mark.parametrize("seconds", [1.5, HOUR, YEAR, -1.5, -HOUR, -YEAR])
def test_a_clock_that_is_set_is_told_by_how_much(world: World, seconds: float) -> None:
    world.set(seconds)
    change = world.clocks.look()
    assert change is not None
    assert (change.kind, change.at) == ("forward" if seconds > 0 else "back", world.wall)
    assert change.seconds == pytest.approx(abs(seconds))
    assert world.clocks.look() is None
    state = world.clocks.state()
    assert state["offset_s"] == pytest.approx(seconds)
    assert state["last_change"]["seconds"] == pytest.approx(abs(seconds))


def test_small_steps_add_up_to_a_change(world: World) -> None:
    for _ in range(10):
        world.set(-0.25)
        world.go(4)
    assert [change.kind for change in world.changes] == ["back", "back"]


def test_sleep_is_told_from_a_clock_that_is_set_and_both_at_once_are_two(world: World) -> None:
    world.sleep(8 * HOUR)
    world.set(-30)
    world.go(5)
    found = [(change.kind, round(change.seconds)) for change in world.changes]
    assert found == [("suspend", 28_800), ("back", 30)]
    assert world.clocks.state()["suspended_s"] == 28_800


def test_the_kernels_clocks_agree_with_themselves() -> None:
    clocks = Clocks(reader(lambda: NOON))
    assert clocks.look() is None
    one, two = (reader(lambda: NOON)() for _ in range(2))
    assert one.boot <= two.boot
    assert one.monotonic <= two.monotonic


@pytest.mark.parametrize("seconds", [HOUR, 30 * DAY, YEAR])
@pytest.mark.parametrize("what", [World.set, World.sleep], ids=["set forward", "asleep"])
def test_what_the_clock_passed_over_is_one_run_and_then_the_pace_goes_on(
    world: World, seconds: float, what: Callable[[World, float], None]
) -> None:
    world.add(SECOND, TEN, entry("daily", Daily(time(12, 10))))
    world.go(10.5)
    at = world.monotonic
    what(world, seconds)
    world.go(700)
    assert [run - at < 3 for run in world.times("ten")] == [True, False]
    assert world.times("ten")[1] - world.times("ten")[0] == pytest.approx(600, abs=0.1)
    after = [run for run in world.times("second") if run > at - 0.01]
    assert len(after) == pytest.approx(700, abs=3)
    assert sorted(world.late) == ["daily", "second", "ten"]


def test_a_clock_put_right_right_after_the_sleep_does_not_hide_what_was_missed(
    world: World,
) -> None:
    world.add(*(entry(f"entry_{number}", Every(HOUR)) for number in range(8)))
    world.sleep(DAY)
    world.set(-60)
    world.go(10)
    assert [change.kind for change in world.changes] == ["suspend", "back"]
    assert len(world.ran) == len(set(world.late)) == len(world.late) == 8


def test_runs_that_all_became_overdue_are_spaced(world: World) -> None:
    world.add(*(entry(f"entry_{number}", Every(HOUR)) for number in range(4)))
    world.sleep(DAY)
    world.go(10)
    assert [run - 1000 for _, run, _ in world.ran] == pytest.approx([0, 0.5, 1, 1.5], abs=0.01)


@pytest.mark.parametrize("seconds", [-30, -HOUR, -DAY, -YEAR])
def test_set_back_an_interval_keeps_its_pace(world: World, seconds: float) -> None:
    world.add(SECOND, TEN, entry("five", Cron("*/5 * * * *")))
    world.go(1500)
    world.set(seconds)
    world.go(3000)
    assert [round(run - 1000) for run in world.times("ten")] == list(range(600, 4500, 600))
    assert max(b - a for a, b in pairwise(world.times("second"))) <= 1 + LOOK_SECONDS
    assert max(b - a for a, b in pairwise(world.times("five"))) < 600 + LOOK_SECONDS
    assert world.late == []


@pytest.mark.parametrize("trigger", [Daily(time(12, 5)), Cron("5 12 * * *")])
@pytest.mark.parametrize(
    ("seconds", "waits"), [(-HOUR, DAY + HOUR), (-DAY, 2 * DAY), (-40 * DAY, DAY)]
)
def test_set_back_a_fixed_time_does_not_come_again_unless_it_was_a_day_or_more(
    world: World, trigger: Trigger, seconds: float, waits: float
) -> None:
    world.add(entry("fixed", trigger))
    world.go(600)
    assert len(world.ran) == 1
    world.set(seconds)
    world.go(10)
    ahead = world.timer.next_runs()["fixed"] - (world.ran[0][2] + seconds)
    assert ahead == pytest.approx(waits, abs=DAY / 2 if seconds < -DAY else 1)


def test_jitter_stays_within_its_bounds(world: World) -> None:
    world.add(entry("jittered", Every(60), jitter=30), entry("cron", Cron("* * * * *"), jitter=10))
    world.go(2 * HOUR)
    gaps = [b - a for a, b in pairwise(world.times("jittered"))]
    assert min(gaps) >= 60
    assert max(gaps) <= 90.1
    assert max(gaps) - min(gaps) > 5
    assert max(wall % 60 for name, _, wall in world.ran if name == "cron") < 10.1


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["go", "set", "sleep"]),
        st.floats(0, 1000),
        st.sampled_from([-YEAR, -DAY, -HOUR, -3.0, 3.0, HOUR, YEAR]),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=40)
@given(EVENTS)
def test_whatever_the_clocks_do_an_interval_is_never_silent_and_never_storms(
    events: list[tuple[str, float, float]],
) -> None:
    world = World()
    world.add(entry("minute", Every(60)), TEN)
    for kind, seconds, jump in events:
        if kind == "set":
            world.set(jump)
        elif kind == "sleep":
            world.sleep(seconds)
        world.go(seconds)
    world.go(700)
    for name, interval in (("minute", 60), ("ten", 600)):
        gaps = [b - a for a, b in pairwise([1000.0, *world.times(name), world.monotonic])]
        assert max(gaps) <= interval + LOOK_SECONDS + 1
        early = [gap for gap in gaps[:-1] if gap < interval - 1.1]
        assert len(early) <= sum(change.kind != "back" for change in world.changes)


def test_an_entry_can_be_put_off_replaced_and_forgotten(world: World) -> None:
    world.add(TEN, SECOND)
    world.timer.arm("ten", NOON + 1200)
    world.timer.arm("nobody", NOON)
    world.timer.remove("second")
    world.timer.remove("second")
    assert world.timer.next_runs() == {"ten": NOON + 1200}
    world.go(1201)
    assert [run for _, run, _ in world.ran] == [pytest.approx(2200, abs=0.01)]
    world.timer.add(entry("ten", Every(5)), world.noting("anew"), world.wall + 5)
    world.go(11)
    assert len(world.times("anew")) == 2


def test_what_never_fires_again_is_left_alone_and_breaks_nothing(world: World) -> None:
    world.add(entry("ages", Every(1e12)), TEN)
    assert world.timer.next_runs() == {"ten": NOON + 600}
    world.set(-HOUR)
    world.sleep(HOUR)
    world.go(5)
    assert "ages" not in world.timer.next_runs()
    assert next_runs(Schedule((entry("ages", Every(1e12)),)), {}, NOON) == {"ages": None}


@pytest.fixture
def book(tmp_path: Path) -> RunBook:
    return RunBook(HomePaths(tmp_path), Files(), lambda error: pytest.fail(str(error)))


def test_after_the_clock_was_set_back_restarts_do_not_hold_an_interval_up(
    book: RunBook, tmp_path: Path
) -> None:
    """Back by an hour while it is up, then restarted each minute."""
    book.see(["ten"], NOON)
    book.started("ten", NOON)
    now = NOON + 60 - HOUR
    book.set_back(HOUR, now)
    for minute in range(10):
        again = RunBook(HomePaths(tmp_path), Files(), lambda error: pytest.fail(str(error)))
        again.see(["ten"], now + minute * 60)
        due = due_time(TEN, again.snapshot()["ten"], "UTC", now + minute * 60)
        assert due == NOON + 600 - HOUR


def test_set_back_while_it_was_down_the_first_start_counts(book: RunBook) -> None:
    book.see(["ten", "never"], NOON)
    book.started("ten", NOON)
    for minute in range(10):
        book.see(["ten", "never"], NOON - HOUR + minute * 60)
        for name in ("ten", "never"):
            due = due_time(TEN, book.snapshot()[name], "UTC", NOON - HOUR + minute * 60)
            assert due == NOON - HOUR + 600
    book.started("ten", NOON - HOUR + 600)
    assert book.snapshot()["ten"].counted_from is None


@pytest.mark.parametrize(
    ("trigger", "now", "due"),
    [
        pytest.param(Daily(time(11, 30)), NOON - HOUR, NOON + DAY - 1800, id="not again today"),
        pytest.param(Daily(time(11, 30)), NOON - 40 * DAY, NOON - 39 * DAY - 1800, id="wrong day"),
        pytest.param(Cron("*/5 * * * *"), NOON - HOUR, NOON - HOUR + 300, id="paced"),
    ],
)
def test_the_record_says_which_times_were_reached(trigger: Trigger, now: float, due: float) -> None:
    record = RunRecord(NOON - 9 * DAY, last_start=NOON - 1800)
    assert due_time(entry("it", trigger), record, "UTC", now) == due


def test_failures_put_an_interval_off_and_a_fixed_time_not() -> None:
    record = RunRecord(0, last_start=NOON, consecutive_failures=3)
    assert due_time(TEN, record, "UTC", NOON) == NOON + 2400
    daily = entry("daily", Daily(time(13)))
    assert due_time(daily, record, "UTC", NOON) == NOON + HOUR


def test_a_run_a_little_late_is_not_one_caught_up(world: World) -> None:
    world.add(TEN)
    world.go(595)
    world.sleep(LATE_SECONDS)
    world.go(5)
    assert (len(world.ran), world.late) == (1, [])
