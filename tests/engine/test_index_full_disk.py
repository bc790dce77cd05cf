"""A disk with no room: refused before anything is written, made good once there is room (D3)."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.engine import keeper, room
from skymem.engine.chroma import _translated
from skymem.engine.items import Item
from skymem.engine.room import explained_bytes, file_bytes_max, index_bytes
from skymem.engine.vectors import IndexDamageError
from skymem.errors import DiskError
from skymem.stores.home import HomePaths
from tests.engine.conftest import Bench

SIZE = 64 * room.MIB


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Bench]:
    """A home on a filesystem of 64 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    made = Bench(HomePaths(place / "home"))
    made.files.make_directory(made.paths.root)
    yield made
    made.close()
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill_but(path: Path, left: int) -> None:
    """Leave so many bytes free."""
    status = os.statvfs(path.parent)
    with path.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, status.f_bavail * status.f_frsize - left)


def test_a_put_without_room_is_refused_with_numbers_and_changes_nothing(small: Bench) -> None:
    small.put(range(100))
    small.settle()
    before = small.index.stats("sky", 0)
    ballast = small.paths.root / "ballast"
    fill_but(ballast, 8 * room.MIB)
    encoded = small.embedder.encoded
    with pytest.raises(DiskError, match=r"bytes are needed free, [\d,]+ are"):
        small.put(range(100, 200))

    assert small.embedder.encoded == encoded
    assert small.index.stats("sky", 0) == before
    assert small.not_found(range(100)) == []
    ballast.unlink()
    assert len(small.put(range(100, 200))["done"]) == 100
    small.settle()
    assert small.index.stats("sky", 10)["collections"]["memory"]["chroma"] == 200


def test_a_rebuild_waits_for_room_and_answers_meanwhile(
    small: Bench,
) -> None:
    small.put(range(300))
    fill_but(small.paths.root / "ballast", 8 * room.MIB)
    small.settle()
    waiting = small.seen()["problems"]
    answers = small.not_found(range(300))
    (small.paths.root / "ballast").unlink()
    small.index._open["sky"].keeper._paused_until = 0.0
    small.settle()

    assert "indexing waits" in waiting[0]
    assert answers == []
    assert small.seen()["problems"] == []
    assert small.index.stats("sky", 300)["sample"]["found"] > 100


def test_a_disk_that_fills_in_the_middle_of_it_all_loses_nothing(
    small: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check before is switched off, as somebody else may fill the disk after it."""
    small.put(range(100))
    small.settle()
    monkeypatch.setattr(room, "ROOM_BYTES", 0)
    monkeypatch.setattr(room, "ROOM_FACTOR", 0)
    ballast = small.paths.root / "ballast"
    fill_but(ballast, room.MIB // 2)
    failed = 0
    done = 100
    for start in range(100, 2000, 100):
        try:
            small.put(range(start, start + 100))
            done = start + 100
        except DiskError:
            failed += 1
        small.index.tend()
    kept = small.index.missing("sky", "memory", [(f"m{n}", f"d{n}") for n in range(done)])

    assert failed > 0
    assert kept["missing"] == []
    assert small.not_found(range(done)) == []
    ballast.unlink()
    small.index._open["sky"].keeper._paused_until = 0.0
    small.put(range(2000))
    small.settle()
    stats = small.index.stats("sky", 100)
    assert stats["collections"]["memory"]["chroma"] == 2000
    assert (stats["missing"], stats["extra"]) == (0, 0)


def test_a_disk_that_fills_under_chroma_costs_a_generation_and_no_answer(
    small: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.put(range(100))
    small.settle()
    small.put(range(100, 2000))
    monkeypatch.setattr(room, "ROOM_BYTES", 0)
    monkeypatch.setattr(room, "ROOM_FACTOR", 0)
    ballast = small.paths.root / "ballast"
    fill_but(ballast, room.MIB // 4)
    small.settle()
    problems = small.seen()["problems"]
    answers = small.not_found(range(0, 2000, 9))
    ballast.unlink()
    small.index._open["sky"].keeper._paused_until = 0.0
    small.settle()
    stats = small.index.stats("sky", 100)

    assert "no space left" in problems[0]
    assert answers == []
    assert stats["collections"]["memory"]["chroma"] == 2000
    assert (stats["missing"], stats["extra"]) == (0, 0)


@pytest.mark.parametrize(
    ("left", "told"), [(room.MIB // 4, DiskError), (8 * room.MIB, IndexDamageError)]
)
def test_an_error_that_does_not_say_why_is_a_full_disk_where_the_disk_is_full(
    small: Bench, left: int, told: type[Exception]
) -> None:
    fill_but(small.paths.root / "ballast", left)
    with pytest.raises(told), _translated(small.paths.root):
        raise RuntimeError("Error in compaction: Failed to apply logs to the metadata segment")


def test_a_file_that_outgrows_its_limit_is_damage_that_heals(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(range(1500))

    def far_too_little(*_: int) -> None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (400 * 1024, hard))

    monkeypatch.setattr(keeper, "limit_file_size", far_too_little)
    bench.settle()
    problems = bench.seen()["problems"]
    answers = bench.not_found(range(0, 1500, 11))
    monkeypatch.undo()
    bench.index._open["sky"].keeper._paused_until = 0.0
    bench.settle()

    assert problems
    assert answers == []
    assert bench.seen()["problems"] == []
    assert bench.seen()["healed"] == problems
    assert bench.index.stats("sky", 10)["collections"]["memory"]["chroma"] == 1500


def test_an_index_takes_what_its_vectors_explain_and_no_file_may_outgrow_that(
    bench: Bench,
) -> None:
    bench.put(range(2500))
    bench.settle()
    sizes = [path.stat().st_size for path in bench.paths.root.rglob("*") if path.is_file()]
    path = bench.paths.root / "runaway"

    assert max(sizes) < file_bytes_max(2500, 384) // 4
    assert index_bytes(bench.paths, "sky") < explained_bytes(2500, 384)
    with path.open("wb") as stream, pytest.raises(OSError, match="File too large"):
        os.posix_fallocate(stream.fileno(), 0, file_bytes_max(2500, 384) + 1)


def test_a_text_that_is_repeated_often_takes_its_room_each_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FILE_BYTES_MIN", 4 * room.MIB)
    bench.index.put("sky", "memory", [Item(f"m{n}", "d", "all is well") for n in range(4000)])
    bench.settle()
    bench.close()
    level0 = next(bench.paths.chroma_store.rglob("data_level0.bin")).stat().st_size

    assert level0 > file_bytes_max(1, 384)  # where HNSW is cut off without a word
    assert bench.index.stats("sky", 10)["problems"] == []
