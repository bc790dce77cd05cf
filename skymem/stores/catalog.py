"""The catalog: where each memory of long-term, archive and trash lives, in SQLite; always derived.

It is caught up from where it stopped reading, so that a run costs what is new and not what is
stored; a file that was not just appended to is read again, and a catalog that can't be read is made
anew (design §3).
"""

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.model.plan import Damage, Entry
from skymem.stores.aspects import REMOVED, SUPERSEDES, Link, aspects, links_of
from skymem.stores.catalog_file import (
    catalog_path,
    connect,
    connect_in_memory,
    connect_to_copy,
    set_aside,
    with_room,
)
from skymem.stores.catalog_gone import forget_files
from skymem.stores.files import Files
from skymem.stores.home import AgentPaths, HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.lines import TIER_LINE_BYTES_MAX, last_newline_end, read_entries
from skymem.stores.tiers import tier_of, tier_states, trash_states
from skymem.stores.tombstones import Tombstones, nothing_erased
from skymem.stores.trash import trash_entries
from skymem.stores.unchanged import AsRead, still_there, tail_hash, unchanged

LOOKUP_IDS: Final = 500
BUSY_MS: Final = 30_000

# The braces take question marks only.
_FIND: Final = """
SELECT id, tier, digest, name, start, end FROM memories JOIN files USING (file)
WHERE memories.agent = ? AND id IN ({})
"""
_REPEATS: Final = """
SELECT id, tier, digest, name, start, end FROM repeats JOIN files USING (file)
WHERE repeats.agent = ? AND id IN ({}) AND tier IN ('long', 'archive') ORDER BY name, start
"""

_INSERT: Final = "INSERT OR IGNORE INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

# What long-term says twice. Told apart from the rest once, where all of it is read, and line by
# line where some are appended.
_TWICE_IN_ALL: Final = """
INSERT OR IGNORE INTO twice SELECT agent, words FROM memories INDEXED BY memories_by_words
WHERE agent = ? AND words IS NOT NULL GROUP BY words HAVING COUNT(*) > 1
"""
_TWICE: Final = """
INSERT OR IGNORE INTO twice SELECT ?1, words FROM memories AS new INDEXED BY memories_by_place
WHERE file = ?2 AND start >= ?3 AND words IS NOT NULL AND EXISTS (
    SELECT 1 FROM memories AS other INDEXED BY memories_by_words
    WHERE other.agent = ?1 AND other.words = new.words AND other.id <> new.id)
"""


class Found(NamedTuple):
    """Where a memory is."""

    tier: str
    digest: bytes
    file: str
    start: int
    end: int


class TierCount(NamedTuple):
    """How much one file of a tier holds."""

    tier: str
    file: str
    memories: int
    damaged: int


