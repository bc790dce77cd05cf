"""What a text claims, token by token, in a form in which equal claims are equal (row X7).

A token has a key, by which it is compared, and says what it is. Articles, copulas, the case of
words and punctuation are gone; numbers, times, ids and the case of units are not, nor are signs and
emoji. What is unsure stays apart: 2.1 is not 2.10, and 03/04 not 04/03.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from skymem.model.regex import regex
from skymem.policy import cues

What = Literal["number", "time", "id", "name", "negation", "hedge", "wording"]
"""What a claim consists of; `id` is also a path, a URL, a handle, a version or an address."""


class Token(NamedTuple):
    """A piece of a claim."""

    what: What
    key: str


BREAK: Final = Token("wording", ",")
"""Ends a clause; it claims nothing."""

LABEL: Final = Token("wording", ":")
"""Ends a clause too, and what it labels says nothing without it."""

MARKS: Final = frozenset({BREAK, LABEL})
ASKED: Final = Token("hedge", "?")

_WORD: Final = (
    r"[^\s\d!-/:-@\[-^`{-~\u00a1-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf\u00d7\u00f7"
    r"\u060c\u061b\u061f\u06d4\u0964\u0965\u2000-\u200b\u200e-\u2070\u2074-\u209f\u20a0-\u2bff"
    r"\u2e00-\u2e7f\u3000-\u3003\u3008-\u3020\u3030\u30fb\ufe0f\uff01-\uff0f\uff1a-\uff20"
    r"\uff3b-\uff40\uff5b-\uff65\U0001f000-\U0001faff]"
)
"""A character of a word: whatever is no space, digit, punctuation or sign; marks belong to it."""

_END = r"[^\s<>\"',.;:!?)\]}、。，」]"
# What is scanned ahead is bounded: a memory of a million dots must not take minutes.
_PATTERNS: Final[tuple[tuple[str, str], ...]] = (
    ("id", rf"[A-Za-z][A-Za-z0-9+.\-]{{0,30}}://[^\s<>\"]*{_END}|www\.[^\s<>\"]*{_END}"),
    ("id", r"\w[\w.+\-]{0,64}@[\w\-]+(?:\.[\w\-]+)+"),
    ("id", r"(?<![\w&])[@#](?=\w)[\w.\-/]*\w|\$(?=[A-Za-z_{])\{?\w+\}?"),
    ("id", r"(?<!\w)(?:[A-Za-z]\w{0,8}(?:#|\+\+)|[A-Z]\*)(?!\w)|\*\.\w+|(?<!\S)\.\.?(?!\S)"),
    ("id", r"(?<!\w)[A-Z]{1,4}[+\-]\d{1,2}(?::\d{2})?(?!\w)|[A-Za-z_]\w{0,64}(?:::?[A-Za-z_]\w*)+"),
    ("time", r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+\-]\d{2}:?\d{2})?)?"),
    ("time", r"(?<![\w.])\d{1,4}(?P<dash>[./\-])\d{1,2}(?P=dash)\d{2,4}(?![\w/]|[.\-]\d)"),
    ("time", r"(?<![\w./])\d{1,2}/\d{1,2}(?![\w/])"),
    ("clock", r"(?<![\w.:])\d{1,2}(?:[:.]\d{2}){0,2}[ \u00a0\u202f]?[aApP]\.?[mM]\b\.?"),
    ("clock", r"(?<![\w.:])\d{1,2}(?::\d{2}){1,2}(?![\w:]|\.\d)"),
    ("id", r"(?<![\w.])(?:[A-Za-z]:|~|\.{1,2})?(?:[\\/][\w.\-+@%~]*[\w\-])+[\\/]?"),
    ("id", r"(?:\.{0,2}\w[\w.\-]{0,255}/)+[\w.\-]{0,255}\w/?"),
    ("id", r"[A-Za-z0-9][\w.\-]{0,253}:\d+(?![\w:])"),
    ("id", r"\d+(?:\.\d+){2,}(?:[\-+]\w[\w.\-]*)?|[vV]\d+(?:\.\d+)+(?:[\-+]\w[\w.\-]*)?"),
    ("id", r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    ("amount", r"(?<![\w.])\d+(?:[.,]\d+)*[A-Za-zµμ]{1,4}(?![\w\-])"),
    ("id", r"[A-Za-z_][A-Za-z_\-]{0,64}\d[\w\-]*(?:\.\d+)*|\d+[\-_]?[A-Za-z](?:[\w\-]*\w)?"),
    ("id", r"\.?[A-Za-z_][\w\-]*(?:\.[A-Za-z_][\w\-]*)+|(?<![\w.])\.[A-Za-z]\w+"),
    ("id", r"(?<!\S)--?[A-Za-z][\w\-]*|[A-Za-z]\w*_\w+"),
    (
        "number",
        (
            r"(?:(?<![\w)\]}.])[+\-](?=\d))?\d+(?:[,'\u00a0\u202f\u2009_]\d{3}(?!\d))*"
            r"(?:[.,]\d+)*[\u00b2\u00b3\u00b9\u2070-\u2079]*(?:[eE^][+\-]?\d+)?"
        ),
    ),
    ("number", r"[\u00bc-\u00be\u2150-\u215f\u2160-\u2188\u00b2\u00b3\u00b9\u2070-\u2079]+"),
    ("word", rf"{_WORD}+(?:['\-]{_WORD}+)*"),
    (
        "operator",
        r"[!=<>]=+|[<=\-]{1,3}>|<-{1,3}|&&|\|\||[<>=≠≤≥±×÷→←↔]|(?<=\d)\s?[\-–—](?=\s?\d)",
    ),
    ("tick", r"\[[ xX]?\]|[☐☑☒✓✔✗✘✅❌👍👎]|~~"),
    ("about", r"[~≈](?=\s?[\d$€£])"),
    ("newline", r"\n"),
    ("heading", r"^[#*]+(?=\s)"),
    ("sign", r"\S"),
)


@cache
def _scan() -> re.Pattern[str]:
    """What takes a text apart; most commands never do, and compiling it takes 5 ms."""
    each = (f"(?P<g{i}_{name}>{pattern})" for i, (name, pattern) in enumerate(_PATTERNS))
    return re.compile("|".join(each), re.MULTILINE)


_UNSPACED: Final = regex(
    f"(?P<number>{cues.NUMERAL_CHARACTERS})|(?P<time>{cues.CLOCK_CHARACTERS})"
    f"|(?P<hedge>{cues.HEDGING_CHARACTERS})|(?P<negation>{cues.NEGATIVE_CHARACTERS})"
)
_FOUND: Final[Mapping[str, What]] = MappingProxyType(
    {"number": "number", "time": "time", "hedge": "hedge", "negation": "negation"}
)
_UNSPACED_SCRIPT: Final = regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
_INVISIBLE: Final = dict.fromkeys(
    (
        *(0xAD, 0x200B, 0x2060, 0xFE0E, 0xFE0F, 0xFEFF, 0x200E, 0x200F),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    )
)
_PLAIN: Final = {
    **_INVISIBLE,
    **{0xFF01 + i: 0x21 + i for i in range(94)},  # full width
    **dict.fromkeys(map(ord, "‘’ʼ′`´"), "'"),
    **dict.fromkeys(map(ord, "‐‑−"), "-"),
    0x66B: ".",
    0x66C: ",",
}
_GROUPED: Final = regex(r"[+\-]?\d{1,3}(?:([,'\u00a0\u202f\u2009_])\d{3})(?:\1\d{3})*(\.\d+)?")
_INNER_CAPITAL: Final = regex(r"[a-z][A-Z]|^[A-Z]{2,}[a-z]{2}")
_CLOCK: Final = regex(r"(\d{1,2})(?:[:.](\d{2}))?(?:[:.](\d{2}))?\s?([ap])?", re.IGNORECASE)
_AMOUNT: Final = regex(r"([\d.,]*\d)(\D+)")
_ORDINALS: Final = frozenset({"st", "nd", "rd", "th"})
_PRONOUNS: Final = frozenset(
    {"it", "that", "he", "she", "there", "what", "who", "here", "this", "let"}
)
_SHORTENED: Final[Mapping[str, str]] = MappingProxyType({"ca": "can", "wo": "will", "sha": "shall"})
_ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"ll": "will", "d": "would", "ve": "have", "re": "", "m": ""}
)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_CAPITALS: Final = frozenset({"US", "IT", "WHO", "AM"})  # names, and words when small
_CALENDAR_OR_MODAL: Final = frozenset({"May", "Will"})
_MEANT: Final[Mapping[str, Token]] = MappingProxyType(
    {
        **dict.fromkeys(",;()—–،；、，", BREAK),
        **dict.fromkeys(":：", LABEL),
        **dict.fromkeys("?؟¿", ASKED),
        **{sign: Token("number", f"unit:{sign}") for sign in "%‰°"},
        **{sign: Token("wording", sign) for sign in "&^@#/\\"},
    }
)
_SAYING: Final = frozenset({"So", "Sm", "Lu", "Ll", "Lo", "Lm", "Lt", "Mn", "Mc", "Me", "Co"})
_CONJUNCTIONS: Final = frozenset({"and", "but", "because", "although", "though", "und", "y", "et"})
_ENDS: Final = frozenset(".!。…")


def tokens(text: str) -> list[Token]:
    """Read a text's claims, in its order."""
    plain = _plain(text)
    found: list[Token] = []
    starts = True
    for match in _scan().finditer(plain):
        name = (match.lastgroup or "").partition("_")[2]
        spelled = match.group()
        if name == "word":
            named = spelled.lower() in _ARTICLES and not _is_article(match, starts=starts)
            found += [Token("name", spelled)] if named else _word(spelled, starts=starts)
        else:
            found += _READERS[name](spelled, match)
        starts = spelled in _ENDS or spelled == "\n" or (starts and name == "sign")
    return found


