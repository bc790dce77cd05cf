"""The times a query speaks of, and whether a text names any (mode `fusion`).

"In June", "on 3 May 2023", "last week": what happened then, or soon after, is likelier meant. Read
in English and in UTC; a time that isn't recognised only leaves the order as it is.
"""

import re
from calendar import isleap, monthrange
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from skymem.model.regex import regex
from skymem.policy.rank import ascii_words

DAY_US: Final = 86_400_000_000
LAST_US: Final = 253_370_764_800_000_000 - 1
"""The end of the year 9998: of a later year the next one has no calendar here."""

FADE_DAYS: Final = 7.0
"""Days from a period at which half of its nearness is left: people tell of a thing afterwards."""

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
UNITS: Final = ("day", "week", "month", "year")

_ASKS: Final = regex(
    r"\b(when|how long|(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
_NAMED: Final = (
    r"\b(?:yesterday|today|tonight|tomorrow|recently|last|next|ago|since"
    r"|this (?:week|weekend|month|year|morning|summer|fall|autumn|winter|spring)"
    r"|noon|midnight|mornings?|afternoons?|evenings?|nights?|weeks?|weekends?|months?|years?"
    rf"|{'|'.join(MONTHS)}|(?:{'|'.join(WEEKDAYS)})s?"
    r"|(?:[01]?\d|2[0-3])(?::[0-5]\d)?\s?[ap]\.?m|(?:[01]?\d|2[0-3]):[0-5]\d"
    r"|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th))\b"
)
_NAMES: Final = regex(_NAMED, re.IGNORECASE)
_NAMES_IN_LOWER_CASE: Final = regex(_NAMED)
_TIME_WORDS: Final = frozenset(
    {"yesterday", "today", "tonight", "tomorrow", "recently", "last", "next", "ago", "since"}
    | {"noon", "midnight", *MONTHS}
    | {f"{one}{s}" for one in ("morning", "afternoon", "evening", "night") for s in ("", "s")}
    | {f"{one}{s}" for one in ("week", "weekend", "month", "year", *WEEKDAYS) for s in ("", "s")}
)
"""Each of them names a time by itself."""

_NUMBER: Final = regex(r"\d{1,2}(?:[ap]m?|st|nd|rd|th)?|(?:19|20)\d\d")
"""The run of letters and digits by which a date, a year or a time of day begins."""
_ISO: Final = regex(r"\b((?:19|20)\d\d)-(\d\d)(?:-(\d\d))?(?!\d)")
_YEAR: Final = regex(r"\b((?:19|20)\d\d)\b")
_MONTH: Final = regex(rf"\b({'|'.join(MONTHS)})\b", re.IGNORECASE)
_MAY: Final = regex(
    r"\b(?:in|of|on|by|during|since|until|early|late|mid|last|\d{1,2}(?:st|nd|rd|th)?)[\s-]+may\b"
    r"|\bmay,?\s+(?:the\s+)?\d",
    re.IGNORECASE,
)
_DAY: Final = r"([0-3]?\d)(?:st|nd|rd|th)?"
_DAY_OF: Final = regex(
    rf"\b{_DAY}(?:\s+of)?[\s-]+({'|'.join(MONTHS)})\b"
    rf"|\b({'|'.join(MONTHS)})[\s,-]+(?:the\s+)?{_DAY}\b",
    re.IGNORECASE,
)
_AGO: Final = regex(r"\b(\d{1,3}|a|an|one|two|three)\s+(day|week|month|year)s?\s+ago\b", re.I)
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
_RELATIVE: Final = regex(
    rf"\b(?:(today|yesterday)|(this|last)\s+({'|'.join(UNITS)}|{'|'.join(WEEKDAYS)}))\b",
    re.IGNORECASE,
)


class Period(NamedTuple):
    """A stretch of time, in microseconds since the epoch, the end not in it."""

    start_us: int
    end_us: int


class Times(NamedTuple):
    """What a query says of time."""

    periods: tuple[Period, ...] = ()
    """Any of them may be meant."""

    every_year: tuple[int, int | None] | None = None
    """A month, and perhaps its day, that the query gives no year for."""

    asks: bool = False
    """Whether it asks for a time."""

    def nearness(self, time_us: int | None) -> float:
        """How near a time is to the nearest period: 1 inside, ½ a week from it, 0 without any."""
        if time_us is None or not (self.periods or self.every_year):
            return 0.0
        periods = [*self.periods]
        if self.every_year is not None and 0 <= time_us <= LAST_US:
            year = datetime.fromtimestamp(time_us / 1_000_000, UTC).year
            periods += _dated([year - 1, year, year + 1], *self.every_year)
        away = min((_away(time_us, one) for one in periods), default=None)
        return 0.0 if away is None else 1.0 / (1.0 + away / (FADE_DAYS * DAY_US))


def times_of(query: str, now_us: int) -> Times:
    """Read what a query says of time."""
    now = datetime.fromtimestamp(min(now_us, LAST_US) // 1_000_000, UTC)
    dated = [
        period
        for year, month, day in _ISO.findall(query)
        for period in _dated([int(year)], int(month), int(day) if day else None)
    ]
    plain = _ISO.sub(" ", query)
    years = [int(year) for year in _YEAR.findall(plain)]
    day = _day_of_year(plain)
    if day is not None and years:
        dated += _dated(years, *day)
    elif years:
        dated += map(_year, years)
    periods = (*dated, *_relative(plain, now))
    return Times(periods, None if years else day, _ASKS.search(query) is not None)


def names_a_time(text: str) -> bool:
    """Whether a text says when something was: by a date, a day, a season, or "last week"."""
    if text.isascii():  # half of the time: every memory is asked once
        return names_a_time_by(ascii_words(text), text)
    return _NAMES.search(text) is not None


def names_a_time_by(words: Collection[str], text: str) -> bool:
    """As `names_a_time`, given the words of a text that is all ASCII: most of them settle it."""
    if not _TIME_WORDS.isdisjoint(words):
        return True
    numbers = [word for word in words if word < ":"]  # what begins with a digit
    if "this" in words or any(map(_NUMBER.fullmatch, numbers)):
        return _NAMES_IN_LOWER_CASE.search(text.lower()) is not None
    return False


def _away(time_us: int, period: Period) -> int:
    return max(period.start_us - time_us, time_us - period.end_us, 0)


def _day_of_year(query: str) -> tuple[int, int | None] | None:
    """The month it names, and its day where it names one."""
    month = _month_of(query)
    if month is None:
        return None
    for before, its, name, after in _DAY_OF.findall(query):
        if (its or name).casefold() == MONTHS[month - 1]:
            return month, int(before or after)
    return month, None


def _month_of(query: str) -> int | None:
    """The month it names; "may" is one only where it stands as one."""
    for name in _MONTH.findall(query):
        if name.casefold() != "may" or _MAY.search(query):
            return MONTHS.index(name.casefold()) + 1
    return None


def _dated(years: Iterable[int], month: int, day: int | None) -> Iterator[Period]:
    for year in years if 1 <= month <= 12 else ():
        length = monthrange(year, month)[1]
        if day is None:
            yield _between(datetime(year, month, 1, tzinfo=UTC), length)
        elif 1 <= day <= length:
            yield _between(datetime(year, month, day, tzinfo=UTC), 1)


def _relative(query: str, now: datetime) -> Iterator[Period]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for count, unit in _AGO.findall(query):
        number = _NUMBERS.get(count.casefold()) or int(count)
        yield _begun(today, unit.casefold(), number)
    for day, which, unit in _RELATIVE.findall(query):
        if day:
            yield _between(today - timedelta(days=day.casefold() == "yesterday"), 1)
        elif unit.casefold() in UNITS:
            yield _begun(today, unit.casefold(), int(which.casefold() == "last"))
        else:
            back = (today.weekday() - WEEKDAYS.index(unit.casefold())) % 7
            yield _between(today - timedelta(days=back or 7 * (which.casefold() == "last")), 1)


def _begun(today: datetime, unit: str, back: int) -> Period:
    """The day, week, month or year that many of them before today's."""
    if unit == "day":
        return _between(today - timedelta(days=back), 1)
    if unit == "week":
        return _between(today - timedelta(days=today.weekday() + 7 * back), 7)
    if unit == "year":
        return _year(max(1, today.year - back))
    months = today.year * 12 + today.month - 1 - back
    year, month = max(1, months // 12), months % 12 + 1
    return _between(datetime(year, month, 1, tzinfo=UTC), monthrange(year, month)[1])


def _year(year: int) -> Period:
    return _between(datetime(year, 1, 1, tzinfo=UTC), 365 + isleap(year))


def _between(start: datetime, days: int) -> Period:
    begins = round(start.timestamp()) * 1_000_000
    return Period(begins, begins + days * DAY_US)
