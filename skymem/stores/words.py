"""An agent's word index: which memories of long-term and archives have a word, a tag or a kind.

Derived from the lines the catalog knows, memory by memory in batches that are each one transaction,
so that a kill costs a batch; what it has not come to yet is found in the lines. A number stands for
a memory of that content in that tier for good: after a rewrite of a file only what is new is read
again, and what has gone is found gone where it is looked up.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import DiskError
from skymem.stores.catalog import Catalog, Found
from skymem.stores.catalog_file import set_aside
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.tiers import tier_files
from skymem.stores.unchanged import AsRead, still_there, tail_hash
from skymem.stores.word_file import in_memory, key_of, open_file
from skymem.stores.word_segments import GONE, Segment

BATCH: Final = 1000
"""Memories read in one transaction: a tenth of a second."""

MERGED: Final = 8
"""Segments of about one size that become one."""

ASKED_AT_ONCE: Final = 500

_COLUMNS: Final = "SELECT times, worths, sizes, flags FROM segments {} ORDER BY first"


class WordIndexError(Exception):
    """The word index can't be used now: its lines are searched instead."""


class WordIndexBusyError(WordIndexError):
    """Another process writes to it."""


class Doc(NamedTuple):
    """A memory in it, by its number."""

    doc: int
    id: str
    session: int | None
    """Of which conversation; None when it doesn't say."""

    time_us: int | None


class Columns(NamedTuple):
    """What weighs each memory of a segment, as bytes of `word_segments.Segment`'s arrays."""

    times: bytes
    worths: bytes
    sizes: bytes
    flags: bytes


