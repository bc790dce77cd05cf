"""What a query says of time, read by hand from a calendar; 14 November 2023 is a Tuesday."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.rank import tokens
from skymem.policy.when import (
    LAST_US,
    Period,
    Times,
    names_a_time,
    names_a_time_by,
    times_of,
)

NOW = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def us(*when: int) -> int:
    return round(datetime(*when, tzinfo=UTC).timestamp()) * 1_000_000  # type: ignore[misc, arg-type]


def read(query: str, now: datetime = NOW) -> Times:
    return times_of(query, round(now.timestamp()) * 1_000_000)


def period(start: tuple[int, int, int], end: tuple[int, int, int]) -> Period:
    return Period(us(*start), us(*end))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What happened on 3 May 2023?", (2023, 5, 3), (2023, 5, 4)),
        ("the party of May 3rd, 2023", (2023, 5, 3), (2023, 5, 4)),
        ("the 3rd of May 2023", (2023, 5, 3), (2023, 5, 4)),
        ("May the 3rd 2023", (2023, 5, 3), (2023, 5, 4)),
        ("on 29 February 2024", (2024, 2, 29), (2024, 3, 1)),
        ("in June 2023", (2023, 6, 1), (2023, 7, 1)),
        ("the 2 races of June 2023", (2023, 6, 1), (2023, 7, 1)),
        ("in December 2023", (2023, 12, 1), (2024, 1, 1)),
        ("in 2022", (2022, 1, 1), (2023, 1, 1)),
        ("in 2024", (2024, 1, 1), (2025, 1, 1)),
        ("on 2023-05-03", (2023, 5, 3), (2023, 5, 4)),
        ("at 2023-05-03T10:00:00Z", (2023, 5, 3), (2023, 5, 4)),
        ("in 2023-05", (2023, 5, 1), (2023, 6, 1)),
        ("today", (2023, 11, 14), (2023, 11, 15)),
        ("Yesterday", (2023, 11, 13), (2023, 11, 14)),
        ("this week", (2023, 11, 13), (2023, 11, 20)),
        ("last week", (2023, 11, 6), (2023, 11, 13)),
        ("two weeks ago", (2023, 10, 30), (2023, 11, 6)),
        ("a day ago", (2023, 11, 13), (2023, 11, 14)),
        ("10 days ago", (2023, 11, 4), (2023, 11, 5)),
        ("this month", (2023, 11, 1), (2023, 12, 1)),
        ("last month", (2023, 10, 1), (2023, 11, 1)),
        ("11 months ago", (2022, 12, 1), (2023, 1, 1)),
        ("12 months ago", (2022, 11, 1), (2022, 12, 1)),
        ("last year", (2022, 1, 1), (2023, 1, 1)),
        ("three years ago", (2020, 1, 1), (2021, 1, 1)),
        ("last Monday", (2023, 11, 13), (2023, 11, 14)),
        ("last tuesday", (2023, 11, 7), (2023, 11, 8)),
        ("this Tuesday", (2023, 11, 14), (2023, 11, 15)),
        ("last wednesday", (2023, 11, 8), (2023, 11, 9)),
    ],
)
def test_a_time_that_is_named_is_a_period(
    query: str, start: tuple[int, int, int], end: tuple[int, int, int]
) -> None:
    assert read(query).periods == (period(start, end),)
    assert read(query).every_year is None


@pytest.mark.parametrize(
    "query",
    [
        "on 30 February 2023",
        "on 29 February 2023",
        "on 2023-02-30",
        "on 2023-13-01",
        "who may come?",
        "it may be so",
        "the number 20231",
        "version 3.1",
        "",
        "what did they say of tea",
    ],
)
def test_what_is_no_time_is_none(query: str) -> None:
    assert read(query) == Times()


def test_a_month_without_a_year_is_that_of_every_year() -> None:
    assert read("in June").every_year == (6, None)
    assert read("on the 9th of june").every_year == (6, 9)
    assert read("which 5 books in June").every_year == (6, None)
    assert read("in May").every_year == (5, None)
    assert read("May 7").every_year == (5, 7)
    june = read("in June")
    assert june.periods == ()
    assert june.nearness(us(2021, 6, 1)) == june.nearness(us(2022, 6, 30, 23)) == 1.0
    assert june.nearness(us(2022, 7, 8)) == 0.5  # a week after the 1 July it ends with
    assert june.nearness(us(2022, 5, 11)) == 0.25  # three weeks before


def test_the_nearest_year_is_the_one_that_counts() -> None:
    december = read("in December")
    assert december.nearness(us(2023, 1, 8)) == 0.5  # of the year before
    january = read("in January")
    assert january.nearness(us(2022, 12, 25)) == 0.5  # of the year after


def test_the_29_february_is_there_in_leap_years_alone() -> None:
    asked = read("on 29 February")
    assert asked.every_year == (2, 29)
    assert asked.nearness(us(2024, 2, 29, 12)) == 1.0
    assert asked.nearness(us(2023, 3, 1)) == pytest.approx(1 / (1 + 365 / 7))
    assert asked.nearness(us(2022, 3, 1)) == 0.0  # none in 2021, 2022 or 2023
    assert read("on 30 February").nearness(us(2024, 2, 29)) == 0.0


def test_nearness_is_one_inside_and_half_a_week_from_it() -> None:
    asked = read("on 3 May 2023")
    assert asked.nearness(us(2023, 5, 3)) == 1.0
    assert asked.nearness(us(2023, 5, 3, 23, 59, 59)) == 1.0
    assert asked.nearness(us(2023, 5, 11)) == 0.5
    assert asked.nearness(us(2023, 4, 26)) == 0.5
    assert asked.nearness(us(2023, 5, 25)) == 0.25
    assert asked.nearness(None) == 0.0
    assert read("tea").nearness(us(2023, 5, 3)) == 0.0


def test_of_several_periods_the_nearest_counts() -> None:
    asked = read("in 2020, or on 3 May 2022 or 2023, or last week")
    assert asked.nearness(us(2023, 11, 8)) == asked.nearness(us(2023, 5, 3)) == 1.0


def test_it_is_seen_whether_a_time_is_asked_for() -> None:
    assert all(
        read(query).asks
        for query in ("When did she go?", "since when", "How long is it", "which year was it")
    )
    assert not any(read(query).asks for query in ("Who went last week?", "whenever", "how is it"))


@pytest.mark.parametrize(
    "text",
    [
        "I went there last week", "It was Yesterday.", "in june", "on the 3rd", "back in 1999",
        "two years ago", "this summer", "on Monday",
    ],
)  # fmt: skip
def test_a_text_that_names_a_time(text: str) -> None:
    assert names_a_time(text)


@pytest.mark.parametrize("text", ["", "I like tea", "she lasted", "number 12", "mondayish"])
def test_a_text_that_names_none(text: str) -> None:
    assert not names_a_time(text)


QUERIES = [
    "today", "last week", "this year", "999 years ago", "999 months ago", "999 weeks ago",
    "in June", "29 February", "last monday", "2023-05-03", "in 1900 or 2099",
]  # fmt: skip
MOMENTS = [0, us(1970, 1, 1, 0, 0, 1), us(2262, 4, 11), us(9998, 12, 31), us(9999, 12, 31, 23)]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("now_us", [*MOMENTS, 10**18])
def test_any_clock_and_any_time_of_a_memory_can_be_read(query: str, now_us: int) -> None:
    asked = times_of(query, now_us)
    for time_us in (*MOMENTS, None):
        assert 0.0 <= asked.nearness(time_us) <= 1.0


def test_the_last_year_with_a_calendar_is_still_read() -> None:
    assert us(9998, 12, 31, 23, 59, 59) < LAST_US < us(9999, 1, 1)
    assert read("in December").nearness(us(9998, 12, 31)) == 1.0
    assert read("in December").nearness(us(9999, 12, 31)) == 0.0


SAID = [
    *("7", "7pm", "7p", "7 p.m", "12", "24", "2:30", "14:05", "1999", "2024", "20245", "3000"),
    *("1st", "22nd", "4thx", "007", "this", "summer", "winter", "week", "last", "Today", "_today"),
    *("MONDAY", "fridays", "may", "pm", "p.m", "tea", "noon's", "19", "20", "m", ":", "-"),
]


@given(st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from(["", " ", ".", ":", "-", "_"]))))
def test_a_time_is_found_by_its_words_as_it_is_in_the_text(said: list[tuple[str, str]]) -> None:
    """The sign at the end, which is not ASCII, has the whole text looked at."""
    text = "".join(f"{word}{behind}" for word, behind in said)
    assert names_a_time(text) == names_a_time_by(tokens(text), text) == names_a_time(f"{text} …")
