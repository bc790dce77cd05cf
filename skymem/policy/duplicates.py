"""Do two memories say the same, though not in the same words? (row P15)

Their vectors only propose it: "retry 3 times" and "retry 5 times", or "Ann told Bob" and "Bob told
Ann", are as near to each other as any two texts that mean the same. So each pair is looked at a
second time, and all they say must agree. What may differ is what says nothing: articles, how a word
is spelled or shortened (`duplicate_words`), an idle opening, and where a phrase of time or place
stands. What that misses stays apart and costs a line; a wrong merge would cost a memory.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from skymem.model.marks import SENSITIVE
from skymem.model.memory import Memory
from skymem.model.plan import Reason
from skymem.policy.alike import is_of_its_moment
from skymem.policy.claims import ASKED, MARKS, Token, tokens
from skymem.policy.cues import LIMITING
from skymem.policy.duplicate_words import QUANTIFIERS, ways
from skymem.policy.living import places

DUPLICATE: Final = "duplicate"
"""The gate by which a memory becomes part of another that says the same."""

LIKENESS: Final = "likeness"
TEXT_CHARACTERS_MAX: Final = 1000
"""A longer text is more than one vector stands for, and pages are no facts: they are left alone."""

_GATES: Final = MappingProxyType(
    {
        "negation": "negation",
        "number": "numbers",
        "time": "dates",
        "id": "ids",
        "name": "names",
        "hedge": "modality",
        "wording": "wording",
    }
)
"""The gate that closes for a token of each sort."""

_FIRST_TOLD: Final = ("question", "negation", "numbers", "dates", "ids", "quantifiers", "modality",
                      "names", "direction", "wording")  # fmt: skip


def judge(first: Memory, second: Memory, cosine: float, least: float) -> Reason:
    """Say whether two memories are duplicates; the same whichever comes first.

    Args:
        first: a memory of an agent.
        second: another one of the same agent.
        cosine: of their vectors.
        least: the cosine from which they may be.

    Returns:
        The gate `duplicate`, or the one that keeps them apart, with the cosine against `least`.
    """
    gate = DUPLICATE if cosine >= least else LIKENESS
    if gate == DUPLICATE:
        gate = _standing_apart(first, second) or difference(first.content, second.content) or gate
    return Reason(gate, round(cosine, 4), least)


def difference(first: str, second: str) -> str:
    """Name the gate that keeps two texts apart; "" when they say the same."""
    if max(len(first), len(second)) > TEXT_CHARACTERS_MAX:
        return "length"
    if is_of_its_moment(first) or is_of_its_moment(second):
        return "moment"
    if ways(first) & ways(second):
        return ""
    one, other = tokens(first), tokens(second)
    faults = {_gate(token) for token in [*_lacking(one, other), *_lacking(other, one)]}
    return min(faults, key=_FIRST_TOLD.index) if faults else "order"


def _lacking(one: Iterable[Token], other: Iterable[Token]) -> Sequence[Token]:
    """What one says more often than the other."""
    left = Counter(token.key for token in other)
    lacking = []
    for token in one:
        if token in MARKS:
            continue
        if left[token.key]:
            left[token.key] -= 1
        else:
            lacking.append(token)
    return lacking


def _gate(token: Token) -> str:
    if token == ASKED:
        return "question"
    if token.key in QUANTIFIERS:
        return "quantifiers"
    if token.key in LIMITING:
        return "direction"
    return _GATES[token.what]


def _scope(memory: Memory) -> tuple[str, ...]:
    scope = memory.scope
    return tuple(scope.get(name, "") for name in ("user_id", "tenant", "scope", "session"))


def _where(memory: Memory) -> frozenset[tuple[Any, ...]]:
    return frozenset((place.key, place.section) for place in places(memory))


_STANDING: Final[Mapping[str, Callable[[Memory], object]]] = MappingProxyType(
    {
        "whose": _scope,
        "sensitivity": lambda memory: memory.sensitivity == SENSITIVE,
        "another_kind": lambda memory: (memory.kind, memory.record_type),
        "another_origin": lambda memory: (memory.origin, memory.trust),
        "another_place": _where,
    }
)
"""What must be the same of both, whatever they say: a fact neither loses trust nor gains any."""


def _standing_apart(first: Memory, second: Memory) -> str:
    """Name what keeps two memories apart whatever they say."""
    return next((gate for gate, of in _STANDING.items() if of(first) != of(second)), "")
