"""Fills a home's index with made-up vectors for what its long-term holds, or begins with.

Run: python -m benchmarks.filled_index HOME [MEMORIES]
"""

import sys
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from skymem import app
from skymem.engine.embedding import ModelIdentity, Vectors, nothing
from skymem.engine.index import HomeIndex
from skymem.engine.items import Item
from skymem.engine.models import open_embedder
from skymem.model.identity import digest
from skymem.model.spelling import read_line

BATCH = 2_000


class MadeUp:
    """Stands where the model stands: each text has a vector, as good as any."""

    def __init__(self, identity: ModelIdentity) -> None:
        self.identity = identity
        self._chance = np.random.default_rng(5)

    def chunks(self, text: str) -> list[str]:
        """One piece for each text."""
        return [text]

    def encode(self, texts: Sequence[str], between: Callable[[], None] = nothing) -> Vectors:
        """Vectors around a few hundred centres, as texts have topics."""
        del between
        centres = np.random.default_rng(4).standard_normal((300, self.identity.dimension))
        picked = centres[self._chance.integers(0, 300, len(texts))]
        found = picked + 0.9 * self._chance.standard_normal(picked.shape)
        unit: Vectors = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
        return unit


def main() -> None:
    """Index the lines, and fill Chroma."""
    home = app.open_home(sys.argv[1])
    identity = open_embedder(home.rules.engine, home.paths.models).identity
    made_up: Any = MadeUp(identity)
    index = HomeIndex(
        home.paths, home.files, made_up, rules=home.rules.engine, now=app.now, between=nothing
    )
    batch: list[Item] = []
    with home.paths.agent("sky").long_term.open("rb") as stream:
        most = int(sys.argv[2]) if len(sys.argv) > 2 else None
        for raw in islice(stream, most):
            memory = read_line(raw)
            batch.append(Item(str(memory.source_id), digest(memory).hex(), memory.content))
            if len(batch) == BATCH:
                index.put("sky", "memory", batch)
                batch = []
    if batch:
        index.put("sky", "memory", batch)
    while index.tend():
        pass
    index.close()


if __name__ == "__main__":
    main()
