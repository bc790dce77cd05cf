"""What a run asks the catalog costs what is found or new, however much is stored (design §7).

Counted are the steps of SQLite's machine and the bytes read, not time.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skymem.stores.catalog import Catalog
from skymem.stores.cursors import IndexCursors
from skymem.stores.files import Files
from skymem.stores.lifecycle import Lifecycle
from tests.conftest import Desk, line
from tests.stores.test_catalog import bytes_read

FEW, MANY = 100, 3_000
DAY_US = 86_400_000_000
EVER = 10_000 * 365 * DAY_US
ARCHIVE = "short_term_archive_20250101T000000Z.jsonl"


def fill(path: Path, count: int, name: str) -> None:
    with path.open("ab") as stream:
        for number in range(count):
            worth = 0.3 + number % 7 / 10
            stream.write(line(f"{name} {number}", worth, ts=1000 + number, id=f"{name}{number}"))


def steps(catalog: Catalog, ask: Callable[[], object]) -> int:
    """How many steps SQLite's machine took to answer, by tens."""
    taken = 0

    def count() -> int:
        nonlocal taken
        taken += 10
        return 0

    catalog.database.set_progress_handler(count, 10)
    try:
        ask()
    finally:
        catalog.database.set_progress_handler(None, 10)
    return taken


@contextlib.contextmanager
def filled(desk: Desk, count: int) -> Iterator[Catalog]:
    fill(desk.tiers.long_term, count, "long")
    fill(desk.tiers.directory / ARCHIVE, count // 2, "kept")
    catalog = Catalog.on_disk(desk.paths, Files())
    catalog.catch_up(desk.tiers)
    try:
        yield catalog
    finally:
        catalog.close()


def pass_half(catalog: Catalog) -> IndexCursors:
    """As an index that has half of long-term; the job that fills it goes on later."""
    cursors = IndexCursors(catalog, "sky", "e1")
    half = catalog.counts("sky")[0].memories // 2
    cursors.passed(next(cursors.pieces("long", half)))
    return cursors


ASKED: dict[str, Callable[[Catalog], object]] = {
    "old and worth little": lambda catalog: Lifecycle(catalog, "sky").old(EVER, 0.3),
    "said twice": lambda catalog: Lifecycle(catalog, "sky").repeated(),
    "the end of an archive": lambda catalog: Lifecycle(catalog, "sky").newest_us(ARCHIVE),
    "owed to the index": lambda catalog: IndexCursors(catalog, "sky", "e1").owed("long"),
}


@pytest.mark.parametrize("what", ASKED)
def test_a_question_of_a_run_with_nothing_to_do_costs_the_same_whatever_is_stored(
    desk: Desk, what: str
) -> None:
    taken = []
    for count in (FEW, MANY):
        with filled(desk, count) as catalog:
            pass_half(catalog)
            taken.append(steps(catalog, lambda: ASKED[what](catalog)))
    assert taken[1] <= taken[0] + 100


def test_what_is_old_and_worth_little_is_found_by_its_worth_or_that_of_its_kind(
    desk: Desk,
) -> None:
    with filled(desk, FEW) as catalog:
        with desk.tiers.long_term.open("ab") as stream:
            stream.write(line("poor", 0.1, ts=5, id="poor"))
            stream.write(line("young", 0.1, ts=10**9, id="young"))
            stream.write(line("bare", None, ts=5, id="bare"))
            stream.write(line("log", None, ts=5, id="log", kind="log"))
        catalog.catch_up(desk.tiers)
        life = Lifecycle(catalog, "sky")
        found = {below: {one.id for one in life.old(10**12, below)} for below in (0.2, 0.3, 0.51)}
        of_kinds = {None: life._kinds.of(None).importance, "log": life._kinds.of("log").importance}
    bare = {"bare": of_kinds[None], "log": of_kinds["log"]}
    for below, ids in found.items():
        assert ids & {"bare", "log"} == {name for name, worth in bare.items() if worth < below}
        assert "poor" in ids
        assert "young" not in ids
    assert "long0" not in found[0.3]
    assert "long0" in found[0.51]


def test_worths_that_are_nearly_all_different_are_found_all_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(desk, FEW) as catalog:
        life = Lifecycle(catalog, "sky")
        one_by_one = life.old(EVER, 0.55)
        monkeypatch.setattr("skymem.stores.lifecycle.DIFFERENT_MAX", 3)
        assert sorted(life.old(EVER, 0.55)) == sorted(one_by_one)
        assert one_by_one


@pytest.mark.parametrize("at_once", [True, False])
def test_words_said_twice_are_known_whether_they_came_at_once_or_one_by_one(
    desk: Desk, *, at_once: bool
) -> None:
    with filled(desk, FEW) as catalog:
        for name in ("one", "two"):
            with desk.tiers.long_term.open("ab") as stream:
                stream.write(line("The very same.", 0.9, id=name))
            if not at_once:
                catalog.catch_up(desk.tiers)
        catalog.catch_up(desk.tiers)
        assert {one.id for one in Lifecycle(catalog, "sky").repeated()} == {"one", "two"}


def test_what_is_owed_is_counted_as_the_cursor_goes(desk: Desk) -> None:
    with filled(desk, FEW) as catalog:
        cursors = pass_half(catalog)
        assert cursors.owed("long") == FEW // 2
        for piece in cursors.pieces("long", 7):
            cursors.passed(piece)
            cursors.passed(piece)  # two runs at once pass the same
        assert cursors.owed("long") == 0
        assert IndexCursors(catalog, "sky", "e2").owed("long") == FEW
        cursors.begin_again()
        assert cursors.owed("long") == FEW


def test_an_archive_that_goes_costs_what_it_had(desk: Desk) -> None:
    with filled(desk, MANY) as catalog:
        pass_half(catalog)
        (desk.tiers.directory / ARCHIVE).unlink()
        before = bytes_read()
        catalog.catch_up(desk.tiers)
        assert bytes_read() - before < desk.tiers.long_term.stat().st_size / 2
        assert not catalog.find("sky", ["kept0"])
        assert catalog.find("sky", ["long0"])["long0"].file == "long_term.jsonl"
        assert IndexCursors(catalog, "sky", "e1").owed("long") == MANY // 2  # it goes on there


def test_an_archive_that_goes_gives_way_to_who_has_the_same_memory(desk: Desk) -> None:
    with filled(desk, FEW) as catalog:
        other = desk.tiers.directory / "short_term_archive_20250201T000000Z.jsonl"
        other.write_bytes((desk.tiers.directory / ARCHIVE).read_bytes())
        catalog.catch_up(desk.tiers)
        assert catalog.find("sky", ["kept0"])["kept0"].file == ARCHIVE
        (desk.tiers.directory / ARCHIVE).unlink()
        catalog.catch_up(desk.tiers)
        assert catalog.find("sky", ["kept0"])["kept0"].file == other.name
        assert [one.memories for one in catalog.counts("sky")] == [FEW, FEW // 2]
