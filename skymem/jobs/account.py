"""The sum of memories: what the ledger says came in, beside what the files hold (row X6).

Both are put into a database that is no bigger in memory for a million memories than for a thousand,
and that lies on disk without a name; it has ids and hashes, never text.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

CACHE_KIB: Final = 64 * 1024
GONE: Final = ("compacted", "edited outside", "erased")
"""States in which no file has a memory any more, and none should."""

STATES: Final = ("short", "long", "archive", "trash", *GONE, "lost", "doubled")
"""Everything that can have become of a memory; the last two must not."""

_TABLES: Final = """
CREATE TABLE told (
    agent TEXT, id TEXT, what TEXT, run TEXT, print BLOB, made INTEGER,
    PRIMARY KEY (agent, id)) WITHOUT ROWID;
CREATE TABLE stands (
    id TEXT, place TEXT, file TEXT, start INTEGER, end INTEGER, print BLOB, digest BLOB);
CREATE INDEX stands_by_id ON stands (id);
CREATE TABLE cataloged (id TEXT, file TEXT, start INTEGER, end INTEGER);
"""

_TELL: Final = """
INSERT INTO told VALUES (?, ?, ?, ?, NULL, ?) ON CONFLICT (agent, id)
DO UPDATE SET what = excluded.what, run = excluded.run, made = made OR excluded.made
"""

# A line of short-term whose memory another tier has is a repeat, and the next job drops it.
_EACH: Final = """
SELECT id, SUM(place <> 'short') AS elsewhere,
    CASE SUM(place <> 'short') WHEN 0 THEN 'short' WHEN 1 THEN MAX(NULLIF(place, 'short'))
    ELSE 'doubled' END AS state
FROM stands GROUP BY id
"""

_LOST: Final = """
FROM told WHERE agent = ? AND what NOT IN ('compacted', 'edited outside', 'erased', 'never made')
AND id NOT IN (SELECT id FROM stands)
"""

# What a run that was cut short had announced, and may not have come to write: the files say.
_NEVER_MADE: Final = """
UPDATE told SET what = 'never made' WHERE agent = ? AND run = ? AND made AND what = 'long'
"""

_BROUGHT: Final = MappingProxyType(
    {
        "promote": "long",
        "archive": "archive",
        "trash": "trash",
        "restore": "back",
        "undo": "back",
        "compact": "compacted",
    }
)
"""What a decision makes of a memory; one about a repeat or about damage makes nothing of it."""

_CAME: Final = MappingProxyType(
    {
        "adopt": "short",
        "remember": "short",
        "edited outside": "edited outside",
        "erase": "erased",
    }
)


class Place(NamedTuple):
    """One line of an agent's files."""

    id: str
    place: str
    """The tier."""

    file: str
    start: int
    end: int
    print: bytes
    """Fingerprint of its bytes under the home's key."""

    digest: bytes


class Lost(NamedTuple):
    """A memory that no file has."""

    id: str
    what: str
    """Where the ledger says it is."""

    run: str


