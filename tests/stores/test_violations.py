"""The record of crossings: counted, in the ledger, an alarm until somebody has looked (row M7)."""

from pathlib import Path

import pytest

from skymem.errors import DiskError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.violations import (
    Count,
    Crossing,
    Violations,
    damage,
    read_violations,
    violations_path,
)

CROSSING = Crossing("sky", "hobbs", "python")


@pytest.fixture
def paths(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path)


def record(paths: HomePaths, files: Files | None = None) -> Violations:
    files = files or Files()
    return Violations(paths, files, Ledger(paths, files, actor="cli:7"))


def test_each_is_counted_and_on_record_by_whose_door(paths: HomePaths) -> None:
    record(paths).note(CROSSING, 1_000.0)
    record(paths).note(Crossing("sky", "*", "cli:status"), 1_001.0)
    record(paths).note(Crossing("aegis", "sky", "mcp"), 1_002.0)

    counts = read_violations(paths)
    last = {"ts": 1_001.0, "whose": "*", "door": "cli:status"}
    assert counts["sky"] == Count(2, 2, last)
    assert counts["aegis"].count == 1
    told = [(one["agent"], one["whose"], one["door"], one["by"]) for one in record(paths).listed()]
    assert told[0] == ("sky", "hobbs", "python", "cli:7")
    assert len(told) == 3


def test_acknowledging_takes_the_alarm_back_and_keeps_the_count(paths: HomePaths) -> None:
    record(paths).note(CROSSING, 1_000.0)
    record(paths).note(Crossing("aegis", "sky", "mcp"), 1_002.0)

    assert record(paths).acknowledge(1_003.0, "sky") == 1
    assert {name: one.open for name, one in read_violations(paths).items()} == {
        "sky": 0,
        "aegis": 1,
    }
    assert record(paths).acknowledge(1_004.0) == 1
    assert record(paths).acknowledge(1_005.0) == 0
    assert read_violations(paths)["sky"].count == 1
    entries = [entry for _, entry in Ledger(paths, Files()).read_from(0)]
    assert [one["op"] for one in entries].count("acknowledge") == 2


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b'{"agents": 3}', b'{"agents": {"sky": {"count": "x"}}}', b"\xff"]
)
def test_a_damaged_count_is_told_and_counted_anew_from_the_ledger(
    paths: HomePaths, text: bytes
) -> None:
    record(paths).note(CROSSING, 1_000.0)
    violations_path(paths).write_bytes(text)

    assert "can't be read" in damage(paths)
    assert read_violations(paths) == {}
    assert record(paths).acknowledge(1_001.0) == 1
    assert damage(paths) == ""
    assert read_violations(paths)["sky"].count == 1


class LedgerOnAFullDisk(Files):
    """Takes small files, and no more entries."""

    def append(self, path: Path, data: bytes, *, shared: bool = False, synced: bool = True) -> int:
        del data, shared, synced
        raise DiskError(str(path), "no space left")


def test_one_the_ledger_has_no_room_for_is_counted_all_the_same(paths: HomePaths) -> None:
    with pytest.raises(DiskError):
        record(paths, LedgerOnAFullDisk()).note(CROSSING, 1_000.0)

    assert read_violations(paths)["sky"].open == 1
