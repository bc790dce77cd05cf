"""A duration or a size has its unit, and is written back as it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.units import (
    format_duration,
    format_percentage,
    format_size,
    parse_duration,
    parse_percentage,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1.5h", 5400), ("2d", 172_800), ("0s", 0), ("5 m", 300)],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("1B", 1), ("64KiB", 65_536), ("1.5MiB", 1_572_864), ("1GiB", 2**30)]
)
def test_a_size_is_read_in_bytes(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", r'has no unit \(is it "5s", "5m", "5h" or "5d"\?\)'),
        ("5min", 'try "5m"'),
        ("5 Minutes", 'try "5m"'),
        ("5M", 'try "5m"'),
        ("2 days", 'try "2d"'),
        ("5 weeks", r"unknown unit \(units: s, m, h, d\)"),
        ("1h30m", "is not a number with a unit"),
        ("-5m", "is not a number with a unit"),
        ("m", "is not a number with a unit"),
        ("٥m", "is not a number with a unit"),
        ("1e3s", "is not a number with a unit"),
        ("9" * 30 + "s", "is not a number with a unit"),
        ("5m\n", "is not a number with a unit"),
    ],
)
def test_a_duration_that_cannot_be_read_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5", 'is it "5B", "5KiB", "5MiB" or "5GiB"'),
        ("1MB", 'try "1MiB"'),
        ("1mib", 'try "1MiB"'),
        ("1K", 'try "1KiB"'),
    ],
)
def test_a_size_that_cannot_be_read_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "share"), [("10%", 0.1), ("10 %", 0.1), ("0%", 0), ("12.5%", 0.125), ("100%", 1)]
)
def test_a_percentage_is_read_as_a_share(text: str, share: float) -> None:
    assert parse_percentage(text) == share


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1", r'has no unit \(try "10%"\)'),
        ("10", 'try "10%"'),
        ("1", 'try "1%"'),
        ("0", 'try "0%"'),
        ("%", "is not a percentage"),
        ("-1%", "is not a percentage"),
        ("1e1%", "is not a percentage"),
        ("10%%", "is not a percentage"),
        ("10 percent", "is not a percentage"),
    ],
)
def test_a_percentage_that_cannot_be_read_says_what_to_write(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_percentage(text)


@given(st.integers(0, 10**6))
def test_a_share_survives_being_written_and_read(millionths: int) -> None:
    share = parse_percentage(f"{millionths / 10**4:.4f}%")
    assert parse_percentage(format_percentage(share)) == share


@given(st.integers(0, 10**9))
def test_whole_amounts_survive_being_written_and_read(amount: int) -> None:
    assert parse_duration(format_duration(amount)) == amount
    assert parse_size(format_size(amount)) == amount
