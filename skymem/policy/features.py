"""What a model sees of a memory: numbers about its form and its words, and no word itself (P12).

Words, tags and names of kinds nobody knows are hashed into `BUCKETS` places, each of many words, so
that what is learned of them is a number for a place: no word of a memory is in a model, and none
has to be found there by `erase`. What a bucket stood for is told from the memory that is asked
about, and from nothing else.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, NamedTuple

from skymem.model.kinds import KINDS
from skymem.model.memory import Memory
from skymem.policy import salience
from skymem.policy.cues import HEDGES, NEGATIONS
from skymem.policy.rank import tokens
from skymem.policy.terms import STOP_WORDS, stem

VERSION: Final = 1
"""Of what is seen: a model that was made of another is not used."""

BUCKETS: Final = 4096
"""Places that words fall into; more than a thousand words of use share them."""

LETTERS_READ: Final = 4_000
"""Of a text: what a memory is about is said by then, and a page costs what a line does."""

WORDS_MAX: Final = 200

ORIGINS: Final = frozenset({"user", "agent", "tool", "document", "import"})


class Feature(NamedTuple):
    """One thing that is seen of a memory."""

    key: str
    """As a model has it: a name of ours, or `#` and the number of a bucket."""

    value: float
    shown: str
    """What it is, for who may read the memory: for a bucket, the word or the tag."""


_LENGTHS: Final = ((40, "under 40"), (120, "40 to 119"), (400, "120 to 399"), (1200, "400 to 1199"))


def _forms(**patterns: str) -> Mapping[str, re.Pattern[str]]:
    named = {name.replace("_", " "): one for name, one in patterns.items()}
    return MappingProxyType({name: re.compile(one, re.MULTILINE) for name, one in named.items()})


_FORMS: Final = _forms(
    a_question=r"[?？]\s*\Z",
    a_question_in_it=r"[?？]\s+\S",
    a_list=r"^\s*(?:[-*•]|\d+[.)])\s+\S.*\n\s*(?:[-*•]|\d+[.)])\s",
    code=r"```|^(?:def|class|import|return|function|const|SELECT)\b|[;{}]$",
    a_log_line=r"\A\W{0,3}(?:\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN|ERROR|TRACE))",
    a_number=r"\d",
    a_date=r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d\d|\b(?:19|20)\d\d\b",
    a_path=r"\w/\w|\s[~.]?/\w|\w\.(?:py|md|json|ya?ml|csv|txt|log|sql|js|ts|go|rs|pdf|xlsx?)\b",
    an_address=r"://|\w@\w",
    a_name=r"[a-z0-9,] [A-Z][a-z]{2,}",
    an_exclamation=r"!",
)
"""Forms of a text, each there or not."""


def _singles(lists: Mapping[str, str]) -> dict[str, frozenset[str]]:
    each = {name: words.casefold().split() for name, words in lists.items()}
    return {name: frozenset(w for w in words if "_" not in w) for name, words in each.items()}


_CUES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        **_singles(salience.PRINCIPLE_WORDS),
        **_singles(salience.OBSERVATION_WORDS),
        "negation": NEGATIONS,
        "hedge": HEDGES,
        **_singles(
            {
                "oneself": "i my me we our us ich mir wir je nous yo",
                "a choice": "decide decided decision chose chosen agreed approved entschieden",
                "a goal": "goal aim target plan deadline milestone ziel objectif meta",
                "an error": "error failed failure crash crashed bug broken exception fehler",
            }
        ),
    }
)
"""Classes of words that say how a thing is said, by name: one of them is enough."""


def features(memory: Memory, repeats: int = 0) -> tuple[Feature, ...]:
    """What is seen of a memory, each key once, in one order.

    Args:
        memory: what is looked at.
        repeats: how many others, in long-term and archives, say the same.
    """
    found: dict[str, Feature] = {}
    for feature in _seen(memory, repeats):
        known = found.get(feature.key)
        if known is None:
            found[feature.key] = feature
        elif feature.key.startswith("#"):  # two words of one bucket count once, as both
            found[feature.key] = known._replace(shown=f"{known.shown}, {feature.shown}")
    return tuple(found.values())


def _seen(memory: Memory, repeats: int) -> Iterator[Feature]:
    text = memory.searchable[:LETTERS_READ]
    yield from _of_marks(memory)
    yield _is(f"length: {_length(text)}")
    for name, form in _FORMS.items():
        if form.search(text):
            yield _is(f"form: {name}")
    if repeats:
        yield Feature("repeats", min(repeats, 4) / 4, f"says what {repeats} others say")
    words = tokens(text)
    yield from _of_cues(text, words)
    told = {stem(word): word for word in sorted(words - STOP_WORDS)[:WORDS_MAX]}
    share = 1 / max(4.0, float(len(told))) ** 0.5
    yield from (Feature(_bucket("word", cut), share, f"word “{one}”") for cut, one in told.items())


def _of_marks(memory: Memory) -> Iterator[Feature]:
    kind = memory.kind
    if kind is None or kind in KINDS:
        yield _is(f"kind: {kind or 'none'}")
    else:
        yield Feature(_bucket("kind", kind), 1.0, f"kind “{kind}”")
    tags = sorted({tag.casefold() for tag in memory.tags})[:WORDS_MAX]
    yield from (Feature(_bucket("tag", tag), 1.0, f"tag “{tag}”") for tag in tags)
    if not tags:
        yield _is("no tags")
    origin = memory.origin
    yield _is(f"origin: {origin if origin in ORIGINS else 'unsaid'}")
    if memory.record_type:
        yield _is("a record")


def _of_cues(text: str, words: set[str]) -> Iterator[Feature]:
    yield from (_is(f"cue: {name}") for name, cue in _CUES.items() if not words.isdisjoint(cue))
    if salience.asks(text):
        yield _is("cue: asked to be remembered")


def _is(name: str) -> Feature:
    return Feature(name, 1.0, name)


def _length(text: str) -> str:
    size = len(text)
    return next((name for most, name in _LENGTHS if size < most), "1200 or more")


@lru_cache(maxsize=65_536)
def _bucket(sort: str, word: str) -> str:
    spelled = f"{sort}:{word}".encode("utf-8", "replace")
    return f"#{int.from_bytes(blake2b(spelled, digest_size=8).digest()) % BUCKETS}"
