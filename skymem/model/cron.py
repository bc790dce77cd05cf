"""Crontab expressions: what one means, as sets of minutes, hours, days, months and weekdays.

The daemon turns these sets into times; a library's own reading of the text is not used, since
it counts weekdays from Monday and accepts dates that never come (design §5, hazard C8). Row P2.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final

MACROS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_MONTH_DAYS_MAX: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY_MINUTES: Final = 24 * 60


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five places: its name, its range and the words that stand for numbers."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


_MINUTE: Final = _Field("minute", 0, 59)
_HOUR: Final = _Field("hour", 0, 23)
_DAY: Final = _Field("day of month", 1, 31)
_MONTH: Final = _Field(
    "month",
    1,
    12,
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
)
# Seven is Sunday too; `_values` folds it onto 0.
_WEEKDAY: Final = _Field("day of week", 0, 7, ("sun", "mon", "tue", "wed", "thu", "fri", "sat"))


@dataclass(frozen=True, slots=True)
class CronFields:
    """What each of the five places allows. Weekdays count from Sunday, which is 0.

    A place is restricted unless it starts with `*`. When day of month and day of week both
    are, a day matches EITHER; otherwise it must match both, as in every cron.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    days_restricted: bool
    weekdays_restricted: bool

    def matches(self, moment: datetime) -> bool:
        """Whether the expression fires in that minute, on the moment's own wall clock."""
        return (
            moment.minute in self.minutes
            and moment.hour in self.hours
            and moment.month in self.months
            and self._day_matches(moment.day, moment.isoweekday() % 7)
        )

    def _day_matches(self, day: int, weekday: int) -> bool:
        in_days, in_weekdays = day in self.days, weekday in self.weekdays
        if self.days_restricted and self.weekdays_restricted:
            return in_days or in_weekdays
        return in_days and in_weekdays


def parse_cron(text: str) -> CronFields:
    """Read five fields or one of `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly` and kin.

    Fields take lists, ranges, steps and the names `jan`-`dec`, `sun`-`sat`; 0 and 7 are Sunday.
    Raises ValueError, whose message names the field and what to write instead.
    """
    parts = _expand(text).split()
    if len(parts) != 5:
        raise ValueError(
            f"{_short(text)} has {len(parts)} fields; cron needs 5: minute hour day month weekday"
        )
    minute, hour, day, month, weekday = parts
    return CronFields(
        minutes=_values(minute, _MINUTE),
        hours=_values(hour, _HOUR),
        days=_values(day, _DAY),
        months=_values(month, _MONTH),
        weekdays=_values(weekday, _WEEKDAY),
        days_restricted=not day.startswith("*"),
        weekdays_restricted=not weekday.startswith("*"),
    )


def fires_ever(fields: CronFields) -> bool:
    """Whether any date matches: `0 3 31 2 *` has none, `0 3 29 2 *` one every leap year."""
    if fields.days_restricted and fields.weekdays_restricted:
        return True
    # 29 February falls on each weekday within 400 years, so weekdays rule out no date for ever.
    return any(min(fields.days) <= _MONTH_DAYS_MAX[month - 1] for month in fields.months)


def shortest_gap_seconds(fields: CronFields) -> int:
    """Lower bound of the time between two runs, in seconds; at most a day, whatever the days."""
    minutes = sorted(hour * 60 + minute for hour in fields.hours for minute in fields.minutes)
    over_midnight = _DAY_MINUTES - minutes[-1] + minutes[0]
    gaps = [later - earlier for earlier, later in pairwise(minutes)]
    return 60 * min([over_midnight, *gaps])


def _expand(text: str) -> str:
    stripped = text.strip()
    if not stripped.startswith("@"):
        return stripped
    if stripped.lower() not in MACROS:
        raise ValueError(f"{_short(stripped)} is not one of {', '.join(MACROS)}")
    return MACROS[stripped.lower()]


def _values(text: str, field: _Field) -> frozenset[int]:
    values: set[int] = set()
    for part in text.split(","):
        values.update(_part(part, field))
    if field is _WEEKDAY and 7 in values:
        values = values - {7} | {0}
    return frozenset(values)


def _part(part: str, field: _Field) -> range:
    span, slash, step_text = part.partition("/")
    if not span:
        raise ValueError(f"{field.name}: an item is missing in {_short(part)}")
    if span == "*":
        # Not to 7: `*` in steps would meet Sunday twice.
        low, high = field.low, min(field.high, 6) if field is _WEEKDAY else field.high
    else:
        low_text, dash, high_text = span.partition("-")
        low = _number(low_text, field)
        high = _number(high_text, field) if dash else low
        if slash and not dash:
            remedy = f"{low_text}-{field.high}/{step_text}"
            raise ValueError(f"{field.name}: a step needs a range (try {_short(remedy)})")
    if low > high:
        last = 6 if field is _WEEKDAY else field.high
        remedy = f"write two: {_span(low, last)},{_span(field.low, high)}"
        raise ValueError(f"{field.name}: {_short(span)} runs backwards ({remedy})")
    return range(low, high + 1, _step(step_text, field) if slash else 1)


def _step(text: str, field: _Field) -> int:
    most = field.high - field.low
    if not _is_number(text) or not 1 <= int(text) <= most:
        raise ValueError(f"{field.name}: the step {_short(text)} is not in 1 to {most}")
    return int(text)


def _number(text: str, field: _Field) -> int:
    if text.lower() in field.words:
        return field.low + field.words.index(text.lower())
    if not _is_number(text) or not field.low <= int(text) <= field.high:
        words = f" or {field.words[0]} to {field.words[-1]}" if field.words else ""
        raise ValueError(
            f"{field.name}: {_short(text)} is not in {field.low} to {field.high}{words}"
        )
    return int(text)


def _span(low: int, high: int) -> str:
    return f"{low}-{high}" if low < high else str(low)


def _is_number(text: str) -> bool:
    return 0 < len(text) <= 3 and text.isascii() and text.isdigit()


def _short(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:37] + "...")
