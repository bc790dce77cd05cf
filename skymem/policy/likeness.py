"""Which texts belong together, told by their words alone (row R9, where the engine is away).

It only puts statements beside each other in a record; none is left out for being like another.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from skymem.policy.rank import tokens

SHARE: Final = 0.5
"""Words that two texts have in common ÷ words of both, from which they are alike."""

POSTINGS_MAX: Final = 64
"""A word in more texts than this says little of each, and comparing them all would cost much."""


def by_words(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pair each text with the earlier one that it shares most words with, if it is alike."""
    words = [tokens(text) for text in texts]
    spread = Counter(word for found in words for word in found)
    postings: dict[str, list[int]] = {}
    for place, found in enumerate(words):
        telling = [word for word in found if spread[word] <= POSTINGS_MAX]
        shared = {other for word in telling for other in postings.get(word, ())}
        best = max(shared, key=lambda other: (_share(words[other], found), -other), default=None)
        if best is not None and _share(words[best], found) >= SHARE:
            yield best, place
        for word in telling:
            postings.setdefault(word, []).append(place)


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)
