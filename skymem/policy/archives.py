"""How old is an archive? As old as it ended: what it holds was older when it came (row M9)."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NamedTuple

from skymem.model.regex import regex
from skymem.policy.due import known_us


class ArchiveFile(NamedTuple):
    """One archive of an agent."""

    name: str
    """As it stands in the agent's directory."""

    bytes: int
    newest_us: int | None
    """When its newest memory happened; None when none says. Asked when the name has no time."""


_STAMP: Final = regex(
    r"short_term_archive_(?:(?P<epoch>\d{10})(?!\d)|(?P<date>\d{4}-?\d\d-?\d\d)"
    r"(?:[T_-]?(?P<time>\d\d[-:]?\d\d[-:]?\d\d))?)"
)
"""A time in the name, as ours or as other programs spell it."""


def ended_us(file: ArchiveFile, now_us: int) -> int | None:
    """When an archive ended, microseconds since the epoch; None when nobody can know.

    The stamp in its name: lines from a machine whose clock was never set don't make it old, nor
    does the loss of its newest. Without one, its newest memory. What is yet to come says nothing.
    """
    for one in (known_us(_stamped_us(file.name)), known_us(file.newest_us)):
        if one is not None and one <= now_us:
            return one
    return None


def oldest_first(files: Iterable[ArchiveFile], now_us: int) -> list[ArchiveFile]:
    """Order archives by their end; those whose end nobody knows are last, as if new."""

    def key(file: ArchiveFile) -> tuple[int, str]:
        ended = ended_us(file, now_us)
        return (now_us + 1 if ended is None else ended), file.name

    return sorted(files, key=key)


def _stamped_us(name: str) -> int | None:
    found = _STAMP.match(name)
    if found is None:
        return None
    if found["epoch"]:
        return int(found["epoch"]) * 1_000_000
    date, time = (re.sub(r"\D", "", found[part] or "") for part in ("date", "time"))
    try:
        moment = datetime.strptime(date + (time or "235959"), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return round(moment.timestamp()) * 1_000_000
