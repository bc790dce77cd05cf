"""Damage to anything derived: the fault is real, nothing is lost, and the index is whole again.

Each test damages the files of a closed home, shows what Chroma alone makes of it, then opens the
home in a process of its own, as often as that is killed by what it opens (hazards D1, D12, D13).
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from skymem.stores.home import HomePaths
from tests.engine.conftest import Bench

ROOT = Path(__file__).parents[2]
COUNT = 1200
"""One full flush of HNSW to its files, and a queue besides."""

DEATHS_MAX = 2


def child(place: Path, verb: str, count: int = COUNT) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.engine.index_child", str(place), verb, str(count)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=120
    )


@dataclass
class Healed:
    """What became of a home."""

    told: dict[str, Any]
    deaths: int

    def assert_whole(self) -> None:
        stats = self.told["stats"]
        assert self.told["not_found"] == []
        assert stats["collections"]["memory"] == dict.fromkeys(
            ("memories", "pieces", "chroma"), COUNT
        )
        # Verification lets a tenth pass, and another sample may show a little more than its own.
        assert stats["sample"]["found"] > 0.8 * stats["sample"]["asked"] > 100
        assert (stats["missing"], stats["extra"], stats["owed"]) == (0, 0, 0)
        assert stats["building"] is None


def heal(paths: HomePaths) -> Healed:
    """Start engines until one is not killed."""
    for deaths in range(DEATHS_MAX + 1):
        done = child(paths.root, "settle")
        if done.returncode == 0:
            return Healed(json.loads(done.stdout), deaths)
        assert done.returncode < 0, done.stderr
    raise AssertionError("every engine was killed")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that is copied for every test."""
    home = tmp_path_factory.mktemp("filled") / "home"
    made = child(home, "settle")
    assert made.returncode == 0, made.stderr
    return home


@pytest.fixture
def bench(filled: Path, tmp_path: Path) -> Bench:
    """A whole home that is closed; only its paths are used here."""
    shutil.copytree(filled, tmp_path / "home")
    return Bench(HomePaths(tmp_path / "home"))


def segment(generation: Path) -> Path:
    """Where the HNSW files are."""
    (found,) = generation.glob("*/data_level0.bin")
    return found.parent


def overwrite(path: Path, byte: bytes) -> None:
    path.write_bytes(byte * path.stat().st_size)


def garbage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(len(data)):
        data[at] = (at * 2654435761 >> 7) & 0xFF
    path.write_bytes(data)


def wild_links(path: Path) -> None:
    """Neighbours far outside of the graph: what follows one leaves its memory."""
    data = bytearray(path.read_bytes())
    for start in range(0, len(data) - 1676 + 1, 1676):
        data[start + 4 : start + 132] = b"\xf0\xff\xff\x7f" * 32
    path.write_bytes(data)


