"""The file of an agent's word index: SQLite, derived, made anew where it can't be read.

It holds no line and no text, but every word of every memory: whoever may read it may read those.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from skymem.stores.catalog_file import set_aside

VERSION: Final = 3
"""Of the tables, and of how words are split and stemmed: with another, it is made anew."""

KEY_BYTES_MAX: Final = 49
"""A longer key is known by the hash of its word, tag or value."""

_SCHEMA: Final = """
CREATE TABLE files (name TEXT PRIMARY KEY, file INTEGER, inode INTEGER, read_to INTEGER,
    mtime_ns INTEGER, tail BLOB);
CREATE TABLE docs (doc INTEGER PRIMARY KEY, id TEXT UNIQUE, digest BLOB, tier TEXT,
    session INTEGER, time_us INTEGER);
CREATE INDEX docs_by_session ON docs (session, time_us, doc)
    WHERE session IS NOT NULL AND time_us IS NOT NULL;
CREATE TABLE sessions (session INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE segments (first INTEGER PRIMARY KEY, docs INTEGER, run INTEGER, state INTEGER,
    times BLOB, worths BLOB, sizes BLOB, flags BLOB);
CREATE TABLE postings (run INTEGER, key BLOB, docs BLOB, PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE TABLE stems (stem BLOB, word BLOB, PRIMARY KEY (stem, word)) WITHOUT ROWID;
"""

# `state`: another at each change of the columns behind it, and no other's ever: a reader that knows
# it has them already. `postings`: those of a segment stand together, in the order of their keys, so
# that writing one and putting several together goes through the file once, from end to end.

DAMAGE: Final = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises; of a damaged file its message may itself be no text."""

_SQLITE: Final = b"SQLite format 3\0"

TABLES: Final = ("files", "docs", "sessions", "segments", "postings", "stems")


class WordIndexError(Exception):
    """The word index can't be used now: its lines are searched instead."""


class WordIndexBusyError(WordIndexError):
    """Another process writes to it: what it has can be read."""


class WordFile:
    """An open word index: statements whose failures are `WordIndexError`."""

    def __init__(self, path: Path | None, database: sqlite3.Connection) -> None:
        """Use `database`, which lies at `path`; None where it lies in memory."""
        self._path = path
        self._database = database

    def _run(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        """Execute one statement; gives its rows."""
        try:
            return self._database.execute(query, values).fetchall()
        except DAMAGE as error:
            raise self._failed(error) from error

    def _run_each(self, query: str, rows: Iterable[Sequence[Any]]) -> None:
        try:
            self._database.executemany(query, rows)
        except DAMAGE as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> WordIndexError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            return WordIndexBusyError(str(error))
        # SQLITE_ERROR: a table is missing, or is another.
        damaged = code == sqlite3.SQLITE_ERROR or not isinstance(error, sqlite3.OperationalError)
        if damaged and self._path is not None:
            with contextlib.suppress(OSError):
                set_aside(self._path)  # who opens it next begins a new one
        return WordIndexError(str(error))

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._run(begin)
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._database.rollback()
            raise


def open_file(path: Path, busy_ms: int) -> sqlite3.Connection:
    """Open the word index, made where it is missing; one that can't be read is set aside.

    Raises:
        sqlite3.Error: there is no way to keep one here, or another process is making it.
    """
    try:
        return _connect(path, busy_ms)
    except sqlite3.OperationalError:
        raise
    except DAMAGE:
        set_aside(path)
        return _connect(path, busy_ms)


def damage(path: Path) -> str:
    """What is wrong with an index, as far as its first bytes tell; "" where nothing is."""
    try:
        with path.open("rb") as stream:
            begins = stream.read(len(_SQLITE))
    except FileNotFoundError:
        return ""
    if begins in (b"", _SQLITE):
        return ""
    return (
        f"state/words/{path.name} can't be read: recall looks through the lines, and makes it anew"
    )


def in_memory() -> sqlite3.Connection:
    """Make an empty one for this process only."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    _make(database)
    return database


def key_of(sort: str, value: str) -> bytes:
    """Spell what a list is kept under: `w` for a word, `t` a tag, `k` a kind, `m` metadata."""
    key = (sort + value).encode("utf-8", "surrogatepass")
    if len(key) > KEY_BYTES_MAX:
        key = key[:1] + b"\0" + blake2b(key[1:], digest_size=16).digest()
    return key


def _connect(path: Path, busy_ms: int) -> sqlite3.Connection:
    if not path.exists():  # 0600 from the start, whatever the umask (promise 9)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    database = sqlite3.connect(path, timeout=busy_ms / 1000, isolation_level=None)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            _make(database)
        elif version != VERSION:
            raise sqlite3.DatabaseError("made by another version")
    except DAMAGE:
        database.close()
        raise
    return database


def _make(database: sqlite3.Connection) -> None:
    database.execute("BEGIN IMMEDIATE")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0:  # else another process was faster
        for statement in _SCHEMA.split(";")[:-1]:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
