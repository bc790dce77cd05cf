"""Short-term is read once while it is as it was, and never answers as it was before a change."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skymem.model.caution import SecretRules
from skymem.model.memory import Memory
from skymem.model.plan import Damage
from skymem.model.rules import RetentionRules
from skymem.stores.short_lines import ShortLines
from tests.conftest import Desk, line


@pytest.fixture
def at(desk: Desk) -> Desk:
    """A desk with two lines in short-term."""
    desk.shelf().ensure()
    path(desk).write_bytes(line("one") + line("two"))
    return desk


def path(desk: Desk) -> Path:
    return desk.shelf().paths.short_term


def memories(lines: ShortLines, desk: Desk) -> list[Memory]:
    return [one.memory for one in lines.of(desk.shelf())]


def said(lines: ShortLines, desk: Desk) -> list[str]:
    """What is told, which is what a shelf tells that keeps nothing."""
    told = [one.memory.content for one in lines.of(desk.shelf())]
    truth = [one for one in desk.shelf().short_entries() if not isinstance(one, Damage)]
    assert told == [one.memory.content for one in truth]
    assert [(one.start, one.end, one.digest) for one in lines.of(desk.shelf())] == [
        (one.start, one.end, one.digest) for one in truth
    ]
    return told


def test_what_did_not_change_is_not_read_again(at: Desk) -> None:
    lines = ShortLines()
    first, again = memories(lines, at), memories(lines, at)

    assert [one.content for one in first] == ["one", "two"]
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_of_what_was_appended_only_that_is_read(at: Desk) -> None:
    lines = ShortLines()
    first = memories(lines, at)
    with path(at).open("ab") as stream:
        stream.write(line("three") + b"no line\n" + b'{"ts": 1, "content": "ha')
    again = memories(lines, at)

    assert said(lines, at) == ["one", "two", "three"]
    assert all(one is other for one, other in zip(first, again, strict=False))
    with path(at).open("ab") as stream:
        stream.write(b'lf", "type": "short"}\n')
    assert said(lines, at) == ["one", "two", "three", "half"]


def _rewritten(file: Path) -> None:
    file.write_bytes(line("six") + line("ten"))


def _longer(file: Path) -> None:
    file.write_bytes(line("another") + line("one") + line("and one more"))


def _replaced(file: Path) -> None:
    other = file.with_suffix(".new")
    other.write_bytes(line("one") + line("two") + line("six"))
    other.replace(file)


def _cut(file: Path) -> None:
    os.truncate(file, len(line("one")))


def _gone(file: Path) -> None:
    file.unlink()


def _emptied(file: Path) -> None:
    os.truncate(file, 0)


@pytest.mark.parametrize("change", [_rewritten, _longer, _replaced, _cut, _gone, _emptied])
def test_what_changed_in_any_other_way_is_read_anew(
    at: Desk, change: Callable[[Path], None]
) -> None:
    lines = ShortLines()
    assert said(lines, at) == ["one", "two"]
    before = path(at).stat().st_mtime_ns
    change(path(at))
    if path(at).exists():
        os.utime(path(at), ns=(before + 10**9, before + 10**9))  # some clocks tick slowly

    said(lines, at)


def test_lines_on_their_way_are_seen_with_what_their_writer_still_adds(at: Desk) -> None:
    lines = ShortLines()
    assert said(lines, at) == ["one", "two"]
    with path(at).open("ab", buffering=0) as writer:  # open across the swap
        writer.write(line("worth it", importance=0.9))
        at.run("promote")
        at.echo(line("three"))
        assert sorted(said(lines, at)) == ["one", "three", "two"]
        writer.write(line("late"))
        assert sorted(said(lines, at)) == ["late", "one", "three", "two"]


def test_each_caller_has_entries_of_its_own(at: Desk) -> None:
    lines = ShortLines()
    for one in lines.of(at.shelf()):
        one.id, one.elsewhere, one.line = "taken", "long", 9

    assert [(one.id, one.elsewhere, one.line) for one in lines.of(at.shelf())] == [("", "", -1)] * 2


def test_other_rules_read_other_texts(at: Desk) -> None:
    key = "AKIA" + "Q7ZP4K2M5XW3RT6B"
    path(at).write_bytes(line(f"the key is {key}"))
    lines = ShortLines()
    kept = replace(at, rules=RetentionRules(secrets=SecretRules(on="keep")))

    assert key not in said(lines, at)[0]
    assert key in said(lines, kept)[0]
    assert key not in said(lines, at)[0]


def test_what_is_more_than_is_kept_is_read_each_time(at: Desk) -> None:
    lines = ShortLines(bytes_max=path(at).stat().st_size - 1)
    first, again = memories(lines, at), memories(lines, at)

    assert said(lines, at) == ["one", "two"]
    assert not any(one is other for one, other in zip(first, again, strict=True))


def test_of_several_agents_the_one_not_asked_for_longest_is_let_go(at: Desk) -> None:
    other = replace(at, agent="hobbs")
    other.shelf().ensure()
    path(other).write_bytes(line("one") + line("two"))
    lines = ShortLines(bytes_max=path(at).stat().st_size)
    first = memories(lines, at)

    assert memories(lines, other)[0] is memories(lines, other)[0]
    assert memories(lines, at)[0] is not first[0]
