"""The jobs keep the word index up to date, at no cost where nothing is new."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem.jobs import index_run, runner
from skymem.jobs import words as keeping
from skymem.stores import words
from skymem.stores.words import WordIndex
from tests.conftest import Desk, line
from tests.stores.word_index import check_whole, opened, path_of, rewrite, teas, write


def kept(desk: Desk) -> tuple[int, int]:
    """Numbers given, and memories that are there, of an index that is right about all lines."""
    with opened(desk) as index:
        index.catalog.catch_up(desk.tiers)
        assert index.words.catch_up(desk.shelf(), index.catalog, lambda: True)  # it needs no batch
        check_whole(index)
        return index.words.count()


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every opening of a word index."""
    found: list[str] = []
    on_disk = WordIndex.on_disk

    def noted(*arguments: Any, **more: Any) -> Any:
        found.append(arguments[2])
        return on_disk(*arguments, **more)

    monkeypatch.setattr(WordIndex, "on_disk", noted)
    return found


def test_what_a_job_moved_is_in_the_word_index_when_it_ends(desk: Desk) -> None:
    desk.limit(2, threshold=0.7)
    desk.echo(line("kept for long", 0.9), *(line(f"chat {n}", 0.1) for n in range(9)))
    detail = desk.run()

    assert (detail["ok"], detail["degraded"]) == (True, [])
    assert len(desk.raw("long")) == 1
    assert len(desk.raw("archive")) > 0
    assert kept(desk)[1] == len(desk.raw("long")) + len(desk.raw("archive"))


def test_where_nothing_is_new_no_index_is_opened(desk: Desk, openings: list[str]) -> None:
    write(desk.tiers.long_term, *teas(5))
    desk.run()
    assert openings == ["sky"]
    for job in ("memory_rotate_check", "promote", "merge", "prune"):
        desk.run(job)
    assert openings == ["sky"]
    write(desk.tiers.long_term, *teas(1, start=5))
    desk.run()
    assert openings == ["sky", "sky"]
    assert kept(desk) == (6, 6)


def test_one_that_is_gone_is_made_again_by_the_next_job(desk: Desk) -> None:
    write(desk.tiers.long_term, *teas(5))
    desk.run()
    for path in desk.paths.words.iterdir():
        path.unlink()
    desk.run()
    assert kept(desk) == (5, 5)


def test_a_dry_run_makes_none(desk: Desk) -> None:
    write(desk.tiers.long_term, *teas(5))
    work = desk.work()
    work.rehearsing = True
    runner.run(work, "memory_rotate_check", ["sky"], dry_run=True)
    index_run.run(work, ["sky"], dry_run=True)
    assert not desk.paths.words.exists()


def test_a_signal_ends_it_between_two_batches_and_the_next_job_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "BATCH", 3)
    write(desk.tiers.long_term, *teas(10))
    asked: list[int] = []

    def stop() -> str:
        asked.append(1)
        return "SIGTERM" if len(asked) > 4 else ""

    work = desk.work()
    with work.catalog() as catalog:
        catalog.catch_up(desk.tiers)
        work.stop = stop
        keeping.keep_words(work, catalog, ["sky"])
    with opened(desk) as index:
        assert index.words.count() == (9, 9)
    desk.run()
    assert kept(desk) == (10, 10)


def in_the_way(path: Path) -> None:
    path.mkdir(parents=True)


def of_nobody(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.parent.rmdir()
    path.parent.write_text("no directory")


@pytest.mark.parametrize("trouble", [in_the_way, of_nobody])
def test_an_index_that_can_not_be_kept_fails_no_job(
    desk: Desk, trouble: Callable[[Path], None]
) -> None:
    trouble(path_of(desk))
    desk.echo(line("kept for long", 0.9))
    detail = desk.run()

    assert (detail["ok"], len(desk.raw("long"))) == (True, 1)
    assert [one.startswith("word index: ") for one in detail["degraded"]] == [True]


def test_an_index_another_process_writes_to_is_left_to_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(desk.tiers.long_term, *teas(5))
    desk.run()
    write(desk.tiers.long_term, *teas(1, start=5))
    on_disk = WordIndex.on_disk
    monkeypatch.setattr(
        WordIndex, "on_disk", lambda *each, **more: on_disk(*each, **{**more, "busy_ms": 1})
    )
    with opened(desk) as index, index.words._transaction("BEGIN IMMEDIATE"):
        detail = desk.run()
        assert (detail["ok"], detail["degraded"]) == (True, [])
        assert index.words.count() == (5, 5)
    desk.run()
    assert kept(desk) == (6, 6)


def test_one_of_which_most_is_gone_is_made_anew(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "GONE_MIN", 4)
    path = desk.tiers.long_term
    write(path, *teas(9))
    desk.run()
    rewrite(path, teas(5, start=4))
    desk.run()
    rewrite(path, [*teas(4, start=4), *teas(1, start=20)])
    desk.run()
    assert kept(desk) == (10, 5)  # half of them, and not more
    rewrite(path, [*teas(3, start=5), *teas(1, start=20)])
    desk.run()
    assert kept(desk) == (10, 4)
    write(path, *teas(1, start=30))
    desk.run()
    assert kept(desk) == (5, 5)


def test_the_index_job_keeps_it_with_and_without_an_engine(desk: Desk) -> None:
    write(desk.tiers.long_term, *teas(5))
    index_run.run(desk.work(), ["sky"])
    assert kept(desk) == (5, 5)
    rewrite(desk.tiers.long_term, teas(2))
    index_run.run(desk.work(), ["sky"])
    assert kept(desk) == (5, 2)
    inode = os.stat(path_of(desk)).st_ino
    index_run.run(desk.work(), ["sky"], force=True)
    assert kept(desk) == (2, 2)
    assert os.stat(path_of(desk)).st_ino == inode  # readers see the old one, or the new one
