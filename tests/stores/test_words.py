"""The word index takes in what the catalog knows, and then has no more to do."""

import itertools

import pytest

from skymem.stores.words import BATCH
from tests.conftest import Desk, line


@pytest.mark.parametrize("lines", [1, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH])
def test_it_comes_to_the_end_of_a_file_of_any_length(desk: Desk, lines: int) -> None:
    path = desk.tiers.directory / "long_term.jsonl"
    path.write_bytes(b"".join(line(f"line {n}", id=f"n{n}") for n in range(lines)))
    work, shelf = desk.work(), desk.shelf()
    with work.catalog() as catalog, work.words("sky") as words:
        catalog.catch_up(shelf.paths)
        looks = itertools.count()
        assert words.catch_up(shelf, catalog, lambda: next(looks) > lines // BATCH + 2)
        assert words.covered() == {"long_term.jsonl": path.stat().st_size}
        assert words.catch_up(shelf, catalog, lambda: True)
