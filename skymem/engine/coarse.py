"""The rows of a matrix in a byte a number: which of them could be among the nearest.

To look through them takes an eighth of the time that the rows themselves take.

A row is a scale times whole numbers, and a rest; so is a query. What the rests can come to bounds
how far a product of the whole numbers is off, so that who compares what is left exactly misses
nothing. Nothing of it is stored.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skymem.engine.vectors import Vectors

BLOCK_ROWS: Final = 8192
"""Rows taken in at once: 20 ms of work, and little enough to stay in the processor's cache."""

ROW_STEPS: Final = 127
QUERY_STEPS: Final = 63
"""With more, a sum of two products would not fit what some processors add up in (16 bits)."""

LENGTH_MAX: Final = 1.001
"""Of a row: `matrix.NORM_TOLERANCE`."""

ROUNDING: Final = 1e-5
"""What sums of float32 may be off."""

Product: TypeAlias = Callable[[NDArray[np.uint8], NDArray[np.int8]], NDArray[np.int32]]
"""One row of whole numbers, `2 * QUERY_STEPS` at most, by many columns: exact."""


class Coarse:
    """The first rows of a matrix, in blocks."""

    def __init__(self, product: Product) -> None:
        self._product = product
        self._blocks: list[NDArray[np.int8]] = []
        self._scales: list[NDArray[np.float32]] = []
        self._shifts: list[NDArray[np.int32]] = []
        self._rest = 0.0
        """The longest rest of a row."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return BLOCK_ROWS * len(self._blocks)

    def take(self, rows: Vectors) -> None:
        """Take in the next `BLOCK_ROWS`; what damage left, which nobody asks for, is as nothing."""
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        rows = np.where((lengths < LENGTH_MAX)[:, None], rows, np.float32(0))
        scales = np.maximum(np.abs(rows).max(axis=1), np.finfo(np.float32).tiny) / ROW_STEPS
        whole = np.rint(rows / scales[:, None])
        rests = rows - whole * scales[:, None]
        self._rest = max(self._rest, float(np.sqrt(np.einsum("ij,ij->i", rests, rests).max())))
        block = np.ascontiguousarray(whole.T.astype(np.int8))
        self._blocks.append(block)
        self._scales.append(scales)
        self._shifts.append(QUERY_STEPS * block.sum(axis=0, dtype=np.int32))

    def forget(self, start: int) -> None:
        """Leave out the rows from `start` on, which are written over."""
        kept = start // BLOCK_ROWS
        for parts in (self._blocks, self._scales, self._shifts):
            del parts[kept:]

    def scores(self, queries: Vectors, found: Vectors) -> float:
        """Put into `found` about what the product with the nearest of `queries` is.

        Returns:
            How far each can be off.
        """
        off = 0.0
        for number, query in enumerate(queries):
            scale = max(float(np.abs(query).max()) / QUERY_STEPS, float(np.finfo(np.float32).tiny))
            whole = np.rint(query / scale)
            rest = float(np.linalg.norm(query.astype(np.float64) - whole * scale))
            length = float(np.linalg.norm(query.astype(np.float64)))
            off = max(off, self._rest * length + (LENGTH_MAX + self._rest) * rest + ROUNDING)
            shifted = (whole + QUERY_STEPS).astype(np.uint8)[None]
            for at, block in enumerate(self._blocks):
                place = found[at * BLOCK_ROWS : (at + 1) * BLOCK_ROWS]
                sums = self._product(shifted, block)
                sums -= self._shifts[at]
                score = sums.astype(np.float32)
                score *= self._scales[at] * np.float32(scale)
                np.copyto(place, score) if number == 0 else np.maximum(place, score, out=place)
        return off
