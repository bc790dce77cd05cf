"""Chroma behind its one module: batches, spaces, versions, paths (hazards D8, D9, D13, D17)."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skymem.engine.chroma import BATCH_MAX, ChromaIndex
from skymem.engine.vectors import IndexDamageError, Piece
from tests.engine.conftest import ROOT, Bench, text_of
from tests.engine.fake_embedder import FAKE, FakeEmbedder


def test_more_than_a_batch_goes_in_and_comes_out(tmp_path: Path) -> None:
    """Hazard D9."""
    count = BATCH_MAX + 200
    vectors = FakeEmbedder().encode([text_of(number) for number in range(count)])
    index = ChromaIndex(tmp_path, "sky")
    index.upsert("memory", [Piece(f"m{number}#0", "d") for number in range(count)], vectors)
    counted = index.count("memory")
    names = index.names("memory", 0, count)
    index.delete("memory", [f"m{number}#0" for number in range(count)] + ["unknown"])
    emptied = index.count("memory")
    index.close()

    assert counted == count
    assert len(names) == BATCH_MAX
    assert emptied == 0


def test_a_refusal_of_chroma_is_damage_and_not_a_crash(tmp_path: Path) -> None:
    index = ChromaIndex(tmp_path, "sky")
    index.upsert("memory", [Piece("a#0", "d")], np.eye(1, 384, dtype=np.float32))
    with pytest.raises(IndexDamageError):
        index.nearest("memory", np.ones(7, np.float32), 1)
    index.close()


def test_a_store_made_by_other_hands_in_the_place_of_ours_is_replaced(bench: Bench) -> None:
    """Hazard D8: its collection has another space and an embedding function of its own."""
    import chromadb

    bench.put(range(60))
    bench.settle()
    name = bench.generation().name
    manifest = (bench.generation() / "manifest.json").read_bytes()
    bench.close()
    aside = bench.paths.root / "ours"
    bench.generation().rename(aside)
    place = bench.paths.chroma_store / "sky" / name
    client = chromadb.PersistentClient(str(place))
    collection = client.get_or_create_collection("sky_memory", metadata={"hnsw:space": "l2"})
    vectors = 3 * bench.embedder.encode([text_of(number) for number in range(60)])
    collection.add(ids=[f"m{number}#0" for number in range(60)], embeddings=vectors)
    client.close()  # type: ignore[attr-defined]
    (place / "manifest.json").write_bytes(manifest)
    bench.settle()

    assert bench.generation().name != name
    assert bench.index.stats("sky", 60)["sample"]["found"] > 30
    assert bench.not_found(range(60)) == []


def test_vectors_of_another_model_are_never_mixed_and_wait_for_its_return(bench: Bench) -> None:
    bench.put(range(40))
    bench.settle()
    bench.close()
    first = bench.embedder
    bench.embedder = FakeEmbedder(replace(FAKE, sha256="1" * 64, dimension=96))
    nothing = bench.ask(text_of(1))
    bench.put(range(40))
    bench.settle()
    found = bench.not_found(range(40))
    bench.close()
    bench.embedder = first
    encoded = first.encoded
    bench.put(range(40))
    bench.settle()

    assert nothing == []
    assert found == bench.not_found(range(40)) == []
    assert first.encoded == encoded
    assert len(list((bench.paths.chroma_store / "sky").glob("g*"))) == 1


def test_a_rebuild_in_the_same_process_goes_to_a_new_path_and_covers_what_comes_meanwhile(
    bench: Bench,
) -> None:
    """Hazard D13."""
    bench.put(range(1500))
    bench.settle()
    before = bench.generation().name
    encoded = bench.embedder.encoded
    begun = bench.index.rebuild("sky")
    bench.index.tend()
    building = bench.seen()["building"]
    bench.put(range(1500, 1550))
    bench.index.drop("sky", [*(f"m{number}" for number in range(20)), "m30"])
    bench.put(range(20), "recent")
    answered = bench.ask(text_of(1540), 1)
    bench.settle()
    stats = bench.index.stats("sky", 200)

    assert begun["generation"] > before
    assert 0 < building["done"] < building["of"] == 1500
    assert answered == [("m1540", 1.0)]
    assert bench.generation().name == begun["generation"]
    assert bench.embedder.encoded == encoded + 50
    assert stats["collections"]["memory"]["chroma"] == 1529
    assert stats["collections"]["recent"]["chroma"] == 20
    assert (stats["missing"], stats["extra"]) == (0, 0)
    assert not (bench.paths.rag / "set_aside").exists()


def test_a_damage_that_is_noticed_while_open_is_healed(bench: Bench) -> None:
    bench.put(range(200))
    bench.settle()
    before = bench.generation().name
    keeper = bench.index._open["sky"].keeper
    assert keeper.index is not None
    keeper.index.delete("memory", ["m5#0"])
    keeper._queries = 1000
    bench.settle()

    assert bench.generation().name != before
    assert bench.index.stats("sky", 200)["missing"] == 0


def test_files_and_memory_stay_flat_over_200_openings(tmp_path: Path) -> None:
    """Hazard D17; in a process of its own, as what other tests have left moves by as much.

    Its threads share one arena: a new one, which a busy machine has made at any time, takes 9 MB.
    """
    command = [sys.executable, "-m", "tests.engine.index_child", str(tmp_path), "open_again", "200"]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    child = subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=environment)
    told = json.loads(child.stdout)
    descriptors, resident_kib = told["descriptors"], told["resident_kib"]

    assert told["problems"] == []
    assert max(descriptors[2:]) < min(descriptors) + 10
    assert resident_kib[-1] - resident_kib[3] < 8 * 1024
