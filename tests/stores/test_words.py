"""The word index is derived: whatever happened to the lines, it says what they say."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skymem.stores import word_lists, words
from skymem.stores.word_file import WordIndexBusyError
from tests.conftest import START, Desk, line
from tests.stores.word_index import Index, check_whole, opened, rewrite, teas, there, write

ARCHIVES = ("short_term_archive_20231113.jsonl", "short_term_archive_20231114.jsonl")


@pytest.fixture
def index(desk: Desk) -> Iterator[Index]:
    with opened(desk) as made:
        yield made


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of three memories, two in a transaction, and segments that are merged by twos."""
    monkeypatch.setattr(words, "BATCH", 3)
    monkeypatch.setattr(words, "BATCHES", 2)
    monkeypatch.setattr(word_lists, "MERGED", 2)


WORDS = ["tea", "Teas", "report", "reports", "straße", "茶を飲む", "x" * 60]
FIELDS = st.fixed_dictionaries(
    {"content": st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)},
    optional={
        "ts": st.integers(0, 9).map(lambda hours: START - 3600 * hours),
        "id": st.sampled_from(["a", "b", "c", "d"]),
        "importance": st.sampled_from([0.0, 0.25, 1.0]),
        "tags": st.lists(st.sampled_from(["tea", "Ünder", "t" * 60]), max_size=2),
        "session": st.sampled_from(["one", "two"]),
    },
)
FILE = st.sampled_from(["long_term.jsonl", *ARCHIVES])
EVENT = st.one_of(
    st.tuples(st.just("append"), FILE, st.lists(FIELDS, min_size=1, max_size=8)),
    st.tuples(st.just("remove"), FILE, st.integers(0, 7)),
    st.tuples(st.just("edit"), FILE, FIELDS),
    st.tuples(st.just("move"), FILE, FILE),
    st.tuples(st.just("delete"), FILE, st.none()),
    st.tuples(st.just("catch up"), st.integers(0, 4), st.none()),
)


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True) if path.exists() else []


