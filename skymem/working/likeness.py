"""How near a text is to each of some others: by meaning, and by words where there is no engine.

The engine compares with the vectors the index has; what it has not yet is encoded for the answer.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem.errors import BusyError, DiskError, EngineUnavailableError, UsageError
from skymem.policy.terms import terms

if TYPE_CHECKING:
    from skymem.app import Home

START_SECONDS: Final = 10.0
"""What an answer may take of an engine that has yet to be started: it loads its model first."""

ANSWER_SECONDS: Final = 2.0
"""What it may take of one that runs."""

TEXTS_MAX: Final = 500
"""Of more texts, those are compared by meaning that share most words: somebody waits."""

MEANING: Final = "meaning"
WORDS: Final = "words"


class Likeness(NamedTuple):
    """How near each text is, 0 to 1, and how that was found out."""

    scores: list[float]
    mode: str
    """`meaning`, or `words` where there is no engine."""

    degraded: list[str]
    """What did not work, and was done without."""


def likeness(home: "Home", agent: str, text: str, texts: Sequence[str]) -> Likeness:
    """Say how near a text is to each of some others."""
    if not texts:
        return Likeness([], MEANING, [])
    best = [*range(len(texts))]
    if len(texts) > TEXTS_MAX:
        by_words = [shared_words(text, one) for one in texts]
        best = sorted(best, key=lambda at: (-by_words[at], at))[:TEXTS_MAX]
    try:
        engine = home.engine()
        wait = ANSWER_SECONDS if engine.running() else START_SECONDS
        answer = engine.likeness(
            text, [texts[at] for at in best], agent=agent, deadline_seconds=wait
        )
    except (BusyError, DiskError, EngineUnavailableError, UsageError) as error:
        by_words = [shared_words(text, one) for one in texts]
        return Likeness(by_words, WORDS, [f"compared by words alone: {error}"])
    scores = [0.0] * len(texts)
    for at, cosine in zip(best, answer["cosines"], strict=True):
        scores[at] = max(0.0, cosine or 0.0)
    return Likeness(scores, MEANING, [])


def shared_words(one: str, other: str) -> float:
    """The share of telling words that two texts have in common, 0 to 1, in any form of theirs."""
    these, those = terms(one), terms(other)
    if not these or not those:
        return 0.0
    return 2 * len(these & those) / (len(these) + len(those))
