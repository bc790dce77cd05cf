"""An agent's word index: which memories of long-term and archives have a word, a tag or a kind.

Derived from the lines the catalog knows, memory by memory, some thousands of them in each
transaction, so that a kill costs those; what it has not come to yet is found in the lines. A number
stands for a memory of that content in that tier for good: after a rewrite of a file only what is
new is read again, and the numbers of what has gone are marked so.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import DiskError
from skymem.stores.aspects import storable
from skymem.stores.catalog import Catalog, Found
from skymem.stores.catalog_cut import Cut, cut_since
from skymem.stores.files import Files
from skymem.stores.home import AgentPaths, HomePaths
from skymem.stores.shelf import Shelf
from skymem.stores.tiers import tier_files, tier_of
from skymem.stores.unchanged import AsRead, still_there, tail_hash
from skymem.stores.word_file import (
    TABLES,
    WordIndexBusyError,
    WordIndexError,
    in_memory,
    key_of,
    open_file,
)
from skymem.stores.word_lists import WordLists, new_state
from skymem.stores.word_segments import GONE, Segment

BATCH: Final = 2000
"""Memories looked up at once: a tenth of a second, after which it is asked if time is up."""

BATCHES: Final = 8
"""Of these, what is written as one segment, in one transaction: the more memories have a word, the
fewer lists are written for each."""

ROOM_KIB: Final = 16_000
"""How much of its file is held by who takes in what is new: ids come in no order."""

ASKED_AT_ONCE: Final = 500

# Both sides in one statement: what each costs is being asked at all.
_BESIDE: Final = " UNION ALL ".join(
    f"SELECT * FROM (SELECT doc, id, session, time_us FROM docs WHERE session = ?1 "  # noqa: S608
    f"AND time_us IS NOT NULL AND (time_us, doc) {sign} (?2, ?3) "
    f"ORDER BY time_us {order}, doc {order} LIMIT ?4)"
    for sign, order in (("<", "DESC"), (">", "ASC"))
)

_SWEEP: Final = ""
"""The name under which it is kept how far the numbers are gone through for what has gone."""


class Doc(NamedTuple):
    """A memory in it, by its number."""

    doc: int
    id: str
    session: int | None
    """Of which conversation; None when it doesn't say."""

    time_us: int | None


class _Source(NamedTuple):
    """A file that is taken in."""

    shelf: Shelf
    catalog: Catalog
    path: Path
    known: AsRead
    """As the catalog has read it."""