class Catalog:
    """The catalog of a home. One process may write while others read."""

    def __init__(
        self, database: sqlite3.Connection, path: Path | None = None, *, copied: bool = False
    ) -> None:
        self._database = database
        self._path = path
        self._copied = copied
        self.erased: Callable[[str], Tombstones] = nothing_erased
        """Tells what of an agent was erased, so that it is known again."""

    @classmethod
    def on_disk(cls, paths: HomePaths, files: Files, *, busy_ms: int = BUSY_MS) -> "Catalog":
        """Open the home's catalog, made anew where it is missing or can't be read.

        Raises:
            DiskError, sqlite3.Error: there is no way to keep one on this disk.
        """
        files.make_directory(paths.state)
        path = catalog_path(paths)
        try:
            return cls(connect(path, busy_ms), path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            set_aside(path)
            return cls(connect(path, busy_ms), path)

    @classmethod
    def in_memory(cls) -> "Catalog":
        """Make one for this process only: it starts empty and reads every tier once."""
        return cls(connect_in_memory())

    @classmethod
    def copy_of(cls, paths: HomePaths) -> "Catalog":
        """Make one for this process only that knows what the home's catalog does.

        Raises:
            sqlite3.Error, OSError: there is none that can be read.
        """
        return cls(connect_to_copy(catalog_path(paths)), copied=True)

    @property
    def database(self) -> sqlite3.Connection:
        """The database itself, for `stores.cursors`: each statement is a transaction of its own."""
        return self._database

    @property
    def temporary(self) -> bool:
        """Whether it lives in memory, for this process only, and began empty."""
        return self._path is None and not self._copied

    def become_temporary(self, *, damaged: bool) -> None:
        """Go on without the file, in memory; a damaged file is set aside to be made anew."""
        self._database.close()
        if damaged and self._path is not None:
            set_aside(self._path)
        self._path, self._copied = None, False
        self._database = connect_in_memory()

    def close(self) -> None:
        """Let the file go."""
        self._database.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    # -- catching up ----------------------------------------------------------------------------

    def catch_up(self, agent: AgentPaths) -> None:
        """Read what was appended to the agent's tiers since the last time."""
        rows = {
            name: AsRead(*row)
            for name, *row in self._database.execute(
                "SELECT name, file, inode, read_to, mtime_ns, tail FROM files WHERE agent = ?",
                (agent.name,),
            )
        }
        on_disk = tier_states(agent) | trash_states(agent)
        changed = {
            name: agent.directory / name
            for name, status in on_disk.items()
            if not unchanged(status, rows.get(name))
        }
        if not changed and rows.keys() <= on_disk.keys():
            return
        same = on_disk.keys() - changed
        with with_room(self._database), self._writing():
            gone = {
                name: row.file
                for name, row in rows.items()
                if name not in same and not still_there(changed.get(name), row)
            }
            if gone and forget_files(self._database, agent.name, [*gone.values()]):
                rows = {name: row for name, row in rows.items() if name not in gone}
            elif gone:  # all of them are forgotten, and read again
                rows, changed = {}, {name: agent.directory / name for name in on_disk}
            for name, path in changed.items():
                self._read(agent.name, name, path, rows.get(name))

    def _read(self, agent: str, name: str, path: Path, row: AsRead | None) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            status = os.fstat(fd)
            start = row.read_to if row is not None else 0
            tier = tier_of(name)
            file = self._file(agent, tier, name)
            stop = last_newline_end(fd, status.st_size)
            links: list[Link] = []
            if tier == "trash":
                self._insert(agent, file, start, trash_entries(fd, start, stop), links)
                links = [(*link[:1], REMOVED, link[2]) for link in links if link[1] == SUPERSEDES]
            else:
                entries = read_entries(fd, start, stop, TIER_LINE_BYTES_MAX)
                self._insert(agent, file, start, entries, links)
            if tier == "long":
                self._note_twice(agent, file, start)
            self._database.executemany(
                "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?)",
                ((agent, *link, file) for link in links),
            )
            self._database.execute(
                "UPDATE files SET inode = ?, read_to = ?, mtime_ns = ?, tail = ? WHERE file = ?",
                (status.st_ino, stop, status.st_mtime_ns, tail_hash(fd, stop), file),
            )
        finally:
            os.close(fd)

    def _file(self, agent: str, tier: str, name: str) -> int:
        self._database.execute(
            "INSERT OR IGNORE INTO files (agent, tier, name, inode, read_to, mtime_ns, tail, "
            "memories, damaged) VALUES (?, ?, ?, 0, 0, 0, x'', 0, 0)",
            (agent, tier, name),
        )
        query = "SELECT file FROM files WHERE agent = ? AND name = ?"
        return int(self._database.execute(query, (agent, name)).fetchone()[0])

    def _insert(
        self,
        agent: str,
        file: int,
        start: int,
        entries: Iterable[Entry | Damage],
        links: list[Link],
    ) -> None:
        """Take in entries from `start` on; what they refer to goes to `links`."""
        damaged = 0
        oldest: int | None = None
        newest: int | None = None

        def rows() -> Iterator[tuple[Any, ...]]:
            nonlocal damaged, oldest, newest
            for entry in entries:
                if isinstance(entry, Damage):
                    damaged += 1
                    continue
                memory = entry.memory
                name = entry.id or memory.source_id or entry.digest.hex()
                time_us = memory.time_us
                if time_us is not None:
                    oldest = time_us if oldest is None else min(oldest, time_us)
                    newest = time_us if newest is None else max(newest, time_us)
                links.extend(links_of(name, memory))
                place = (file, entry.start, entry.end, time_us)
                yield (agent, name, entry.digest, *place, *aspects(memory))

        self._database.executemany(_INSERT, rows())
        query = "SELECT COUNT(*) FROM memories WHERE file = ? AND start >= ?"
        added = self._database.execute(query, (file, start)).fetchone()[0]
        self._database.execute(
            "UPDATE files SET memories = memories + ?1, damaged = damaged + ?2, "
            "oldest_us = MIN(COALESCE(oldest_us, ?3), COALESCE(?3, oldest_us)), "
            "newest_us = MAX(COALESCE(newest_us, ?4), COALESCE(?4, newest_us)) WHERE file = ?5",
            (added, damaged, oldest, newest, file),
        )

    def _note_twice(self, agent: str, file: int, start: int) -> None:
        """Note what long-term says twice, now that it was read from `start` on."""
        if start:
            self._database.execute(_TWICE, (agent, file, start))
        else:
            self._database.execute("DELETE FROM twice WHERE agent = ?", (agent,))
            self._database.execute(_TWICE_IN_ALL, (agent,))

    # -- asking ---------------------------------------------------------------------------------

    def counts(self, agent: str) -> list[TierCount]:
        """How much each file of the agent's tiers holds."""
        query = "SELECT tier, name, memories, damaged FROM files WHERE agent = ? ORDER BY name"
        return [TierCount(*row) for row in self._database.execute(query, (agent,))]

    def oldest_us(self, agent: str, tier: str) -> int | None:
        """When the oldest memory of a tier happened, microseconds since the epoch."""
        query = "SELECT MIN(oldest_us) FROM files WHERE agent = ? AND tier = ?"
        found = self._database.execute(query, (agent, tier)).fetchone()[0]
        return None if found is None else int(found)

    def find(self, agent: str, ids: Sequence[str]) -> dict[str, Found]:
        """Find which of these ids long-term, an archive or trash has."""
        return dict(self._places(_FIND, agent, ids))

    def repeats(self, agent: str, ids: Sequence[str]) -> Iterator[tuple[str, Found]]:
        """Lines of long-term and archives beside those that `find` finds, under the same id.

        A hand put them there, or a tool that copies; most of them say the very same.
        """
        return self._places(_REPEATS, agent, ids)

    def _places(self, query: str, agent: str, ids: Sequence[str]) -> Iterator[tuple[str, Found]]:
        for first in range(0, len(ids), LOOKUP_IDS):
            batch = ids[first : first + LOOKUP_IDS]
            spelled = query.format(",".join("?" * len(batch)))
            for name, *place in self._database.execute(spelled, (agent, *batch)):
                yield name, Found(*place)

    def as_read(self, agent: str) -> dict[str, AsRead]:
        """The agent's files of long-term and archives, as they were when they were read."""
        query = (
            "SELECT name, file, inode, read_to, mtime_ns, tail FROM files "
            "WHERE agent = ? AND tier IN ('long', 'archive')"
        )
        return {name: AsRead(*row) for name, *row in self._database.execute(query, (agent,))}

    def places(self, agent: str, name: str, start: int, limit: int) -> dict[str, Found]:
        """The first memories of a file from an offset on, by their ids."""
        query = (
            "SELECT id, tier, digest, name, start, end FROM memories JOIN files USING (file) "
            "WHERE files.agent = ? AND name = ? AND start >= ? ORDER BY start LIMIT ?"
        )
        rows = self._database.execute(query, (agent, name, start, limit))
        return {own: Found(*place) for own, *place in rows}

    def find_by_prefix(self, agent: str, prefix: str, limit: int) -> list[str]:
        """Find ids that start with `prefix`, for a person who types the first letters."""
        query = "SELECT id FROM memories WHERE agent = ? AND id >= ? AND id < ? LIMIT ?"
        rows = self._database.execute(query, (agent, prefix, prefix + "\U0010ffff", limit))
        return [row[0] for row in rows]

    # -- what earlier runs left -----------------------------------------------------------------

    def open_runs(self, agent: str, ledger: Ledger) -> list[dict[str, Any]]:
        """Runs of the agent that began and did not end, oldest first."""
        self._catch_up_ledger(ledger)
        query = "SELECT begin FROM open_runs WHERE agent = ? ORDER BY run"
        return [json.loads(row[0]) for row in self._database.execute(query, (agent,))]

    def _catch_up_ledger(self, ledger: Ledger) -> None:
        files = ledger.segments()  # of the oldest one the inode stays, when it is closed as well
        size = sum(file.size for file in files)
        inode = files[0].inode if files else 0
        row = self._database.execute("SELECT inode, read_to FROM ledger").fetchone()
        start = row[1] if row and row[0] == inode and row[1] <= size else 0
        if start == size and row is not None:
            return
        with self._writing():
            if not start:
                self._database.execute("DELETE FROM open_runs")
                self._database.execute("DELETE FROM judged")
            end = start
            for end, entry in ledger.read_from(start):  # noqa: B007  (the last end is wanted)
                self._fold(entry)
            self._database.execute("INSERT OR REPLACE INTO ledger VALUES (1, ?, ?)", (inode, end))

    def _fold(self, entry: dict[str, Any]) -> None:
        if entry.get("op") == "begin":
            row = (entry["run"], entry["agent"], json.dumps(entry))
            self._database.execute("INSERT OR REPLACE INTO open_runs VALUES (?, ?, ?)", row)
            self._fold_judged(entry)
        elif entry.get("op") == "end":
            self._database.execute("DELETE FROM open_runs WHERE run = ?", (entry["run"],))

    def _fold_judged(self, begin: dict[str, Any]) -> None:
        """Count what a run removes by judgement; what was undone counts no more."""
        if "judged" in begin:
            row = (begin["run"], begin["agent"], begin["ts"], json.dumps(begin["judged"]))
            self._database.execute("INSERT OR REPLACE INTO judged VALUES (?, ?, ?, ?)", row)
        elif "of" in begin:
            self._database.execute("DELETE FROM judged WHERE run = ?", (begin["of"],))

    def judged_runs(self, agent: str, ledger: Ledger) -> list[tuple[float, dict[str, int]]]:
        """When runs of the agent removed how many memories by judgement, by tier (row X4)."""
        self._catch_up_ledger(ledger)
        query = "SELECT ts, judged FROM judged WHERE agent = ?"
        return [(ts, json.loads(text)) for ts, text in self._database.execute(query, (agent,))]

    def known(self, agent: str) -> tuple[bytes, dict[str, str]] | None:
        """What short-term held after the last run: digests in order, and ids that are not theirs.

        None before the first run. The dict goes from a digest's hex to the id.
        """
        query = "SELECT digests, named FROM known WHERE agent = ?"
        row = self._database.execute(query, (agent,)).fetchone()
        return (bytes(row[0]), json.loads(row[1])) if row else None

    def set_known(self, agent: str, digests: bytes, named: dict[str, str]) -> None:
        """Record what short-term holds now."""
        if self.known(agent) == (digests, named):
            return
        with self._writing():
            self._database.execute(
                "INSERT OR REPLACE INTO known VALUES (?, ?, ?)", (agent, digests, json.dumps(named))
            )
