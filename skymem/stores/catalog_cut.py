"""Lines leave a file of a tier, and the catalog knows it without reading the lines that stay.

The file is written anew, so that all that stood behind what left stands elsewhere: the catalog
moves the places it has. Where it can't be sure it does nothing, and the next catch-up reads all.
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from skymem.stores.catalog import Catalog
from skymem.stores.edits import Edit
from skymem.stores.files import Files
from skymem.stores.home import AgentPaths
from skymem.stores.rewrite import rewrite
from skymem.stores.unchanged import AsRead, tail_hash, unchanged

_IN: Final = "file = ? AND start >= ? AND start < ?"
_MOVE: Final = """
UPDATE memories INDEXED BY memories_by_place SET start = start - ?, end = end - ?
WHERE file = ? AND start >= ? AND start < ?
"""
_MOVE_REPEATS: Final = """
UPDATE repeats SET start = start - ?, end = end - ?
WHERE agent = ? AND file = ? AND start >= ? AND start < ?
"""

TOLD_MAX: Final = 1000
"""Of more that leave at once the ids are not kept: who goes by the file looks for them."""


def cut(agent: AgentPaths, files: Files, catalog: Catalog, name: str, gone: Sequence[Edit]) -> None:
    """Take lines out of a tier's file; the caller holds the job lock.

    Args:
        agent: whose.
        files: the disk.
        catalog: caught up or not: of a file that it does not know as it is, it learns nothing.
        name: `long_term.jsonl` or an archive's name.
        gone: what leaves, in the order of their starts; none puts anything in.

    Raises:
        TierChangedError, DiskError, NotAllowedError: as `rewrite`.
    """
    path = agent.directory / name
    known = None
    with contextlib.suppress(sqlite3.Error, OSError):
        row = catalog.as_read(agent.name).get(name)
        known = row if unchanged(path.stat(), row) else None
    rewrite(agent, files, name, gone)
    if known is not None:
        with contextlib.suppress(sqlite3.Error, OSError):  # derived: then it is read again
            _follow(catalog.database, agent.name, path, known, gone)


def _follow(
    database: sqlite3.Connection, agent: str, path: Path, known: AsRead, gone: Sequence[Edit]
) -> None:
    database.execute("BEGIN IMMEDIATE")
    try:
        if _is_as_known(database, known) and _are_its_own(database, agent, known.file, gone):
            with path.open("rb") as stream:
                _note_file(database, stream.fileno(), known, gone)
            _take_out(database, agent, known, gone)
            _move(database, agent, known.file, gone)
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def _is_as_known(database: sqlite3.Connection, known: AsRead) -> bool:
    query = "SELECT file, inode, read_to, mtime_ns, tail FROM files WHERE file = ?"
    row = database.execute(query, (known.file,)).fetchone()
    return row is not None and AsRead(*row) == known


def _are_its_own(database: sqlite3.Connection, agent: str, file: int, gone: Sequence[Edit]) -> bool:
    """Whether each is one whole memory that has no other line, here or elsewhere.

    Of another line the catalog knows too little to put it in the place of the one that leaves.
    """
    for edit in gone:
        rows = database.execute(
            f"SELECT id, start, end FROM memories WHERE {_IN}",  # noqa: S608  (a constant)
            (file, edit.start, edit.end),
        ).fetchall()
        if edit.text or [row[1:] for row in rows] != [(edit.start, edit.end)]:
            return False
        query = "SELECT 1 FROM repeats WHERE agent = ? AND id = ?"
        if database.execute(query, (agent, rows[0][0])).fetchone() is not None:
            return False
    return True


def _note_file(database: sqlite3.Connection, fd: int, known: AsRead, gone: Sequence[Edit]) -> None:
    """Note the file as it is now; what a hand appended meanwhile is still to be read."""
    status, reaches = os.fstat(fd), known.read_to - _bytes_before(gone, known.read_to)
    if status.st_size < reaches:
        raise OSError("cut by another hand")
    epoch_to = database.execute(
        "SELECT indexed_to FROM files WHERE file = ?", (known.file,)
    ).fetchone()[0]
    passed = sum(edit.start < epoch_to for edit in gone)
    database.execute(
        "UPDATE files SET inode = ?, read_to = ?, mtime_ns = ?, tail = ?, "
        "memories = memories - ?, indexed = indexed - ?, indexed_to = indexed_to - ? "
        "WHERE file = ?",
        (
            status.st_ino,
            reaches,
            status.st_mtime_ns if status.st_size == reaches else 0,
            tail_hash(fd, reaches),
            len(gone),
            passed,
            _bytes_before(gone, epoch_to),
            known.file,
        ),
    )


def _bytes_before(gone: Sequence[Edit], place: int) -> int:
    return sum(edit.end - edit.start for edit in gone if edit.start < place)


def _take_out(
    database: sqlite3.Connection, agent: str, known: AsRead, gone: Sequence[Edit]
) -> None:
    """Forget what left, and what it referred to; leave word of it to who goes by the file."""
    names: list[str] = []
    times: set[int | None] = set()
    for edit in gone:
        query = f"SELECT id, time_us FROM memories WHERE {_IN}"  # noqa: S608  (a constant)
        for name, time_us in database.execute(query, (known.file, edit.start, edit.end)):
            names.append(name)
            times.add(time_us)
    database.execute(
        "DELETE FROM links WHERE agent = ? AND file = ? "
        "AND source IN (SELECT value FROM json_each(?))",
        (agent, known.file, json.dumps(names)),
    )
    which = ((agent, name) for name in names)
    database.executemany("DELETE FROM memories WHERE agent = ? AND id = ?", which)
    database.execute("DELETE FROM short_indexed WHERE agent = ?", (agent,))
    less = _bytes_before(gone, known.read_to)
    was = {"inode": known.inode, "read_to": known.read_to, "tail": known.tail.hex()}
    told = json.dumps({**was, "ids": names, "less": less}) if len(names) <= TOLD_MAX else None
    database.execute("UPDATE files SET cut = ? WHERE file = ?", (told, known.file))
    query = "SELECT oldest_us, newest_us FROM files WHERE file = ?"
    if times & {*database.execute(query, (known.file,)).fetchone()}:
        # The rest are looked through only where one of the ends left.
        database.execute(
            "UPDATE files SET (oldest_us, newest_us) = (SELECT MIN(time_us), MAX(time_us) "
            "FROM memories WHERE memories.file = files.file) WHERE file = ?",
            (known.file,),
        )


def _move(database: sqlite3.Connection, agent: str, file: int, gone: Sequence[Edit]) -> None:
    """Move what stood behind each by what left before it."""
    less = 0
    ends = [edit.start for edit in gone[1:]]
    for edit, until in zip(gone, [*ends, 2**62], strict=True):
        less += edit.end - edit.start
        database.execute(_MOVE, (less, less, file, edit.end, until))
        database.execute(_MOVE_REPEATS, (less, less, agent, file, edit.end, until))


class Cut(NamedTuple):
    """What left a file at one time."""

    ids: list[str]
    less: int
    """By how many bytes it became shorter."""


def cut_since(catalog: Catalog, was: AsRead) -> Cut | None:
    """What left a file since it was read whole as it was then; None where that isn't known."""
    query = "SELECT cut FROM files WHERE file = ?"
    row = catalog.database.execute(query, (was.file,)).fetchone()
    if row is None or row[0] is None:
        return None
    told = json.loads(row[0])
    if (told["inode"], told["read_to"], told["tail"]) != (was.inode, was.read_to, was.tail.hex()):
        return None
    return Cut(told["ids"], told["less"])
