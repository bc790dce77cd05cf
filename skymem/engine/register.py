"""The register: which text has which row of the matrix, and what of it Chroma has yet to get.

SQLite beside the matrix; derived, but what it says is durable when a write returns. It holds hashes
and ids, never a text. What is damaged is found at opening, set aside and made anew under a new
epoch, so that clients ask again what is missing (design §3, hazards D14, E1).
"""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.engine.items import collection_code, piece_name
from skymem.engine.room import open_kept
from skymem.engine.vectors import Piece
from skymem.errors import DiskError
from skymem.stores.files import Files

FORMAT: Final = "1"
LOOKUP: Final = 500
"""Values named in one statement."""

_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rows (row INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, checksum INTEGER NOT NULL);
CREATE TABLE items (
    item INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, collection INTEGER NOT NULL,
    digest TEXT NOT NULL);
CREATE INDEX items_of_collection ON items (collection, id);
CREATE TABLE pieces (
    item INTEGER NOT NULL, number INTEGER NOT NULL, row INTEGER NOT NULL,
    stored INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (item, number)) WITHOUT ROWID;
CREATE INDEX pieces_of_row ON pieces (row, item);
CREATE INDEX pieces_owed ON pieces (item, number) WHERE stored = 0;
CREATE TABLE gone (collection INTEGER, name TEXT, PRIMARY KEY (collection, name)) WITHOUT ROWID;
"""

_FULL: Final = {
    sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
}  # fmt: skip
"""What the disk does, not the file's content: nothing is thrown away for it."""

LONG_TERM: Final = collection_code("memory")


class RegisterDamageError(Exception):
    """The register can't be read."""


class Owed(NamedTuple):
    """A piece Chroma has yet to get."""

    item: int
    number: int
    collection: int
    id: str
    digest: str
    row: int


class Entry(NamedTuple):
    """A memory to be registered: its pieces are rows of the matrix, in order."""

    id: str
    collection: int
    digest: str
    rows: Sequence[int]


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Tell a refusing disk from a damaged file."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _FULL:
            raise DiskError(str(path), str(error)) from error
        if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
            raise
        raise RegisterDamageError(str(error)) from error


