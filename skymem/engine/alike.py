"""Which of some texts are alike by meaning: each with the earlier one that is nearest to it.

Nothing is read from an index and nothing kept: the texts may be any (row R9). 2,000 of them cost
one batch of encoding, and one product of 2 x 16 MB.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from skymem.engine.embedding import Embedder
from skymem.engine.items import ALIKE_CHARACTERS
from skymem.engine.matrix import check_vectors
from skymem.engine.vectors import Vectors

Pair = tuple[int, int, float]
"""Places of an earlier and a later text, and their cosine."""


class Comparing:
    """The part of a home's index that needs its model alone."""

    _embedder: Embedder
    _between: Callable[[], None]

    def alike(self, texts: Sequence[str], least: float) -> dict[str, list[Pair]]:
        """Pair each text with the earlier one nearest to it; see `nearest_earlier`.

        Raises:
            EngineUnavailableError: the model is broken, or nobody waits for this any more.
        """
        return {"pairs": nearest_earlier(self._embedder, texts, least, self._between)}


def nearest_earlier(
    embedder: Embedder, texts: Sequence[str], least: float, between: Callable[[], None]
) -> list[Pair]:
    """Pair each text with the earlier one nearest to it, where their cosine is `least` or more.

    Of several that are as near it is the earliest. A text stands for its beginning, as far as the
    model reads at once; one in which there is nothing to read is like none.

    Args:
        embedder: makes the vectors.
        texts: at most `ALIKE_TEXTS_MAX`, which the caller sees to.
        least: over 0, to 1.
        between: called between batches; what it raises ends this.
    """
    firsts: dict[str, int] = {}
    pairs: list[Pair] = []
    for place, text in enumerate(texts):
        for beginning in embedder.chunks(text[:ALIKE_CHARACTERS])[:1]:
            first = firsts.setdefault(beginning, place)
            if first != place:
                pairs.append((first, place, 1.0))
    if len(firsts) > 1:
        vectors = embedder.encode(list(firsts), between)
        check_vectors(vectors, embedder.identity.dimension)
        pairs += _nearest(vectors, list(firsts.values()), least)
    return sorted(pairs, key=lambda pair: pair[1])


def _nearest(vectors: Vectors, places: Sequence[int], least: float) -> Iterator[Pair]:
    cosines = np.tril(np.matmul(vectors, vectors.T), -1)  # without itself and those after it
    best = cosines.argmax(axis=1)
    found = np.minimum(cosines[np.arange(len(places)), best], 1.0)
    for row in np.flatnonzero(found >= least).tolist():
        yield places[best[row]], places[row], float(found[row])
