"""A word index with the catalog it is made from, and what the lines say it should say."""

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skymem.model.memory import Memory
from skymem.policy.importance import worth
from skymem.policy.rank import tokens_of
from skymem.policy.terms import stem
from skymem.stores.catalog import Catalog
from skymem.stores.word_file import key_of
from skymem.stores.word_segments import ARCHIVE, GONE, NO_TIME
from skymem.stores.words import WordIndex
from tests.conftest import Desk, line


@dataclass
class Index:
    """A word index with the catalog it is made from."""

    desk: Desk
    catalog: Catalog
    words: WordIndex

    def catch_up(self, batches: int = 10**9) -> bool:
        """Catch the catalog up, and the index by so many batches; says whether it is whole."""
        self.catalog.catch_up(self.desk.tiers)
        left = iter(range(batches))
        return self.words.catch_up(
            self.desk.shelf(), self.catalog, lambda: next(left, None) is None
        )

    def listed(self, sort: str, value: str) -> list[int]:
        """Who has a word or a label, gone or not."""
        return array("I", self.words.postings(key_of(sort, value))).tolist()

    def has(self, word: str) -> list[str]:
        """The ids of those that are there and have a word."""
        return sorted(one.id for one in self.words.docs(self.listed("w", word)).values())


@contextmanager
def opened(desk: Desk, *, busy_ms: int = 1000) -> Iterator[Index]:
    work = desk.work()
    with (
        work.catalog() as catalog,
        WordIndex.on_disk(desk.paths, desk.files, desk.agent, busy_ms=busy_ms) as index,
    ):
        yield Index(desk, catalog, index)


def path_of(desk: Desk) -> Path:
    return desk.paths.words / f"{desk.agent}.db"


def write(path: Path, *lines: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(b"".join(lines))


def rewrite(path: Path, lines: list[bytes]) -> None:
    """Put another file in its place, as every rewrite does."""
    new = path.with_suffix(".new")
    new.write_bytes(b"".join(lines))
    os.replace(new, path)


def teas(count: int, start: int = 0) -> list[bytes]:
    return [line(f"tea number{n}", id=f"i{n}") for n in range(start, start + count)]


def there(index: Index) -> dict[str, tuple[str, Memory]]:
    """What the catalog says is in long-term and the archives: each with its tier."""
    found: dict[str, tuple[str, Memory]] = {}
    for name in index.catalog.as_read(index.desk.agent):
        places = index.catalog.places(index.desk.agent, name, 0, 10**6)
        found |= {kept.id: (kept.tier, kept.memory) for kept in index.desk.shelf().read(places)}
    return found


def labels(memory: Memory) -> set[tuple[str, str]]:
    return {("w", word) for word in tokens_of(memory.searchable, memory.tags)} | {
        ("t", tag) for tag in memory.tags
    }


def check_whole(index: Index) -> None:
    """Hold all that it says to what the lines say."""
    lines = there(index)
    docs = {one.id: one for one in index.words.numbers([*lines]).values()}
    given, alive = index.words.count()
    every = index.words.docs(range(given))

    assert docs.keys() == lines.keys()
    assert {one.id for one in every.values()} == lines.keys()
    assert (alive, len(every)) == (len(lines), len(lines))

    columns = index.words.columns()
    flags = array("B", columns.flags)
    times, worths = array("q", columns.times), array("d", columns.worths)
    sizes = array("H", columns.sizes)
    assert {len(flags), len(times), len(worths), len(sizes)} == {given}
    assert {number for number in range(given) if not flags[number] & GONE} == every.keys()
    having: dict[tuple[str, str], set[int]] = {}
    for name, (tier, memory) in lines.items():
        doc = docs[name].doc
        time_us = NO_TIME if memory.time_us is None else memory.time_us
        assert (times[doc], worths[doc]) == (time_us, worth(memory).importance)
        assert bool(flags[doc] & ARCHIVE) == (tier == "archive")
        assert sizes[doc] == len(tokens_of(memory.searchable, memory.tags))
        assert docs[name].time_us == memory.time_us
        session = memory.scope.get("session")
        assert docs[name].session == index.words.session_named(session)
        for label in labels(memory):
            having.setdefault(label, set()).add(doc)
    for (sort, value), expected in having.items():
        listed = index.listed(sort, value)
        assert listed == sorted(set(listed))
        assert set(listed) & every.keys() == expected
        if sort == "w":
            assert key_of("w", value) in index.words.words_of(stem(value))
