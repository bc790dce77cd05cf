"""The vectors of what is asked: a recall asks twice about one text, and encodes it once."""

from typing import Final

import numpy as np

from skymem.engine.embedding import Embedder
from skymem.engine.matrix import check_vectors
from skymem.engine.store import Store
from skymem.engine.vectors import Vectors

KEPT_MAX: Final = 64
"""Vectors that are kept for the next question; the oldest leave."""


class Asked:
    """The vectors of the last queries, in memory only."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: dict[bytes, Vectors] = {}

    def vectors(self, store: Store, asked: dict[bytes, str]) -> Vectors:
        """The vectors of a query's pieces, encoded where neither cache nor last queries have them.

        Args:
            store: the agent's vectors.
            asked: the pieces' texts by their hashes.

        Raises:
            EngineUnavailableError: the model gave something else.
        """
        rows = store.register.rows_of(list(asked))
        left = [one for one in asked if one not in rows and one not in self._kept]
        if left:
            found = self._embedder.encode([asked[one] for one in left])
            check_vectors(found, store.dimension)
            self._kept |= dict(zip(left, found, strict=True))
        known = dict(zip(rows, store.vectors(list(rows.values())), strict=True))
        vectors = np.stack([known[one] if one in known else self._kept[one] for one in asked])
        while len(self._kept) > KEPT_MAX:
            del self._kept[next(iter(self._kept))]
        return vectors
