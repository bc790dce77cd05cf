"""The seam to a vector index: what the engine asks of one, and how one says that it is broken."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""One vector, or rows of them: float32, of length 1."""


class IndexDamageError(Exception):
    """The index can't be trusted: what it says, or that it says nothing. It is made anew."""


class IndexAwayError(Exception):
    """The index can't be reached now, which says nothing about what it holds (row R6)."""


class Piece(NamedTuple):
    """One piece of a memory, as the index keeps it."""

    name: str
    digest: str


class VectorIndex(Protocol):
    """One generation of an agent's index; its collections are called as in `items.COLLECTIONS`.

    Every method raises `IndexDamageError` where the index is broken, `DiskError` where the disk is
    full, and `IndexAwayError` where the index is on a server that does not answer as it should.
    """

    def upsert(self, collection: str, pieces: Sequence[Piece], vectors: Vectors) -> None:
        """Put pieces in, in the place of those of the same name."""

    def delete(self, collection: str, names: Sequence[str]) -> None:
        """Take pieces out; unknown names are passed over."""

    def nearest(self, collection: str, vectors: Vectors, limit: int) -> list[str]:
        """Names of the `limit` pieces nearest to each of `vectors`, roughly; somebody waits."""

    def closest(self, collection: str, vectors: Vectors) -> list[float]:
        """The cosine of each of `vectors` to the piece nearest to it, -1.0 where there is none."""

    def count(self, collection: str) -> int:
        """How many pieces it says it holds."""

    def names(self, collection: str, offset: int, limit: int) -> list[str]:
        """Names of the pieces it holds, a page of them."""

    def close(self) -> None:
        """Let its files go."""
