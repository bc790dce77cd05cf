"""Cursors tell what the vector index lacks, at the price of what it lacks (row P11)."""

import json
import sqlite3
from collections.abc import Iterator

import pytest

from skymem.stores.catalog import Catalog
from skymem.stores.catalog_file import SCHEMA_VERSION, catalog_path
from skymem.stores.cursors import IndexCursors, index_epoch, rag_pending
from skymem.stores.files import Files
from tests.conftest import Desk, line

EPOCH = "e1"

VERSION_1 = """
CREATE TABLE files (
    file INTEGER PRIMARY KEY, agent TEXT, tier TEXT, name TEXT, inode INTEGER, read_to INTEGER,
    mtime_ns INTEGER, tail BLOB, memories INTEGER, damaged INTEGER, oldest_us INTEGER,
    UNIQUE (agent, name));
CREATE TABLE memories (
    agent TEXT, id TEXT, digest BLOB, file INTEGER, start INTEGER, end INTEGER, time_us INTEGER,
    PRIMARY KEY (agent, id)) WITHOUT ROWID;
CREATE INDEX memories_of_file ON memories (file);
CREATE TABLE ledger (one INTEGER PRIMARY KEY CHECK (one = 1), inode INTEGER, read_to INTEGER);
CREATE TABLE open_runs (run TEXT PRIMARY KEY, agent TEXT, begin TEXT);
CREATE TABLE known (agent TEXT PRIMARY KEY, digests BLOB, named TEXT);
INSERT INTO known VALUES ('sky', x'0102', '{}');
PRAGMA user_version = 1;
"""


@pytest.fixture
def catalog(desk: Desk) -> Iterator[Catalog]:
    made = Catalog.on_disk(desk.paths, Files())
    yield made
    made.close()


def write(desk: Desk, name: str, *numbers: int) -> None:
    with (desk.tiers.directory / name).open("ab") as stream:
        for number in numbers:
            stream.write(line(f"m{number}", 0.9, id=f"i{number:02}"))


def cursors(catalog: Catalog, desk: Desk, epoch: str = EPOCH) -> IndexCursors:
    catalog.catch_up(desk.tiers)
    return IndexCursors(catalog, "sky", epoch)


def passed(found: IndexCursors, tier: str, limit: int) -> list[list[str]]:
    """Pass everything that is owed; returns the ids of each piece."""
    ids = []
    for piece in found.pieces(tier, limit):
        found.passed(piece)
        ids.append([place.id for place in piece.places])
    return ids


def test_what_is_beyond_the_cursor_is_owed_and_nothing_else(desk: Desk, catalog: Catalog) -> None:
    write(desk, "long_term.jsonl", *range(7))
    found = cursors(catalog, desk)
    assert found.owed("long") == 7
    assert passed(found, "long", 3) == [["i00", "i01", "i02"], ["i03", "i04", "i05"], ["i06"]]
    assert found.owed("long") == 0
    write(desk, "long_term.jsonl", 7, 8)
    found = cursors(catalog, desk)
    assert found.owed("long") == 2
    assert passed(found, "long", 3) == [["i07", "i08"]]


def test_each_file_of_a_tier_has_a_cursor_of_its_own(desk: Desk, catalog: Catalog) -> None:
    write(desk, "short_term_archive_20250101T000000Z.jsonl", 1, 2)
    write(desk, "short_term_archive_20250102T000000Z.jsonl", 3)
    found = cursors(catalog, desk)
    assert passed(found, "archive", 10) == [["i01", "i02"], ["i03"]]
    write(desk, "short_term_archive_20250101T000000Z.jsonl", 4)
    assert passed(cursors(catalog, desk), "archive", 10) == [["i04"]]
    assert found.owed("long") == 0


def test_another_epoch_of_the_index_owes_everything(desk: Desk, catalog: Catalog) -> None:
    write(desk, "long_term.jsonl", 1, 2)
    passed(cursors(catalog, desk), "long", 10)
    anew = cursors(catalog, desk, "e2")
    assert anew.owed("long") == 2
    assert passed(anew, "long", 10) == [["i01", "i02"]]
    assert cursors(catalog, desk).owed("long") == 2


def test_a_file_written_anew_owes_everything(desk: Desk, catalog: Catalog) -> None:
    write(desk, "long_term.jsonl", 1, 2, 3)
    passed(cursors(catalog, desk), "long", 10)
    desk.tiers.long_term.unlink()
    write(desk, "long_term.jsonl", 1, 3)
    assert cursors(catalog, desk).owed("long") == 2


def test_a_piece_of_lines_that_were_written_anew_passes_nothing(
    desk: Desk, catalog: Catalog
) -> None:
    write(desk, "long_term.jsonl", 1, 2, 3)
    found = cursors(catalog, desk)
    first, second = found.pieces("long", 2)
    desk.tiers.long_term.unlink()
    write(desk, "long_term.jsonl", 4, 5, 6)
    owed = cursors(catalog, desk)

    assert not found.passed(first)
    assert not found.passed(second)  # nor where only what is before it was never handed over
    assert owed.owed("long") == 3
    assert passed(owed, "long", 2) == [["i04", "i05"], ["i06"]]
    assert owed.owed("long") == 0


def test_blank_and_damaged_lines_at_the_end_owe_nothing(desk: Desk, catalog: Catalog) -> None:
    write(desk, "long_term.jsonl", 1)
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(b"\nno json\n\n")
    found = cursors(catalog, desk)
    assert passed(found, "long", 10) == [["i01"]]
    assert (found.owed("long"), passed(found, "long", 10)) == (0, [])


def test_short_term_is_known_as_it_was_in_one_epoch(desk: Desk, catalog: Catalog) -> None:
    found = cursors(catalog, desk)
    assert not found.short_known(b"one")
    found.short_passed(b"one")
    assert found.short_known(b"one")
    assert not found.short_known(b"two")
    assert not cursors(catalog, desk, "e2").short_known(b"one")


def test_what_is_owed_goes_by_the_epoch_the_engine_wrote(desk: Desk, catalog: Catalog) -> None:
    write(desk, "long_term.jsonl", 1, 2)
    passed(cursors(catalog, desk), "long", 10)
    assert rag_pending(desk.paths, catalog, "sky") == 2  # no index at all
    current = desk.paths.chroma_store / "sky" / "current.json"
    current.parent.mkdir(parents=True)
    current.write_text(json.dumps({"generation": "g1", "epoch": EPOCH, "model": "m"}))
    assert rag_pending(desk.paths, catalog, "sky") == 0
    for damage in ("", "[]", "{}", '{"epoch": 3}', "\ufffd"):
        current.write_text(damage)
        assert index_epoch(desk.paths, "sky") == ""
        assert rag_pending(desk.paths, catalog, "sky") == 2


def test_a_catalog_of_the_version_before_keeps_what_it_knows(desk: Desk) -> None:
    path = catalog_path(desk.paths)
    path.parent.mkdir(parents=True, exist_ok=True)
    old = sqlite3.connect(path)
    old.executescript(VERSION_1)
    old.close()
    write(desk, "long_term.jsonl", 1)
    catalog = Catalog.on_disk(desk.paths, Files())
    assert catalog.known("sky") == (b"\x01\x02", {})
    assert passed(cursors(catalog, desk), "long", 10) == [["i01"]]
    assert catalog.database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    catalog.close()
    assert not list(desk.paths.state.glob("*.unreadable"))
