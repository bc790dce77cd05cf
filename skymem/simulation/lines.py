"""The lines of a home as they came in, read back from where each memory is now.

A line that moved differs by the fields we set alone. Its spelling is turned back, and which of the
spellings it was is told by the fingerprint the ledger has of it, else by the id it gives.
"""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from skymem.jobs.workplace import Workplace
from skymem.model.identity import derived_id, digest
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.spelling import former, read_line
from skymem.model.strict_json import LineDamage
from skymem.stores.home_key import HomeKey
from skymem.stores.lines import TIER_LINE_BYTES_MAX, last_newline_end, read_entries
from skymem.stores.shelf import Shelf, open_or_none
from skymem.stores.tiers import tier_files


class Line(NamedTuple):
    """One memory's line."""

    came: bytes
    """As it came in, with its newline."""

    stands: bytes
    """As it stands now, or lies in trash, with its newline."""

    tier: str
    memory: Memory
    """As it stands."""


def lines_of(work: Workplace, agent: str, moved: Mapping[str, bytes]) -> dict[str, Line]:
    """Every line of an agent, by its id, and by its digest's where that is another.

    Read in the order in which lines travel, so that one on its way is not missed.

    Args:
        work: the home; nothing of it is written.
        agent: whose.
        moved: by id, the fingerprint of the line as it left short-term.
    """
    key = work.home_key()
    found: dict[str, Line] = {}
    for tier, name, raw, memory in _raw_lines(work.shelf(agent)):
        came = raw if tier == "short" else _as_it_came(name, raw, moved.get(name), key)
        line = Line(came.strip(b"\n") + b"\n", raw.strip(b"\n") + b"\n", tier, memory)
        found.setdefault(name, line)
        found.setdefault(digest(memory).hex(), line)
    return found


def _raw_lines(shelf: Shelf) -> Iterator[tuple[str, str, bytes, Memory]]:
    limit = shelf.rules.line_bytes_max
    for path, start in [*shelf.drains.tails(), (shelf.paths.short_term, 0)]:
        for raw, entry in _entries(path, start, limit):
            yield "short", _name_of(entry), raw, entry.memory
    for file, path in tier_files(shelf.paths):
        tier = "long" if path == shelf.paths.long_term else "archive"
        for raw, entry in _entries(path, 0, TIER_LINE_BYTES_MAX):
            yield tier, _name_of(entry), raw, entry.memory
        del file
    for held in shelf.trash.all():
        try:
            yield "trash", held.id, held.line, held.memory
        except LineDamage:
            continue


def _entries(path: "os.PathLike[str]", start: int, limit: int) -> Iterator[tuple[bytes, Entry]]:
    from pathlib import Path

    fd = open_or_none(Path(path))
    if fd is None:
        return
    try:
        stop = last_newline_end(fd, os.fstat(fd).st_size)
        for entry in read_entries(fd, start, stop, limit):
            if isinstance(entry, Entry):
                yield os.pread(fd, entry.end - entry.start, entry.start), entry
    finally:
        os.close(fd)


def _name_of(entry: Entry) -> str:
    return entry.memory.source_id or entry.digest.hex()


def _as_it_came(name: str, raw: bytes, wanted: bytes | None, key: HomeKey) -> bytes:
    """The one spelling that has the fingerprint; else the likeliest that is the same memory."""
    likely = b""
    for line in former(raw):
        if wanted is not None and key.fingerprint(line) == wanted:
            return line
        if not likely and _is(line, name):
            likely = line
    return likely or raw


def _is(line: bytes, name: str) -> bool:
    memory = read_line(line)
    return (memory.source_id or derived_id(digest(memory))) == name
