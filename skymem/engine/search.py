"""Answers a query from an agent's store: candidates from a scan or from Chroma, ranked exactly.

Whoever proposes a candidate, its cosine is computed from the matrix in double precision, so that
the answer is the same with a whole index, a damaged one or none (hazard D6).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skymem.engine.items import COLLECTIONS, piece_of
from skymem.engine.register import LOOKUP
from skymem.engine.store import Store
from skymem.engine.vectors import Vectors

CANDIDATES: Final = 4
"""Pieces looked at for each memory asked for: several may be of one memory."""

CANDIDATES_MIN: Final = 64

PROPOSED_MIN: Final = 1024
"""Pieces Chroma is asked for at least: the more, the harder it looks (12 ms; with 64 it missed the
best answer three times as often)."""

OWED_MAX: Final = 4096
"""Pieces Chroma has yet to get that are compared one by one; with more, a scan is quicker."""

ROW_MEMORIES: Final = 4
"""Memories of each vector that are named at once: most texts are of one."""

Nearest = Callable[[str, Vectors, int], list[str]]
"""Chroma's `nearest`, watched over by who owns it."""


@dataclass(slots=True)
class Query:
    """A text to look for, in vectors."""

    vectors: Vectors
    hashes: Sequence[bytes]
    """Of its pieces: a memory of the same text is found by them, whatever an index says."""

    limit: int
    collections: Sequence[str]
    mask: int = field(init=False)

    def __post_init__(self) -> None:
        self.mask = sum(1 << COLLECTIONS.index(name) for name in set(self.collections))

    @property
    def pieces(self) -> int:
        """Candidates to begin with."""
        return max(CANDIDATES_MIN, CANDIDATES * self.limit)


Hits = list[tuple[str, float]]


def exact(store: Store, query: Query) -> Hits:
    """Compare with every vector."""
    limit = query.pieces
    while True:
        hits = rank(store, query, store.scan(query.vectors, query.mask, limit))
        if len(hits) >= query.limit or limit >= store.used(query.mask):
            return hits
        limit *= CANDIDATES


def through_index(store: Store, query: Query, nearest: Nearest) -> Hits:
    """Compare with what Chroma proposes and with what it has yet to get."""
    owed = store.register.ask("SELECT row FROM pieces WHERE stored = 0")
    if len(owed) > OWED_MAX:
        return exact(store, query)
    ids = set()
    wanted = max(PROPOSED_MIN, query.pieces)
    counts = dict(zip(COLLECTIONS, store.register.counts(), strict=True))
    for name in filter(counts.get, query.collections):
        ids |= {piece_of(found)[0] for found in nearest(name, query.vectors, wanted)}
    rows = {row for row, _ in rows_of(store, sorted(ids))} | {row for (row,) in owed}
    hits = rank(store, query, np.array(sorted(rows), np.int64))
    if len(hits) < query.limit and len(hits) < store.used(query.mask):
        return exact(store, query)
    return hits


def rows_of(store: Store, ids: Sequence[str]) -> Iterable[tuple[int, str]]:
    """Rows of some memories' pieces, each with its memory's id."""
    query = "SELECT row, id FROM pieces JOIN items USING (item) WHERE id IN ({})"
    return store.register.ask_each(query, ids)


def cosines(store: Store, query: Query, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The cosine of each row to the nearest of the query's pieces.

    Lengths are divided out again: stored as float32 they are 1 within 10^-7 only, and a text must
    be nearer to itself than any other. einsum: its sums don't depend on how many rows there are.
    """
    near = _unit(store.vectors(rows))
    asked = _unit(query.vectors)
    found = np.einsum("ij,kj->ik", near, asked).max(axis=1)
    return np.asarray(np.clip(found, -1.0, 1.0))


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    wide = vectors.astype(np.float64)
    return np.asarray(wide / np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None])


def rank(store: Store, query: Query, rows: NDArray[np.int64]) -> Hits:
    """The memories those rows belong to, best first, ties by id; the query's own text first."""
    best = dict.fromkeys(same_text(store, query), 1.0)
    own = set(best)
    if len(rows):
        found = cosines(store, query, rows)
        order = np.lexsort((rows, -found))
        ranked = rows[order].tolist()
        step = max(1, min(query.limit, LOOKUP))
        known: dict[int, list[str]] = {}
        for place, cosine in enumerate(found[order].tolist()):
            if len(best) >= query.limit and cosine < sorted(best.values())[-query.limit]:
                break
            if place % step == 0:
                known = _memories_of(store, ranked[place : place + step], query)
            row = ranked[place]
            if row not in known:
                known[row] = _memories(store, row, query, query.limit + len(best))
            for memory_id in known[row]:
                best.setdefault(memory_id, cosine)
    hits = sorted(best.items(), key=lambda hit: (-hit[1], hit[0] not in own, hit[0]))
    return hits[: query.limit]


def _memories_of(store: Store, rows: Sequence[int], query: Query) -> dict[int, list[str]]:
    """The memories of each row, as many as there are; nothing where they are very many."""
    most = ROW_MEMORIES * len(rows)
    marks = ",".join("?" * len(rows))
    found = store.register.ask(
        "SELECT DISTINCT row, id FROM pieces JOIN items USING (item) "  # noqa: S608
        f"WHERE row IN ({marks}) AND collection & ? LIMIT ?",
        (*rows, query.mask, most),
    )
    if len(found) == most:
        return {}
    memories: dict[int, list[str]] = {row: [] for row in rows}
    for row, memory_id in found:
        memories[row].append(str(memory_id))
    return memories


def _memories(store: Store, row: int, query: Query, limit: int) -> list[str]:
    """The first memories of a row by id: a text may be that of a hundred thousand."""
    found = store.register.ask(
        "SELECT DISTINCT id FROM pieces JOIN items USING (item) "
        "WHERE row = ? AND collection & ? ORDER BY id LIMIT ?",
        (row, query.mask, limit),
    )
    return [str(memory_id) for (memory_id,) in found]


def same_text(store: Store, query: Query) -> list[str]:
    """Memories whose text is the query's, piece for piece."""
    rows = store.register.rows_of(query.hashes)
    if not query.hashes or len(rows) < len(set(query.hashes)):
        return []
    found = store.register.ask(
        "SELECT id FROM pieces JOIN items USING (item) "
        "WHERE row = ? AND number = 0 AND collection & ? AND "
        "(SELECT COUNT(*) FROM pieces AS own WHERE own.item = items.item) = ? "
        "ORDER BY id LIMIT ?",
        (rows[query.hashes[0]], query.mask, len(query.hashes), query.limit),
    )
    return [str(memory_id) for (memory_id,) in found]


def compared(store: Store, query: Query, ids: Sequence[str]) -> dict[str, float]:
    """The cosine of each of some memories that is indexed, wherever it is."""
    pairs = list(rows_of(store, ids))
    if not pairs:
        return {}
    found = cosines(store, query, np.array([row for row, _ in pairs], np.int64))
    best: dict[str, float] = {}
    for (_, memory_id), cosine in zip(pairs, found.tolist(), strict=True):
        best[memory_id] = max(cosine, best.get(memory_id, -1.0))
    return best
