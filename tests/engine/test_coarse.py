"""What is looked through in a byte a number misses nothing that is near (rows R4, R7)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from skymem.engine.coarse import BLOCK_ROWS, QUERY_STEPS, ROW_STEPS, Coarse
from skymem.engine.matrix import Matrix
from skymem.engine.onnx import byte_product
from skymem.engine.vectors import Vectors
from skymem.stores.files import Files

DIMENSION = 384
COUNT = 2 * BLOCK_ROWS + 700
LIMIT = 50


def unit(vectors: NDArray[Any]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, np.float32)


def made(count: int, seed: int, *, crowded: bool = False) -> Vectors:
    """Vectors by chance; crowded ones lie close beside each other, some at the same place."""
    chance = np.random.default_rng(seed)
    found = chance.standard_normal((count, DIMENSION))
    if crowded:
        found = chance.standard_normal((1, DIMENSION)) + 0.05 * found
        found[1::7] = found[0]
    return unit(found)


@pytest.fixture
def matrix(tmp_path: Path) -> Matrix:
    return Matrix(tmp_path / "vectors.f32", DIMENSION, Files())


def coarsened(matrix: Matrix, vectors: Vectors) -> None:
    matrix.write(0, vectors)
    while matrix.coarsen(len(vectors)):
        pass


def products(vectors: Vectors, queries: Vectors) -> NDArray[np.float64]:
    found = vectors.astype(np.float64) @ queries.T.astype(np.float64)
    return np.asarray(found.max(axis=1))


def test_the_product_is_exact_at_the_largest_numbers() -> None:
    product = byte_product(DIMENSION)
    chance = np.random.default_rng(1)
    columns = chance.integers(-ROW_STEPS, ROW_STEPS + 1, (DIMENSION, 500)).astype(np.int8)
    columns[:, 0], columns[:, 1] = ROW_STEPS, -ROW_STEPS
    for row in (
        np.full((1, DIMENSION), 2 * QUERY_STEPS, np.uint8),
        chance.integers(0, 2 * QUERY_STEPS + 1, (1, DIMENSION)).astype(np.uint8),
    ):
        expected = row[0].astype(np.int64) @ columns.astype(np.int64)
        assert np.array_equal(product(row, columns), expected)


@pytest.mark.parametrize("crowded", [False, True], ids=["apart", "crowded"])
def test_no_product_is_further_off_than_it_is_said_to_be(crowded: bool) -> None:
    coarse = Coarse(byte_product(DIMENSION))
    rows = made(BLOCK_ROWS, 2, crowded=crowded)
    coarse.take(rows)
    queries = np.concatenate([rows[:1], made(2, 3)])
    about = np.empty(BLOCK_ROWS, np.float32)
    off = coarse.scores(queries, about)

    assert np.abs(about - products(rows, queries)).max() <= off < 0.05


@pytest.mark.parametrize("crowded", [False, True], ids=["apart", "crowded"])
@pytest.mark.parametrize("pieces", [1, 3])
def test_the_nearest_are_those_that_comparing_with_each_finds(
    matrix: Matrix, crowded: bool, pieces: int
) -> None:
    vectors = made(COUNT, 4, crowded=crowded)
    coarsened(matrix, vectors)
    among = np.flatnonzero(np.arange(COUNT) % 3 > 0)
    for seed in range(5):
        queries = unit(vectors[seed : seed + 1] + 0.5 * made(pieces, 10 + seed))
        exact = products(vectors[among], queries)
        found = matrix.nearest(COUNT, queries, among, LIMIT)

        assert len(set(found.tolist())) == LIMIT
        least = np.sort(exact)[-LIMIT]
        assert products(vectors[found], queries).min() == pytest.approx(least, abs=1e-6)
    matrix.close()


def test_what_is_written_over_is_looked_through_as_it_is_now(matrix: Matrix) -> None:
    vectors = made(COUNT, 5)
    coarsened(matrix, vectors)
    place = BLOCK_ROWS + 5
    fresh = made(COUNT - place, 6)
    matrix.write(place, fresh)

    everything = np.arange(COUNT)
    for again in (False, True):
        found = matrix.nearest(COUNT, fresh[3:4], everything, 1)
        assert found.tolist() == [place + 3]
        assert matrix.coarsen(COUNT) is not again
    matrix.close()


def test_rows_that_damage_left_do_not_blur_the_rest() -> None:
    rows = made(BLOCK_ROWS, 7)
    rows[3], rows[4], rows[5, 7], rows[6] = np.nan, np.inf, 1e30, 0
    coarse = Coarse(byte_product(DIMENSION))
    coarse.take(rows)
    about = np.empty(BLOCK_ROWS, np.float32)

    assert coarse.scores(rows[:1], about) < 0.05
    assert np.isfinite(about).all()
    assert about[:3] == pytest.approx(products(rows[:3], rows[:1]), abs=0.05)
