"""What is kept of each memory to be found by: its words, and what weighs and filters it (R2, R5).

A segment is a run of memories, numbered on; the lists of several are one by being put end to end.
"""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.model.memory import Memory
from skymem.model.spelling import spelled
from skymem.policy.importance import worth
from skymem.policy.rank import tokens_of
from skymem.policy.terms import stem
from skymem.policy.when import names_a_time
from skymem.stores.word_file import key_of

NO_TIME: Final = -(2**62)
"""The time of a memory that says none: older than any."""

SIZE_MAX: Final = 2**16 - 1

QUESTION: Final = 1
NAMES_A_TIME: Final = 2
GONE: Final = 4
ARCHIVE: Final = 8

_QUESTION_MARKS: Final = ("?", "？", "؟")

UNLISTED: Final = frozenset({
    "content", "ts", "timestamp", "id", "tags", "importance", "score", "metadata", "payload",
    "supersedes", "evidence", "evidence_ids", "expires_at", "promoted_at",
})  # fmt: skip
"""Fields that say something else in nearly every line: who filters by them has lines looked at."""


@dataclass(slots=True)
class Segment:
    """A run of memories from `first` on."""

    first: int
    times: "array[int]" = field(default_factory=lambda: array("q"))
    worths: "array[float]" = field(default_factory=lambda: array("d"))
    sizes: "array[int]" = field(default_factory=lambda: array("H"))
    """Different words, `SIZE_MAX` at most."""

    flags: "array[int]" = field(default_factory=lambda: array("B"))
    postings: dict[bytes, "array[int]"] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)

    def add(self, memory: Memory, tier: str) -> int:
        """Take a memory in; returns its number."""
        doc = self.first + len(self.times)
        words = tokens_of(memory.searchable, memory.tags)
        self.times.append(NO_TIME if memory.time_us is None else memory.time_us)
        self.worths.append(worth(memory).importance)
        self.sizes.append(min(SIZE_MAX, len(words)))
        self.flags.append(signs_of(memory) | (ARCHIVE if tier == "archive" else 0))
        self.words |= words
        for key in {*(key_of("w", word) for word in words), *_labels(memory)}:
            self.postings.setdefault(key, array("I")).append(doc)
        return doc

    def stems(self) -> Iterator[tuple[bytes, bytes]]:
        """Each of its words with its stem, as keys."""
        return ((key_of("w", stem(word)), key_of("w", word)) for word in self.words)


def signs_of(memory: Memory) -> int:
    """What a text shows by itself, as flags."""
    question = memory.searchable.rstrip().endswith(_QUESTION_MARKS)
    return QUESTION * question | NAMES_A_TIME * names_a_time(memory.searchable)


def meta_key(name: str, spelled: str) -> bytes | None:
    """What memories with this metadata are listed under; None where they aren't listed."""
    if name in UNLISTED or spelled.startswith(("[", "{")):
        return None
    return key_of("m", f"{name}={spelled}")


def _labels(memory: Memory) -> Iterator[bytes]:
    yield from (key_of("t", tag) for tag in memory.tags)
    if memory.kind is not None:
        yield key_of("k", memory.kind)
    for place in (memory.fields, memory.metadata):
        yield from _listed(place)


def _listed(place: Mapping[str, Any]) -> Iterator[bytes]:
    for name, value in place.items():
        if name not in UNLISTED and not isinstance(value, list | dict):
            key = meta_key(name, spelled(value))
            if key is not None:
                yield key
