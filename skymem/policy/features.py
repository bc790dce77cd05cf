"""What a model sees of a memory: numbers about its form and its words, and no word itself (P12).

Words, tags and names of kinds nobody knows are hashed into `BUCKETS` places, each of many words, so
that what is learned of them is a number for a place: no word of a memory is in a model, and none
has to be found there by `erase`. What a bucket stood for is told from the memory that is asked
about, and from nothing else.
"""

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

from skymem.model.kinds import KINDS
from skymem.model.memory import Memory
from skymem.model.regex import regex
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


def _forms(**patterns: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    named = {name.replace("_", " "): one for name, one in patterns.items()}
    return tuple((f"form: {name}", regex(one, re.MULTILINE)) for name, one in named.items())


_FORMS: Final = _forms(
    a_question=r"[?？]\s*\Z",
    a_question_in_it=r"[?？]\s+\S",
    a_list=r"^\s*(?:[-*•]|\d+[.)])\s+\S.*\n\s*(?:[-*•]|\d+[.)])\s",
    code=r"```|^(?:def|class|import|return|function|const|SELECT)\b|[;{}]$",
    a_log_line=r"\A\W{0,3}(?:\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d:\d\d|(?:DEBUG|INFO|WARN|ERROR|TRACE))",
    a_number=r"\d",
    a_date=r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d\d|\b(?:19|20)\d\d\b",
    a_path=r"/(?:(?<=[\w\s]/)|(?<=\s[~.]/))\w|\.(?<=\w\.)(?:py|md|json|ya?ml|csv|txt|log|sql|js|ts|go"
    r"|rs|pdf|xlsx?)\b",
    an_address=r"://|@(?<=\w@)\w",
    a_name=r"[a-z0-9,] [A-Z][a-z]{2,}",
    an_exclamation=r"!",
)
"""Forms of a text, each there or not: its key, and what looks for it. A pattern begins with what is
rare, and looks back from there: that is five times as quick."""

_NUMBER: Final = "form: a number"


def _singles(lists: Mapping[str, str]) -> dict[str, frozenset[str]]:
    each = {name: words.casefold().split() for name, words in lists.items()}
    return {name: frozenset(w for w in words if "_" not in w) for name, words in each.items()}


_CUES: Final = tuple(
    (f"cue: {name}", words)
    for name, words in {
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
    }.items()
)
"""Classes of words that say how a thing is said, by name: one of them is enough."""

_CUE_WORDS: Final = frozenset[str]().union(*(words for _, words in _CUES))


def features(memory: Memory, repeats: int = 0) -> tuple[Feature, ...]:
    """What is seen of a memory, each key once, in one order.

    Args:
        memory: what is looked at.
        repeats: how many others, in long-term and archives, say the same.
    """
    text = memory.searchable[:LETTERS_READ]
    words = tokens(text)
    found = _of_form(memory, text, words, repeats)
    told = {stem(word): word for word in sorted(words - STOP_WORDS)[:WORDS_MAX]}
    for cut in told:
        found.setdefault(_bucket("word", cut), _share(len(told)))
    shown = _shown(memory, repeats, told)
    return tuple(Feature(key, value, shown.get(key, key)) for key, value in found.items())


def values(memory: Memory, repeats: int = 0) -> dict[str, float]:
    """The same as `features`, as numbers by key in any order: asked of each line, so made quick."""
    text = memory.searchable[:LETTERS_READ]
    words = tokens(text)
    found = _of_form(memory, text, words, repeats)
    telling: Collection[str] = words - STOP_WORDS
    if len(telling) > WORDS_MAX:
        telling = sorted(telling)[:WORDS_MAX]
    cuts = {_cut(word) for word in telling}
    share = _share(len(cuts))
    for _, key in cuts:
        found.setdefault(key, share)
    return found


def _of_form(memory: Memory, text: str, words: set[str], repeats: int) -> dict[str, float]:
    """All but its words, by key, in one order."""
    found = dict.fromkeys(_marks(memory), 1.0)
    found[_length(text)] = 1.0
    for name, form in _FORMS:
        if (name != "form: a date" or _NUMBER in found) and form.search(text):
            found[name] = 1.0
    if repeats:
        found["repeats"] = min(repeats, 4) / 4
    telling = words & _CUE_WORDS
    for name, cue in _CUES if telling else ():
        if not telling.isdisjoint(cue):
            found[name] = 1.0
    if salience.asks(text):
        found["cue: asked to be remembered"] = 1.0
    return found


def _marks(memory: Memory) -> list[str]:
    kind, origin = memory.kind, memory.origin
    known = kind is None or kind in KINDS
    marks = [f"kind: {kind or 'none'}" if known else _bucket("kind", str(kind))]
    marks += [_bucket("tag", tag) for tag in _tags(memory)] or ["no tags"]
    marks.append(f"origin: {origin if origin in ORIGINS else 'unsaid'}")
    if memory.record_type:
        marks.append("a record")
    return marks


def _tags(memory: Memory) -> list[str]:
    return sorted({tag.casefold() for tag in memory.tags})[:WORDS_MAX]


def _share(words: int) -> float:
    """What each of so many words counts."""
    return float(1 / max(4.0, float(words)) ** 0.5)


def _shown(memory: Memory, repeats: int, told: Mapping[str, str]) -> dict[str, str]:
    """What keys stand for that do not say it themselves; two of one bucket count once, as both."""
    named = [(_bucket("tag", tag), f"tag “{tag}”") for tag in _tags(memory)]
    if memory.kind is not None and memory.kind not in KINDS:
        named.insert(0, (_bucket("kind", memory.kind), f"kind “{memory.kind}”"))
    named += [(_bucket("word", cut), f"word “{word}”") for cut, word in told.items()]
    shown = {"repeats": f"says what {repeats} others say"}
    for key, what in named:
        shown[key] = f"{shown[key]}, {what}" if key in shown else what
    return shown


def _length(text: str) -> str:
    size = len(text)
    return f"length: {next((name for most, name in _LENGTHS if size < most), '1200 or more')}"


@lru_cache(maxsize=65_536)
def _cut(word: str) -> tuple[str, str]:
    """The stem of a word, and its bucket."""
    cut = stem(word)
    return cut, _bucket("word", cut)


@lru_cache(maxsize=65_536)
def _bucket(sort: str, word: str) -> str:
    spelled = f"{sort}:{word}".encode("utf-8", "replace")
    return f"#{int.from_bytes(blake2b(spelled, digest_size=8).digest()) % BUCKETS}"
