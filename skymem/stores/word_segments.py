"""What is kept of each memory to be found by: its words, and what weighs and filters it (R2, R5).

A segment is a run of memories, numbered on; the lists of several are one by being put end to end.
"""

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, TypeAlias

from skymem.model.memory import Memory
from skymem.model.spelling import spelled
from skymem.policy.importance import worth
from skymem.policy.rank import tokens_of
from skymem.policy.terms import stem
from skymem.policy.when import names_a_time, names_a_time_by
from skymem.stores.word_file import key_of

Rows: TypeAlias = Callable[[], list[tuple[bytes, bytes]]]

NO_TIME: Final = -(2**62)
"""The time of a memory that says none: older than any."""

SIZE_MAX: Final = 2**16 - 1

QUESTION: Final = 1
NAMES_A_TIME: Final = 2
GONE: Final = 4
ARCHIVE: Final = 8

TAGS_KEPT: Final = 4096
"""Sets of tags whose words are remembered."""

_KEY: Final = itemgetter(0)
_NESTED: Final = ("[", "{")
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
    words: defaultdict[str, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    """Who has each word, as it is written: unsigned, 32 bits each."""

    labels: defaultdict[tuple[str, str], bytearray] = field(
        default_factory=lambda: defaultdict(bytearray)
    )
    """Who has each tag, kind or metadata, by the arguments of `key_of`."""

    def __len__(self) -> int:
        return len(self.times)

    def add(self, memory: Memory, tier: str) -> int:
        """Take a memory in; returns its number."""
        doc = self.first + len(self.times)
        text, tags = memory.searchable, memory.tags
        words = tokens_of(text, ())
        flags = _signs(text, words) | (ARCHIVE if tier == "archive" else 0)
        words |= _words_of_tags(tags)
        self.times.append(NO_TIME if memory.time_us is None else memory.time_us)
        self.worths.append(worth(memory).importance)
        self.sizes.append(min(SIZE_MAX, len(words)))
        self.flags.append(flags)
        spelled_doc, lists = array("I", (doc,)).tobytes(), self.words
        for word in words:
            lists[word] += spelled_doc
        for label in {*_labels(memory, tags)}:
            self.labels[label] += spelled_doc
        return doc

    def postings(self) -> list[tuple[bytes, bytearray]]:
        """Who has what, by keys, in their order."""
        lists = [(key_of("w", word), docs) for word, docs in self.words.items()]
        lists += [(key_of(*label), docs) for label, docs in self.labels.items()]
        return sorted(lists, key=_KEY)

    def stems(self) -> Iterator[tuple[bytes, bytes]]:
        """Each of its words that is not its own stem, with that, as keys."""
        pairs = ((stem(word), word) for word in self.words)
        return ((key_of("w", cut), key_of("w", word)) for cut, word in pairs if cut != word)


def signs_of(memory: Memory) -> int:
    """What a text shows by itself, as flags."""
    text = memory.searchable
    return _signs(text, tokens_of(text, ()))


def _signs(text: str, words: Collection[str]) -> int:
    question = text.rstrip().endswith(_QUESTION_MARKS)
    timed = names_a_time_by(words, text) if text.isascii() else names_a_time(text)
    return QUESTION * question | NAMES_A_TIME * timed


@lru_cache(maxsize=TAGS_KEPT)
def _words_of_tags(tags: tuple[str, ...]) -> frozenset[str]:
    """The words of a memory's tags: few memories have tags that no other has."""
    return frozenset(tokens_of("", tags))


def meta_key(name: str, spelled: str) -> bytes | None:
    """What memories with this metadata are listed under; None where they aren't listed."""
    if name in UNLISTED or spelled.startswith(_NESTED):
        return None
    return key_of("m", f"{name}={spelled}")


def put_together(parts: Sequence[Rows]) -> Iterator[tuple[bytes, bytes]]:
    """Put lists of segments end to end, each under its key; some of each part are held at a time.

    Each part gives rows of a key and a list, in the order of keys, and none when it is at its end.
    """
    held: list[list[tuple[bytes, bytes]]] = [[] for _ in parts]
    left = set(range(len(parts)))
    while left:
        for place in [one for one in left if not held[one]]:
            held[place] = parts[place]()
            left -= set() if held[place] else {place}
        upto = min((held[place][-1][0] for place in left), default=b"")
        rows = []
        for place in sorted(left):
            at = bisect_right(held[place], upto, key=_KEY)
            rows += held[place][:at]
            del held[place][:at]
        rows.sort(key=_KEY)  # of equal keys, the earlier segment's stays first
        for key, lists in groupby(rows, _KEY):
            yield key, b"".join(docs for _, docs in lists)


def _labels(memory: Memory, tags: Iterable[str]) -> Iterator[tuple[str, str]]:
    yield from (("t", tag) for tag in tags)
    if (kind := memory.kind) is not None:
        yield "k", kind
    for place in (memory.fields, memory.metadata):
        for name in place.keys() - UNLISTED:
            value = place[name]
            if not isinstance(value, list | dict):
                text = spelled(value)
                if not text.startswith(_NESTED):
                    yield "m", f"{name}={text}"
