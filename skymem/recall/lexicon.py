"""An agent's word index in arrays: who is worth a look, told without reading a line (rows R2, R5).

Numbers are those of the index. What is weighed here is weighed again from the line itself before it
answers; the sums are the same to the last bit, so that the order is that of the definition.
"""

import threading
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skymem.policy import fusion
from skymem.policy.rank import IMPORTANCE_WEIGHT, MICROSECONDS_PER_HOUR
from skymem.recall.candidate import Scale
from skymem.recall.request import Filters
from skymem.stores.word_file import key_of
from skymem.stores.word_lists import EMPTY, Columns
from skymem.stores.word_segments import (
    ARCHIVE,
    GONE,
    NAMES_A_TIME,
    NO_TIME,
    QUESTION,
    meta_key,
)
from skymem.stores.words import WordIndex

Numbers: TypeAlias = NDArray[np.int64]

ROUNDING: Final = 1e-12
"""Scores nearer than this are not told apart before the lines are read."""

TIES: Final = 4096
"""Memories of one score that are put in order by their other merits before their lines are read."""

WIDER_TIMES: Final = 4

BLOCK: Final = 256
"""Values of which only the highest is looked at first."""


class Weights:
    """What weighs each memory, by its number."""

    def __init__(self, columns: Columns) -> None:
        """Take the bytes of the arrays for them."""
        self.times = np.frombuffer(columns.times, np.int64)
        self.worths = np.frombuffer(columns.worths, np.float64)
        self.sizes = np.frombuffer(columns.sizes, np.uint16)
        self.flags = np.frombuffer(columns.flags, np.uint8)
        self.alive = self.flags & GONE == 0
        self.timeless = np.flatnonzero(self.times == NO_TIME)


class Held:
    """The weights that were loaded last: who recalls again has them already."""

    def __init__(self) -> None:
        self._state: tuple[int, ...] = ()
        self._weights = Weights(EMPTY)
        self._lock = threading.Lock()

    def of(self, index: WordIndex) -> Weights:
        """Those of an index, as it is now."""
        state = index.state()
        with self._lock:
            if state != self._state:
                self._state, self._weights = state, Weights(index.columns())
            return self._weights


_HELD: Final = Held()


