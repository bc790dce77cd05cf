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

ASKED_AT_ONCE: Final = 500


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
        self._database = catalog.database
        self._agent = agent
        self._epoch = epoch

    def is_owed(self, now: Collection[str]) -> bool:
        """Whether anything is to go, or come back, so that just `now` are without a vector."""
        return bool(self._epoch) and (self.left(now) != [] or self.back(now) != [])

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
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")
