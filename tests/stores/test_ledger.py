"""The ledger shows every change, removal and insertion, and survives what a kill leaves (M8)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import IDS_PER_ENTRY, Ledger, in_batches

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(HomePaths(tmp_path / "home"), Files())
    for number in range(5):
        made.append([{"op": "test", "number": number}], 1.0)
    return made


def test_entries_are_numbered_and_chained(ledger: Ledger) -> None:
    entries = [entry for _, entry in ledger.read_from(0)]
    assert [entry["seq"] for entry in entries] == [1, 2, 3, 4, 5]
    assert [entry["prev"] for entry in entries[1:]] == [entry["hash"] for entry in entries[:-1]]
    assert ledger.verify() == (5, [])


def change(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[2].replace(b'"number":2', b'"number":7'), *lines[3:]]


def remove(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], *lines[3:]]


def swap(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], lines[3], lines[2], *lines[4:]]


def insert(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], *lines[2:]]


def spoil(lines: list[bytes]) -> list[bytes]:
    return [*lines[:2], b"garbage\n", *lines[3:]]


@pytest.mark.parametrize("tamper", [change, remove, swap, insert, spoil])
def test_whoever_meddles_with_an_entry_is_seen(
    ledger: Ledger, tamper: Callable[[list[bytes]], list[bytes]]
) -> None:
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join(tamper(lines)))
    assert ledger.verify()[1]


def test_an_entry_cut_short_is_set_aside_and_the_chain_goes_on(ledger: Ledger) -> None:
    with ledger.path.open("ab") as stream:
        stream.write(b'{"seq":6,"half')
    ledger.append([{"op": "test"}], 1.0)
    assert ledger.verify() == (6, [])
    (kept,) = (ledger.path.parent / "torn").glob("*.raw")
    assert kept.read_bytes() == b'{"seq":6,"half'


def test_a_later_entry_cut_short_at_the_same_place_is_set_aside_beside_the_first(
    ledger: Ledger,
) -> None:
    for number, now in enumerate((2.0, 2.000001)):
        whole = ledger.size()
        with ledger.path.open("ab") as stream:
            stream.write(b"half%d" % number)
        ledger.append([{"op": "test"}], now)
        os.truncate(ledger.path, whole)
    kept = sorted((ledger.path.parent / "torn").glob("*.raw"))

    assert [path.read_bytes() for path in kept] == [b"half0", b"half1"]


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"",
        b"[" * 100_000,
        b'{"seq": "x", "hash": "y"}',
        b'{"seq": 1, "hash": 2}',
        b'{"seq": 6, "prev": NaN, "hash": "y"}',
    ],
)
def test_a_line_that_is_no_entry_is_told_with_its_place(ledger: Ledger, line: bytes) -> None:
    with ledger.path.open("ab") as stream:
        stream.write(line + b"\n")

    assert ledger.verify() == (5, ["ledger.jsonl: line 6 is no entry"])
    ledger.append([{"op": "test"}], 1.0)
    assert ledger.verify() == (6, ["ledger.jsonl: line 6 is no entry"])


APPENDER = """
import sys
from pathlib import Path
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
ledger = Ledger(HomePaths(Path(sys.argv[1])), Files())
for number in range(30):
    ledger.append([{"op": "test"}, {"op": "test"}], 1.0)
"""


def test_two_processes_make_one_chain(ledger: Ledger) -> None:
    home = str(ledger.path.parents[1])
    children = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, home], env={**os.environ, "PYTHONPATH": str(ROOT)}
        )
        for _ in range(2)
    ]
    assert [child.wait() for child in children] == [0, 0]
    assert ledger.verify() == (125, [])


def test_many_ids_are_spread_over_entries_short_enough_to_read_back(ledger: Ledger) -> None:
    ids = [f"{number:024x}" for number in range(100_000)]
    ledger.append(in_batches("ids", ids, op="remember", agent="sky"), 1.0)
    assert ledger.verify() == (5 + 100_000 // IDS_PER_ENTRY, [])
    longest = max(map(len, ledger.path.read_bytes().splitlines()))
    assert longest < 32 * 1024
    found = [name for _, entry in ledger.read_from(0) for name in entry.get("ids", [])]
    assert found == ids


def test_nothing_to_say_writes_nothing(ledger: Ledger) -> None:
    size = ledger.size()
    ledger.append(in_batches("ids", [], op="remember"), 1.0)
    assert ledger.size() == size


def test_a_ledger_nobody_has_written_is_empty_and_sound(tmp_path: Path) -> None:
    ledger = Ledger(HomePaths(tmp_path / "other"), Files())
    assert (ledger.size(), ledger.verify(), list(ledger.read_from(0))) == (0, (0, []), [])


def test_reading_goes_on_from_where_it_stopped(ledger: Ledger) -> None:
    ends = [end for end, _ in ledger.read_from(0)]
    assert [entry["seq"] for _, entry in ledger.read_from(ends[2])] == [4, 5]
    assert json.loads(ledger.path.read_bytes()[ends[3] : ends[4]])["seq"] == 5