class WordIndex(WordLists):
    """The word index of one agent. One process writes while others read.

    Every call raises `WordIndexError` where the file can't be used.
    """

    def __init__(self, path: Path | None, database: sqlite3.Connection, agent: str) -> None:
        super().__init__(path, database)
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
        path = paths.words_of(agent)
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

    def reading(self) -> contextlib.AbstractContextManager[None]:
        """See one state of it, whoever writes meanwhile."""
        return self._transaction("BEGIN")

    # -- catching up ----------------------------------------------------------------------------

    def catch_up(
        self, shelf: Shelf, catalog: Catalog, time_is_up: Callable[[], bool] = lambda: False
    ) -> bool:
        """Take in what the catalog knows, which is caught up; whether that is all of it.

        Raises:
            WordIndexBusyError: another process writes to it; what it has can be read.
            WordIndexError: the disk is full, or a file can't be read; what it has stays.
        """
        # A catalog in memory numbers the files anew, so that nothing could be told from numbers.
        if self._path is None or catalog.temporary:
            return False
        known, rows = catalog.as_read(self._agent), self._rows()
        if known == rows:
            return True
        on_disk = dict(tier_files(shelf.paths))
        self._run(f"PRAGMA cache_size = -{ROOM_KIB}")
        try:
            for name in sorted(known.keys() & on_disk.keys()):
                source = _Source(shelf, catalog, on_disk[name], known[name])
                if known[name] != rows.get(name) and not self._read(source, time_is_up):
                    return False
        except OSError as error:
            raise WordIndexError(str(error)) from error
        if gone := rows.keys() - known.keys() - {_SWEEP}:
            with self._transaction("BEGIN IMMEDIATE"):
                self._run_each("DELETE FROM files WHERE name = ?", ((name,) for name in gone))
                self._note(_SWEEP, _FROM_START)
        return self._sweep(catalog, time_is_up)

    def begin_anew(self) -> None:
        """Forget everything; the next catch-up reads all lines."""
        with self._transaction("BEGIN IMMEDIATE"):
            for table in TABLES:
                self._run(f"DELETE FROM {table}")  # noqa: S608  (a constant)

    def _rows(self) -> dict[str, AsRead]:
        query = "SELECT name, file, inode, read_to, mtime_ns, tail FROM files"
        return {name: AsRead(*row) for name, *row in self._run(query)}

    def _note(self, name: str, row: AsRead) -> None:
        self._run("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", (name, *row))

    def _read(self, source: _Source, time_is_up: Callable[[], bool]) -> bool:
        """Take in a file from where that was left, batch by batch; whether to its end.

        Where the catalog has read it anew, all of it is gone through: what was kept under an id may
        stand elsewhere now, or say something else.
        """
        path, known = source.path, source.known
        row = self._rows().get(path.name)
        same = row is not None and row.file == known.file and still_there(path, row)
        if row is not None and not same and (left := cut_since(source.catalog, row)):
            row, same = self._cut(path, known, row, left), True
        at: int | None = row.read_to if row is not None and same else 0
        while at is not None:
            if time_is_up():
                return False
            with self._transaction("BEGIN IMMEDIATE"):
                if row is not None and not same:
                    self._note(_SWEEP, _FROM_START)
                at = self._reached(path.name, known, at) if at else 0
                at = self._read_some(source, at, time_is_up)
        return True

    def _cut(self, path: Path, known: AsRead, row: AsRead, left: Cut) -> AsRead:
        """Mark what left a file, of which nothing else has changed; it goes on where it was."""
        reached = row.read_to - left.less
        with self._transaction("BEGIN IMMEDIATE"):
            tier = tier_of(path.name)
            self._bury([doc for doc, _, own in self._held(left.ids).values() if own == tier])
            now = AsRead(known.file, known.inode, reached, 0, _tail_of(path, reached))
            self._note(path.name, now)
        return now

    def _reached(self, name: str, known: AsRead, at: int) -> int:
        """How far it has come with a file by now, others having written to it as well."""
        row = self._rows().get(name)
        if row is None:
            return 0  # it was begun anew
        if row.file != known.file:
            raise WordIndexBusyError("another process reads the lines anew")
        return min(at, row.read_to)

    def _read_some(self, source: _Source, at: int, time_is_up: Callable[[], bool]) -> int | None:
        """Take in the next part of a file, and remember how far that goes; None at its end."""
        path, known = source.path, source.known
        segment, replaced, places = Segment(self._next()), list[int](), dict[str, Found]()
        for batch in range(BATCHES):
            if batch and time_is_up():
                break
            places = source.catalog.places(self._agent, path.name, at, BATCH)
            replaced += self._take_in(source.shelf, places, segment)
            at = max((place.end for place in places.values()), default=at)
            if len(places) < BATCH:
                break
        if len(segment):
            self._write(segment)
        self._mark_gone(replaced)
        if len(places) < BATCH:
            self._note(path.name, known)
            return None
        self._note(path.name, AsRead(known.file, known.inode, at, 0, _tail_of(path, at)))
        return at

    def _take_in(self, shelf: Shelf, places: Mapping[str, Found], segment: Segment) -> list[int]:
        """Give numbers to memories that are new here, or say something else than they did.

        Returns the numbers of what these say no more; their rows are gone, and no more than that.
        """
        held = self._held([*places])
        new = {
            name: place
            for name, place in places.items()
            if name not in held or held[name][1:] != (place.digest, place.tier)
        }
        rows = []
        for kept in shelf.read(new):
            doc = segment.add(kept.memory, kept.tier)
            session = kept.memory.concerns("session")
            session = None if session is None else storable(session)
            digest = places[kept.id].digest
            rows.append((doc, kept.id, digest, kept.tier, session, kept.memory.time_us))
        replaced = [held[row[1]][0] for row in rows if row[1] in held]
        self._run_each("DELETE FROM docs WHERE doc = ?", ((doc,) for doc in replaced))
        known = self._sessions({row[4] for row in rows if row[4] is not None})
        self._run_each(
            "INSERT INTO docs VALUES (?, ?, ?, ?, ?, ?)",
            ((*row[:4], known.get(row[4]), row[5]) for row in rows),
        )
        return replaced

    def _sweep(self, catalog: Catalog, time_is_up: Callable[[], bool]) -> bool:
        """Mark what has left the tiers since, if anything can have; whether it is through."""
        while _SWEEP in self._rows():
            if time_is_up():
                return False
            with self._transaction("BEGIN IMMEDIATE"):
                row = self._rows().get(_SWEEP, _FROM_START)
                query = "SELECT doc, id FROM docs WHERE doc >= ? ORDER BY doc LIMIT ?"
                docs = self._run(query, (row.read_to, BATCH))
                there = catalog.find(self._agent, [name for _, name in docs])
                self._bury(
                    [doc for doc, one in docs if one not in there or there[one].tier == "trash"]
                )
                if docs:
                    self._note(_SWEEP, row._replace(read_to=docs[-1][0] + 1))
                else:
                    self._run("DELETE FROM files WHERE name = ?", (_SWEEP,))
        return True

    def _held(self, ids: Sequence[str]) -> dict[str, tuple[int, bytes, str]]:
        query = "SELECT id, doc, digest, tier FROM docs WHERE id IN ({})"
        return {row[0]: row[1:] for row in self._ask_each(query, ids)}

    def _bury(self, docs: Sequence[int]) -> None:
        """Forget memories that are no more: a line was moved, removed or changed by hand."""
        self._run_each("DELETE FROM docs WHERE doc = ?", ((doc,) for doc in docs))
        self._mark_gone(docs)

    def _mark_gone(self, docs: Sequence[int]) -> None:
        """Mark their numbers where these are listed."""
        if not docs:
            return
        query = "SELECT first, docs, flags FROM segments WHERE first <= ? AND first + docs > ?"
        for first, count, flags in self._run(query, (max(docs), min(docs))):
            changed = bytearray(flags)
            for doc in docs:
                if first <= doc < first + count:
                    changed[doc - first] |= GONE
            query = "UPDATE segments SET flags = ?, state = ? WHERE first = ?"
            self._run(query, (changed, new_state(), first))

    def _sessions(self, names: set[str]) -> dict[str | None, int]:
        """The numbers of conversations, given where they have none."""
        each = ((name,) for name in sorted(names))
        self._run_each("INSERT OR IGNORE INTO sessions VALUES (NULL, ?)", each)
        query = "SELECT name, session FROM sessions WHERE name IN ({})"
        return dict(self._ask_each(query, [*names]))

    # -- asking ---------------------------------------------------------------------------------

    def covered(self, agent: AgentPaths) -> dict[str, int]:
        """How far it has come with each file, as that is now: beyond are only the lines."""
        files = dict(tier_files(agent))
        rows = self._rows()
        return {
            name: row.read_to for name, row in rows.items() if still_there(files.get(name), row)
        }

    def count(self) -> tuple[int, int]:
        """How many numbers it has given, and how many of them are of memories that are there."""
        return self._next(), int(self._run("SELECT COUNT(*) FROM docs")[0][0])

    def ids(self) -> set[str]:
        """Whose words it has.

        Raises:
            WordIndexError: it can't be read.
        """
        return {str(name) for (name,) in self._run("SELECT id FROM docs")}

    def words_of(self, stem: str) -> list[bytes]:
        """The keys of all words with a stem, and of the stem as a word."""
        key = key_of("w", stem)
        query = "SELECT word FROM stems WHERE stem = ?"
        return [key, *(word for (word,) in self._run(query, (key,)))]

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
        named = None if name is None else storable(name)
        return next((session for (session,) in self._run(query, (named,))), None)

    def beside(
        self, session: int, time_us: int, doc: int, count: int
    ) -> tuple[list[Doc], list[Doc]]:
        """The `count` memories before and after a place in a conversation, the nearest first."""
        rows = self._run(_BESIDE, (session, time_us, doc, count))
        docs = [Doc(*row) for row in rows]
        after = sum((one.time_us or 0, one.doc) > (time_us, doc) for one in docs)
        return docs[: len(docs) - after], docs[len(docs) - after :]

    def _ask_each(self, query: str, values: Sequence[Any]) -> Iterator[Any]:
        for start in range(0, len(values), ASKED_AT_ONCE):
            part = values[start : start + ASKED_AT_ONCE]
            yield from self._run(query.format(",".join("?" * len(part))), part)


_FROM_START: Final = AsRead(0, 0, 0, 0, b"")


def _tail_of(path: Path, end: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return tail_hash(fd, end)
    finally:
        os.close(fd)
