"""No byte of an erased memory's vector stays: in cache, index, or what models have left (X5)."""

from pathlib import Path
from typing import Any

import pytest

from skymem.engine.items import Item
from skymem.jobs import index_run
from skymem.jobs.erase import erase
from skymem.jobs.erase_find import Sought
from skymem.jobs.erase_receipt import Receipt
from skymem.model.identity import digest
from skymem.model.spelling import read_line
from skymem.stores.erasures import Erasures
from skymem.stores.lock import held
from tests.conftest import Desk, line
from tests.engine.fake_embedder import DIMENSION
from tests.jobs.erased import SECRET, traces
from tests.jobs.indexing import Indexer, indexer, texts

__all__ = ["indexer"]

STRIDE = 4 * DIMENSION


def _rows(root: Path) -> set[bytes]:
    """Every vector in the caches."""
    found: set[bytes] = set()
    for path in root.rglob("vectors*.f32"):
        data = path.read_bytes()
        found |= {data[at : at + STRIDE] for at in range(0, len(data), STRIDE)}
    return found


def _erase(indexer: Indexer, *ids: str, engine: bool = True, **more: Any) -> Receipt:
    work = indexer.work()
    if not engine:
        work.engine = None
    return erase(work, "sky", Sought(ids=ids, **more))


def _filled(indexer: Indexer) -> set[bytes]:
    """A home with some memories in its index; returns their vectors."""
    indexer.remember("long", *texts(12), line(SECRET, id="secret"))
    indexer.remember("short", line("of the short", 0.2, id="s1"))
    indexer.run()
    indexer.engine.settle()
    rows = _rows(indexer.desk.paths.root)
    assert len(rows) == 14
    assert all(traces(indexer.desk.paths.root, raw=(row,)) for row in rows)
    return rows


def _left(desk: Desk, rows: set[bytes]) -> int:
    """How many of these vectors any file has."""
    return sum(bool(traces(desk.paths.root, raw=(row,))) for row in rows)


def _whole(indexer: Indexer) -> list[str]:
    detail, _ = index_run.examine(indexer.work(), ["sky"])
    compared = detail["agents"]["sky"]["compared"]
    return [name for one in compared.values() for name in one["missing_ids"] + one["stale_ids"]]


def test_the_engine_makes_cache_and_index_anew_without_it_and_encodes_nothing(
    indexer: Indexer,
) -> None:
    rows = _filled(indexer)
    indexer.engine.forget_counts()
    receipt = _erase(indexer, "secret")

    assert receipt.complete, receipt.left
    assert [one["before"] for one in receipt.places if one["place"] == "vectors"] == [1]
    assert traces(indexer.desk.paths.root, SECRET) == []
    assert _left(indexer.desk, rows) == 13
    assert _rows(indexer.desk.paths.root) < rows
    assert len([*(indexer.desk.paths.chroma_store / "sky").glob("g*")]) == 1
    assert indexer.engine.embedder.encoded == 0
    assert (_whole(indexer), "secret" in indexer.engine.holds("memory")) == ([], False)


def test_what_is_erased_after_it_was_removed_leaves_no_vector_in_the_cache(
    indexer: Indexer,
) -> None:
    rows = _filled(indexer)
    indexer.engine.drop("sky", ["secret"])  # as `forget` and the next index run would
    indexer.engine.settle()
    assert _left(indexer.desk, rows) == 14
    _erase(indexer, "secret")
    assert _left(indexer.desk, rows) == 13


def test_everything_of_an_agent_leaves_an_empty_index(indexer: Indexer) -> None:
    rows = _filled(indexer)
    receipt = _erase(indexer, everything=True)
    assert receipt.complete, receipt.left
    assert _left(indexer.desk, rows) == 0
    assert indexer.engine.holds("memory") == [] == indexer.engine.holds("recent")


def test_without_an_engine_all_vectors_go_and_the_next_index_run_makes_them_anew(
    indexer: Indexer,
) -> None:
    rows = _filled(indexer)
    indexer.engine.close()
    receipt = _erase(indexer, "secret", engine=False)

    assert receipt.complete, receipt.left
    assert _left(indexer.desk, rows) == 0
    done = indexer.run(only_if_owed=True)
    assert (done["embedded"], done["indexed"], done["ok"]) == (13, 13, True)
    indexer.engine.settle()
    assert _left(indexer.desk, rows) == 13


def test_beside_an_engine_that_can_not_be_asked_vectors_wait_for_the_next_run(
    indexer: Indexer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.jobs.scrub.LOCK_SECONDS", 0.05)
    desk, rows = indexer.desk, _filled(indexer)
    indexer.engine.settle()
    with held(desk.paths.engine_lock, "the engine", deadline_seconds=1):
        receipt = _erase(indexer, "secret", engine=False)
    assert (receipt.complete, receipt.exit_code) == (False, 40)
    assert "SKYMEM_ENGINE=off" in receipt.left[0]["why"]
    assert traces(desk.paths.root, SECRET) == []
    assert len(Erasures(desk.paths, desk.files, "sky").open()) == 1

    assert indexer.run()["ok"]
    assert _left(desk, rows) == 13
    assert Erasures(desk.paths, desk.files, "sky").open() == []
    assert [entry["run"] for entry in desk.ledger() if entry["op"] == "erased"] == [receipt.run]


def test_a_line_that_was_read_before_and_is_handed_over_late_is_not_embedded(
    indexer: Indexer,
) -> None:
    rows = _filled(indexer)
    _erase(indexer, "secret")
    late = digest(read_line(line(SECRET, id="secret"))).hex()
    done = indexer.engine.put("sky", "memory", [Item("secret", late, SECRET)])

    assert (done["done"], done["embedded"]) == (["secret"], 0)
    indexer.engine.settle()
    assert _left(indexer.desk, rows) == 13


def test_what_other_models_have_left_goes_whole(indexer: Indexer) -> None:
    _filled(indexer)
    paths = indexer.desk.paths
    places = [
        paths.embeddings / "sky" / "another-model",
        *(beside / "sky" / "g20250101T000000.000000Z" for beside in paths.generations_beside),
        paths.rag / "set_aside" / "sky-g20250101T000000.000000Z-damaged",
    ]
    others = [paths.embeddings / "hobbs" / "another-model"]
    for place in places + others:
        place.mkdir(parents=True)
        (place / "data").write_bytes(b"vectors")
    _erase(indexer, "secret")
    assert [place.exists() for place in places] == [False] * 4
    assert others[0].exists()
