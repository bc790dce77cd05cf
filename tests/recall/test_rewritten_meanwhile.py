"""A job that rewrites long-term in the middle of an answer takes nothing out of it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings
from tests.recall.test_the_order import ARCHIVE


@dataclass
class Interrupted(Meanings):
    """Does something once, while it is asked for meaning."""

    meanwhile: Callable[[], None] = lambda: None
    times: int = 1

    def query(self, *arguments: Any, **more: Any) -> dict[str, Any]:
        if self.times:
            self.times -= 1
            self.meanwhile()
        return super().query(*arguments, **more)


def teas(*numbers: int) -> list[bytes]:
    return [line(f"tea number{n}", id=f"i{n}", ts=START - n) for n in numbers]


@pytest.fixture
def cut_back(desk: Desk) -> Iterator[Callable[[], None]]:
    """Take the first line of long-term out, as prune does, so that all others move."""

    def rewrite() -> None:
        path = desk.tiers.long_term
        new = path.with_suffix(".new")
        new.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
        os.replace(new, path)

    desk.tiers.long_term.write_bytes(b"".join(teas(*range(6))))
    yield rewrite
    assert len(desk.raw("long")) < 6  # it did happen


@pytest.mark.parametrize("mode", ["fusion", "hybrid", "semantic"])
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_still_there_is_found_where_it_is_now(
    desk: Desk, ask: Ask, cut_back: Callable[[], None], mode: str, times: int
) -> None:
    engine = Interrupted({f"i{n}": 0.5 for n in range(6)}, meanwhile=cut_back, times=times)
    found = ask("tea", engine=engine, mode=mode)

    assert {one.id for one in found} == {f"i{n}" for n in range(times, 6)}
    assert found.mode == mode


def test_what_was_moved_to_another_tier_meanwhile_is_found_there(
    desk: Desk, ask: Ask, cut_back: Callable[[], None]
) -> None:
    def move() -> None:
        (desk.tiers.directory / ARCHIVE).write_bytes(teas(0)[0])
        cut_back()

    found = ask("tea", engine=Interrupted(meanwhile=move), mode="fusion")

    assert {one.id: one.tier for one in found} == {"i0": "archive"} | {
        f"i{n}": "long" for n in range(1, 6)
    }


def test_one_that_is_rewritten_over_and_over_does_not_keep_an_answer_for_ever(
    desk: Desk, ask: Ask, cut_back: Callable[[], None]
) -> None:
    engine = Interrupted(meanwhile=cut_back, times=100)

    assert len(ask("tea", engine=engine, mode="fusion")) <= 6
    assert engine.times > 90
