"""What the ledger's end and size alone say: enough for a monitor, however long the ledger is."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem.errors import DiskError
from skymem.stores import ledger as module
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.ledger_head import head_path, read_head
from skymem.stores.segments import lines_of

ENTRIES = 12


@pytest.fixture
def paths(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path / "home")


@pytest.fixture
def ledger(paths: HomePaths, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Twelve entries in three files of four, the last of them open."""
    monkeypatch.setattr(module, "SEGMENT_BYTES", 700)
    made = Ledger(paths, Files())
    for number in range(ENTRIES):
        assert made.looks_wrong() == ""
        made.append([{"op": "test", "number": number}], 1.0)
    assert len(made.segments()) == 3
    return made


def without(at: int) -> Callable[[bytes], bytes]:
    def damage(raw: bytes) -> bytes:
        lines = raw.splitlines(keepends=True)
        del lines[at]
        return b"".join(lines)

    return damage


def twice(raw: bytes) -> bytes:
    first, *rest = raw.splitlines(keepends=True)
    return b"".join([first, first, *rest])


WRONG = [
    pytest.param(2, without(1), "bytes up to entry 12", id="a line lost"),
    pytest.param(0, without(1), "bytes up to entry 12", id="a line lost from a closed file"),
    pytest.param(1, twice, "lines were changed, removed or inserted", id="a line inserted"),
    pytest.param(2, without(3), "it ends with entry 11, and 12 were written", id="the end lost"),
    pytest.param(2, lambda raw: raw + b"no\n", "its last line is no entry", id="a line added"),
    pytest.param(
        2,
        lambda raw: raw.replace(b'"number":11', b'"number":12'),
        "its last entry, 12, was changed",
        id="the last line changed",
    ),
]


@pytest.mark.parametrize(("file", "damage", "told"), WRONG)
def test_what_is_lost_or_added_shows(
    ledger: Ledger, file: int, damage: Callable[[bytes], bytes], told: str
) -> None:
    path = ledger.segments()[file].path
    path.write_bytes(damage(path.read_bytes()))

    assert told in ledger.looks_wrong()
    ledger.append([{"op": "test"}], 1.0)
    ledger.append([{"op": "test"}], 1.0)
    assert ledger.looks_wrong().endswith("was written, it was not what had been written before")


@pytest.mark.parametrize("files", [[2], [0], [1], [0, 1, 2]])
def test_a_file_that_is_gone_shows(ledger: Ledger, files: list[int]) -> None:
    segments = ledger.segments()
    for file in files:
        segments[file].path.unlink()
    assert ledger.looks_wrong() != ""
    assert ledger.looks_wrong().startswith("nothing of it is left, and 12") == (len(files) == 3)


def test_what_a_kill_leaves_is_nothing_wrong(ledger: Ledger, paths: HomePaths) -> None:
    note = head_path(paths).read_bytes()
    ledger.append([{"op": "test"}], 1.0)
    head_path(paths).write_bytes(note)  # killed between entry and note
    with ledger.path.open("ab") as stream:
        stream.write(b'{"seq": 14, "half of an en')  # killed while it wrote
    assert ledger.looks_wrong() == ""

    ledger.append([{"op": "test"}], 1.0)
    assert (ledger.looks_wrong(), ledger.verify()) == ("", (ENTRIES + 2, []))


def test_without_a_note_or_with_half_of_one_nothing_is_held_against_it(
    ledger: Ledger, paths: HomePaths
) -> None:
    ledger.path.unlink()
    head_path(paths).write_bytes(head_path(paths).read_bytes()[:100])
    assert ledger.looks_wrong() == ""
    head_path(paths).unlink()
    assert ledger.looks_wrong() == ""


def test_the_first_entry_after_damage_is_remembered_and_no_later_one(
    ledger: Ledger, paths: HomePaths
) -> None:
    ledger.path.unlink()
    for _ in range(3):
        ledger.append([{"op": "test"}], 1.0)
        head = read_head(paths)
        assert head is not None
        assert head.flaw == 9


def test_a_ledger_that_is_no_file_can_not_be_read(ledger: Ledger) -> None:
    ledger.path.unlink()
    ledger.path.mkdir()
    with pytest.raises(DiskError, match=r"ledger\.jsonl: Is a directory"):
        ledger.looks_wrong()
    with pytest.raises(DiskError, match=r"ledger\.jsonl: Is a directory"):
        ledger.verify()


def test_a_file_that_is_closed_just_as_it_is_opened_is_read_all_the_same(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = ledger.segments()[-1]
    really_open = os.open
    closed = ledger.path.with_name("ledger_000000000009-000000000012.jsonl")

    def close_first(path: Path, flags: int) -> int:
        if path == ledger.path and not closed.exists():
            ledger.path.rename(closed)
            ledger.path.write_bytes(b"")
        return really_open(path, flags)

    monkeypatch.setattr(os, "open", close_first)
    read = [raw for raw, _ in lines_of(looked_at)]

    assert closed.exists()
    assert len(read) == 4
