"""Lines that leave a tier cost the catalog and the word index what left, not what stays (§7)."""

import random
import sqlite3
from collections.abc import Iterator, Sequence

import pytest

from skymem.stores.catalog import Catalog
from skymem.stores.catalog_cut import cut
from skymem.stores.catalog_file import catalog_path
from skymem.stores.cursors import IndexCursors
from skymem.stores.edits import Edit
from skymem.stores.files import Files
from skymem.stores.lifecycle import Lifecycle
from tests.conftest import Desk, line
from tests.stores.word_index import opened, write

COUNT = 400
LONG = "long_term.jsonl"


@pytest.fixture
def catalog(desk: Desk) -> Iterator[Catalog]:
    with desk.tiers.long_term.open("wb") as stream:
        for number in range(COUNT):
            links = [f"was{number}"] if number % 5 == 0 else []
            stream.write(line(f"m {number}", ts=1000 + number, id=f"i{number}", supersedes=links))
            if number % 50 == 0:
                stream.write(b"\nno json\n")
    made = Catalog.on_disk(desk.paths, Files())
    made.catch_up(desk.tiers)
    yield made
    made.close()


def edits(catalog: Catalog, numbers: Sequence[int]) -> list[Edit]:
    found = catalog.find("sky", [f"i{number}" for number in numbers])
    return sorted(Edit(place.start, place.end) for place in found.values())


def knowledge(catalog: Catalog) -> list[object]:
    """All that is kept of an agent's tiers, but for the numbers of files and index cursors."""
    ask = catalog.database.execute
    files = "read_to, mtime_ns, tail, memories, damaged, oldest_us, newest_us, inode, name"
    return [
        ask(f"SELECT {files} FROM files ORDER BY name").fetchall(),
        ask("SELECT id, start, end, time_us FROM memories ORDER BY id").fetchall(),
        ask("SELECT id, start, end FROM repeats ORDER BY id, start").fetchall(),
        ask("SELECT target, relation, source FROM links ORDER BY 1, 2, 3").fetchall(),
    ]


def anew(desk: Desk) -> list[object]:
    made = Catalog.in_memory()
    made.catch_up(desk.tiers)
    try:
        return knowledge(made)
    finally:
        made.close()


@pytest.mark.parametrize("numbers", [[0], [7], [COUNT - 1], [3, 4, 5, 50, 51, 399], range(COUNT)])
def test_what_stays_is_known_as_if_it_had_been_read(
    desk: Desk, catalog: Catalog, numbers: Sequence[int]
) -> None:
    cut(desk.tiers, Files(), catalog, LONG, edits(catalog, numbers))
    assert knowledge(catalog) == anew(desk)
    rows = catalog.database.total_changes
    catalog.catch_up(desk.tiers)
    assert catalog.database.total_changes == rows  # there was nothing left to read


def test_any_lines_may_leave_one_time_after_the_other(desk: Desk, catalog: Catalog) -> None:
    chance = random.Random(3)
    left = [*range(COUNT)]
    while len(left) > 20:
        some = chance.sample(left, chance.randint(1, 40))
        left = [number for number in left if number not in some]
        cut(desk.tiers, Files(), catalog, LONG, edits(catalog, some))
        assert knowledge(catalog) == anew(desk)
        if chance.random() < 0.5:
            with desk.tiers.long_term.open("ab") as stream:
                stream.write(line("new", id=f"i{COUNT + len(left)}"))
        catalog.catch_up(desk.tiers)
        assert knowledge(catalog) == anew(desk)


def test_a_memory_that_has_another_line_is_read_again(desk: Desk, catalog: Catalog) -> None:
    again = line("m 7 as a hand has it", ts=5, id="i7")
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(again)
    catalog.catch_up(desk.tiers)
    cut(desk.tiers, Files(), catalog, LONG, edits(catalog, [7]))
    catalog.catch_up(desk.tiers)
    assert knowledge(catalog) == anew(desk)
    place = catalog.find("sky", ["i7"])["i7"]
    assert desk.tiers.long_term.read_bytes()[place.start : place.end] == again


def test_what_a_hand_changed_before_or_appended_after_is_read(desk: Desk, catalog: Catalog) -> None:
    gone = edits(catalog, [7])
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(line("by hand", id="hand"))  # the catalog does not know of it
    cut(desk.tiers, Files(), catalog, LONG, gone)
    catalog.catch_up(desk.tiers)
    assert knowledge(catalog) == anew(desk)
    assert catalog.find("sky", ["hand", "i7"]).keys() == {"hand"}


def test_a_catalog_that_can_not_be_written_is_behind_and_no_harm(
    desk: Desk, catalog: Catalog
) -> None:
    gone = edits(catalog, [7])
    catalog.database.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(catalog_path(desk.paths), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    cut(desk.tiers, Files(), catalog, LONG, gone)
    other.execute("ROLLBACK")
    other.close()
    catalog.catch_up(desk.tiers)
    assert knowledge(catalog) == anew(desk)


def test_an_archive_that_loses_all_is_forgotten(desk: Desk, catalog: Catalog) -> None:
    archive = desk.tiers.directory / "short_term_archive_20250101T000000Z.jsonl"
    archive.write_bytes(line("old", id="old"))
    catalog.catch_up(desk.tiers)
    place = catalog.find("sky", ["old"])["old"]
    cut(desk.tiers, Files(), catalog, archive.name, [Edit(place.start, place.end)])
    catalog.catch_up(desk.tiers)
    assert not archive.exists()
    assert knowledge(catalog) == anew(desk)


def test_the_index_goes_on_where_it_was(desk: Desk, catalog: Catalog) -> None:
    cursors = IndexCursors(catalog, "sky", "e1")
    cursors.passed(next(cursors.pieces("long", 100)))
    cut(desk.tiers, Files(), catalog, LONG, edits(catalog, [3, 50, 200, 300]))
    catalog.catch_up(desk.tiers)
    assert cursors.owed("long") == COUNT - 100 - 2
    piece = next(cursors.pieces("long", 3))
    assert [place.id for place in piece.places] == ["i100", "i101", "i102"]


def test_the_word_index_marks_what_left_and_reads_no_line(desk: Desk) -> None:
    write(desk.tiers.long_term, *(line(f"word{n} common", id=f"i{n}") for n in range(COUNT)))
    with opened(desk) as index:
        assert index.catch_up()
        cut(desk.tiers, Files(), index.catalog, LONG, edits(index.catalog, [7, 200]))
        with desk.tiers.long_term.open("ab") as stream:
            stream.write(line("new common", id="new"))
        index.catalog.catch_up(desk.tiers)
        taken = index.words._database.total_changes
        assert index.catch_up()
        assert index.words._database.total_changes - taken < COUNT / 4
        assert index.has("word7") == index.has("word200") == []
        assert index.has("word8") == ["i8"]
        assert len(index.has("common")) == COUNT - 1


def test_a_job_that_removes_leaves_everything_as_if_it_had_been_read(desk: Desk) -> None:
    over = {"ttl_days": 1, "ts": desk.clock - 9 * 86_400}
    lines = (line(f"m {n}", 0.9, id=f"i{n}", **(over if n % 9 else {})) for n in range(90))
    desk.tiers.long_term.write_bytes(b"".join(lines))
    detail = desk.run("prune")
    assert detail["trashed"] == 80
    with desk.work().catalog() as catalog:
        assert knowledge(catalog) == anew(desk)
        assert Lifecycle(catalog, "sky").count("long") == 10
