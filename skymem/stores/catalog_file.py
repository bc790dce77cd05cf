"""The catalog's file: where it lies, its tables, and how an older one becomes a newer one."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from skymem.stores.home import HomePaths

SCHEMA_VERSION: Final = 6
READABLE_VERSIONS: Final = (0, 1, 2, 3, 4, 5, SCHEMA_VERSION)

_MEMORIES: Final = """
CREATE TABLE memories (
    agent TEXT, id TEXT, digest BLOB, file INTEGER, start INTEGER, end INTEGER, time_us INTEGER,
    expires_us INTEGER, importance REAL, kind TEXT, unlimited INTEGER, words BLOB,
    pinned INTEGER, PRIMARY KEY (agent, id)) WITHOUT ROWID;
CREATE INDEX memories_by_place ON memories (file, start);
CREATE INDEX memories_by_time ON memories (agent, time_us);
CREATE INDEX memories_by_kind ON memories (agent, kind) WHERE kind <> '';
CREATE INDEX memories_by_expiry ON memories (agent, expires_us) WHERE expires_us IS NOT NULL;
CREATE INDEX memories_unlimited ON memories (agent, time_us) WHERE unlimited = 1;
CREATE INDEX memories_pinned ON memories (agent) WHERE pinned = 1;
CREATE INDEX memories_by_words ON memories (agent, words) WHERE words IS NOT NULL;
CREATE INDEX memories_by_worth ON memories (agent, importance, time_us)
    WHERE importance IS NOT NULL;
CREATE INDEX memories_unweighed ON memories (agent, kind, time_us) WHERE importance IS NULL;
CREATE TABLE twice (agent TEXT, words BLOB, PRIMARY KEY (agent, words)) WITHOUT ROWID;
CREATE TABLE searched (agent TEXT, job TEXT, files TEXT, PRIMARY KEY (agent, job));
CREATE TABLE judged (run TEXT PRIMARY KEY, agent TEXT, ts REAL, judged TEXT);
CREATE TABLE links (
    agent TEXT, target TEXT, relation TEXT, source TEXT, file INTEGER,
    PRIMARY KEY (agent, target, relation, source)) WITHOUT ROWID;
CREATE TABLE repeats (
    agent TEXT, id TEXT, digest BLOB, file INTEGER, start INTEGER, end INTEGER,
    PRIMARY KEY (agent, id, file, start)) WITHOUT ROWID;
CREATE TRIGGER taken BEFORE INSERT ON memories
WHEN EXISTS (SELECT 1 FROM memories WHERE agent = NEW.agent AND id = NEW.id)
BEGIN
    UPDATE files SET memories = memories - 1, indexed = indexed - (indexed_to > (
        SELECT start FROM memories WHERE agent = NEW.agent AND id = NEW.id))
    WHERE tier = 'trash' AND (SELECT tier FROM files WHERE file = NEW.file) <> 'trash'
    AND file = (SELECT file FROM memories WHERE agent = NEW.agent AND id = NEW.id);
    INSERT OR IGNORE INTO repeats
    SELECT agent, id, digest, file, start, end FROM memories
    WHERE agent = NEW.agent AND id = NEW.id
    AND (SELECT tier FROM files WHERE files.file = memories.file) = 'trash'
    AND (SELECT tier FROM files WHERE file = NEW.file) <> 'trash';
    DELETE FROM memories WHERE agent = NEW.agent AND id = NEW.id
    AND (SELECT tier FROM files WHERE files.file = memories.file) = 'trash'
    AND (SELECT tier FROM files WHERE file = NEW.file) <> 'trash';
    INSERT OR IGNORE INTO repeats
    SELECT NEW.agent, NEW.id, NEW.digest, NEW.file, NEW.start, NEW.end
    WHERE EXISTS (SELECT 1 FROM memories WHERE agent = NEW.agent AND id = NEW.id);
END;
"""
# `judged`: what runs removed by judgement, by tier, as the ledger tells it (row X4).
# `searched`: what a job has been through, as it was, and found nothing to do.
# `unlimited`: volatile without a ttl, what merge looks for (row N8). `words`: the key of texts that
# say the same but for case and punctuation. `pinned`: by its own line. `relation`: see
# `catalog.Link`. `repeats`: the lines whose id another line has already, which is the one in
# `memories`, be they in trash. `twice`: words of long-term that another line said already when they
# came, or did then. `taken`: what a hand puts into a tier is there, even where trash had it,
# whichever of the two files is read first.

_SCHEMA: Final = """
CREATE TABLE files (
    file INTEGER PRIMARY KEY AUTOINCREMENT, agent TEXT, tier TEXT, name TEXT, inode INTEGER,
    read_to INTEGER, mtime_ns INTEGER, tail BLOB, memories INTEGER, damaged INTEGER,
    oldest_us INTEGER,
    epoch TEXT NOT NULL DEFAULT '', indexed_to INTEGER NOT NULL DEFAULT 0,
    newest_us INTEGER, indexed INTEGER NOT NULL DEFAULT 0, cut TEXT,
    UNIQUE (agent, name));
CREATE TABLE ledger (one INTEGER PRIMARY KEY CHECK (one = 1), inode INTEGER, read_to INTEGER);
CREATE TABLE open_runs (run TEXT PRIMARY KEY, agent TEXT, begin TEXT);
CREATE TABLE known (agent TEXT PRIMARY KEY, digests BLOB, named TEXT);
CREATE TABLE short_indexed (agent TEXT PRIMARY KEY, epoch TEXT, known BLOB);
"""

_FROM_VERSION_1: Final = """
ALTER TABLE files ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
ALTER TABLE files ADD COLUMN indexed_to INTEGER NOT NULL DEFAULT 0;
CREATE TABLE short_indexed (agent TEXT PRIMARY KEY, epoch TEXT, known BLOB);
"""

# What is read from the lines is read anew; what short-term held after the last run is kept.
_FROM_VERSION_2: Final = """
DROP TABLE memories;
DELETE FROM files;
DELETE FROM ledger;
"""

_FROM_VERSION_3: Final = """
DROP TABLE searched;
DROP TABLE judged;
DROP TABLE links;
"""

_FROM_VERSION_4: Final = """
CREATE TABLE let_go (
    agent TEXT, id TEXT, epoch TEXT, gone INTEGER, PRIMARY KEY (agent, id)) WITHOUT ROWID;
