"""One agent that is open: its store and the keeper of its generation, and what both say."""

from typing import Any, Final

from skymem.engine import search
from skymem.engine.items import COLLECTIONS
from skymem.engine.keeper import Keeper
from skymem.engine.room import require_room
from skymem.engine.store import Store
from skymem.engine.vectors import IndexAwayError, IndexDamageError, VectorIndex
from skymem.stores.home import HomePaths

SCAN_ROWS_MAX: Final = 100_000
"""Up to here an exact scan is quick enough (measured: 20 to 60 ms) and needs no Chroma at all.

HNSW only guesses: of 300 questions that share two words with one of 30,000 texts each, it missed
the best answer to 178.
"""

PAGE: Final = 10_000
"""Names asked for at once; who answers may give fewer."""

TOLD_MAX: Final = 20
"""Ids named in a report of what is missing; their number is always given."""


class Agent:
    """An agent that is open."""

    def __init__(self, store: Store, keeper: Keeper) -> None:
        self.store = store
        self.keeper = keeper
        self._compacted_at = -1

    def coarsen(self) -> bool:
        """Make some more of the matrix quick to scan, where it is scanned; False when that is done.

        Until then, what is not is slower to scan, and the answer is the same.
        """
        store = self.store
        return store.count <= SCAN_ROWS_MAX and store.matrix.coarsen(store.count)

    def compact(self, paths: HomePaths) -> bool:
        """Compact the matrix where it is worth it; looked at once for every state of the store.

        Raises:
            DiskError: no room; everything is as before.
        """
        changes = self.store.register.changes
        if changes == self._compacted_at:
            return False
        self._compacted_at = changes
        if not self.store.wants_compaction():
            return False
        require_room(paths.embeddings, self.store.count * self.store.matrix.stride)
        self.store.compact()
        return True

    def close(self) -> None:
        """Close everything of it."""
        self.keeper.close()
        self.store.close()


def search_agent(found: Agent, query: search.Query) -> search.Hits:
    """Answer through Chroma where that is quicker, else from the matrix: the answer is the same."""
    if found.store.count > SCAN_ROWS_MAX and found.keeper.usable:
        try:
            return search.through_index(found.store, query, found.keeper.nearest)
        except IndexAwayError as error:
            found.keeper.away(str(error))
        except IndexDamageError:
            pass  # the keeper has noted it and begins a new one; the matrix has the answer
    return search.exact(found.store, query)


def degraded(found: Agent) -> list[str]:
    """Why answers are slower than they should be, with how long that will last; they are right."""
    if found.keeper.away_because:
        return [found.keeper.away_because]
    large = found.store.count > SCAN_ROWS_MAX
    progress = found.keeper.building(found.store)
    if progress is not None and (large or found.keeper.problems):
        left = progress["left_s"]
        rest = f", about {left:.0f} s left" if left is not None else ""
        return [f"the index is being built: {progress['done']:,} of {progress['of']:,}{rest}"]
    if found.keeper.is_waiting and found.keeper.problems:
        return [found.keeper.problems[-1]]
    return []


def renew(found: Agent) -> dict[str, Any]:
    """Begin a new generation; what keeps it from that is the keeper's to deal with.

    Raises:
        DiskError: no room for a second one.
    """
    try:
        found.keeper.renew(found.store)
    except IndexDamageError as damage:
        found.keeper.damaged(str(damage))
    except IndexAwayError as error:
        found.keeper.away(str(error))
    return {
        "generation": found.keeper.name,
        "pieces": sum(found.store.register.piece_counts()),
    }


def overview(found: Agent) -> dict[str, Any]:
    """What the status shows of an agent."""
    register = found.store.register
    memory, recent = register.counts()
    return {
        "generation": found.keeper.name,
        "epoch": register.epoch,
        "memory": memory,
        "recent": recent,
        "chunks": sum(register.piece_counts()),
        "owed": register.owed_count(),
        "building": found.keeper.building(found.store),
        "away": bool(found.keeper.away_because),
        "problems": _problems(found.keeper),
        "healed": list(found.keeper.healed),
    }


def stats(found: Agent, sample: int, size: int) -> dict[str, Any]:
    """Compare register and Chroma piece by piece, and have some pieces find themselves."""
    register = found.store.register
    memories = dict(zip(COLLECTIONS, register.counts(), strict=True))
    pieces = dict(zip(COLLECTIONS, register.piece_counts(), strict=True))
    answer: dict[str, Any] = {
        "generation": found.keeper.name,
        "epoch": register.epoch,
        "collections": {
            name: {"memories": memories[name], "pieces": pieces[name], "chroma": None}
            for name in COLLECTIONS
        },
        "vectors": found.store.count,
        "owed": register.owed_count(),
        "missing": 0,
        "extra": 0,
        "missing_ids": [],
        "extra_ids": [],
        "sample": {"asked": 0, "found": 0},
        "building": found.keeper.building(found.store),
        "problems": [],
        "bytes": size,
    }
    index = found.keeper.index
    if index is not None and found.keeper.usable:
        try:
            _compare(found, index, answer)
            asked, hits = found.keeper.sample(found.store, sample)
            answer["sample"] = {"asked": asked, "found": hits}
        except IndexDamageError as damage:
            found.keeper.damaged(str(damage))
        except IndexAwayError as error:
            found.keeper.away(str(error))
    answer["problems"] = _problems(found.keeper)
    return answer


def _problems(keeper: Keeper) -> list[str]:
    return [*keeper.problems, *([keeper.away_because] if keeper.away_because else [])]


def _compare(found: Agent, index: VectorIndex, answer: dict[str, Any]) -> None:
    for code, name in enumerate(COLLECTIONS, 1):
        query = (
            "SELECT id || '#' || number FROM pieces JOIN items USING (item) WHERE collection = ?"
        )
        wanted = {str(piece) for (piece,) in found.store.register.ask(query, (code,))}
        held: set[str] = set()
        while page := index.names(name, len(held), PAGE):
            held |= set(page)
        answer["collections"][name]["chroma"] = len(held)
        answer["missing"] += len(wanted - held)
        answer["extra"] += len(held - wanted)
        answer["missing_ids"] += sorted(wanted - held)[: TOLD_MAX - len(answer["missing_ids"])]
        answer["extra_ids"] += sorted(held - wanted)[: TOLD_MAX - len(answer["extra_ids"])]
