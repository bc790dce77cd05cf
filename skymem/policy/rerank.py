"""The second look at what documents have to say: some hundred candidates come to ten (row W8).

Each is weighed by three things: how recall ranked it, how much of the question it has by the rarity
of the words among the candidates, with words that stand together there as here, and its meaning.
Then they are taken one by one, each time the best of those that say something the ones before it
do not (maximal marginal relevance): chunks overlap, and one passage must not take every place.
Where a cross-encoder has read each beside the question, its score is the weight.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Final, NamedTuple

from skymem.model.regex import regex
from skymem.policy.rank import tokens

RANKED: Final = 0.25
LEXICAL: Final = 0.25
MEANING: Final = 0.50
"""Shares of a weight, which is 0 to 1. Without meaning the others share it."""

TOGETHER: Final = 0.25
"""Of the lexical part, for words of the question that follow each other."""

DIVERSITY: Final = 0.20
"""What a candidate loses that says the very same as one before it."""

_WORD: Final = regex(r"\w+")


class Candidate(NamedTuple):
    """What was found, as far as it is weighed."""

    text: str
    ranked: float
    """What recall gave it."""

    cosine: float | None
    """Its likeness to the question in meaning; None where it is not known."""


class Ranked(NamedTuple):
    """A candidate that was taken."""

    place: int
    """Which of the candidates it is."""

    weight: float
    """What it has for itself, 0 to 1."""


def rerank(
    query: str, found: Sequence[Candidate], limit: int, scores: Sequence[float] = ()
) -> list[Ranked]:
    """Choose the best of the candidates, best first.

    Args:
        query: the question.
        found: the candidates, in recall's order.
        limit: how many to choose.
        scores: what a cross-encoder gives each, 0 to 1, in place of the three things.
    """
    words = [tokens(one.text) for one in found]
    weights = list(scores) or _weights(query, found, words)
    left = sorted(range(len(found)), key=lambda at: (-weights[at], at))
    nearest = dict.fromkeys(left, 0.0)
    taken: list[Ranked] = []

    def cost(at: int) -> float:  # a cross-encoder's scores may all be small: it is a share of them
        return DIVERSITY * nearest[at] * (weights[at] if scores else 1.0)

    while left and len(taken) < limit:
        best = max(left, key=lambda at: (weights[at] - cost(at), -at))
        left.remove(best)
        taken.append(Ranked(best, weights[best]))
        for at in left:
            nearest[at] = max(nearest[at], likeness(words[at], words[best]))
    return taken


def likeness(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """The share of the smaller text's words that both have, where it is most of them; else 0."""
    shared = len(one & other) / max(1, min(len(one), len(other)))
    return max(0.0, 2 * shared - 1)


def _weights(query: str, found: Sequence[Candidate], words: Sequence[set[str]]) -> list[float]:
    asked = tokens(query)
    rarity = {word: _rarity(sum(word in each for each in words), len(found)) for word in asked}
    pairs = _pairs(query)
    most = max((one.ranked for one in found), default=0.0) or 1.0
    return [
        _weight(one, _lexical(one.text, each, rarity, pairs), most)
        for one, each in zip(found, words, strict=True)
    ]


def _weight(one: Candidate, lexical: float, most: float) -> float:
    ranked = max(0.0, one.ranked) / most
    if one.cosine is None:
        return (RANKED * ranked + LEXICAL * lexical) / (RANKED + LEXICAL)
    meaning = min(1.0, max(0.0, one.cosine))
    return RANKED * ranked + LEXICAL * lexical + MEANING * meaning


def _lexical(
    text: str,
    words: AbstractSet[str],
    rarity: dict[str, float],
    pairs: AbstractSet[tuple[str, str]],
) -> float:
    whole = sum(rarity.values())
    if not whole:
        return 0.0
    share = sum(weight for word, weight in rarity.items() if word in words) / whole
    if not pairs:
        return share
    together = len(pairs & _pairs(text)) / len(pairs)
    return (1 - TOGETHER) * share + TOGETHER * together


def _pairs(text: str) -> set[tuple[str, str]]:
    run = [word.casefold() for word in _WORD.findall(text)]
    return set(pairwise(run))


def _rarity(having: int, of: int) -> float:
    return math.log(1.0 + (of - having + 0.5) / (having + 0.5))
