"""Recalled text that comes back as a new memory is an echo, and not learned again (row X11).

An agent that is given its memories says them again, and writes down what it said: each round would
make one more copy, the more believed the more often it was read. An echo is told by its words: four
in a row at a time, nearly all of them stand in what was recalled.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from skymem.model.memory import Memory
from skymem.model.regex import regex
from skymem.policy.quoting import without_fenced

RUN: Final = 4
"""Words in a row that are compared."""

WORDS_LEAST: Final = 6
"""A shorter text says too little to be told from another that says the same for itself."""

SHARE: Final = 0.8
"""Of a text's runs, how many stand in what was recalled."""

CONTEXT: Final = "a context"
"""What a text is an echo of that is a block as a context gives it, and nothing else."""

GATE: Final = "echo"

_WORD: Final = regex(r"\w+")
_QUOTED: Final = regex(r"^[-*]? ?\[[^\]\n]{0,200}\] |^ {0,2}\| ", re.MULTILINE)
"""How an entry of a context begins."""


class Echoes:
    """What was recalled of late, by its runs of words."""

    def __init__(self, recalled: Iterable[tuple[str, Memory]] = ()) -> None:
        self._where: dict[int, str] = {}
        self._times: dict[str, int] = {}
        for name, memory in recalled:
            self.add(name, memory)

    def add(self, name: str, memory: Memory) -> None:
        """Take in a memory that was recalled."""
        self._times[name] = memory.time_us or 0
        for run in _runs(memory.searchable):
            self._where.setdefault(run, name)

    def of(self, name: str, memory: Memory) -> str:
        """The id of the recalled memory that this one says again; "" when it says its own."""
        text = memory.content
        own = without_fenced(text)
        if not own.strip():
            return CONTEXT if text.strip() else ""
        runs = [*_runs(_QUOTED.sub("", own))]
        if name in self._times or len(runs) <= WORDS_LEAST - RUN:
            return ""
        before = memory.time_us or 0
        found = (self._where.get(run, "") for run in runs)
        said = Counter(one for one in found if one and self._times[one] <= before)
        if sum(said.values()) < SHARE * len(runs) or _rests_on(memory, said):
            return ""
        return said.most_common(1)[0][0]


def _rests_on(memory: Memory, said: Iterable[str]) -> bool:
    """Whether it says itself that it is made of these: a correction, a summary."""
    return not {*memory.supersedes, *memory.evidence_ids}.isdisjoint(said)


def _runs(text: str) -> Iterator[int]:
    words = [word.casefold() for word in _WORD.findall(text)]
    for at in range(len(words) - RUN + 1):
        yield hash(tuple(words[at : at + RUN]))
