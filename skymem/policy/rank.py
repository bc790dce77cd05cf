"""The order of what is recalled: words, recency and importance, and meaning beside them (R2–R5).

Everything is computed from the query, the memory and the time it is asked at, so that the same
question over the same lines has one answer.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from skymem.model.regex import regex

RECENCY_BIAS: Final = 0.35
"""Share of recency against words, 0 to 1, when nobody says (row R2)."""

SEMANTIC_WEIGHT: Final = 0.5
"""Share of meaning against the deterministic score, 0 to 1 (row R5)."""

LIMIT: Final = 10
"""Results when nobody says how many (row R2)."""

IMPORTANCE_WEIGHT: Final = 0.15
"""What an importance of 1 adds to a score (row R2)."""

DETERMINISTIC_MAX: Final = 1.0 + IMPORTANCE_WEIGHT
"""The most a deterministic score can be; it is divided by this to stand beside a cosine."""

MICROSECONDS_PER_HOUR: Final = 3_600_000_000

_RUN: Final = regex(r"\w+")

_ASCII_WORDS: Final = "".join(
    one.lower() if one == "_" or one.isalnum() else " " for one in map(chr, range(128))
)
"""What each letter of ASCII becomes for its runs to stand between spaces, in lower case."""

# Scripts that put no space between words. Hangul is among them although Korean has spaces: its
# particles stand on the word without one, and "서울" must find "서울에서".
UNSPACED: Final = regex(
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # ideographs
    "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Hiragana, Katakana
    "\u1100-\u11ff\uac00-\ud7a3"  # Hangul
    "]{2,}"
)


class Parts(NamedTuple):
    """What a score is made of; `explain` of a result."""

    text: float
    """Query tokens found ÷ query tokens, 0 to 1."""

    recency: float
    """1 now, ½ after an hour; 0 for a memory without a time."""

    importance: float
    """0 to 1, given or by the scoring guide."""

    deterministic: float
    """Row R2's score, 0 to `DETERMINISTIC_MAX`."""

    semantic: float | None = None
    """The cosine to the query, -1 to 1; None where it was not asked for or is not embedded."""


class Standing(NamedTuple):
    """What orders two results: compares lower for the better one (row R3)."""

    score: float
    """Negative, as the rest."""

    importance: float
    time_us: int
    id: str


def tokens(text: str) -> set[str]:
    r"""Split a text into its words: the set of its casefolded `\w+` runs.

    In scripts without spaces a run is a clause, so its bigrams count too. A single character of
    such a script is a word only where it stands alone.
    """
    if text.isascii():
        return set(ascii_words(text))
    found = {run.casefold() for run in _RUN.findall(text)}
    found.update(_bigrams(found.copy()))
    return found


def ascii_words(text: str) -> list[str]:
    r"""Give the casefolded `\w+` runs of a text that is all ASCII, in their order."""
    return text.translate(_ASCII_WORDS).split()  # a third of what the pattern takes


def _bigrams(runs: Iterable[str]) -> Iterator[str]:
    for run in runs:
        for clause in UNSPACED.findall(run):
            for at in range(len(clause) - 1):
                yield clause[at : at + 2]


def tokens_of(content: str, tags: Iterable[str]) -> set[str]:
    """The words a memory is found by: those of its text and of its tags.

    Each character of a script without spaces is one as well: who looks for a word of one character
    finds it inside a clause. For any other query that changes nothing.
    """
    text = "\n".join((content, *tags))
    found = tokens(text)
    if not text.isascii():
        found.update(*UNSPACED.findall(text))
    return found


def text_score(query: AbstractSet[str], memory: AbstractSet[str]) -> float:
    """Say which share of the query's tokens a memory has; 0 for a query without any."""
    return len(query & memory) / len(query) if query else 0.0


def recency(time_us: int | None, now_us: int) -> float:
    """Weigh age: `1 / (1 + hours)`; what lies ahead of `now_us` is as recent as can be.

    A memory without a time says nothing of its age, and gets no bonus for it: 0.
    """
    if time_us is None:
        return 0.0
    return 1.0 / (1.0 + max(0, now_us - time_us) / MICROSECONDS_PER_HOUR)


def deterministic(text: float, recent: float, importance: float, bias: float) -> float:
    """Weigh a memory by row R2; one that shares no word still has its recency and importance."""
    return text * (1 - bias) + recent * bias + importance * IMPORTANCE_WEIGHT


def hybrid(score: float, cosine: float | None, weight: float) -> float:
    """Weigh meaning beside a deterministic score (row R5); what is not embedded has meaning 0."""
    return min(1.0, score / DETERMINISTIC_MAX) * (1 - weight) + semantic(cosine) * weight


def semantic(cosine: float | None) -> float:
    """Weigh meaning alone, 0 to 1."""
    return 0.0 if cosine is None else min(1.0, max(0.0, cosine))


def standing(score: float, importance: float, time_us: int | None, name: str) -> Standing:
    """Place a result: better score, higher importance, newer, then id; no time is oldest."""
    return Standing(-score, -importance, 1 if time_us is None else -time_us, name)