def _is_article(match: re.Match[str], *, starts: bool) -> bool:
    """Whether it is no name: of Team A, and of what is set to a, the letter says all."""
    spelled = match.group()
    rest = match.string[match.end() : match.end() + 8].lstrip(" \t\"'([*_\u201c\u00ab")
    if rest.startswith(("few", "little")):
        return False  # a few are some, and few are hardly any
    return rest[:1].isalnum() and (starts or spelled != "A")


def _plain(text: str) -> str:
    """Take away what is spelled in several ways: width, forms, kinds of digits and apostrophes."""
    if text.isascii():
        return text.replace("`", "'")
    text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    return "".join(
        str(unicodedata.decimal(sign)) if sign.isdecimal() and not sign.isascii() else sign
        for sign in text
    )


def _id(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del match
    yield Token("id", spelled[0].lower() + spelled[1:] if spelled[0] in "vV" else spelled)


def _time(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del match
    yield Token("time", spelled)


def _clock(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    """Read a time of day; 7pm is 19:00, and a bare 7:00 may be either."""
    del match
    read = _CLOCK.match(spelled)
    if read is None:
        yield Token("time", spelled)
        return
    hour, minute, second, half = read.groups()
    value = int(hour)
    if half and 1 <= value <= 12:
        value = value % 12 + (12 if half in "pP" else 0)
    sure = "" if half or value >= 13 or value == 0 else "?"
    yield Token("time", f"{value}:{minute or '00'}{':' + second if second else ''}{sure}")


def _number(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del match
    if _GROUPED.fullmatch(spelled):
        spelled = re.sub(r"[,'\u00a0\u202f\u2009_]", "", spelled)
    yield Token("number", f"#{spelled.removeprefix('+')}")


def _amount(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    """Read a number that its unit is written to: 10GB is 10 GB, and 3rd is third."""
    read = _AMOUNT.fullmatch(spelled)
    if read is None:
        yield Token("id", spelled)
        return
    number, unit = read.groups()
    if unit.lower() in _ORDINALS:
        yield Token("number", f"#{number}th")
    elif unit in cues.UNITS:
        yield from _number(number, match)
        yield Token("number", f"unit:{unit}")
    else:
        yield Token("id", spelled)


def _operator(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del match
    sign = spelled.strip()
    if sign.startswith("!"):
        yield Token("negation", sign)
    else:
        yield Token("number", "to" if sign in {"-", "–", "—"} else sign)


def _newline(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del spelled, match
    yield BREAK


def _tick(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    """Read a mark that says yes or no, done or not, or strikes out."""
    del match
    yield Token("negation", spelled.lower())


def _about(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del spelled, match
    yield Token("hedge", "~")


def _heading(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    del spelled, match
    yield from ()


def _sign(spelled: str, match: re.Match[str]) -> Iterator[Token]:
    """Read one sign; only punctuation and what shows nothing is passed over."""
    token = _MEANT.get(spelled)
    if token is not None:
        yield token
        return
    before = match.string[max(0, match.start() - 1) : match.start()]
    after = match.string[match.end() : match.end() + 1]
    category = unicodedata.category(spelled)
    if category == "Sc" or (spelled in "'\"" and before.isdigit()):
        yield Token("number", f"unit:{spelled}")
    elif category.startswith("N") or (spelled == "+" and after.isdigit()):
        yield Token("number", spelled)
    elif spelled == "!" and after.isalpha():
        yield Token("negation", "!")  # in code; elsewhere it ends a sentence
    elif category in _SAYING:
        yield Token("wording", spelled)


_READERS: Final[Mapping[str, Callable[[str, re.Match[str]], Iterator[Token]]]] = MappingProxyType(
    {
        "id": _id,
        "time": _time,
        "clock": _clock,
        "number": _number,
        "amount": _amount,
        "operator": _operator,
        "newline": _newline,
        "tick": _tick,
        "about": _about,
        "heading": _heading,
        "sign": _sign,
    }
)


def _word(spelled: str, *, starts: bool) -> Iterator[Token]:
    if _UNSPACED_SCRIPT.search(spelled):
        yield from _unspaced(spelled)
        return
    if spelled in _CAPITALS or (spelled in _CALENDAR_OR_MODAL and not starts):
        yield Token("name", spelled)
        return
    if _INNER_CAPITAL.search(spelled) and spelled not in cues.UNITS:
        yield Token("id", spelled)
        return
    if spelled in cues.UNITS and spelled.lower() not in {"a", "s", "d", "x", "as", "am", "in"}:
        yield Token("number", f"unit:{spelled}")
        return
    for part in _parts(spelled.casefold()):
        if part:
            yield from _said(part, spelled)


def _said(key: str, spelled: str) -> Iterator[Token]:
    """Say what one word is, as it is compared."""
    if key in _CONJUNCTIONS:
        yield BREAK
    elif key in cues.NUMBER_WORDS:
        yield Token("number", f"#{cues.NUMBER_WORDS[key]}")
    elif key in cues.NEGATIONS:
        yield Token("negation", key)
    elif key in cues.HEDGES:
        yield Token("hedge", key)
    elif key in cues.CLOCK_WORDS:
        yield Token("time", key)
    elif key in cues.COUNTS:
        yield Token("number", key)
    elif key not in cues.SILENT:
        yield Token("name" if any(map(str.isupper, spelled)) else "wording", key)


def _parts(word: str) -> Iterator[str]:
    """Write a contraction out."""
    word = cues.CONTRACTED.get(word, word)
    if word == "cannot":
        yield from ("can", "not")
        return
    start, apostrophe, ending = word.rpartition("'")
    if not apostrophe:
        yield word
    elif ending == "t" and start.endswith("n"):
        yield _SHORTENED.get(start[:-1], start[:-1])
        yield "not"
    elif ending in _ENDINGS:
        yield start
        yield _ENDINGS[ending]
    elif ending == "s" and start in _PRONOUNS:
        yield start
    else:
        yield word  # Alice's is not Alice


def _unspaced(run: str) -> Iterator[Token]:
    """Part a run of a script without spaces at its numbers, times, negations and hedges."""
    at = 0
    for match in _UNSPACED.finditer(run):
        if match.start() > at:
            yield Token("wording", run[at : match.start()].casefold())
        yield Token(_FOUND[match.lastgroup or ""], match.group())
        at = match.end()
    if at < len(run):
        yield Token("wording", run[at:].casefold())
