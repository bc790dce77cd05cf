"""Durations and sizes as people write them: `5m`, `1MiB`. A number alone has no meaning here."""

from typing import Final

from skymem.model.regex import regex

DURATION_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
"""Seconds in each unit of a duration."""

SIZE_UNITS: Final = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
"""Bytes in each unit of a size."""

# Fifteen digits are exact in a float, and more are a slip of the hand.
_MEASURE: Final = regex(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([A-Za-z]+)")
_NUMBER: Final = regex(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_DURATION_WORDS: Final = {
    "sec": "s", "second": "s", "min": "m", "minute": "m",
    "hr": "h", "hour": "h", "day": "d",
}  # fmt: skip
_SIZE_WORDS: Final = {"k": "KiB", "kb": "KiB", "m": "MiB", "mb": "MiB", "g": "GiB", "gb": "GiB"}


def parse_duration(text: str) -> float:
    """Read `30s`, `5m`, `1.5h` or `2d` as seconds.

    Raises ValueError, whose message says what to write instead.
    """
    return _parse(text, DURATION_UNITS, _DURATION_WORDS)


def parse_size(text: str) -> int:
    """Read `512KiB` or `1MiB` as bytes.

    Raises ValueError, whose message says what to write instead.
    """
    return int(_parse(text, SIZE_UNITS, _SIZE_WORDS))


def parse_percentage(text: str) -> float:
    """Read `10%` as a share, 0.1.

    Raises ValueError, whose message says what to write instead.
    """
    number = text.removesuffix("%").rstrip()
    if _NUMBER.fullmatch(number) is None:
        raise ValueError('is not a percentage (such as "10%")')
    if not text.endswith("%"):
        amount = float(number)
        meant = amount if amount >= 1 else amount * 100  # 0.1 is a share, 1 is one percent
        raise ValueError(f'has no unit (try "{meant:g}%")')
    return float(f"{number}e-2")  # exact, where a division would round twice


def format_percentage(share: float) -> str:
    """Write a share as `parse_percentage` reads it."""
    return f"{share * 100:.12g}%"


def format_duration(seconds: float) -> str:
    """Write seconds as `parse_duration` reads them, in the largest unit that stays whole."""
    return _format(seconds, DURATION_UNITS)


def format_size(size_bytes: float) -> str:
    """Write bytes as `parse_size` reads them, in the largest unit that stays whole."""
    return _format(size_bytes, SIZE_UNITS)


def _parse(text: str, units: dict[str, int], words: dict[str, str]) -> float:
    if _NUMBER.fullmatch(text):  # none is proposed: days taken for seconds would remove too much
        *others, last = (f'"{text}{unit}"' for unit in units)
        raise ValueError(f"has no unit (is it {', '.join(others)} or {last}?)")
    match = _MEASURE.fullmatch(text)
    if match is None:
        raise ValueError(f'is not a number with a unit (such as "1{list(units)[2]}")')
    number, unit = match.groups()
    if unit in units:
        return float(number) * units[unit]
    lower = unit.lower()
    meant = {u.lower(): u for u in units} | words
    meant_unit = meant.get(lower) or meant.get(lower.removesuffix("s"))
    remedy = f'try "{number}{meant_unit}"; ' if meant_unit else ""
    raise ValueError(f"has an unknown unit ({remedy}units: {', '.join(units)})")


def _format(amount: float, units: dict[str, int]) -> str:
    for unit, worth in sorted(units.items(), key=lambda item: -item[1]):
        if amount >= worth and amount % worth == 0:
            return f"{int(amount // worth)}{unit}"
    smallest = min(units, key=lambda unit: units[unit])
    return f"{amount:g}{smallest}"