class Lexicon:
    """One state of a word index; used while that is read."""

    def __init__(self, index: WordIndex) -> None:
        """Load what weighs each memory."""
        held = _HELD.of(index)
        self.index = index
        self.times, self.worths = held.times, held.worths
        self.sizes, self.flags = held.sizes, held.flags
        self.alive, self._timeless = held.alive, held.timeless
        self._scored: tuple[Scale, NDArray[np.float64]] | None = None

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def count(self) -> int:
        """Memories that are still there, as far as it knows."""
        return int(np.count_nonzero(self.alive))

    # -- who has what ---------------------------------------------------------------------------

    def listed(self, key: bytes) -> NDArray[np.uint32]:
        """Who has a word or a label."""
        return np.frombuffer(self.index.postings(key), np.uint32)

    def with_stem(self, stem: str) -> NDArray[np.uint32]:
        """Who has any word of a stem."""
        lists = [self.listed(word) for word in self.index.words_of(stem)]
        lists = [one for one in lists if len(one)]
        if len(lists) < 2:
            return lists[0] if lists else np.empty(0, np.uint32)
        having = np.zeros(len(self), np.bool_)  # a tenth of what sorting them takes
        for one in lists:
            having[one] = True
        return np.flatnonzero(having).astype(np.uint32)

    def alive_of(self, numbers: NDArray[np.uint32]) -> int:
        """How many of these are still there, as far as it knows."""
        if self.count == len(self):
            return len(numbers)
        return int(np.count_nonzero(self.alive[numbers]))

    def summed(self, weighed: Iterable[tuple[NDArray[np.uint32], float]]) -> NDArray[np.float64]:
        """The sum, for each, of the weights of the lists it is in, in their order."""
        pairs = [(one, weight) for one, weight in weighed if len(one)]
        if not pairs:
            return np.zeros(len(self), np.float64)
        lengths = [len(one) for one, _ in pairs]
        weights = np.repeat([weight for _, weight in pairs], lengths)
        numbers = np.concatenate([one for one, _ in pairs])
        return np.asarray(np.bincount(numbers, weights, len(self)), np.float64)

    def allowed(self, filters: Filters) -> NDArray[np.bool_]:
        """Who may pass the filters; who may not, does not."""
        mask: NDArray[np.bool_] = self.alive.copy()
        if "long" not in filters.tiers:
            mask &= self.flags & ARCHIVE != 0
        if "archive" not in filters.tiers:
            mask &= self.flags & ARCHIVE == 0
        if filters.since_us is not None:
            mask &= self.times >= filters.since_us
        if filters.until_us is not None:
            mask &= (self.times < filters.until_us) & (self.times != NO_TIME)
        for lists in self._labels(filters):
            having = np.zeros(len(mask), np.bool_)
            for one in lists:
                having[one] = True
            mask &= having
        return mask

    def few(self, filters: Filters, most: int) -> Numbers | None:
        """All that may pass the filters, where that is `most` of them or fewer."""
        found = np.flatnonzero(self.allowed(filters))
        return found if len(found) <= most else None

    def _labels(self, filters: Filters) -> Iterator[list[NDArray[np.uint32]]]:
        """Lists of which a memory must be in one, each."""
        if filters.kind is not None:
            yield [self.listed(key_of("k", filters.kind))]
        if filters.tags:
            yield [self.listed(key_of("t", tag)) for tag in filters.tags]
        for name, wanted in filters.meta:
            key = meta_key(name, wanted)
            if key is not None:
                yield [self.listed(key)]

    # -- by row R2 ------------------------------------------------------------------------------

    def best(self, scale: Scale, filters: Filters, wanted: int) -> Iterator[tuple[Numbers, float]]:
        """The best by row R2's score, wider and wider; each time with the least score so far."""
        scores = np.where(self.allowed(filters), self.deterministic(scale), -1.0)
        known = np.zeros(len(scores), np.bool_)
        left = int(np.count_nonzero(scores >= 0))
        while left > 0:
            found = self._top(scores, wanted)
            new = found[~known[found]]
            known[found] = True
            left -= len(new)
            yield new, float(scores[found].min()) if left else 0.0
            wanted *= WIDER_TIMES

    def deterministic(self, scale: Scale) -> NDArray[np.float64]:
        """Row R2's score of each; worked out once for a question."""
        if self._scored is None or self._scored[0] != scale:
            self._scored = scale, self._deterministic(scale)
        return self._scored[1]

    def _deterministic(self, scale: Scale) -> NDArray[np.float64]:
        shared = self.summed((self.listed(key_of("w", token)), 1.0) for token in scale.tokens)
        if scale.tokens:
            shared /= len(scale.tokens)
        shared *= 1 - scale.bias
        recent = self.recency(scale.now_us)
        recent *= scale.bias
        shared += recent
        shared += np.multiply(self.worths, IMPORTANCE_WEIGHT, out=recent)
        return shared

    def recency(self, now_us: int) -> NDArray[np.float64]:
        """Row R2's recency of each."""
        ages = now_us - self.times
        np.maximum(0, ages, out=ages)
        recent = ages / MICROSECONDS_PER_HOUR
        recent += 1.0  # in place: at a million memories each array made costs as much as its sums
        np.divide(1.0, recent, out=recent)
        recent[self._timeless] = 0.0
        return recent

    def _top(self, scores: NDArray[np.float64], wanted: int) -> Numbers:
        """The best `wanted`, and who has the same merits as the last of them."""
        floor = 0.0
        passing = scores[scores >= 0]
        if wanted < len(passing):
            floor = max(0.0, nth_highest(passing, wanted) - ROUNDING)
        found = np.flatnonzero(scores >= floor)
        if len(found) <= wanted + TIES:
            return found
        found = found[np.lexsort((-self.times[found], -self.worths[found], -scores[found]))]
        merits = np.stack([scores[found], self.worths[found], self.times[found]])
        same = np.flatnonzero((merits == merits[:, wanted - 1 : wanted]).all(axis=0))
        return found[: int(same[-1]) + 1]

    # -- by rarity ------------------------------------------------------------------------------

    def signs(self, number: int) -> fusion.Signs:
        """What a memory shows by itself."""
        flags = int(self.flags[number])
        return fusion.Signs(
            int(self.sizes[number]), bool(flags & QUESTION), bool(flags & NAMES_A_TIME)
        )

    def highest(self, weights: NDArray[Any], count: int) -> Numbers:
        """The `count` of the highest weight over 0, the newest first among equals."""
        found = np.flatnonzero(weights > 0)
        if len(found) > count:
            found = found[weights[found] >= nth_highest(weights[found], count)]
        return found[np.lexsort((-found, -self.times[found], -weights[found]))][:count]


def nth_highest(values: NDArray[np.float64], place: int) -> float:
    """The value that `place` of them, and no fewer, reach.

    Among many of one value a partition takes twenty times as long: most are turned away before,
    as that many blocks have one that is higher.
    """
    blocks = len(values) // BLOCK
    if blocks >= 2 * place:
        highest = values[: blocks * BLOCK].reshape(blocks, BLOCK).max(axis=1)
        values = values[values >= np.partition(highest, -place)[-place]]
    return float(np.partition(values, -place)[-place])
