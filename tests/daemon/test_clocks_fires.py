"""Times of the day where the clock changes, twice a year, in three time zones (hazard C6)."""

import math
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.daemon.fires import keeps_pace, next_fire, zone_is_missing, zone_of
from skymem.model.cron import parse_cron
from skymem.model.schedule import Cron, Daily, Every

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
ZONES = [BERLIN, NEW_YORK, LORD_HOWE]
SPRING = {BERLIN: "2026-03-29", NEW_YORK: "2026-03-08", LORD_HOWE: "2026-10-04"}
AUTUMN = {BERLIN: "2026-10-25", NEW_YORK: "2026-11-01", LORD_HOWE: "2026-04-05"}
HALF_PAST_TWO, TWO = Daily(time(2, 30)), Daily(time(2))


def epoch(text: str, zone: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def fires(trigger: Daily | Cron, zone: str, day: str, days: float = 1) -> list[str]:
    """What the wall says at each run from the start of `day` for `days` of 24 hours."""
    found, after = [], epoch(day, zone) - 1
    end = after + days * 86_400
    while (after := next_fire(trigger, zone, after)) < end:
        found.append(datetime.fromtimestamp(after, ZoneInfo(zone)).strftime("%d %H:%M:%S %z"))
    return found


@pytest.mark.parametrize(
    ("trigger", "zone", "day", "wall"),
    [
        pytest.param(HALF_PAST_TWO, BERLIN, SPRING[BERLIN], "03:30:00 +0200", id="Berlin spring"),
        pytest.param(HALF_PAST_TWO, BERLIN, AUTUMN[BERLIN], "02:30:00 +0200", id="Berlin autumn"),
        pytest.param(HALF_PAST_TWO, NEW_YORK, SPRING[NEW_YORK], "03:30:00 -0400", id="NY spring"),
        pytest.param(HALF_PAST_TWO, NEW_YORK, AUTUMN[NEW_YORK], "02:30:00 -0500", id="NY autumn"),
        pytest.param(
            Daily(time(1, 30)), NEW_YORK, AUTUMN[NEW_YORK], "01:30:00 -0400", id="NY twice"
        ),
        pytest.param(TWO, LORD_HOWE, SPRING[LORD_HOWE], "02:30:00 +1100", id="Lord Howe spring"),
        pytest.param(TWO, LORD_HOWE, AUTUMN[LORD_HOWE], "02:00:00 +1030", id="Lord Howe autumn"),
        pytest.param(
            Daily(time(1, 45, 30)), LORD_HOWE, AUTUMN[LORD_HOWE], "01:45:30 +1100", id="LH twice"
        ),
        pytest.param(Cron("30 2 * * *"), BERLIN, SPRING[BERLIN], "03:30:00 +0200", id="cron gap"),
        pytest.param(Cron("30 2 * * *"), BERLIN, AUTUMN[BERLIN], "02:30:00 +0200", id="cron twice"),
    ],
)
def test_a_fixed_time_fires_once_on_the_day_the_clock_changes(
    trigger: Daily | Cron, zone: str, day: str, wall: str
) -> None:
    assert fires(trigger, zone, day) == [f"{day[-2:]} {wall}"]


@pytest.mark.parametrize("zone", ZONES)
@given(minute=st.integers(0, 24 * 60 - 1))
def test_any_time_of_the_day_fires_once_a_day_all_year(zone: str, minute: int) -> None:
    found = fires(Daily(time(minute // 60, minute % 60)), zone, "2026-01-01", 365)
    assert len(found) == 365
    assert len({one[:2] for one in found}) == 31


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("change", [SPRING, AUTUMN], ids=["spring", "autumn"])
@pytest.mark.parametrize("minutes", [1, 5, 15])
def test_minute_steps_keep_their_pace_through_the_change(
    zone: str, change: dict[str, str], minutes: int
) -> None:
    after = epoch(change[zone], zone) - 1
    for _ in range(6 * 60 // minutes):
        fired = next_fire(Cron(f"*/{minutes} * * * *"), zone, after)
        assert fired - after == minutes * 60 or after % 60
        after = fired


def test_of_times_the_change_moves_past_one_another_each_still_comes_once() -> None:
    found = fires(Cron("0,20,40 2 * * *"), LORD_HOWE, SPRING[LORD_HOWE])
    assert [one[3:8] for one in found] == ["02:30", "02:40", "02:50"]


@pytest.mark.parametrize("zone", ZONES)
@given(
    expression=st.sampled_from(["*/7 * * * *", "* 1-3 * * *", "*/20 2 * * 0", "5 * * * *"]),
    seconds=st.integers(0, 30 * 3600),
    spring=st.booleans(),
)
def test_paced_cron_fires_in_just_the_minutes_that_read_right(
    zone: str, expression: str, seconds: int, spring: bool
) -> None:
    after = epoch((SPRING if spring else AUTUMN)[zone], zone) - 6 * 3600 + seconds
    fields, minute = parse_cron(expression), after - after % 60 + 60
    fired = next_fire(Cron(expression), zone, after)
    while not fields.matches(datetime.fromtimestamp(minute, ZoneInfo(zone))):
        minute += 60
        if minute > after + 2 * 86_400:
            break
    else:
        assert fired == minute


def test_what_follows_real_time_and_what_does_not() -> None:
    paced = ["* * * * *", "*/15 2 * * *", "5 * * * *", "0 */6 * * *", "@hourly"]
    fixed = ["0 3 * * *", "0,30 2 * * *", "0 3 1 * *", "@daily", "@MONTHLY"]
    assert all(keeps_pace(Cron(each)) for each in paced)
    assert not any(keeps_pace(Cron(each)) for each in fixed)
    assert keeps_pace(Every(600))
    assert not keeps_pace(TWO)


@pytest.mark.parametrize("trigger", [TWO, Cron("0 3 * * *"), Cron("* * * * *"), Cron("@yearly")])
@pytest.mark.parametrize("zone", ["UTC", BERLIN, "Pacific/Kiritimati"])
def test_past_the_last_year_nothing_fires_and_nothing_breaks(
    trigger: Daily | Cron, zone: str
) -> None:
    last = datetime.max.replace(tzinfo=ZoneInfo("UTC")) - timedelta(minutes=1)
    assert next_fire(trigger, zone, last.timestamp()) == math.inf
    assert next_fire(Cron("0 3 31 2 *"), "UTC", 0) == math.inf


def test_a_time_zone_this_host_does_not_know_is_utc_and_that_is_told() -> None:
    for name in ("Mars/Olympus", "../../etc/passwd", "Europe"):
        assert zone_is_missing(name)
        assert zone_of(name).utcoffset(None) == timedelta()
    assert not zone_is_missing("UTC")
    assert not zone_is_missing(BERLIN)
    assert fires(TWO, "UTC", "2026-03-29") == ["29 02:00:00 +0000"]
    assert next_fire(TWO, "Mars/Olympus", 0) == 7200
