"""A crontab expression means what crontab(5) says, and one that never fires is known as such."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.cron import MACROS, CronFields, fires_ever, parse_cron, shortest_gap_seconds

EVERY_DAY = frozenset(range(1, 32))
EVERY_WEEKDAY = frozenset(range(7))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        pytest.param("*", set(range(60)), id="any"),
        pytest.param("*/15", {0, 15, 30, 45}, id="step"),
        pytest.param("5", {5}, id="number"),
        pytest.param("05", {5}, id="leading zero is decimal"),
        pytest.param("1,2,30", {1, 2, 30}, id="list"),
        pytest.param("10-12", {10, 11, 12}, id="range"),
        pytest.param("10-20/5", {10, 15, 20}, id="range with step"),
        pytest.param("0-5/2,59", {0, 2, 4, 59}, id="list of both"),
        pytest.param("7-7", {7}, id="range of one"),
    ],
)
def test_a_field_takes_lists_ranges_and_steps(text: str, minutes: set[int]) -> None:
    assert parse_cron(f"{text} * * * *").minutes == minutes


@pytest.mark.parametrize(
    ("text", "weekdays"),
    [
        pytest.param("0", {0}, id="0 is Sunday"),
        pytest.param("7", {0}, id="7 is Sunday"),
        pytest.param("sun", {0}, id="by name"),
        pytest.param("MON-Fri", {1, 2, 3, 4, 5}, id="names in any case"),
        pytest.param("5-7", {5, 6, 0}, id="range up to 7"),
        pytest.param("0-7", set(EVERY_WEEKDAY), id="both Sundays"),
        pytest.param("*/2", {0, 2, 4, 6}, id="step"),
        pytest.param("sat,sun", {6, 0}, id="weekend"),
    ],
)
def test_weekdays_count_from_sunday(text: str, weekdays: set[int]) -> None:
    assert parse_cron(f"0 0 * * {text}").weekdays == weekdays


def test_months_go_by_number_or_name() -> None:
    assert parse_cron("0 0 1 jan,mar-may,12 *").months == {1, 3, 4, 5, 12}


def test_monday_is_the_monday_of_the_calendar() -> None:
    fields = parse_cron("0 9 * * mon")
    monday = datetime(2026, 11, 2, 9, 0)  # noqa: DTZ001 - a wall clock
    assert fields.matches(monday)
    assert not fields.matches(monday + timedelta(days=1))


def test_a_day_matches_either_when_day_of_month_and_weekday_are_both_restricted() -> None:
    fields = parse_cron("0 0 13 * fri")
    assert fields.matches(datetime(2026, 11, 13))  # noqa: DTZ001 - Friday the 13th
    assert fields.matches(datetime(2026, 12, 13))  # noqa: DTZ001 - a Sunday
    assert fields.matches(datetime(2026, 11, 6))  # noqa: DTZ001 - a Friday
    assert not fields.matches(datetime(2026, 11, 7))  # noqa: DTZ001


def test_a_day_must_match_both_when_one_of_them_starts_with_a_star() -> None:
    fields = parse_cron("0 0 */2 * mon")
    assert fields.matches(datetime(2026, 11, 9))  # noqa: DTZ001 - a Monday, odd
    assert not fields.matches(datetime(2026, 11, 2))  # noqa: DTZ001 - a Monday, even
    assert not fields.matches(datetime(2026, 11, 3))  # noqa: DTZ001 - a Tuesday, odd


@pytest.mark.parametrize("macro", list(MACROS))
def test_a_macro_means_its_five_fields(macro: str) -> None:
    assert parse_cron(macro) == parse_cron(macro.upper()) == parse_cron(MACROS[macro])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "0 fields", id="empty"),
        pytest.param("* * * *", "4 fields", id="four fields"),
        pytest.param("0 0 * * * *", "6 fields", id="with seconds"),
        pytest.param("@reboot", "is not one of @hourly", id="reboot"),
        pytest.param("@daily 5", "is not one of", id="macro and more"),
        pytest.param("60 * * * *", "minute: '60' is not in 0 to 59", id="minute"),
        pytest.param("* 24 * * *", "hour: '24' is not in 0 to 23", id="hour"),
        pytest.param("* * 0 * *", "day of month: '0' is not in 1 to 31", id="day"),
        pytest.param("* * * 13 *", "month: '13' is not in 1 to 12 or jan to dec", id="month"),
        pytest.param("* * * * 8", "day of week: '8' is not in 0 to 7 or sun to sat", id="weekday"),
        pytest.param("* * * * fri-sun", "5-6,0", id="wrap-around weekdays"),
        pytest.param("50-10 * * * *", "50-59,0-10", id="wrap-around minutes"),
        pytest.param("* * * nov-feb *", "11-12,1-2", id="wrap-around months"),
        pytest.param("*/0 * * * *", "the step '0' is not in 1 to 59", id="step of nothing"),
        pytest.param("*/90 * * * *", "the step '90' is not in 1 to 59", id="step past the end"),
        pytest.param("*/ * * * *", "the step '' is not", id="no step"),
        pytest.param("5/10 * * * *", "try '5-59/10'", id="step without range"),
        pytest.param("1,,2 * * * *", "an item is missing", id="empty item"),
        pytest.param("-5 * * * *", "'' is not in 0 to 59", id="negative"),
        pytest.param("1-2-3 * * * *", "'2-3' is not in", id="two dashes"),
        pytest.param("1.5 * * * *", "'1.5' is not in", id="fraction"),
        pytest.param("٣ * * * *", "is not in 0 to 59", id="digits of another script"),
        pytest.param("0 0 L * *", "day of month: 'L'", id="extension of another cron"),
        pytest.param("0 0 ? * *", "day of month: '\\?'", id="question mark"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_field(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_cron(text)


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        pytest.param("0 3 31 2 *", False, id="31 February"),
        pytest.param("0 3 30 feb *", False, id="30 February"),
        pytest.param("0 3 31 4,6,9,11 *", False, id="31st of short months"),
        pytest.param("0 3 29 2 *", True, id="29 February"),
        pytest.param("0 3 31 * *", True, id="31st of any month"),
        pytest.param("0 3 30,31 2 mon", True, id="or any Monday of February"),
        pytest.param("0 3 31 2 */2", False, id="star in the weekday restricts further"),
    ],
)
def test_a_date_that_never_comes_is_known(text: str, *, fires: bool) -> None:
    assert fires_ever(parse_cron(text)) is fires


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("* * * * *", 60, id="every minute"),
        pytest.param("*/25 * * * *", 600, id="uneven, over the hour"),
        pytest.param("0 9,17 * * *", 8 * 3600, id="twice a day"),
        pytest.param("0 1,23 * * *", 2 * 3600, id="over midnight"),
        pytest.param("0 3 * * *", 24 * 3600, id="once a day"),
        pytest.param("0 3 1 1 *", 24 * 3600, id="rarer counts as a day"),
    ],
)
def test_the_shortest_time_between_two_runs_is_known(text: str, seconds: int) -> None:
    assert shortest_gap_seconds(parse_cron(text)) == seconds


def field_texts(low: int, high: int) -> st.SearchStrategy[str]:
    """Text of one field, of every form that crontab allows."""
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    spans = st.one_of(st.just("*"), ranges)
    steps = st.tuples(spans, st.integers(1, high - low)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    parts = st.one_of(numbers.map(str), spans, steps)
    return st.lists(parts, min_size=1, max_size=3).map(",".join)


def admits(text: str, value: int, low: int) -> bool:
    """Whether a field admits a value: the plain words of crontab(5), one value at a time."""
    for part in text.split(","):
        span, _, step = part.partition("/")
        start, _, end = span.partition("-")
        first = low if span == "*" else int(start)
        last = 10**6 if span == "*" else int(end or start)
        if first <= value <= last and (value - first) % int(step or 1) == 0:
            return True
    return False


def fires(parts: list[str], moment: datetime) -> bool:
    """Whether an expression fires in a minute, by brute force."""
    minute, hour, day, month, weekday = parts
    sunday_is = (0, 7) if moment.isoweekday() == 7 else (moment.isoweekday(),)
    in_day = admits(day, moment.day, 1)
    in_weekday = any(
        admits(part, value, 0)
        for part in weekday.split(",")
        for value in sunday_is
        if value < 7 or not part.startswith("*")
    )
    either = not day.startswith("*") and not weekday.startswith("*")
    return (
        admits(minute, moment.minute, 0)
        and admits(hour, moment.hour, 0)
        and admits(month, moment.month, 1)
        and (in_day or in_weekday if either else in_day and in_weekday)
    )


EXPRESSIONS = st.tuples(
    field_texts(0, 59),
    field_texts(0, 23),
    field_texts(1, 31),
    field_texts(1, 12),
    field_texts(0, 7),
).map(list)


@given(EXPRESSIONS, st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)))  # noqa: DTZ001
def test_the_sets_agree_with_matching_one_minute_at_a_time(
    parts: list[str], moment: datetime
) -> None:
    assert parse_cron(" ".join(parts)).matches(moment) is fires(parts, moment)


# In 28 years every date has been on every weekday, so nothing else ever comes.
DAYS = [datetime(2000, 1, 1) + timedelta(days=day) for day in range(28 * 366)]  # noqa: DTZ001


@given(EXPRESSIONS)
def test_an_expression_fires_ever_exactly_when_some_day_matches(parts: list[str]) -> None:
    fields = parse_cron(" ".join(parts))
    at_hour, at_minute = min(fields.hours), min(fields.minutes)
    comes = any(fields.matches(day.replace(hour=at_hour, minute=at_minute)) for day in DAYS)
    assert fires_ever(fields) is comes


@given(EXPRESSIONS, st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)))  # noqa: DTZ001
def test_no_two_runs_come_closer_than_the_shortest_gap(parts: list[str], start: datetime) -> None:
    fields = parse_cron(" ".join(parts))
    moments = [start + timedelta(minutes=minute) for minute in range(2 * 24 * 60)]
    runs = [moment for moment in moments if fields.matches(moment)]
    shortest = timedelta(seconds=shortest_gap_seconds(fields))
    assert all(later - earlier >= shortest for earlier, later in pairwise(runs))


@given(st.text(max_size=60) | st.text("0123456789*/,- @sunmo", max_size=30))
def test_any_text_is_read_or_refused_with_a_message(text: str) -> None:
    fields, message = read(text)
    assert (fields is None) == bool(message)
    assert message.isprintable()
    if fields is not None:
        assert frozenset() < fields.days <= EVERY_DAY
        assert frozenset() < fields.weekdays <= EVERY_WEEKDAY


def read(text: str) -> tuple[CronFields | None, str]:
    try:
        return parse_cron(text), ""
    except ValueError as error:
        return None, str(error)
