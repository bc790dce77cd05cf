"""The catalog is derived: it costs what is new, and losing it costs a reading (design §3)."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.stores.catalog import Catalog
from skymem.stores.catalog_file import SCHEMA_VERSION, catalog_path
from skymem.stores.files import Files
from tests.conftest import Desk, line

SIZE = 1024 * 1024


@pytest.fixture
def catalog(desk: Desk) -> Iterator[Catalog]:
    """A catalog that has read a long-term file of about 8 MB."""
    with desk.tiers.long_term.open("wb") as stream:
        for number in range(8000):
            stream.write(line(f"m{number}", 0.9, id=f"i{number:05}", pad="x" * 900))
    made = Catalog.on_disk(desk.paths, Files())
    made.catch_up(desk.tiers)
    yield made
    made.close()


def has(catalog: Catalog, *ids: str) -> list[str]:
    return sorted(catalog.find("sky", ids))


def bytes_read() -> int:
    """What this process has read so far, by the kernel's count."""
    fields = dict(row.split(": ") for row in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def catch_up(catalog: Catalog, desk: Desk) -> tuple[int, int]:
    """Catch up; returns bytes read and rows changed."""
    reads, rows = bytes_read(), catalog._database.total_changes
    catalog.catch_up(desk.tiers)
    return bytes_read() - reads, catalog._database.total_changes - rows


def test_what_was_appended_is_read_and_nothing_else(catalog: Catalog, desk: Desk) -> None:
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(line("new", 0.9, id="new"))
    reads, rows = catch_up(catalog, desk)
    assert reads < 1_500_000  # the last newline is looked for a block at a time
    assert rows < 10
    assert has(catalog, "i00000", "i07999", "new") == ["i00000", "i07999", "new"]
    assert catalog.counts("sky")[0].memories == 8001


def test_of_ids_in_no_order_what_was_written_is_not_read_again(desk: Desk) -> None:
    """Each goes somewhere else in the file: as much of that is held as the reading needs."""
    with desk.tiers.long_term.open("wb") as stream:
        for number in range(16_000):
            stream.write(line(f"m{number}", 0.9))
    made = Catalog.on_disk(desk.paths, Files())
    usual = made.database.execute("PRAGMA cache_size").fetchone()
    reads, _ = catch_up(made, desk)
    held = made.database.execute("PRAGMA cache_size").fetchone()
    made.close()

    lines, kept = desk.tiers.long_term.stat().st_size, catalog_path(desk.paths).stat().st_size
    assert reads < lines + 2 * kept + SIZE  # of the catalog once: from its log to its file
    assert held == usual  # and given back


def test_files_that_did_not_change_are_not_read(catalog: Catalog, desk: Desk) -> None:
    reads, rows = catch_up(catalog, desk)
    assert (reads < 20_000, rows) == (True, 0)


def test_a_hand_edit_of_the_same_length_is_seen(catalog: Catalog, desk: Desk) -> None:
    with desk.tiers.long_term.open("r+b") as stream:
        data = stream.read()
        stream.seek(0)
        stream.write(data.replace(b'"i00100"', b'"j00100"'))
    reads, _ = catch_up(catalog, desk)
    assert reads > 7_000_000
    assert has(catalog, "i00100", "j00100", "i00101") == ["i00101", "j00100"]


def test_a_file_cut_short_is_read_again(catalog: Catalog, desk: Desk) -> None:
    os.truncate(desk.tiers.long_term, 5000 * len(line("m0000", 0.9, id="i00000", pad="x" * 900)))
    catalog.catch_up(desk.tiers)
    assert has(catalog, "i00100", "i07999") == ["i00100"]


def test_a_file_put_in_its_place_is_read_from_the_start(catalog: Catalog, desk: Desk) -> None:
    other = desk.tiers.directory / "other"
    other.write_bytes(line("x", 0.9, id="other") * 1 + desk.tiers.long_term.read_bytes())
    other.rename(desk.tiers.long_term)
    catalog.catch_up(desk.tiers)
    assert has(catalog, "other", "i00000") == ["i00000", "other"]
    assert catalog.counts("sky")[0].memories == 8001


def test_an_archive_that_was_deleted_is_forgotten(catalog: Catalog, desk: Desk) -> None:
    archive = desk.tiers.directory / "short_term_archive_20250101T000000Z.jsonl"
    archive.write_bytes(line("old", 0.1, id="old"))
    catalog.catch_up(desk.tiers)
    assert catalog.find("sky", ["old"])["old"].tier == "archive"
    archive.unlink()
    catalog.catch_up(desk.tiers)
    assert has(catalog, "old", "i00000") == ["i00000"]


def test_a_found_memory_is_where_the_catalog_says(catalog: Catalog, desk: Desk) -> None:
    found = catalog.find("sky", ["i00042"])["i00042"]
    data = desk.tiers.long_term.read_bytes()[found.start : found.end]
    assert data == line("m42", 0.9, id="i00042", pad="x" * 900)
    assert catalog.find_by_prefix("sky", "i0004", 3) == ["i00040", "i00041", "i00042"]


def test_damage_in_a_tier_is_counted_and_passed_over(catalog: Catalog, desk: Desk) -> None:
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(b"garbage\n" + line("new", 0.9, id="new"))
    catalog.catch_up(desk.tiers)
    assert has(catalog, "new") == ["new"]
    assert catalog.counts("sky")[0].damaged == 1


def test_agents_do_not_see_each_other(catalog: Catalog) -> None:
    assert not catalog.find("hobbs", ["i00000"])


def spoil_with_garbage(path: Path) -> None:
    path.write_bytes(b"not a database" * 1000)


def spoil_in_the_middle(path: Path) -> None:
    with path.open("r+b") as stream:
        for page in range(1, path.stat().st_size // 4096):
            stream.seek(page * 4096)
            stream.write(b"\xff" * 4096)


def spoil_the_version(path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    database.close()


def spoil_by_emptying(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "spoil",
    [spoil_with_garbage, spoil_in_the_middle, spoil_the_version, spoil_by_emptying, Path.unlink],
)
def test_a_run_goes_on_without_the_catalog_and_makes_it_anew(desk: Desk, spoil: object) -> None:
    assert callable(spoil)
    desk.echo(line("a", 0.9), line("b", 0.1))
    desk.run()
    for side in ("-wal", "-shm"):
        catalog_path(desk.paths).with_name(f"catalog.db{side}").unlink(missing_ok=True)
    spoil(catalog_path(desk.paths))
    desk.echo(line("a", 0.9), line("c", 0.9))  # `a` again: only the catalog knows of it
    detail = desk.run()
    assert detail["ok"]
    assert detail["repeats"] == 1
    assert desk.contents("long") == ["a", "c"]
    again = desk.run()
    assert again["degraded"] == []
    assert catalog_path(desk.paths).stat().st_mode & 0o777 == 0o600


def test_a_state_directory_nobody_can_use_makes_a_run_slower_and_as_right(desk: Desk) -> None:
    desk.echo(line("a", 0.9))
    desk.run()
    shutil.rmtree(desk.paths.state)
    desk.paths.state.write_bytes(b"in the way")
    desk.echo(line("a", 0.9), line("b", 0.9))
    detail = desk.run()
    assert detail["ok"]
    assert detail["degraded"][0].startswith("catalog: ")
    assert desk.contents("long") == ["a", "b"]
