"""Which of some texts are alike by meaning: each with the earlier one that is nearest to it.

Nothing of it is kept, and the texts may be any (row R9). Vectors that an agent's cache has are
taken from there; all else is encoded, which is what it costs: the product of 2,000 takes 0.1 s.
"""

from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from skymem.engine.agent import Agent
from skymem.engine.embedding import Embedder, nothing
from skymem.engine.items import ALIKE_CHARACTERS
from skymem.engine.matrix import check_vectors
from skymem.engine.near import Near, near_each_other, near_stored
from skymem.engine.store import text_hash
from skymem.engine.vectors import Vectors
from skymem.errors import DiskError, EngineUnavailableError
from skymem.stores.home import HomePaths

T = TypeVar("T")

Pair = tuple[int, int, float]
"""Places of an earlier and a later text, and their cosine."""

Kept = Callable[[Sequence[str]], Mapping[str, NDArray[np.float32]]]
"""The vectors that are known of some texts."""


class Comparing(ABC):
    """The part of a home's index that compares texts, be they indexed or not."""

    _paths: HomePaths
    _embedder: Embedder
    _between: Callable[[], None]

    @abstractmethod
    def _with(self, name: str, work: Callable[[Agent], T]) -> T:
        """Do something with an agent."""

    def alike(self, texts: Sequence[str], least: float, agent: str) -> dict[str, list[Pair]]:
        """Pair each text with the earlier one nearest to it; see `nearest_earlier`.

        Args:
            texts: at most `ALIKE_TEXTS_MAX`, which the caller sees to.
            least: the cosine from which they are alike; over 0, to 1.
            agent: whose cache may have their vectors; "" for nobody's.

        Raises:
            EngineUnavailableError: the model is broken, or nobody waits for this any more.
        """

        def kept(asked: Sequence[str]) -> dict[str, NDArray[np.float32]]:
            return self._cached(agent, asked)

        return {"pairs": nearest_earlier(self._embedder, texts, least, kept, self._between)}

    def likeness(
        self, text: str, texts: Sequence[str], agent: str
    ) -> dict[str, list[float | None]]:
        """The cosine of a text to each of some others; see `cosines_to`.

        Args:
            text: what they are compared with.
            texts: at most `ALIKE_TEXTS_MAX`, which the caller sees to.
            agent: whose cache may have their vectors; "" for nobody's.

        Raises:
            EngineUnavailableError: the model is broken, or nobody waits for this any more.
        """

        def kept(asked: Sequence[str]) -> dict[str, NDArray[np.float32]]:
            return self._cached(agent, asked)

        return {"cosines": cosines_to(self._embedder, text, texts, kept, self._between)}

    def near(self, texts: Sequence[str], least: float, agent: str) -> dict[str, Any]:
        """Find what in an agent's long-term is near to some texts, and which are to each other.

        Args:
            texts: at most `ALIKE_TEXTS_MAX`, which the caller sees to; as `nearest_earlier`.
            least: the cosine from which they are near; over 0, to 1.
            agent: whose.

        Returns:
            `near`: place of the text, id of the memory, cosine; `among`: two places, cosine.
        """
        beginnings = [self._embedder.chunks(text[:ALIKE_CHARACTERS])[:1] for text in texts]
        places = [place for place, one in enumerate(beginnings) if one]
        different = list(dict.fromkeys(one[0] for one in beginnings if one))
        if not different:
            return {"near": [], "among": []}

        def kept(asked: Sequence[str]) -> dict[str, NDArray[np.float32]]:
            return self._cached(agent, asked)

        known = dict(
            zip(different, _vectors(self._embedder, different, kept, self._between), strict=True)
        )
        vectors = np.stack([known[beginnings[place][0]] for place in places])
        stored: list[Near] = []
        if (self._paths.embeddings / agent / self._embedder.identity.key).is_dir():
            stored = self._with(
                agent, lambda found: near_stored(found.store, vectors, least, nothing)
            )
        among = near_each_other(vectors, least)
        return {
            "near": [[places[place], name, cosine] for place, name, cosine in stored],
            "among": [[places[one], places[other], cosine] for one, other, cosine in among],
        }

    def vectors(self, texts: Sequence[str], agent: str) -> dict[str, Any]:
        """Give the vector of each text, of as much of it as the model reads at once.

        Args:
            texts: at most `ALIKE_TEXTS_MAX`, which the caller sees to; as `nearest_earlier`.
            agent: whose cache may have their vectors.

        Returns:
            `model`: the key of who made them; `vectors`: each as base64 of 32-bit floats, the least
            significant byte first, None where there is nothing to read.

        Raises:
            EngineUnavailableError: the model is broken, or nobody waits for this any more.
        """
        beginnings = [self._embedder.chunks(text[:ALIKE_CHARACTERS])[:1] for text in texts]
        different = list(dict.fromkeys(one[0] for one in beginnings if one))

        def kept(asked: Sequence[str]) -> dict[str, NDArray[np.float32]]:
            return self._cached(agent, asked)

        spelled: dict[str, str] = {}
        if different:
            vectors = _vectors(self._embedder, different, kept, self._between).astype("<f4")
            spelled = {
                text: b64encode(vector.tobytes()).decode()
                for text, vector in zip(different, vectors, strict=True)
            }
        told = [spelled[one[0]] if one else None for one in beginnings]
        return {"model": self._embedder.identity.key, "vectors": told}

    def _cached(self, agent: str, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """What an agent's cache has; nothing where it can't be read, and none is made."""
        if not agent or not (self._paths.embeddings / agent / self._embedder.identity.key).is_dir():
            return {}
        hashes = {text_hash(text): text for text in texts}

        def ask(found: Agent) -> dict[str, NDArray[np.float32]]:
            rows = found.store.register.rows_of(list(hashes))
            vectors = found.store.vectors(list(rows.values()))
            check_vectors(vectors, found.store.dimension)
            return {hashes[one]: vector for one, vector in zip(rows, vectors, strict=True)}

        try:
            return self._with(agent, ask)
        except (DiskError, EngineUnavailableError):
            return {}  # they are encoded then


def nearest_earlier(
    embedder: Embedder,
    texts: Sequence[str],
    least: float,
    kept: Kept,
    between: Callable[[], None],
) -> list[Pair]:
    """Pair each text with the earlier one nearest to it, where their cosine is `least` or more.

    Of several that are as near it is the earliest. A text stands for its beginning, as far as the
    model reads at once; one in which there is nothing to read is like none.

    Args:
        embedder: makes the vectors that are not known.
        texts: what to compare.
        least: over 0, to 1.
        kept: gives the vectors that are known.
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
        vectors = _vectors(embedder, list(firsts), kept, between)
        pairs += _nearest(vectors, list(firsts.values()), least)
    return sorted(pairs, key=lambda pair: pair[1])


def cosines_to(
    embedder: Embedder,
    text: str,
    texts: Sequence[str],
    kept: Kept,
    between: Callable[[], None],
) -> list[float | None]:
    """The cosine of a text to each of some others, None where there is nothing to read.

    Each text stands for its beginning, as in `nearest_earlier`; the same text is 1.
    """
    asked = embedder.chunks(text[:ALIKE_CHARACTERS])[:1]
    beginnings = [embedder.chunks(one[:ALIKE_CHARACTERS])[:1] for one in texts]
    if not asked or not any(beginnings):
        return [None] * len(texts)
    different = list(dict.fromkeys([*asked, *(one for found in beginnings for one in found)]))
    vectors = _vectors(embedder, different, kept, between).astype(np.float64)
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    found = np.clip(np.einsum("ij,j->i", vectors, vectors[0]), -1.0, 1.0)
    cosines = dict(zip(different, found.tolist(), strict=True)) | {asked[0]: 1.0}
    return [cosines[one[0]] if one else None for one in beginnings]


def _vectors(
    embedder: Embedder, texts: list[str], kept: Kept, between: Callable[[], None]
) -> Vectors:
    """The vector of each, encoded where it is not known."""
    known = dict(kept(texts))
    left = [text for text in texts if text not in known]
    if left:
        known.update(zip(left, embedder.encode(left, between), strict=True))
    vectors = np.stack([known[text] for text in texts])
    check_vectors(vectors, embedder.identity.dimension)
    return vectors


def _nearest(vectors: Vectors, places: Sequence[int], least: float) -> Iterator[Pair]:
    cosines = np.tril(np.matmul(vectors, vectors.T), -1)  # without itself and those after it
    best = cosines.argmax(axis=1)
    found = np.minimum(cosines[np.arange(len(places)), best], 1.0)
    for row in np.flatnonzero(found >= least).tolist():
        yield places[best[row]], places[row], float(found[row])
