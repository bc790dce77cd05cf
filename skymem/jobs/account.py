"""The sum of memories: what the ledger says came in, beside what the files hold (row X6).

Both are put down as they come, and sorted by id once, when an agent is summed up: a database that
lies on disk without a name does that for a million memories as for a thousand. It has ids and
hashes, never text.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from skymem.jobs.fate import TIERS, Fate, Place, Record, Told
from skymem.stores.tiers import tier_of

CACHE_KIB: Final = 16 * 1024
"""What the database holds in memory, twice: for what it writes, and for what it sorts."""

_CAME: Final = MappingProxyType(
    {"adopt": "came", "remember": "came", "edited outside": "edited outside", "erase": "erased"}
)
_BROUGHT: Final = MappingProxyType(
    {"promote": "long", "archive": "archive", "trash": "trash"}
    | {"compact": "compacted", "erase": "erased"}
)
"""What a decision makes of a memory; one about a repeat or about damage makes nothing of it."""

_STANDS: Final = "CREATE TABLE stands (id, place, file, start, end, print, digest)"
_OF_TIERS: Final = (
    "SELECT id, file, start, end FROM stands WHERE place <> 'short' ORDER BY id, file, start"
)


class Account:
    """What the ledger tells of all agents, and what stands in the files of one of them."""

    def __init__(self, key: str = "") -> None:
        """Take in what was written under the home's key, of which `key` is the check.

        Hashes under another one say nothing: those of its runs are left out.
        """
        self._key = key
        self.under_another_key: set[str] = set()
        """Runs."""

        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(_STANDS)
        self._database.execute("BEGIN")  # and no end: nothing is to stay
        self._tables: dict[str, str] = {}
        """By agent, what is told of its memories."""

        self._recovered: set[str] = set()
        """The runs that were cut short."""

    def close(self) -> None:
        """Let it go; nothing stays on disk."""
        self._database.close()

    # -- what the ledger tells ------------------------------------------------------------------

    def tell(self, entry: Mapping[str, Any]) -> None:
        """Take in an entry of the ledger, one after the other."""
        if entry["op"] == "end" and entry.get("recovered"):
            self._recovered.add(entry["run"])
        if entry["op"] == "begin" and entry.get("key", self._key) != self._key:
            self.under_another_key.add(entry["run"])
        rows = list(_told(entry))
        if entry["op"] == "moved" and entry["run"] in self.under_another_key:
            rows = [told._replace(print=None) for told in rows]
        if rows:
            table = self._table(entry["agent"])
            self._database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)  # noqa: S608

    def _table(self, agent: str) -> str:
        if agent not in self._tables:
            self._tables[agent] = f"told_{len(self._tables)}"
            self._database.execute(f"CREATE TABLE {self._tables[agent]} (id, what, run, print)")
        return self._tables[agent]

    def agents(self) -> list[str]:
        """Whose memories the ledger tells of."""
        return sorted(self._tables)

    # -- what stands in the files ---------------------------------------------------------------

    def clear(self) -> None:
        """Forget the files of the agent before."""
        self._database.execute("DELETE FROM stands")

    def stand(self, places: Iterable[Place]) -> None:
        """Take in lines of one agent's files."""
        self._database.executemany("INSERT INTO stands VALUES (?, ?, ?, ?, ?, ?, ?)", places)

    def catalog_differs(self, rows: Iterable[tuple[Any, ...]]) -> int:
        """Count the memories that the catalog has elsewhere than the files, or not at all.

        Its rows, each an id with file, start and end, come in the order of their ids.
        """
        wrong = 0
        for _, known, there in _side_by_side(rows, self._database.execute(_OF_TIERS)):
            wrong += len(set(known) - set(there)) if known else 1
        return wrong

    # -- the sum --------------------------------------------------------------------------------

    def fates(self, agent: str) -> Iterator[Fate]:
        """Yield what became of each memory of an agent, in the order of their ids."""
        told = self._database.execute(
            f"SELECT id, what, run, print FROM {self._table(agent)} ORDER BY id, rowid"  # noqa: S608
        )
        stands = self._database.execute("SELECT * FROM stands ORDER BY id, file, start")
        for name, entries, lines in _side_by_side(told, stands):
            record = Record(self._recovered)
            for entry in entries:
                record.take(Told._make(entry))
            yield record.fate(name, [Place._make(line) for line in lines])


def _told(entry: Mapping[str, Any]) -> Iterator[Told]:
    """What an entry of the ledger tells of each of its memories."""
    op, run = entry["op"], entry.get("run", "")
    if op in _CAME:
        return (Told(name, _CAME[op], "", None) for name in entry["ids"])
    if op == "add":
        return (Told(name, "made", run, None) for _, name, *_ in entry["added"])
    if op == "moved":
        return (Told(name, op, run, bytes.fromhex(after)) for name, _, after in entry["moved"])
    return (
        Told(name, where, run, None)
        for action, name, *rest in entry.get("decided", ())
        if (where := _brought(action, rest))
    )


def _brought(action: str, rest: list[Any]) -> str:
    """Where a decision brings a memory, or finds it; "" when nowhere."""
    if action == "repeat" and rest[0] == "erased":
        return "erased"
    if action == "repeat":
        return rest[3] if rest[3] in TIERS else ""
    if action not in ("restore", "undo"):
        return _BROUGHT.get(action, "")
    file = rest[4] if len(rest) > 4 else ""
    if not file:
        return "back"
    return "short" if file == "short_term.jsonl" else tier_of(file)


def _side_by_side(
    one: Iterable[tuple[Any, ...]], other: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[str, list[tuple[Any, ...]], list[tuple[Any, ...]]]]:
    """Yield each id with its rows of both, which come in the order of their ids."""
    ones, others = _by_id(one), _by_id(other)
    left, right = next(ones, None), next(others, None)
    while left or right:
        name = min(side[0] for side in (left, right) if side)
        lefts = rights = []
        if left and left[0] == name:
            lefts, left = left[1], next(ones, None)
        if right and right[0] == name:
            rights, right = right[1], next(others, None)
        yield name, lefts, rights


def _by_id(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    return ((name, list(own)) for name, own in groupby(rows, itemgetter(0)))
