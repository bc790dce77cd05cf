"""Which sentences of a conversation tell something, and how much (row W11).

A decision, a promise, a number, a date, a name or an id tells more than the rest, and a greeting
nothing. No model judges it: words do, so that the same text always weighs the same.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from skymem.model.regex import regex
from skymem.policy.claims import Token, tokens
from skymem.policy.cues import NEGATIONS
from skymem.policy.faithful import check
from skymem.policy.sentences import Span, contrasts, sentences

IMPORTANT: Final = 3
"""From this weight on a sentence is kept as long as there is room: one number makes it."""

UNIT_CHARS: Final = 600
"""A longer piece is not quoted: a log or a file that somebody pasted is no sentence."""

TURN_CHARS: Final = 16_000
"""What is behind it in one turn is not quoted: nobody says so much at once, and programs do."""

LIST_CHARS: Final = 2_000
"""From its title on, how far a list is quoted: each line is checked against all before it."""

ASKED: Final = 2
"""What a question weighs at most: it says what somebody doesn't know."""

ANSWER_CHARS: Final = 60
"""A longer turn says more than yes or no."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DECISIONS: Final = _words(
    """
    decide decides decided decision agreed agreement approve approves approved approval confirmed
    settled reject rejects rejected prefer prefers preferred require requires required policy
    cancel cancels cancelled canceled switched selected
    entschieden beschlossen geeinigt genehmigt abgelehnt entscheidung bevorzuge
    décidé décidons accord approuvé refusé choisi décision préfère
    decidido decidimos acuerdo aprobado rechazado elegido decisión prefiero
    """
)
"""Each says that something is settled."""

LEANINGS: Final = _words(
    """
    must always never rule let's instead choose chooses chose chosen pick picked select final go
    agree agrees confirm confirms switch settle likes like love loves hate hates favorite favourite
    """
)
"""Each may say so, and often says less."""

COMMITMENTS: Final = _words(
    """
    will shall promise promises promised commit commits committed deadline due todo assign assigned
    owns owner responsible deliver delivers delivered ship ships send sends schedule scheduled
    remind reminder blocked blocker budget limit plan planned
    werde wird frist fällig zuständig versprochen liefern
    sera promis échéance responsable livrer
    prometo plazo responsable entregar
    """
)
"""Each says that somebody is going to, or is bound."""

SMALL_TALK: Final = _words(
    """
    agree totally absolutely definitely hello hi hey lot thanks thank you welcome please sorry
    great good nice fine cool lovely awesome perfect wonderful super ok okay sure yes yeah yep no
    nope right exactly indeed bye goodbye see later soon cheers morning evening afternoon night
    day weekend haha lol hmm oh ah well wow i me my your it that this is am are was be how so very
    much too all and for the a an to of in on going doing today again sounds looks got understood
    noted happy glad help let know anything else have has weather coffee lunch friend everyone
    there what up as always ready start hallo danke bitte gerne gut tschüss merci bonjour salut
    oui non hola gracias sí vale
    """
)
"""A sentence of these alone says nothing that would be missed."""

_ANSWERS: Final = _words(
    """
    yes yeah yep yup no nope ok okay sure agreed approved correct right exactly absolutely
    definitely confirmed fine never go do please don't ja nein oui non sí si да нет はい いいえ
    是 不
    """
)
"""What an answer begins with that says yes or no."""

_LEANING: Final = _words(
    """
    it its it's that that's this these those they their them he his him she her there then which
    both neither also same
    es das dies er sie ils elle il cela eso ella ellos
    """
)
"""A sentence that begins with one is about the one before it."""

_OWN: Final = _words("i my mine we our ours me us ich mein meine wir unser je mon ma nous yo mi")
_FIRST_WORD: Final = regex(r"[\W_]*([\w'’]+)")
_NAMED: Final = regex(r"(?<=[\w,;)\"'] )([^\W\d_][\w'-]*)")
_DIGIT: Final = regex(r"\d")
_ADDRESSED: Final = regex(
    r"(?:^|,) *[^\W\d_][\w'-]*(?= *[.!?…]| *$)|\b(?i:hi|hello|hey|dear|thanks|bye) [^\W\d_][\w'-]*"
)
_QUESTION: Final = ("?", "？", "؟")
_LABEL: Final = (":", "：")
_TOOLS: Final = frozenset({"tool", "function"})


class Unit(NamedTuple):
    """A piece of a text that means by itself what it means there."""

    text: str
    span: Span
    """What it is drawn from; the text is what stands there, or that without other lines of a list.
    """

    @property
    def quotable(self) -> bool:
        """Whether it is short enough to be said again."""
        return len(self.text) <= UNIT_CHARS


def units(text: str) -> list[Unit]:
    """Part a text into pieces that don't change their meaning when they stand alone.

    A sentence stays with the one it leans on or takes back, and a line of a list with its title.
    """
    found: list[Unit] = []
    title: Span | None = None
    for start, end in sentences(text[:TURN_CHARS]):
        if found and (contrasts(text, start) or _leans(text, start)):
            found[-1] = _joined(text, found[-1], end)
            continue
        if title is not None and "\n\n" in text[title[1] : start].replace(" ", ""):
            title = None
        if title is None:
            found.append(Unit(text[start:end], (start, end)))
        else:
            found[-1:] = _listed(text, title, found[-1], (start, end))
        if title is None and text[start:end].endswith(_LABEL):
            title = (start, end)
    if text[TURN_CHARS:].strip():
        start = found[-1].span[0] if found else 0  # what is cut there is not quoted either
        found[-1:] = [Unit(text[start:], (start, len(text)))]
    return found


def _joined(text: str, unit: Unit, end: int) -> Unit:
    return Unit(unit.text + text[unit.span[1] : end], (unit.span[0], end))


def _listed(text: str, title: Span, so_far: Unit, line: Span) -> list[Unit]:
    """Put a line of a list to those before it, or by itself under the title where that is long."""
    whole = _joined(text, so_far, line[1])
    verbatim = so_far.text == text[slice(*so_far.span)]
    if verbatim and (whole.quotable or not so_far.quotable):
        return [whole]
    span = (title[0], line[1])
    alone = f"{text[slice(*title)]} {text[slice(*line)]}"
    if span[1] - span[0] <= LIST_CHARS and not check(alone, [text[slice(*span)]]):
        return [so_far, Unit(alone, span)]
    return [so_far, Unit(text[slice(*span)], span)]  # too long: left out, and told


def _leans(text: str, start: int) -> bool:
    match = _FIRST_WORD.match(text, start)
    return match is not None and match.group(1).casefold().replace("’", "'") in _LEANING


def weight(text: str, role: str = "user") -> int:
    """How much a piece of what somebody said tells; 0 when nothing."""
    found = [token for token in tokens(text) if any(map(str.isalnum, token.key))]
    names = {name.casefold() for name in named(text)}
    addressed = {name.casefold() for name in _capitals(text)} - names
    if all(token.key in SMALL_TALK or token.key in addressed for token in found):
        return 0
    own = any(token.key in _OWN for token in found)  # of himself, the speaker knows best
    told = 1 + _telling(found) + (2 if names else 0) + own
    if text.rstrip().endswith(_QUESTION):
        told = min(told, ASKED)
    return max(1, told - 2) if role in _TOOLS else told


def _telling(found: Sequence[Token]) -> int:
    keys = {token.key for token in found}
    solid = {token.what for token in found if token.what == "id" or _DIGIT.search(token.key)}
    when = {token.key for token in found if token.what == "time"}
    told = 4 if keys & DECISIONS else 2 * bool(keys & LEANINGS)
    told += 3 * bool(keys & COMMITMENTS) + 2 * len(solid & {"number", "time", "id"})
    return told + (2 if when and "time" not in solid else 0) + bool(keys & NEGATIONS)


def named(text: str) -> Iterator[str]:
    """Names, mostly: capitals where no sentence begins, but not of whom is spoken to."""
    return _capitals(_ADDRESSED.sub("", text))


def _capitals(text: str) -> Iterator[str]:
    for match in _NAMED.finditer(text):
        word = match.group(1)
        if word[0].isupper() and word.partition("'")[0] != "I":
            yield word


def asks(text: str) -> bool:
    """Whether a piece is a question."""
    return text.rstrip().endswith(_QUESTION)


def answers(text: str) -> bool:
    """Whether a whole turn is a yes or a no, or little more."""
    said = text.strip()
    match = _FIRST_WORD.match(said)
    return match is not None and len(said) <= ANSWER_CHARS and match.group(1).lower() in _ANSWERS
