"""Words and turns of phrase that say the same wherever they stand (row P15).

Only what holds in every sentence is in here: a spelling, a short form, an idle opening. "Likes" is
not "prefers", and "folder" may be a brochure. One missing costs a merge, one too many a memory.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from skymem.model.regex import regex
from skymem.policy.alike import copy_key


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SAME: Final = """
    repository | repo
    repositories | repos
    documentation | docs
    configuration | config
    configurations | configs
    database | db
    databases | dbs
    application | app
    applications | apps
    environment | env
    environments | envs
    kubernetes | k8s
    javascript | js
    directory | dir
    directories | dirs
    maximum | max
    message | msg
    messages | msgs
    parameter | param
    parameters | params
    administrator | admin
    information | info
    specification | spec
    specifications | specs
    statistics | stats
    password | passwd
    production | prod
    development | dev
    function | func
    organisation | organization
    organisations | organizations
    colour | color
    colours | colors
    favourite | favorite
    favourites | favorites
    behaviour | behavior
    licence | license
    centre | center
    theatre | theater
    grey | gray
    cancelled | canceled
    labelled | labeled
    modelled | modeled
    travelling | traveling
    analyse | analyze
    optimise | optimize
    optimised | optimized
    organise | organize
    organised | organized
    summarise | summarize
    summarised | summarized
    recognise | recognize
    initialise | initialize
    initialised | initialized
    serialise | serialize
    catalogue | catalog
    programme | program
    e-mail | email
    e-mails | emails
    web site | website
    data base | database
    time zone | timezone
    file name | filename
    user name | username
    log in | login
    sign in | login
    front-end | frontend
    back-end | backend
    on-call | oncall
    ok | okay
    uses | utilizes | utilises | makes use of | use | utilize | utilise
    prefers | prefer | has preference for
    wants to | would like to | want to | wishes to
    wants | want
    needs | need
    likes | like
    lives in | resides in | live in
    is located in | is situated in
    is called | is named | goes by the name
    in order to | so as to
    because of | due to | owing to
    prior to | before
    subsequent to | after
    in addition to | as well as
    is able to | can
    is required to | must | has to | have to
    cannot | can not | is unable to | is not able to
    approximately | roughly | about | around
    every | each
    instead of | rather than
    for example | for instance | e.g.
    whether or not | whether
    begins | starts
    starting | beginning
    purchased | bought
    purchase | buy
    automobile | car
    vs | versus | vs.