def three_in_ten_elsewhere(path: Path) -> None:
    """Vectors in the place of others, as where a graph came out in pieces; it kills nobody."""
    data = bytearray(path.read_bytes())
    starts = range(132, len(data) - 1676 + 1, 1676)
    for number, start in enumerate(starts):
        if number % 10 < 3:
            data[start : start + 1536] = data[132 : 132 + 1536][::-1]
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def without_embeddings(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("DELETE FROM embeddings")
    database.commit()
    database.close()


def swapped_for_another(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("DROP TABLE collections")
    database.commit()
    database.close()


CHROMA = {
    "data_level0.bin cut": lambda g: cut(segment(g) / "data_level0.bin"),
    "data_level0.bin zeroed": lambda g: overwrite(segment(g) / "data_level0.bin", b"\0"),
    "data_level0.bin garbage": lambda g: garbage(segment(g) / "data_level0.bin"),
    "data_level0.bin empty": lambda g: emptied(segment(g) / "data_level0.bin"),
    "data_level0.bin with wild links": lambda g: wild_links(segment(g) / "data_level0.bin"),
    "header.bin cut": lambda g: cut(segment(g) / "header.bin"),
    "header.bin zeroed": lambda g: overwrite(segment(g) / "header.bin", b"\0"),
    "header.bin garbage": lambda g: garbage(segment(g) / "header.bin"),
    "segment deleted": lambda g: shutil.rmtree(segment(g)),
    "pickle deleted": lambda g: (segment(g) / "index_metadata.pickle").unlink(),
    "pickle garbage": lambda g: garbage(segment(g) / "index_metadata.pickle"),
    "chroma.sqlite3 emptied": lambda g: emptied(g / "chroma.sqlite3"),
    "chroma.sqlite3 garbage": lambda g: garbage(g / "chroma.sqlite3"),
    "chroma.sqlite3 cut": lambda g: cut(g / "chroma.sqlite3"),
    "no embeddings table rows": lambda g: without_embeddings(g / "chroma.sqlite3"),
    "no collections table": lambda g: swapped_for_another(g / "chroma.sqlite3"),
}


@pytest.mark.parametrize("name", CHROMA)
def test_damage_in_chroma_is_set_aside_and_made_good_without_encoding(
    name: str, bench: Bench
) -> None:
    generation = bench.generation()
    CHROMA[name](generation)
    shutil.copytree(generation, bench.paths.root / "copy")
    raw = child(bench.paths.root / "copy", "raw")
    healed = heal(bench.paths)
    aside = [path.name for path in (bench.paths.rag / "set_aside").iterdir()]

    assert raw.returncode != 0 or raw.stdout != "0 of 8", "the damage did no harm"
    healed.assert_whole()
    assert healed.told["lost"] == healed.told["encoded"] == 0
    assert healed.deaths == 0, "it was probed first, as its files had changed"
    assert healed.told["generation"] != generation.name
    assert len(aside) == 1
    assert aside[0].startswith(f"sky-{generation.name}-")
    assert bench.generation().name == healed.told["generation"]


def test_damage_that_shows_in_no_size_and_time_kills_one_engine_only(bench: Bench) -> None:
    generation = bench.generation()
    path = segment(generation) / "data_level0.bin"
    before = path.stat()
    wild_links(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    shutil.copytree(generation, bench.paths.root / "copy")
    raw = child(bench.paths.root / "copy", "raw")
    healed = heal(bench.paths)

    assert raw.returncode < 0, "the damage was to kill"
    healed.assert_whole()
    assert healed.told["encoded"] == 0
    assert healed.deaths == 1


def test_a_graph_in_pieces_is_made_good(bench: Bench) -> None:
    """By a new one; or by Chroma as it opens, where its own queue still has what was damaged."""
    path = segment(bench.generation()) / "data_level0.bin"
    before = path.stat()
    three_in_ten_elsewhere(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    healed = heal(bench.paths)

    healed.assert_whole()
    assert healed.told["lost"] == healed.told["encoded"] == healed.deaths == 0


def current(bench: Bench) -> Path:
    return bench.paths.chroma_store / "sky" / "current.json"


def change_manifest(bench: Bench, **changes: object) -> None:
    path = bench.generation() / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


AROUND: dict[str, Callable[[Bench], object]] = {
    "generation deleted": lambda bench: shutil.rmtree(bench.generation()),
    "rag deleted": lambda bench: shutil.rmtree(bench.paths.rag),
    "manifest of chromadb 0.4": lambda bench: change_manifest(bench, chromadb="0.4.1"),
    "manifest of chromadb 1.9": lambda bench: change_manifest(bench, chromadb="1.9.0"),
    "manifest of another model": lambda bench: change_manifest(bench, model="other"),
    "manifest of another dimension": lambda bench: change_manifest(bench, dimension=768),
    "manifest of another space": lambda bench: change_manifest(bench, space="l2"),
    "manifest not finished": lambda bench: change_manifest(bench, complete=False),
    "manifest garbage": lambda bench: garbage(bench.generation() / "manifest.json"),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_generation_that_does_not_fit_is_made_anew_without_encoding(
    name: str, bench: Bench
) -> None:
    """Hazards D8, D12, D13."""
    before = bench.generation()
    AROUND[name](bench)
    healed = heal(bench.paths)

    healed.assert_whole()
    assert healed.told["lost"] == healed.told["encoded"] == 0
    assert healed.told["generation"] != before.name
    assert not before.exists()
    assert json.loads(current(bench).read_text())["generation"] == bench.generation().name


@pytest.mark.parametrize("damage", [garbage, emptied, Path.unlink])
def test_a_damaged_current_json_is_written_anew(
    damage: Callable[[Path], object], bench: Bench
) -> None:
    generation = bench.generation()
    damage(current(bench))
    healed = heal(bench.paths)

    healed.assert_whole()
    assert bench.generation() == generation
    assert json.loads(current(bench).read_text())["generation"] == generation.name


def zero_some(path: Path) -> None:
    with path.open("r+b") as stream:
        stream.seek(1536 * 100)
        stream.write(bytes(1536 * 10))


def shift_by_one(path: Path) -> None:
    path.write_bytes(path.read_bytes()[1536:] + path.read_bytes()[:1536])


MATRIX: dict[str, tuple[Callable[[Path], object], int]] = {
    "cut": (cut, COUNT - COUNT // 3),
    "zeroed": (lambda path: overwrite(path, b"\0"), COUNT),
    "ten rows zeroed": (zero_some, 10),
    "garbage": (garbage, COUNT),
    "rows shifted": (shift_by_one, COUNT),
    "deleted": (Path.unlink, COUNT),
}


@pytest.mark.parametrize("name", MATRIX)
def test_vectors_that_were_damaged_are_missing_and_put_again(name: str, bench: Bench) -> None:
    damage, lost = MATRIX[name]
    epoch = json.loads(current(bench).read_text())["epoch"]
    damage(bench.cache() / "vectors.f32")
    healed = heal(bench.paths)

    healed.assert_whole()
    assert healed.told["epoch"] != epoch
    assert lost <= healed.told["lost"] <= lost + 1
    assert healed.told["encoded"] == healed.told["lost"]
    assert "damaged" in healed.told["problems"][0]


def no_rows_table(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("DROP TABLE rows")
    database.close()


def page_of_garbage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[8192:16384] = bytes(range(256)) * 32
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [garbage, cut, no_rows_table, page_of_garbage])
def test_a_register_that_can_not_be_read_is_set_aside_and_made_anew(
    damage: Callable[[Path], object], bench: Bench
) -> None:
    epoch = json.loads(current(bench).read_text())["epoch"]
    damage(bench.cache() / "register.db")
    healed = heal(bench.paths)

    healed.assert_whole()
    assert (bench.cache() / "register.db.unreadable").exists()
    assert healed.told["epoch"] != epoch
    assert healed.told["encoded"] == healed.told["lost"] == COUNT
    assert "register.db could not be read" in healed.told["problems"][0]


@pytest.mark.parametrize("what", ["cache", "register"])
def test_a_cache_or_register_that_was_deleted_is_made_anew(what: str, bench: Bench) -> None:
    if what == "cache":
        shutil.rmtree(bench.paths.embeddings)
    else:
        (bench.cache() / "register.db").unlink()
    healed = heal(bench.paths)

    healed.assert_whole()
    assert healed.told["lost"] == COUNT
    assert bench.generation().name == healed.told["generation"]