CREATE TABLE waiting (
    agent TEXT, job TEXT, id TEXT, PRIMARY KEY (agent, job, id)) WITHOUT ROWID;
"""
# `let_go`: see `stores.vectorless`. `waiting`: what a job passed over for a reason that passes.

_FROM_VERSION_5: Final = """
DROP TABLE repeats;
"""

_NEW_IN_6: Final = """
ALTER TABLE files ADD COLUMN newest_us INTEGER;
ALTER TABLE files ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN cut TEXT;
"""

_ANEW: Final = (_FROM_VERSION_5, _FROM_VERSION_3, _FROM_VERSION_2, _NEW_IN_6, _MEMORIES)

_STEPS: Final = {
    0: (_SCHEMA, _MEMORIES, _FROM_VERSION_4),
    1: (_FROM_VERSION_1, _FROM_VERSION_2, _NEW_IN_6, _MEMORIES, _FROM_VERSION_4),
    2: (_FROM_VERSION_2, _NEW_IN_6, _MEMORIES, _FROM_VERSION_4),
    3: (_FROM_VERSION_3, _FROM_VERSION_2, _NEW_IN_6, _MEMORIES, _FROM_VERSION_4),
    4: (*_ANEW, _FROM_VERSION_4),
    5: _ANEW,
}

COPY_TRIES: Final = 3

ROOM_KIB: Final = 32_000
"""How much of its file a catalog holds while it reads many lines: their ids come in no order, and
what is not held is read and written again for nearly every one of them."""


def catalog_path(paths: HomePaths) -> Path:
    """Where the catalog of a home lies."""
    return paths.state / "catalog.db"


def set_aside(path: Path) -> None:
    """Move an unreadable catalog away; the next catch-up makes it anew from the lines."""
    for suffix in ("", "-wal", "-shm"):
        part = path.with_name(path.name + suffix)
        with contextlib.suppress(FileNotFoundError):
            os.replace(part, aside_of(part))


def aside_of(path: Path) -> Path:
    """Where an unreadable catalog is moved to."""
    return path.with_name(path.name + ".unreadable")


def connect(path: Path, busy_ms: int) -> sqlite3.Connection:
    """Open the catalog on disk, made where it is missing."""
    if not path.exists():  # 0600 from the start, whatever the umask (promise 9)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    return prepared(sqlite3.connect(path, timeout=busy_ms / 1000, isolation_level=None))


def connect_to_copy(path: Path) -> sqlite3.Connection:
    """Copy the catalog for this process only: the file and its directory stay as they are.

    Raises:
        sqlite3.Error: there is none, or it can't be read.
        OSError: its directory can't be looked into.
    """
    copy = sqlite3.connect("", isolation_level=None)  # in memory, and in a file when that is large
    try:
        for _ in range(COPY_TRIES):
            before = _marks(path)
            with contextlib.closing(_only_to_read(path, before)) as source:
                source.backup(copy)
            if before == _marks(path) or before[1]:
                return prepared(copy)
        raise sqlite3.OperationalError("another process writes to it over and over")
    except (sqlite3.Error, OSError):
        copy.close()
        raise


def _marks(path: Path) -> tuple[tuple[int, int, int], bool]:
    """What changes when somebody writes to the catalog, and whether somebody has it open to."""
    status = path.stat()
    writing = path.with_name(path.name + "-wal").exists()
    return (status.st_ino, status.st_size, status.st_mtime_ns), writing


def _only_to_read(path: Path, marks: tuple[object, bool]) -> sqlite3.Connection:
    """Open it so that nothing beside it is made, where nobody has made that already."""
    how = "mode=ro" if marks[1] else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)


def connect_in_memory() -> sqlite3.Connection:
    """Make a catalog for this process only."""
    return prepared(sqlite3.connect(":memory:", isolation_level=None))


def prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    """Bring a database to the tables of this version.

    Raises:
        sqlite3.DatabaseError: a later version made it, or it is damaged.
    """
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version not in READABLE_VERSIONS:
            raise sqlite3.DatabaseError("made by another version")
        if version != SCHEMA_VERSION:
            _upgrade(database)
    except sqlite3.Error:
        database.close()
        raise
    return database


@contextlib.contextmanager
def with_room(database: sqlite3.Connection) -> Iterator[None]:
    """Let a catalog hold much of its file while many lines are read, and no longer."""
    (usual,) = database.execute("PRAGMA cache_size").fetchone()
    database.execute(f"PRAGMA cache_size = -{ROOM_KIB}")
    try:
        yield
    finally:
        with contextlib.suppress(sqlite3.Error):
            database.execute(f"PRAGMA cache_size = {usual}")


def _upgrade(database: sqlite3.Connection) -> None:
    """Make the tables, or make those of an earlier version what they are now."""
    database.execute("BEGIN IMMEDIATE")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:  # else another process was faster
        for step in _STEPS[version]:
            for statement in _statements(step):
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("COMMIT")


def _statements(script: str) -> Iterator[str]:
    """Split a script where a statement ends; `executescript` would end the transaction."""
    statement = ""
    for part in script.split(";")[:-1]:
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