def happen(index: Index, event: tuple[str, Any, Any]) -> None:
    what, where, value = event
    if what == "catch up":
        index.catch_up(where)
        return
    directory = index.desk.tiers.directory
    path = directory / where
    lines = lines_of(path)
    if what == "append":
        write(path, *(json.dumps(one).encode() + b"\n" for one in value))
    elif what == "delete":
        path.unlink(missing_ok=True)
    elif what == "remove":
        rewrite(path, lines[:value] + lines[value + 1 :])
    elif what == "edit":
        rewrite(path, [*lines[1:], json.dumps(value).encode() + b"\n"])
    elif value != where:
        write(directory / value, *lines[:2])
        rewrite(path, lines[2:])


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(events=st.lists(EVENT, max_size=14))
@pytest.mark.usefixtures("small")
def test_whatever_happens_to_the_lines_it_says_what_they_say(
    desk: Desk, events: list[tuple[str, Any, Any]]
) -> None:
    for path in (*desk.tiers.directory.glob("*.jsonl"), *desk.paths.state.rglob("*.db*")):
        path.unlink()
    with opened(desk) as index:
        for event in events:
            happen(index, event)
        assert index.catch_up()
        check_whole(index)
        changes = index.words._database.total_changes
        assert index.catch_up()
        assert index.words._database.total_changes == changes  # nothing new costs nothing


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6, 9])
def test_a_file_of_whole_batches_is_read_to_its_end(index: Index, count: int) -> None:
    write(index.desk.tiers.long_term, *teas(count))

    assert index.catch_up(count // 3 + 1)  # so many batches, the last of them short or empty
    check_whole(index)


@pytest.mark.usefixtures("small")
def test_a_file_rewritten_since_the_catalog_read_it_is_not_read_for_ever(index: Index) -> None:
    path = index.desk.tiers.long_term
    write(path, *teas(9))
    index.catalog.catch_up(index.desk.tiers)
    rewrite(path, teas(8, start=1))
    left = iter(range(10))

    assert index.words.catch_up(index.desk.shelf(), index.catalog, lambda: next(left, None) is None)
    assert index.catch_up()
    check_whole(index)


@pytest.mark.parametrize(("batches", "lists"), [(1, 4), (2, 2), (4, 1)])
def test_a_word_of_several_batches_is_listed_once_for_all_of_a_transaction(
    index: Index, monkeypatch: pytest.MonkeyPatch, batches: int, lists: int
) -> None:
    """Writing the lists is what an index costs: fewer and longer ones cost less."""
    monkeypatch.setattr(words, "BATCH", 3)
    monkeypatch.setattr(words, "BATCHES", batches)
    write(index.desk.tiers.long_term, *teas(11))
    assert index.catch_up()

    (written,) = index.words._run("SELECT COUNT(*) FROM postings WHERE key = ?", (b"wtea",))[0]
    assert written == lists
    check_whole(index)


@pytest.mark.usefixtures("small")
def test_when_time_is_up_the_next_call_goes_on_where_it_stopped(index: Index) -> None:
    write(index.desk.tiers.long_term, *teas(10))
    assert not index.catch_up(0)
    assert index.has("tea") == []
    assert not index.catch_up(2)
    assert index.has("tea") == [f"i{n}" for n in range(6)]
    assert not index.catch_up(1)
    assert len(index.has("tea")) == 9
    assert index.catch_up(1)
    check_whole(index)
    assert index.words.count() == (10, 10)  # no memory has been given two numbers


@pytest.mark.usefixtures("small")
def test_after_a_rewrite_what_stayed_keeps_its_number_and_what_went_is_marked(
    index: Index,
) -> None:
    path = index.desk.tiers.long_term
    write(path, *teas(10))
    assert index.catch_up()
    before = {name: doc.doc for name, doc in index.words.numbers(["i0", "i7"]).items()}
    rewrite(path, [*teas(3), *teas(3, start=6), line("coffee now", id="i9")])
    assert index.catch_up()

    check_whole(index)
    assert {name: doc.doc for name, doc in index.words.numbers(["i0", "i7"]).items()} == before
    assert index.words.count() == (11, 7)
    assert index.has("tea") == ["i0", "i1", "i2", "i6", "i7", "i8"]


@pytest.mark.usefixtures("small")
def test_looking_for_what_has_gone_goes_on_where_it_was_stopped(index: Index) -> None:
    path = index.desk.tiers.long_term
    write(path, *teas(12))
    assert index.catch_up()
    rewrite(path, teas(1, start=11))
    assert not index.catch_up(2)  # one for the file, one to look at the first three numbers
    assert index.words.count() == (12, 9)
    assert index.catch_up()
    check_whole(index)


def test_what_is_moved_from_one_tier_to_another_is_listed_under_its_tier(index: Index) -> None:
    directory = index.desk.tiers.directory
    write(index.desk.tiers.long_term, *teas(2))
    write(directory / ARCHIVES[0], *teas(1))  # a copy made by hand: long-term has it
    assert index.catch_up()
    rewrite(index.desk.tiers.long_term, teas(1, start=1))
    assert index.catch_up()

    check_whole(index)  # and the copy counts, although its file did not change
    assert there(index)["i0"][0] == "archive"


def test_how_far_it_came_with_a_file_is_not_told_of_another_in_its_place(index: Index) -> None:
    desk = index.desk
    write(desk.tiers.long_term, *teas(3))
    assert index.catch_up()
    size = desk.tiers.long_term.stat().st_size
    assert index.words.covered(desk.tiers) == {"long_term.jsonl": size}
    write(desk.tiers.long_term, *teas(1, start=3))
    assert index.words.covered(desk.tiers) == {"long_term.jsonl": size}
    rewrite(desk.tiers.long_term, teas(9, start=3))
    assert index.words.covered(desk.tiers) == {}


def test_begun_anew_it_is_empty_and_filled_again(index: Index) -> None:
    write(index.desk.tiers.long_term, *teas(5))
    assert index.catch_up()
    index.words.begin_anew()
    assert index.words.count() == (0, 0)
    assert index.has("tea") == []
    assert index.catch_up()
    check_whole(index)


@pytest.mark.usefixtures("small")
def test_begun_anew_by_another_in_the_middle_nothing_is_left_out(
    desk: Desk, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BATCHES", 1)  # the other one needs a moment between two of them
    write(desk.tiers.long_term, *teas(10))
    asked: list[int] = []

    def meanwhile() -> bool:
        asked.append(1)
        if len(asked) == 3:
            with opened(desk) as other:
                other.words.begin_anew()
        return False

    index.catalog.catch_up(desk.tiers)
    assert index.words.catch_up(desk.shelf(), index.catalog, meanwhile)
    assert len(asked) == 6
    check_whole(index)


@pytest.mark.usefixtures("small")
def test_who_reads_lines_that_another_has_read_anew_leaves_it_to_that_one(
    desk: Desk, index: Index
) -> None:
    write(desk.tiers.long_term, *teas(10))
    asked: list[int] = []

    def meanwhile() -> bool:
        asked.append(1)
        if len(asked) == 3:
            rewrite(desk.tiers.long_term, teas(9, start=5))
            with opened(desk) as other:
                assert other.catch_up()
        return False

    index.catalog.catch_up(desk.tiers)
    with pytest.raises(WordIndexBusyError):
        index.words.catch_up(desk.shelf(), index.catalog, meanwhile)
    assert index.catch_up()
    check_whole(index)


def test_the_state_is_another_whenever_the_columns_are(desk: Desk, index: Index) -> None:
    path = desk.tiers.long_term
    write(path, *teas(4))
    index.catch_up()
    states = {index.words.state()}
    index.catch_up()
    assert {index.words.state()} == states

    write(path, *teas(1, 4))
    index.catch_up()
    states.add(index.words.state())
    rewrite(path, lines_of(path)[1:])
    index.catch_up()
    states.add(index.words.state())
    index.words.begin_anew()
    index.catch_up()
    states.add(index.words.state())

    assert len(states) == 4
