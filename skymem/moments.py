"""Times as Python code gives them: epoch seconds, or datetimes that know their zone."""

from datetime import datetime


def microseconds_of(moment: float | datetime | None, field: str) -> int | None:
    """Read a time as microseconds since the epoch; None stays None.

    Raises:
        UsageError: it is none, or too far away.
        InvalidMemoryError: a datetime without a time zone.
    """
    if moment is None:
        return None
    from skymem.errors import UsageError
    from skymem.model.memory import SECONDS_MAX

    seconds = seconds_of(moment, field)
    if type(seconds) not in (int, float) or not 0 <= seconds < SECONDS_MAX:  # NaN is neither
        raise UsageError(f"{field} {seconds!r:.40} is no time; give epoch seconds or a datetime")
    return round(seconds * 1_000_000)


def seconds_of(moment: float | datetime, field: str = "ts") -> float:
    """Read a time as seconds since the epoch; a number is taken as it is.

    Raises:
        InvalidMemoryError: a datetime without a time zone.
    """
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        from skymem.errors import InvalidMemoryError

        raise InvalidMemoryError(f'"{field}" has no time zone; use datetime.now(timezone.utc)')
    return moment.timestamp()