class WordIndex:
    """The word index of one agent. One process writes while others read.

    Every call raises `WordIndexError` where the file can't be used.
    """

    def __init__(self, path: Path | None, database: sqlite3.Connection, agent: str) -> None:
        self._path = path
        self._database = database
        self._agent = agent

    @classmethod
    @contextlib.contextmanager
    def on_disk(
        cls, paths: HomePaths, files: Files, agent: str, *, busy_ms: int
    ) -> "Iterator[WordIndex]":
        """Open it, made where it is missing or can't be read.

        Raises:
            WordIndexError: there is no way to keep one on this disk.
        """
        path = paths.words / f"{agent}.db"
        try:
            files.make_directory(paths.words)
            database = open_file(path, busy_ms)
        except (sqlite3.Error, DiskError, OSError) as error:
            raise WordIndexError(str(error)) from error
        try:
            yield cls(path, database, agent)
        finally:
            database.close()

    @classmethod
    @contextlib.contextmanager
    def nowhere(cls) -> "Iterator[WordIndex]":
        """One that stays empty, where none can be kept: everything is found in the lines."""
        database = in_memory()
        try:
            yield cls(None, database, "")
        finally:
            database.close()

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute one statement; gives its rows."""
        try:
            return self._database.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _run_each(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._database.executemany(query, rows)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error) -> WordIndexError:
        damaged = not isinstance(error, sqlite3.OperationalError)
        if damaged and self._path is not None:
            set_aside(self._path)  # who opens it next begins a new one
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            return WordIndexBusyError(str(error))
        return WordIndexError(str(error))

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._run(begin)
        try:
            yield
        except BaseException:
            self._database.rollback()
            raise
        self._run("COMMIT")

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """See one state of it, whoever writes meanwhile."""
        return self._transaction("BEGIN")

    # -- catching up ----------------------------------------------------------------------------

    def catch_up(
        self, shelf: Shelf, catalog: Catalog, time_is_up: Callable[[], bool] = lambda: False
    ) -> bool:
        """Take in what the catalog knows, which is caught up; whether that is all of it.

        Raises:
            WordIndexError: another process writes to it, or the disk is full; what it has stays.
        """
        if self._path is None:
            return False
        known = catalog.as_read(self._agent)
        rows = self._rows()
        if _same(known, rows):
            return True
        on_disk = dict(tier_files(shelf.paths))
        for name in known.keys() & on_disk.keys():
            done = _same_file(known[name], rows.get(name))
            while not done:
                if time_is_up():
                    return False
                with self._transaction("BEGIN IMMEDIATE"):
                    done = self._read_some(shelf, catalog, on_disk[name], known[name])
        with self._transaction("BEGIN IMMEDIATE"):
            for name in rows.keys() - known.keys():
                self._run("DELETE FROM files WHERE name = ?", (name,))
        return True

    def _rows(self) -> dict[str, AsRead]:
        query = "SELECT name, inode, read_to, mtime_ns, tail FROM files"
        return {name: AsRead(0, *row) for name, *row in self._run(query)}

    def _read_some(self, shelf: Shelf, catalog: Catalog, path: Path, known: AsRead) -> bool:
        """Take in the next batch of a file, and remember how far that goes; whether to its end."""
        row = self._rows().get(path.name)
        start = row.read_to if row is not None and still_there(path, row) else 0
        places = catalog.places(self._agent, path.name, start, BATCH)
        self._take_in([*shelf.read(places)], places)
        now = known
        reached = max((place.end for place in places.values()), default=known.read_to)
        if len(places) == BATCH and reached < known.read_to:
            now = AsRead(0, known.inode, reached, 0, _tail_of(path, reached))
        self._run(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)",
            (path.name, now.inode, now.read_to, now.mtime_ns, now.tail),
        )
        return now is known

    def _take_in(self, found: Sequence[Kept], places: Mapping[str, Found]) -> None:
        segment = Segment(self._next())
        held = self._held([kept.id for kept in found])
        rows = []
        for kept in sorted(found, key=lambda one: places[one.id].start):
            place = places[kept.id]
            before = held.get(kept.id)
            if before is not None:
                if before[1:] == (place.digest, place.tier):
                    continue
                self._bury(before[0])
            doc = segment.add(kept.memory, kept.tier)
            session = self._session(kept.memory.scope.get("session"))
            rows.append((doc, kept.id, place.digest, kept.tier, session, kept.memory.time_us))
        if rows:
            self._run_each("INSERT INTO docs VALUES (?, ?, ?, ?, ?, ?)", rows)
            self._write(segment)

    def _next(self) -> int:
        (found,) = self._run("SELECT MAX(first + docs) FROM segments")[0]
        return found or 0

    def _held(self, ids: Sequence[str]) -> dict[str, tuple[int, bytes, str]]:
        query = "SELECT id, doc, digest, tier FROM docs WHERE id IN ({})"
        return {row[0]: row[1:] for row in self._ask_each(query, ids)}

    def _bury(self, doc: int) -> None:
        """What has this number is no more: its line was moved, or changed by hand."""
        self._run("DELETE FROM docs WHERE doc = ?", (doc,))
        query = "SELECT first, flags FROM segments WHERE first <= ? ORDER BY first DESC LIMIT 1"
        first, flags = self._run(query, (doc,))[0]
        changed = bytearray(flags)
        changed[doc - first] |= GONE
        self._run("UPDATE segments SET flags = ? WHERE first = ?", (changed, first))

    def _session(self, name: str | None) -> int | None:
        if name is None:
            return None
        self._run("INSERT OR IGNORE INTO sessions VALUES (NULL, ?)", (name,))
        query = "SELECT session FROM sessions WHERE name = ?"
        return int(self._run(query, (name,))[0][0])

    def _write(self, segment: Segment) -> None:
        first, docs = segment.first, len(segment.times)
        columns = (segment.times, segment.worths, segment.sizes, segment.flags)
        self._insert(first, docs, Columns(*(one.tobytes() for one in columns)))
        self._run_each(
            "INSERT INTO postings VALUES (?, ?, ?)",
            ((key, first, docs.tobytes()) for key, docs in segment.postings.items()),
        )
        self._run_each("INSERT OR IGNORE INTO stems VALUES (?, ?)", segment.stems())
        self._merge()

    def _insert(self, first: int, docs: int, columns: Columns) -> None:
        row = (first, docs, *columns)
        self._run("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?)", row)

    def _merge(self) -> None:
        """Put the last segments together as long as there are several of about one size."""
        while True:
            query = "SELECT first, docs FROM segments ORDER BY first DESC LIMIT ?"
            last = self._run(query, (MERGED,))
            if len(last) < MERGED or last[-1][1] > MERGED * last[0][1]:
                return
            first = last[-1][0]
            query = _COLUMNS.format("WHERE first >= ?")
            columns = zip(*self._run(query, (first,)), strict=True)
            whole = Columns(*(b"".join(parts) for parts in columns))
            self._run("DELETE FROM segments WHERE first >= ?", (first,))
            self._insert(first, sum(docs for _, docs in last), whole)
            self._merge_postings(first)

    def _merge_postings(self, first: int) -> None:
        query = "SELECT key, docs FROM postings WHERE first >= ? ORDER BY key, first"
        found = self._run(query, (first,))
        self._run("DELETE FROM postings WHERE first >= ?", (first,))
        lists: dict[bytes, list[bytes]] = {}
        for key, docs in found:
            lists.setdefault(key, []).append(docs)
        self._run_each(
            "INSERT INTO postings VALUES (?, ?, ?)",
            ((key, first, b"".join(parts)) for key, parts in lists.items()),
        )

    # -- asking ---------------------------------------------------------------------------------

    def covered(self) -> dict[str, int]:
        """How far it has come with each file: what is beyond is found in the lines."""
        return {name: row.read_to for name, row in self._rows().items()}

    def columns(self) -> Columns:
        """What weighs each memory, by its number."""
        query = _COLUMNS.format("")
        found = self._run(query)
        return Columns(*(b"".join(parts) for parts in zip(*found, strict=True))) if found else EMPTY

    def postings(self, key: bytes) -> bytes:
        """The numbers of memories with a word or a label, ascending: unsigned, 32 bits each."""
        query = "SELECT docs FROM postings WHERE key = ? ORDER BY first"
        return b"".join(docs for (docs,) in self._run(query, (key,)))

    def words_of(self, stem: str) -> list[bytes]:
        """The keys of all words with a stem."""
        query = "SELECT word FROM stems WHERE stem = ?"
        return [word for (word,) in self._run(query, (key_of("w", stem),))]

    def docs(self, numbers: Sequence[int]) -> dict[int, Doc]:
        """The memories with these numbers; those that have gone are left out."""
        query = "SELECT doc, id, session, time_us FROM docs WHERE doc IN ({})"
        return {row[0]: Doc(*row) for row in self._ask_each(query, numbers)}

    def numbers(self, ids: Sequence[str]) -> dict[str, Doc]:
        """The memories with these ids, by them."""
        query = "SELECT doc, id, session, time_us FROM docs WHERE id IN ({})"
        return {row[1]: Doc(*row) for row in self._ask_each(query, ids)}

    def session_named(self, name: str | None) -> int | None:
        """The number of a conversation that is known here."""
        query = "SELECT session FROM sessions WHERE name = ?"
        return next((session for (session,) in self._run(query, (name,))), None)

    def beside(
        self, session: int, time_us: int, doc: int, count: int
    ) -> tuple[list[Doc], list[Doc]]:
        """The `count` memories before and after a place in a conversation, the nearest first."""
        sides = []
        for sign, order in (("<", "DESC"), (">", "ASC")):
            query = (
                "SELECT doc, id, session, time_us FROM docs WHERE session = ? "  # noqa: S608
                f"AND time_us IS NOT NULL AND (time_us, doc) {sign} (?, ?) "
                f"ORDER BY time_us {order}, doc {order} LIMIT ?"
            )
            rows = self._run(query, (session, time_us, doc, count))
            sides.append([Doc(*row) for row in rows])
        return sides[0], sides[1]

    def _ask_each(self, query: str, values: Sequence[Any]) -> Iterator[Any]:
        for start in range(0, len(values), ASKED_AT_ONCE):
            part = values[start : start + ASKED_AT_ONCE]
            yield from self._run(query.format(",".join("?" * len(part))), part)


EMPTY: Final = Columns(b"", b"", b"", b"")


def _same_file(known: AsRead, row: AsRead | None) -> bool:
    return row is not None and row[1:] == known[1:]


def _same(known: Mapping[str, AsRead], rows: Mapping[str, AsRead]) -> bool:
    return known.keys() == rows.keys() and all(
        _same_file(known[name], rows[name]) for name in known
    )


def _tail_of(path: Path, end: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return tail_hash(fd, end)
    finally:
        os.close(fd)