class Register:
    """The register of one agent and one model. One connection, one process, one thread."""

    def __init__(self, path: Path, files: Files) -> None:
        """Open `path`, made where it is not there.

        Raises:
            RegisterDamageError: it can't be read, or is of another format.
            DiskError: the disk refuses.
        """
        self.path = path
        self._counted: dict[str, tuple[int, int]] = {}
        self._counted_at = -1
        os.close(open_kept(path, files))  # SQLite gives its journals the mode of the file
        with sqlite_errors(path):
            self._database = sqlite3.connect(path, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def _prepare(self) -> None:
        run = self._database.execute
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")  # what a put registered is durable when it returns
        run("PRAGMA journal_size_limit = 4194304")
        if run("PRAGMA user_version").fetchone()[0] == 0:
            self._database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
            )
            with self.writing():
                self.new_epoch()
        if run("PRAGMA user_version").fetchone()[0] != int(FORMAT):
            raise RegisterDamageError("of another format")
        if run("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise RegisterDamageError("its pages contradict each other")
        if not self.get("epoch"):
            raise RegisterDamageError("without an epoch")

    def close(self) -> None:
        """Let the file go."""
        self._database.close()

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[None]:
        """One transaction. One that is not durable may be lost to a power cut, never torn."""
        with sqlite_errors(self.path):
            if not durable:
                self._database.execute("PRAGMA synchronous = NORMAL")
            try:
                self._database.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._database.execute("COMMIT")
                except BaseException:
                    if self._database.in_transaction:
                        self._database.execute("ROLLBACK")
                    raise
            finally:
                if not durable:
                    self._database.execute("PRAGMA synchronous = FULL")

    def ask(self, query: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of an answer."""
        with sqlite_errors(self.path):
            return self._database.execute(query, tuple(values)).fetchall()

    def ask_each(self, query: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        """Answers for many values, some hundred a statement; `{}` in the query stands for them."""
        for start in range(0, len(values), LOOKUP):
            part = values[start : start + LOOKUP]
            yield from self.ask(query.format(",".join("?" * len(part))), part)

    # -- small facts ----------------------------------------------------------------------------

    def get(self, key: str) -> str:
        """A fact by name; "" where it was never set."""
        found = self.ask("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else ""

    def set(self, key: str, value: str) -> None:
        """Set a fact, within a transaction."""
        self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    @property
    def epoch(self) -> str:
        """Another one whenever what was said to be indexed may no longer be."""
        return self.get("epoch")

    def new_epoch(self) -> None:
        """Tell clients to ask again, within a transaction."""
        self.set("epoch", secrets.token_hex(8))

    @property
    def changes(self) -> int:
        """Another number whenever this connection changed something."""
        return self._database.total_changes

    def counts(self) -> tuple[int, int]:
        """Memories in long-term and in recent."""
        return self._by_collection("SELECT collection, COUNT(*) FROM items GROUP BY collection")

    def piece_counts(self) -> tuple[int, int]:
        """Pieces in long-term and in recent: what Chroma is to hold."""
        return self._by_collection(
            "SELECT collection, COUNT(*) FROM pieces JOIN items USING (item) GROUP BY collection"
        )

    def pieces_count(self) -> int:
        """Pieces in all."""
        return sum(self._by_collection("SELECT 1, COUNT(*) FROM pieces"))

    def _by_collection(self, query: str) -> tuple[int, int]:
        """Counted again only after a change: every query asks, and 100,000 take 5 ms."""
        if self._counted_at != self.changes:
            self._counted.clear()
            self._counted_at = self.changes
        if query not in self._counted:
            found: dict[int, int] = dict(self.ask(query))
            self._counted[query] = found.get(1, 0), found.get(2, 0)
        return self._counted[query]

    def row_count(self) -> int:
        """Rows of the matrix that count: one more than the last one."""
        return int(self.ask("SELECT COALESCE(MAX(row), -1) + 1 FROM rows")[0][0])

    # -- texts and rows -------------------------------------------------------------------------

    def rows_of(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """The rows of those texts that were encoded already."""
        query = "SELECT hash, row FROM rows WHERE hash IN ({})"
        return dict(self.ask_each(query, hashes))

    def add_rows(self, start: int, hashes: Sequence[bytes], checks: Sequence[int]) -> None:
        """Register new rows of the matrix, within a transaction."""
        self._database.executemany(
            "INSERT INTO rows VALUES (?, ?, ?)",
            zip(range(start, start + len(hashes)), hashes, checks, strict=True),
        )

    def checks(self) -> list[tuple[int, int]]:
        """Each row with its checksum, in order."""
        return self.ask("SELECT row, checksum FROM rows ORDER BY row")

    def lose_rows(self, rows: Sequence[int]) -> None:
        """Forget damaged rows and every memory that has a piece there; the epoch changes."""
        with self.writing():
            items = {
                item for (item,) in self.ask_each("SELECT item FROM pieces WHERE row IN ({})", rows)
            }
            for start in range(0, len(rows), LOOKUP):
                part = rows[start : start + LOOKUP]
                marks = ",".join("?" * len(part))
                self._database.execute(f"DELETE FROM rows WHERE row IN ({marks})", part)  # noqa: S608
            self._remove([int(item) for item in items])
            self.new_epoch()

    # -- memories -------------------------------------------------------------------------------

    def known(self, collection: int, ids: Sequence[str]) -> dict[str, str]:
        """The digests of those memories that are in a collection."""
        query = f"SELECT id, digest FROM items WHERE collection = {collection:d} AND id IN ({{}})"  # noqa: S608
        return dict(self.ask_each(query, ids))

    def page(self, collection: int, after: str, limit: int) -> list[str]:
        """Ids of a collection in order, after one of them."""
        query = "SELECT id FROM items WHERE collection = ? AND id > ? ORDER BY id LIMIT ?"
        return [str(found) for (found,) in self.ask(query, (collection, after, limit))]

    def put(self, entries: Sequence[Entry]) -> None:
        """Register memories in the place of those of the same id, within a transaction.

        What long-term has stays there: whoever read it in short-term, before it was promoted, may
        be slow to hand it over.
        """
        recent = [entry.id for entry in entries if entry.collection != LONG_TERM]
        promoted = self.known(LONG_TERM, recent)
        entries = [
            entry
            for entry in entries
            if entry.collection == LONG_TERM or promoted.get(entry.id) != entry.digest
        ]
        self.remove([entry.id for entry in entries])
        for entry in entries:
            added = self._database.execute(
                "INSERT INTO items (id, collection, digest) VALUES (?, ?, ?)",
                (entry.id, entry.collection, entry.digest),
            )
            item = added.lastrowid
            self._database.executemany(
                "INSERT INTO pieces (item, number, row) VALUES (?, ?, ?)",
                [(item, number, row) for number, row in enumerate(entry.rows)],
            )

    def remove(self, ids: Sequence[str]) -> int:
        """Forget memories, within a transaction; Chroma is told later. Returns how many it had."""
        found = self.ask_each("SELECT item FROM items WHERE id IN ({})", ids)
        items = [int(item) for (item,) in found]
        self._remove(items)
        return len(items)

    def _remove(self, items: Sequence[int]) -> None:
        each = [(item,) for item in items]
        self._database.executemany(
            "INSERT OR IGNORE INTO gone SELECT collection, id || '#' || number "
            "FROM pieces JOIN items USING (item) WHERE item = ?",
            each,
        )
        self._database.executemany("DELETE FROM pieces WHERE item = ?", each)
        self._database.executemany("DELETE FROM items WHERE item = ?", each)

    # -- what Chroma has yet to get -------------------------------------------------------------

    def owe_everything(self, generation: str) -> None:
        """Begin a new generation: it has nothing yet."""
        with self.writing():
            self._database.execute("UPDATE pieces SET stored = 0 WHERE stored")
            self._database.execute("DELETE FROM gone")
            self.set("generation", generation)

    def owed_count(self) -> int:
        """Pieces Chroma has yet to get."""
        return int(self.ask("SELECT COUNT(*) FROM pieces WHERE stored = 0")[0][0])

    def owed(self, limit: int) -> list[Owed]:
        """Some of the pieces Chroma has yet to get."""
        query = (
            "SELECT item, number, collection, id, digest, row FROM pieces JOIN items USING (item) "
            "WHERE stored = 0 ORDER BY item, number LIMIT ?"
        )
        return [Owed(*found) for found in self.ask(query, (limit,))]

    def stored(self, owed: Sequence[Owed]) -> None:
        """Note what Chroma got. Not durable at once: getting it twice does no harm."""
        with self.writing(durable=False):
            self._database.executemany(
                "UPDATE pieces SET stored = 1 WHERE item = ? AND number = ?",
                [(one.item, one.number) for one in owed],
            )
            self._database.executemany(
                "DELETE FROM gone WHERE collection = ? AND name = ?",
                [(one.collection, piece_name(one.id, one.number)) for one in owed],
            )

    def gone(self, limit: int) -> list[tuple[int, str]]:
        """Some of the pieces Chroma is to forget, and that have not come back since."""
        query = "SELECT collection, name FROM gone ORDER BY collection, name LIMIT ?"
        return self.ask(query, (limit,))

    def forgotten(self, gone: Sequence[tuple[int, str]]) -> None:
        """Note what Chroma forgot."""
        with self.writing(durable=False):
            self._database.executemany("DELETE FROM gone WHERE collection = ? AND name = ?", gone)

    # -- compaction -----------------------------------------------------------------------------

    def unused_count(self) -> int:
        """Rows no memory points to."""
        query = (
            "SELECT COUNT(*) FROM rows WHERE NOT EXISTS (SELECT 1 FROM pieces WHERE row = rows.row)"
        )
        return int(self.ask(query)[0][0])

    def used_rows(self) -> list[int]:
        """Rows that a memory points to, in order."""
        query = "SELECT DISTINCT row FROM pieces ORDER BY row"
        return [int(row) for (row,) in self.ask(query)]

    def shred(self) -> None:
        """Leave no page of what was deleted, in the file or in its journal."""
        self.ask("VACUUM")
        self.ask("PRAGMA wal_checkpoint(TRUNCATE)")

    def renumber(self, kept: Sequence[int], matrix: str) -> None:
        """Go over to another matrix file that holds the rows `kept`, in this order, from 0."""
        with self.writing():
            run = self._database.execute
            run("CREATE TEMP TABLE renumbered (old INTEGER PRIMARY KEY, new INTEGER)")
            self._database.executemany(
                "INSERT INTO renumbered VALUES (?, ?)",
                [(old, new) for new, old in enumerate(kept)],
            )
            run(
                "CREATE TEMP TABLE moved AS "
                "SELECT new, hash, checksum FROM rows JOIN renumbered ON old = row"
            )
            run("UPDATE pieces SET row = (SELECT new FROM renumbered WHERE old = pieces.row)")
            run("DELETE FROM rows")
            run("INSERT INTO rows SELECT new, hash, checksum FROM moved ORDER BY new")
            run("DROP TABLE moved")
            run("DROP TABLE renumbered")
            self.set("matrix", matrix)


def piece(owed: Owed) -> Piece:
    """What Chroma is to hold of a piece: no text, only the digest of its memory."""
    return Piece(piece_name(owed.id, owed.number), owed.digest)
