"""Which memories the vector index is to hold no more, and which it has let go (row P15).

What is to go is noted before it goes, and that it went afterwards: whoever is killed between the
two, or finds the engine away, leaves it owed. What is noted and should have a vector again is owed
too, whichever of two runs at once was the last to write.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from skymem.policy.standing import Link
from skymem.policy.vectored import without_vector
from skymem.stores.aspects import SUPERSEDES
from skymem.stores.catalog import Catalog
from skymem.stores.lifecycle import Lifecycle

SETTLED: Final = "let_go"
"""What the catalog knows it by that nothing was left to go or to come back, as the files were."""


def vectorless(catalog: Catalog, agent: str) -> frozenset[str]:
    """The ids of those that should have no vector; costs what is superseded."""
    life = Lifecycle(catalog, agent)
    links = [Link(one.source, one.time_us, one.target) for one in life.references(SUPERSEDES)]
    return without_vector(links, life.removed())


def count_in(catalog: Catalog, agent: str, tier: str, names: Iterable[str]) -> int:
    """How many of these ids a tier has."""
    found = catalog.find(agent, sorted(names))
    return sum(place.tier == tier for place in found.values())


def vectors_due(catalog: Catalog, agent: str, tier: str) -> int:
    """How many memories of a tier should have a vector."""
    stored = sum(one.memories for one in catalog.counts(agent) if one.tier == tier)
    return stored - count_in(catalog, agent, tier, vectorless(catalog, agent))


class LetGo:
    """What the index of one agent, in one epoch of it, has let go or is about to."""

    def __init__(self, catalog: Catalog, agent: str, epoch: str) -> None:
        """Look at `catalog`; an empty `epoch` is that of an index that isn't there."""
        self._catalog = catalog
        self._database = catalog.database
        self._agent = agent
        self._epoch = epoch
        self._state = ""

    def is_owed(self) -> bool:
        """Whether anything is to go, or to come back; quick where nothing has changed since."""
        if not self._epoch or self._settled() == self._now():
            return False
        now = self.look()
        return self.left(now) != [] or self.back(now) != []

    def look(self) -> frozenset[str]:
        """See which memories should have no vector, as the files are now."""
        self._state = self._now()
        return vectorless(self._catalog, self._agent)

    def settle(self) -> None:
        """Note that all of what was seen last is done."""
        row = (self._agent, SETTLED, self._state)
        self._database.execute("INSERT OR REPLACE INTO searched VALUES (?, ?, ?)", row)

    def _now(self) -> str:
        return f"{self._epoch} {Lifecycle(self._catalog, self._agent).state()}"

    def _settled(self) -> str:
        query = "SELECT files FROM searched WHERE agent = ? AND job = ?"
        row = self._database.execute(query, (self._agent, SETTLED)).fetchone()
        return "" if row is None else str(row[0])

    def left(self, now: Collection[str]) -> list[str]:
        """Those of `now` that are yet to go."""
        query = "SELECT id FROM let_go WHERE agent = ? AND epoch = ? AND gone = 1"
        gone = {row[0] for row in self._database.execute(query, (self._agent, self._epoch))}
        return sorted({*now} - gone)

    def back(self, now: Collection[str]) -> list[str]:
        """Those that went, or were to go, and should have a vector again."""
        rows = self._database.execute("SELECT id FROM let_go WHERE agent = ?", (self._agent,))
        return sorted({row[0] for row in rows} - {*now})

    def note(self, names: Iterable[str], *, gone: bool) -> None:
        """Note that some are to go, or went."""
        rows = [(self._agent, name, self._epoch, gone) for name in names]
        self._write("INSERT OR REPLACE INTO let_go VALUES (?, ?, ?, ?)", rows)

    def forget(self, names: Iterable[str]) -> None:
        """Note nothing of some any more."""
        rows = [(self._agent, name) for name in names]
        self._write("DELETE FROM let_go WHERE agent = ? AND id = ?", rows)

    def _write(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if not rows:
            return
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany(statement, rows)
            # Whoever thinks it settled has not seen this.
            unsettle = "DELETE FROM searched WHERE agent = ? AND job = ?"
            self._database.execute(unsettle, (self._agent, SETTLED))
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")
