"""Texts like those agents write, made up: remarks, results, decisions, now and then a page.

Their words are as frequent as those of a language: a few stand in most texts, a hundred thousand in
hardly any (Zipf's law), and each text has a number that no other has, as dates and references are.
"""

import random
from collections.abc import Iterator
from itertools import accumulate

_COMMON = (
    "the to and a of in is it that for was on with at as this but not have from or be so we user "
    "i my you they has will after"
)
_SAID = (
    "wants report deploy failed because server database token refresh morning meeting "
    "decided keep branch review latency cache disk full restart agent memory threshold build "
    "customer invoice weekly garmin sleep heart rate run project deadline moved friday prefers "
    "short answers no emoji dark theme postgres migration index rollback error timeout"
)
_SYLLABLES = "ba ce di fo gu ka le mi no pu ra se ti vo wu sha ne lor tan mek"

WORDS = 100_000
"""Different words that texts are made of."""


def vocabulary() -> list[str]:
    """The words, the most frequent first."""
    known = [*_COMMON.split(), *_SAID.split()]
    syllables = _SYLLABLES.split()
    base = len(syllables)
    made = []
    for number in range(WORDS - len(known)):
        parts, rest = [], number + base * base
        while rest:
            rest, part = divmod(rest, base)
            parts.append(syllables[part])
        made.append("".join(parts))
    return known + made


def each_text(count: int, seed: int = 1) -> Iterator[str]:
    """Make `count` different texts; half of them have 8 to 20 words, one in fifty some hundred."""
    chance, words = random.Random(seed), vocabulary()
    weights = [*accumulate(1 / (rank + 2) for rank in range(len(words)))]
    for number in range(count):
        length = chance.choice((8, 12, 16, 20, 30, 45)) if number % 50 else 250
        said = chance.choices(words, cum_weights=weights, k=length)
        yield f"{' '.join(said)} #{number}"


def texts(count: int, seed: int = 1) -> list[str]:
    """Make them all at once."""
    return list(each_text(count, seed))
