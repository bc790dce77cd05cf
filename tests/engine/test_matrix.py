"""The matrix: rows that are as they were written, or are known not to be."""

import os
from pathlib import Path

import numpy as np
import pytest

from skymem.engine import matrix as matrix_module
from skymem.engine import store as store_module
from skymem.engine.matrix import Matrix, checksums
from skymem.engine.store import Store
from skymem.errors import EngineUnavailableError
from skymem.stores.files import Files
from tests.engine.conftest import Bench, items, text_of
from tests.engine.fake_embedder import FakeEmbedder


def test_rows_are_read_as_written_and_a_torn_tail_is_written_over(tmp_path: Path) -> None:
    vectors = FakeEmbedder().encode([text_of(number) for number in range(50)])
    matrix = Matrix(tmp_path / "vectors.f32", 384, Files())
    matrix.write(0, vectors[:20])
    with (tmp_path / "vectors.f32").open("ab") as stream:
        stream.write(b"half a row")
    matrix.write(20, vectors[20:])

    assert np.array_equal(matrix.rows(50), vectors)
    assert np.array_equal(matrix.checksums(50), checksums(vectors))
    assert os.path.getsize(tmp_path / "vectors.f32") == 50 * 1536
    matrix.close()


@pytest.mark.parametrize("wrong", [np.nan, 0.0, 2.0])
def test_what_is_no_vector_is_refused(wrong: float, tmp_path: Path) -> None:
    vectors = FakeEmbedder().encode(["a", "b"]) * np.float32(wrong)
    matrix = Matrix(tmp_path / "vectors.f32", 384, Files())
    with pytest.raises(EngineUnavailableError):
        matrix.write(0, vectors)

    assert matrix.on_disk == 0
    matrix.close()


def test_a_checksum_tells_any_single_bit_and_any_two_numbers_in_each_others_place() -> None:
    vector = FakeEmbedder().encode(["a"])
    before = checksums(vector)[0]
    for place in range(384):
        for bit in range(32):
            changed = vector.copy()
            changed.view(np.uint32)[0, place] ^= np.uint32(1 << bit)
            assert checksums(changed)[0] != before
    swapped = vector.copy()
    swapped[0, [3, 4]] = swapped[0, [4, 3]]
    assert checksums(swapped)[0] != before


def test_rows_nobody_points_to_are_kept_as_a_cache_and_compacted_when_they_are_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "UNUSED_ROWS_MIN", 100)
    bench.put(range(300))
    bench.index.drop("sky", [f"m{number}" for number in range(0, 200, 2)])
    bench.settle()
    kept = bench.index.stats("sky", 1)["vectors"]
    bench.index.drop("sky", [f"m{number}" for number in range(1, 200, 2)])
    bench.settle()
    compacted = bench.index.stats("sky", 1)["vectors"]
    bench.close()

    assert (kept, compacted) == (300, 100)
    assert [path.name for path in bench.cache().glob("vectors*")] == ["vectors-2.f32"]
    assert (bench.cache() / "vectors-2.f32").stat().st_size == 100 * 1536
    assert bench.not_found(range(200, 300)) == []
    put = bench.index.put("sky", "memory", items(range(150, 250)))
    assert (put["embedded"], put["cached"]) == (50, 50)
    assert bench.seen()["problems"] == []


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_scan_gives_each_row_its_product_whoever_shares_it(
    threads: int, pieces: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_module, "SHARE_BYTES", 30 * 1536)
    monkeypatch.setattr(matrix_module, "BLOCK_BYTES", 7 * 1536)
    vectors = FakeEmbedder().encode([text_of(number) for number in range(101)])
    queries = FakeEmbedder().encode([f"question {number}" for number in range(pieces)])
    matrix = Matrix(tmp_path / "vectors.f32", 384, Files(), threads)
    assert matrix.products(0, queries).tolist() == []
    matrix.write(0, vectors)

    for count in (1, 29, 61, 101):
        expected = (vectors[:count].astype(np.float64) @ queries.T).max(axis=1)
        assert matrix.products(count, queries) == pytest.approx(expected, abs=1e-6)
    matrix.close()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_in_a_compaction_leaves_one_matrix_or_the_other(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = Files()
    vectors = FakeEmbedder().encode([text_of(number) for number in range(40)])
    store = Store(tmp_path, 384, files)
    hashes = [bytes([number]) * 16 for number in range(40)]
    store.put(
        dict(zip(hashes, vectors, strict=True)),
        [(f"m{number}", "d", [hashes[number]]) for number in range(40)],
        1,
    )
    store.drop([f"m{number}" for number in range(15)])

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    target = "renumber" if moment == "before" else "close"
    victim = store.register if moment == "before" else store.matrix
    monkeypatch.setattr(victim, target, die)
    with pytest.raises(Killed):
        store.compact()
    assert len(list(tmp_path.glob("vectors*"))) == 2
    again = Store(tmp_path, 384, files)

    assert again.problems == []
    assert again.count == (40 if moment == "before" else 25)
    assert len(list(tmp_path.glob("vectors*"))) == 1
    rows = again.register.rows_of(hashes[15:])
    assert all(
        np.array_equal(again.vectors([rows[one]])[0], vector)
        for one, vector in zip(hashes[15:], vectors[15:], strict=True)
    )
    again.close()
