"""What a query looks for: its telling words by their stems, so that "ran" of a run counts (row R5).

The order of mode `fusion` weighs words by how rare they are. English stems and English words that
say nothing by themselves; a word in any other language counts as it is written.
"""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import Final

import Stemmer

from skymem.model.regex import regex
from skymem.policy.rank import UNSPACED, tokens

STEMMED_LETTERS_MAX: Final = 40
"""A longer run of letters is no word of a language."""

STEMS_KEPT: Final = 65_536


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS: Final = _words(
    """
    a an the and or but if then so of to in on at by for with from as into about over after before
    between during is am are was were be been being do does did doing done have has had having will
    would shall should can could may might must i me my we us our you your he him his she her it its
    they them their this that these those there here what which who whom whose when where why how
    not no nor only own same than too very s t don just now any some all both each more most other
    such
    """
)
"""Words that nearly every text has: what a memory is about, they don't tell."""

_WORD: Final = regex(r"[a-z]+")


@lru_cache(maxsize=STEMS_KEPT)
def stem(word: str) -> str:
    """Cut a casefolded word to its stem; what is no English word by its letters stays whole."""
    if len(word) > STEMMED_LETTERS_MAX or not _WORD.fullmatch(word):
        return word
    return str(_stemmer().stemWord(word))


def terms(query: str) -> frozenset[str]:
    """The stems a query looks for; where it has stop words alone, those.

    Of a clause in a script without spaces its bigrams count, and not the clause.
    """
    found = tokens(query)
    telling = {word for word in found if word not in STOP_WORDS} or found
    return frozenset(stem(word) for word in _without_clauses(telling))


def stems(words: Iterable[str]) -> set[str]:
    """The stems of the words of a memory."""
    return {stem(word) for word in words}


def terms_in(words: AbstractSet[str], wanted: Iterable[str]) -> set[str]:
    """Which of these stems the words of a memory have.

    A stem begins with the letter of its word, so that of most words none need be made.
    """
    wanted = frozenset(wanted)
    initials = frozenset(one[:1] for one in wanted)
    return {made for word in words if word[0] in initials and (made := stem(word)) in wanted}


def _without_clauses(words: AbstractSet[str]) -> set[str]:
    pairs = {word for word in words if len(word) == 2 and UNSPACED.fullmatch(word)}
    return {
        word
        for word in words
        if word.isascii() or len(word) <= 2 or not any(pair in word for pair in pairs)
    }


@cache
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english", 0)  # its own cache costs three times what it spares
