"""Which memories of long-term are nearest to some texts, and which of those texts to each other.

By comparing with every vector (row P15): what is to be merged must not depend on an index that only
guesses. The product of 256 texts and 100,000 vectors takes about a second.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from skymem.engine.items import collection_code
from skymem.engine.store import Store
from skymem.engine.vectors import Vectors

NEAR_MAX: Final = 16
"""Told of each text at most: what says the same is among the nearest, or among very many copies."""

ROUNDING: Final = 1e-6
LONG_TERM: Final = collection_code("memory")

Near = tuple[int, str, float]
"""The place of a text, a memory of long-term and their cosine."""


def near_stored(
    store: Store, vectors: Vectors, least: float, between: Callable[[], None]
) -> list[Near]:
    """The memories of long-term that begin as near to a text as `least`, nearest first."""
    best: list[list[tuple[float, int]]] = [[] for _ in vectors]
    if not store.count:
        return []
    for start, block in store.matrix.blocks(store.count):
        products = np.matmul(vectors, block.T)
        for place, row, cosine in _best_of(products, least):
            best[place].append((cosine, start + row))
        between()
    rows = sorted({row for found in best for _, row in found})
    memories = _beginning_at(store, rows)
    near: list[Near] = []
    for place, found in enumerate(best):
        ranked = sorted(found, key=lambda one: (-one[0], one[1]))
        named = ((name, cosine) for cosine, row in ranked for name in memories.get(row, ()))
        near += [(place, name, cosine) for name, cosine in list(named)[:NEAR_MAX]]
    return near


def near_each_other(vectors: Vectors, least: float) -> list[tuple[int, int, float]]:
    """Pairs of texts that are as near as `least`: earlier, later, and their cosine."""
    cosines = np.tril(np.matmul(vectors, vectors.T), -1)
    return [
        (earlier, later, min(1.0, cosine)) for later, earlier, cosine in _best_of(cosines, least)
    ]


def _best_of(products: NDArray[np.float32], least: float) -> list[tuple[int, int, float]]:
    """Of each row the greatest numbers from `least` on: row, column and number."""
    taken = min(NEAR_MAX, products.shape[1])
    columns = np.argpartition(-products, taken - 1, axis=1)[:, :taken]
    rows = np.arange(len(products))[:, None]
    found = products[rows, columns]
    at, which = np.nonzero(found >= least - ROUNDING)
    return [
        (int(row), int(columns[row, place]), min(1.0, float(found[row, place])))
        for row, place in zip(at, which, strict=True)
    ]


def _beginning_at(store: Store, rows: Sequence[int]) -> dict[int, list[str]]:
    """The memories of long-term whose first piece is a row."""
    query = (
        "SELECT row, id FROM pieces JOIN items USING (item) "  # noqa: S608  (a constant)
        f"WHERE number = 0 AND collection = {LONG_TERM:d} AND row IN ({{}}) ORDER BY id"
    )
    found: dict[int, list[str]] = {}
    for row, name in store.register.ask_each(query, rows):
        found.setdefault(int(row), []).append(str(name))
    return found