"""

OPENING: Final = regex(
    r"\s*(?:(?:please\s+)?(?:note|remember|keep\s+in\s+mind)\s+that\s+"
    r"|(?:note|nb|fyi|fact|reminder|remember|important|for\s+the\s+record|as\s+a\s+reminder"
    r"|for\s+your\s+information)\s*[:,]\s+)(?=\S)",
    re.IGNORECASE,
)
"""What some begin with and says nothing of its own; its mark tells it from a subject."""

LABEL_WORDS: Final = 4
"""A label is so short at most, with its colon: "Editor: vim" says that the editor is vim."""

TURNING: Final = _words("in on at for during within since after before under until")
"""What such a phrase begins with; "if" and "when" stay where they are."""

QUANTIFIERS: Final = _words(
    """
    all any both each every few fewer half least less many more most none only several some single
    always often usually mostly rarely seldom sometimes partly partially almost nearly
    """
)
"""How many, how much, how often: one more or less is another statement."""


_CONTRACTED: Final = regex(r"(?i)\b(\w+)n't\b|\b(it|that|there|he|she|what|who)'s\b")
_WHOLE: Final = MappingProxyType({"ca": "can", "wo": "will", "sha": "shall"})
_PIECE: Final = regex(r"\n[ \t]*|\w+(?:[-'.]\w+)*|[^\w\s]")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_A_NUMBER: Final = frozenset({"few", "little", "lot", "bit", "couple", "dozen", "hundred"})
_COPULAS: Final = frozenset({"is", "are", "was", "were"})
_POSSESSIVES: Final = frozenset({"the", "his", "her", "its", "their", "our", "my", "your"})

Way = tuple[str, ...]
"""A text as words and signs, so that two that say the same are equal."""


def ways(text: str) -> frozenset[Way]:
    """The ways in which what a text says may be said; two texts that share one say the same."""
    pieces = _pieces(text)
    plain = _plain(pieces)
    said = [plain, _turned(plain), *map(_plain, _inverted(pieces))]
    first = text.split(maxsplit=1)[:1]
    if first and pieces and first[0].casefold() == pieces[0].casefold():
        said.append(_plain([*first, *pieces[1:]]))  # as it is, where it may be a name
    return frozenset(said)


def _pieces(text: str) -> list[str]:
    """Part a text into words, signs and line breaks; contractions are written out."""
    whole = copy_key(OPENING.sub("", text, count=1))
    return _PIECE.findall(_CONTRACTED.sub(_written_out, whole))


def _written_out(match: re.Match[str]) -> str:
    if match[1] is None:
        return f"{match[2]} is"
    return f"{_WHOLE.get(match[1].lower(), match[1])} not"


def _plain(pieces: Sequence[str]) -> Way:
    """Leave the articles out, and read each known phrase as what it stands for."""
    words = [one for place, one in enumerate(pieces) if not _is_article(pieces, place)]
    made: list[str] = []
    place = 0
    while place < len(words):
        for length in range(min(SPAN_MAX, len(words) - place), 0, -1):
            span = tuple(words[place : place + length])
            meant = ALIKE.get(tuple(map(_as_listed, span)))
            if meant is not None or length == 1:
                made += meant or span
                place += length
                break
    return tuple(made)


def _as_listed(word: str) -> str:
    """Spell DB as db; Grey is a name, and no grey."""
    return word.lower() if len(word) > 1 and word.isupper() else word


def _is_article(pieces: Sequence[str], place: int) -> bool:
    """Whether it is no name: what is set to a, or of Team A, is not; and a few are not few."""
    following = pieces[place + 1 : place + 2]
    return (
        pieces[place] in _ARTICLES
        and bool(following)
        and following[0][0].isalnum()
        and following[0] not in _A_NUMBER
    )


def _turned(plain: Way) -> Way:
    """Put a phrase of time or place at its beginning, up to its comma, to the end."""
    if not plain or plain[0] not in TURNING or "," not in plain:
        return plain
    cut = plain.index(",")
    rest = plain[cut + 1 :]
    if not rest or "," in rest or "." in rest or "\n" in {one[0] for one in rest}:
        return plain
    return (_small(rest[0]), *rest[1:], *plain[:cut])


def _small(word: str) -> str:
    """Spell a word as it is read where it begins a text."""
    return word.lower() if word.istitle() and word.isalpha() else word


def _inverted(pieces: Sequence[str]) -> Iterator[list[str]]:
    """Turn "the owner is Ann" into "Ann is the owner", and so "the owner: Ann"."""
    words = list(pieces)
    if ":" in words[:LABEL_WORDS]:
        words[words.index(":")] = "is"
        words[0] = _small(words[0])
        yield words
    cuts = [place for place, one in enumerate(words) if one in _COPULAS]
    if len(cuts) != 1 or not all(one[0].isalnum() for one in words):
        return
    first, second = words[: cuts[0]], words[cuts[0] + 1 :]
    if first and second and first[0] in _POSSESSIVES and len(second) == 1:
        yield [*second, words[cuts[0]], *first]


def _alike() -> Mapping[Way, Way]:
    """Each spelling, as it is read, with what it stands for."""
    found: dict[Way, Way] = {}
    for line in filter(None, map(str.strip, _SAME.splitlines())):
        first, *others = (tuple(_PIECE.findall(one)) for one in line.split("|"))
        found |= dict.fromkeys(others, first)
    return MappingProxyType(found)


ALIKE: Final = _alike()
SPAN_MAX: Final = max(map(len, ALIKE))