class Account:
    """What the ledger tells of all agents, and what stands in the files of one of them."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA synchronous = OFF")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        """Let it go; nothing stays on disk."""
        self._database.close()

    # -- what the ledger tells ------------------------------------------------------------------

    def tell(self, entry: Mapping[str, Any]) -> None:
        """Take in an entry of the ledger."""
        agent, run = str(entry.get("agent", "")), str(entry.get("run", ""))
        op = str(entry.get("op", ""))
        if op in _CAME:
            rows = ((agent, name, _CAME[op], run, 0) for name in entry["ids"])
            self._database.executemany(_TELL, rows)
        elif op == "decide":
            rows = (
                (agent, one[1], _BROUGHT[one[0]], run, 0)
                for one in entry["decided"]
                if one[0] in _BROUGHT
            )
            self._database.executemany(_TELL, rows)
        elif op == "add":
            rows = ((agent, one[1], "long", run, 1) for one in entry["added"])
            self._database.executemany(_TELL, rows)
        elif op == "moved":
            prints = ((bytes.fromhex(one[2]), agent, one[0]) for one in entry["moved"])
            query = "UPDATE told SET print = ? WHERE agent = ? AND id = ?"
            self._database.executemany(query, prints)
        elif op == "end" and entry.get("recovered"):
            self._database.execute(_NEVER_MADE, (agent, run))

    def begin(self) -> None:
        """Start to take in much at once."""
        self._database.execute("BEGIN")

    def end(self) -> None:
        """End that."""
        self._database.execute("COMMIT")

    def agents(self) -> list[str]:
        """Whose memories the ledger tells of."""
        rows = self._database.execute("SELECT DISTINCT agent FROM told ORDER BY agent")
        return [row[0] for row in rows]

    # -- what stands in the files ---------------------------------------------------------------

    def clear(self) -> None:
        """Forget the files of the agent before."""
        for table in ("stands", "cataloged"):
            self._database.execute(f"DELETE FROM {table}")  # noqa: S608  (constants)

    def stand(self, places: Iterable[Place]) -> None:
        """Take in lines of one agent's files."""
        self._database.executemany("INSERT INTO stands VALUES (?, ?, ?, ?, ?, ?, ?)", places)

    def catalog_differs(self, rows: Iterable[Sequence[Any]]) -> int:
        """Count the memories that the catalog has elsewhere than the files, or not at all."""
        self._database.executemany("INSERT INTO cataloged VALUES (?, ?, ?, ?)", rows)
        wrong = self._count(
            "SELECT COUNT(*) FROM (SELECT * FROM cataloged "
            "EXCEPT SELECT id, file, start, end FROM stands WHERE place <> 'short')"
        )
        missing = self._count(
            "SELECT COUNT(*) FROM (SELECT id FROM stands WHERE place <> 'short' "
            "EXCEPT SELECT id FROM cataloged)"
        )
        return wrong + missing

    # -- the sum --------------------------------------------------------------------------------

    def came_in(self, agent: str) -> int:
        """Count every memory there ever was, recorded or not."""
        recorded = self._count(
            "SELECT COUNT(*) FROM told WHERE agent = ? AND "
            "(what <> 'never made' OR id IN (SELECT id FROM stands))",
            agent,
        )
        return recorded + self.count_unrecorded(agent)

    def states(self, agent: str) -> dict[str, int]:
        """Count memories by what has become of them; every state is there."""
        found = dict.fromkeys(STATES, 0)
        query = f"SELECT state, COUNT(*) FROM ({_EACH}) GROUP BY state"  # noqa: S608
        found.update(self._database.execute(query))
        query = (
            "SELECT what, COUNT(*) FROM told WHERE agent = ? AND what <> 'never made' "
            "AND id NOT IN (SELECT id FROM stands) GROUP BY what"
        )
        for what, count in self._database.execute(query, (agent,)):
            found[what if what in GONE else "lost"] += count
        return found

    def lost(self, agent: str) -> Iterator[Lost]:
        """Yield what the ledger says is there, and no file has."""
        query = f"SELECT id, what, run {_LOST} ORDER BY id"
        for row in self._database.execute(query, (agent,)):
            yield Lost(*row)

    def doubled(self) -> Iterator[tuple[str, list[str]]]:
        """Yield what stands more than once, with the files it stands in."""
        query = f"SELECT id FROM ({_EACH}) WHERE state = 'doubled' ORDER BY id"  # noqa: S608
        for (name,) in self._database.execute(query):
            where = "SELECT file FROM stands WHERE id = ? ORDER BY file, start"
            yield name, [row[0] for row in self._database.execute(where, (name,))]

    def changed(self, agent: str) -> Iterator[tuple[str, str]]:
        """Yield what is not what was moved or made: its id, and the file it stands in."""
        query = (
            "SELECT stands.id, file, told.print, stands.digest, made FROM stands JOIN told "
            "ON told.agent = ? AND told.id = stands.id WHERE place <> 'short' AND "
            "(told.print <> stands.print OR (told.print IS NULL AND made)) ORDER BY stands.id"
        )
        for name, file, known, digest, _ in self._database.execute(query, (agent,)):
            if known is not None or digest.hex() != name:
                yield name, file

    def unrecorded(self, agent: str) -> Iterator[tuple[str, str]]:
        """Yield what stands in a file, and the ledger never heard of: id and file."""
        query = (
            "SELECT id, MIN(file) FROM stands WHERE id NOT IN "
            "(SELECT id FROM told WHERE agent = ?) GROUP BY id ORDER BY id"
        )
        for row in self._database.execute(query, (agent,)):
            yield row[0], row[1]

    def count_unrecorded(self, agent: str) -> int:
        """How many those are."""
        query = (
            "SELECT COUNT(DISTINCT id) FROM stands WHERE id NOT IN "
            "(SELECT id FROM told WHERE agent = ?)"
        )
        return self._count(query, agent)

    def _count(self, query: str, *values: Any) -> int:
        return int(self._database.execute(query, values).fetchone()[0])
