"""Short-term as readers get it, read once for who asks several times, and on for who asks again.

A context asks short-term half a dozen things, and most of its cost was to read the lines for each.
What was read is kept while the files are as they were; what was appended is read from there on.
Nothing is stored: another process reads the same lines from the same files.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from skymem.model.caution import SecretRules
from skymem.model.plan import Damage, Entry
from skymem.stores.catalog import Catalog
from skymem.stores.lines import last_newline_end, read_entries
from skymem.stores.naming import Naming
from skymem.stores.shelf import Shelf, open_or_none
from skymem.stores.unchanged import tail_hash

BATCH_ENTRIES: Final = 500

HELD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of lines that one process keeps, of all agents; in memory they take a few times that."""

Mark = tuple[int, ...]
"""A file as it was: who it is, how long, when it was last written; empty where there is none."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read, and what it was read from."""

    reader: tuple[SecretRules, int]
    """What a reader gets depends on: which secrets are left out, and which lines are too long."""

    drains: tuple[tuple[Path, int, Mark], ...]
    mark: Mark
    entries: tuple[Entry, ...]
    read_to: int = 0
    tail: bytes = b""
    """The hash of what stood before `read_to` in short-term."""

    @property
    def size(self) -> int:
        """How many bytes it was."""
        return _size(self.drains, self.mark)


class ShortLines:
    """The readable lines of some agents' short-term. Threads may share it."""

    def __init__(self, bytes_max: int = HELD_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._held: OrderedDict[str, _Read] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, shelf: Shelf) -> Iterator[Entry]:
        """What `Shelf.short_entries` gives but damage: entries of the caller's own, not named yet.

        Raises:
            NotAllowedError, DiskError: see `Shelf.short_entries`.
        """
        place = os.fspath(shelf.paths.directory)
        # Before the lines are read: what is written meanwhile then counts as new the next time.
        now = _Read(
            (shelf.rules.secrets, shelf.rules.line_bytes_max),
            tuple((path, start, _mark(path)) for path, start in shelf.drains.tails()),
            _mark(shelf.paths.short_term),
            (),
        )
        with self._lock:
            known = self._held.get(place)
        if known is None or (known.reader, known.drains) != (now.reader, now.drains):
            known = None
        if known is None or known.mark != now.mark:
            if now.size > self._bytes_max:
                yield from (one for one in shelf.short_entries() if not isinstance(one, Damage))
                return
            known = _read_on(shelf, known, now) or _read_anew(shelf, now)
            self._hold(place, known)
        for one in known.entries:
            yield Entry(one.start, one.end, one.memory, one.digest)

    def _hold(self, place: str, read: _Read) -> None:
        """Keep it, and let go of what was not asked for longest."""
        with self._lock:
            self._held[place] = read
            self._held.move_to_end(place)
            while sum(one.size for one in self._held.values()) > self._bytes_max:
                self._held.popitem(last=False)


_LINES: Final = ShortLines()


def named_short(shelf: Shelf, catalog: Catalog) -> Iterator[Entry]:
    """The lines of short-term that no other tier has, each with its id; `catalog` is caught up."""
    naming = Naming(shelf.paths.name, catalog)
    readable = _LINES.of(shelf)
    while batch := list(islice(readable, BATCH_ENTRIES)):
        naming.name(batch)
        yield from (entry for entry in batch if not entry.elsewhere)


def read_ahead(shelf: Shelf) -> None:
    """Have the lines of an agent's short-term as they are now at hand, and no longer older ones.

    Raises:
        NotAllowedError, DiskError: see `Shelf.short_entries`.
    """
    for _ in _LINES.of(shelf):
        return


def _read_anew(shelf: Shelf, now: _Read) -> _Read:
    entries = tuple(one for one in shelf.short_entries() if not isinstance(one, Damage))
    fd = open_or_none(shelf.paths.short_term)
    if fd is None:
        return replace(now, entries=entries)
    try:
        if _mark(fd) != now.mark:  # it is being written to: where it was read to is not known
            return replace(now, entries=entries)
        read_to = last_newline_end(fd, now.mark[2])
        return replace(now, entries=entries, read_to=read_to, tail=tail_hash(fd, read_to))
    finally:
        os.close(fd)


def _read_on(shelf: Shelf, known: _Read | None, now: _Read) -> _Read | None:
    """Read what was appended; None where it is not the file that was read, or not only longer."""
    if known is None or not known.read_to or known.mark[:2] != now.mark[:2]:
        return None
    fd = open_or_none(shelf.paths.short_term)
    if fd is None:
        return None
    try:
        if _mark(fd) != now.mark or now.mark[2] <= known.mark[2]:
            return None
        if tail_hash(fd, known.read_to) != known.tail:
            return None
        stop = last_newline_end(fd, now.mark[2])
        limit, clean = shelf.rules.line_bytes_max, shelf.guard.clean
        found = read_entries(fd, known.read_to, stop, limit, clean=clean)
        new = tuple(one for one in found if not isinstance(one, Damage))
        entries = (*known.entries, *new)
        return replace(now, entries=entries, read_to=stop, tail=tail_hash(fd, stop))
    finally:
        os.close(fd)


def _mark(file: Path | int) -> Mark:
    try:
        status = os.fstat(file) if isinstance(file, int) else os.lstat(file)
    except OSError:
        return ()  # who reads it is told
    return (
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
    )  # fmt: skip


def _size(drains: tuple[tuple[Path, int, Mark], ...], mark: Mark) -> int:
    return sum(one[2] for one in (mark, *(drain for _, _, drain in drains)) if one)
