"""Where in a text secrets stand, and of which kind (row X11).

Three ways to tell one: by its form (`detector_table`), by the name it is given ("password = …"),
and as the password in a URL. Precise before complete: talk about keys, placeholders, hashes, ids
and names of variables are none. Personal data are told only where the home asks for that.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import log2
from typing import Final, NamedTuple

from skymem.model.regex import regex
from skymem.policy.detector_table import SHAPES


class Span(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str


TEXT_LETTERS_MAX: Final = 1_000_000
"""Of one text, how much is looked at in one piece: bounds what a pattern can cost."""

NAMES_KEPT: Final = 1024
"""Names of fields of which it is remembered whether a secret goes by them: lines repeat theirs."""


def spans(text: str, *, personal: bool = False) -> list[Span]:
    """Find every secret of a text, in order; none overlaps another."""
    found: list[Span] = []
    if not personal and not _SIGN.search(text):  # a twentieth of what each sign by itself takes
        return found
    for one in _candidates(text, personal=personal):
        if not any(one.start < other.end and other.start < one.end for other in found):
            found.append(one)
    return sorted(found)


def is_secret_value(name: str, value: str) -> bool:
    """Whether a field of this name, with this text as its whole value, holds a secret."""
    if not 6 <= len(value) <= _VALUE_MAX or " " in value or not _is_secret_name(name):
        return False
    return _is_given(_is_password(name), value, literal=True)


@lru_cache(maxsize=NAMES_KEPT)
def _is_secret_name(name: str) -> bool:
    return _FIELD_NAME.search(name) is not None


def _candidates(text: str, *, personal: bool) -> Iterator[Span]:
    """The surest first: what comes later gives way where two overlap."""
    for kind, signs, pattern, entropy in _SHAPES if _SHAPE_SIGN.search(text) else ():
        if any(map(text.__contains__, signs)):
            yield from _by_shape(text, kind, pattern, entropy)
    if "://" in text:
        yield from _in_urls(text)
    if any(map(text.__contains__, _NAME_SIGNS)) and may_give_by_name(text):
        yield from _by_name(text)
    if personal:
        yield from _personal(text)


def _by_shape(text: str, kind: str, pattern: re.Pattern[str], entropy: float) -> Iterator[Span]:
    for match in pattern.finditer(text):
        group = 1 if pattern.groups else 0
        value = match[group]
        if bits_of(value) >= entropy and not _is_placeholder(value):
            yield Span(*match.span(group), kind)


def _in_urls(text: str) -> Iterator[Span]:
    for match in _URL_PASSWORD.finditer(text):
        password = match[1]
        if not _is_placeholder(password) and not _is_reference(password):
            yield Span(*match.span(1), "url-password")


def may_give_by_name(text: str) -> bool:
    """Whether a secret's name stands before what gives it; a twentieth of what the pattern takes.

    The two letters without their like among the casefolded are the pattern's to judge.
    """
    return "\u0130" in text or "\u0131" in text or bool(_GIVEN.search(text.casefold()))


def _by_name(text: str) -> Iterator[Span]:
    for match in _ASSIGNED.finditer(text):
        value = match["value"].rstrip(".)]}>:!?")
        operator = match["operator"]
        literal = bool(match["quote"]) or operator in ("=", ":=", "=>")
        if operator in ("is", "was", "to") and not _is_password(match["name"]):
            literal = False
        if len(value) >= (6 if literal else 8) and _is_given(
            _is_password(match["name"]), value, literal=literal
        ):
            start = match.start("value")
            yield Span(start, start + len(value), "secret-value")


def _is_given(password: bool, value: str, *, literal: bool) -> bool:  # noqa: FBT001  (by its name)
    """Whether what is given under a secret's name is one."""
    digit, letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if _is_placeholder(value) or _is_reference(value) or not letter:
        return False
    if password:
        odd = any(not one.isalnum() for one in value)
        mixed = digit or (odd and value.lower() != value and value.upper() != value)
        return mixed and (literal or not _WORDS.fullmatch(value)) and bits_of(value) >= 2.3
    return digit and len(value) >= 12 and bits_of(value) >= 3.0 and not _WORDS.fullmatch(value)


def _is_password(name: str) -> bool:
    return name.lower().startswith(("pass", "pwd")) or name.lower().endswith(_PASSWORD_NAMES)


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value)) or value.lower() in _STAND_INS


def _is_reference(value: str) -> bool:
    """Whether it names where a secret is, or is something else that everybody may read."""
    return bool(_REFERENCE.match(value) or _CALL.search(value))


def bits_of(value: str) -> float:
    """Entropy of a text by its own letters, bits a character."""
    whole = len(value)
    return -sum(n / whole * log2(n / whole) for n in Counter(value).values()) if whole else 0.0


# -- personal data --------------------------------------------------------------------------------


def _personal(text: str) -> Iterator[Span]:
    for kind, pattern, check in _PERSONAL:
        for match in pattern.finditer(text):
            if check(match[0]):
                yield Span(*match.span(), kind)


def is_iban(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616)."""
    bare = text.replace(" ", "")
    if not 15 <= len(bare) <= 34:
        return False
    turned = bare[4:] + bare[:4]
    return int("".join(str(int(one, 36)) for one in turned)) % 97 == 1


def is_card(text: str) -> bool:
    """Whether the check digit of a card's number is right (Luhn)."""
    digits = [int(one) for one in text if one.isdigit()]
    if not 13 <= len(digits) <= 19 or len(set(digits)) < 2:
        return False
    doubled = [sum(divmod(2 * one, 10)) for one in digits[-2::-2]]
    return (sum(doubled) + sum(digits[-1::-2])) % 10 == 0


_PERSONAL: Final[tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...]] = (
    (
        "email",
        regex(
            r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}"
            r"(?![A-Za-z0-9])"
        ),
        lambda _: True,
    ),
    (
        "iban",
        regex(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"),
        is_iban,
    ),
    ("card", regex(r"(?<![\w.])[2-6](?:[ -]?\d){12,18}(?!\w|\.\d)"), is_card),
    ("phone", regex(r"(?<![\w.])\+\d{1,3}(?:[ ().-]{0,2}\d){7,12}(?!\d)"), lambda _: True),
)

# -- by form, and by name -------------------------------------------------------------------------

_SHAPES: Final = tuple(
    (one.kind, one.signs, regex(one.pattern, re.DOTALL), one.entropy) for one in SHAPES
)

_VALUE_MAX: Final = 200
_PASSWORD_NAMES: Final = ("password", "passwd", "passphrase", "passcode", "pwd", "pass")
_NAME_SIGNS: Final = (
    "assw", "ASSW", "assphrase", "ASSPHRASE", "asscode", "ASSCODE", "pwd", "Pwd", "PWD", "_pass",
    "_PASS", "ecret", "ECRET", "oken", "OKEN", "key", "Key", "KEY", "redential", "REDENTIAL",
)  # fmt: skip
"""One of them is in every text that gives a secret by name."""

_NAMES: Final = (
    r"pass(?:word|wd|phrase|code)|(?<=_)pass|pwd|(?:api|access|auth|account|private|secret|signing"
    r"|encryption|master|service|deploy|license)[_ .-]?key|secret|token|credentials?"
)
_FIELD_NAME: Final = regex(rf"(?:{_NAMES})$", re.IGNORECASE)
_ASSIGNED: Final = regex(
    rf"(?P<name>{_NAMES})(?:['\"`\]]{{1,2}})?[ \t]{{0,4}}"
    r"(?P<operator>=>|:=|={1,2}|:|\b(?:is|was|to)\b)[ \t]{0,4}"
    rf"(?P<quote>\\?['\"`]?)(?P<value>[^\s'\"`,;\\]{{6,{_VALUE_MAX}}})",
    re.IGNORECASE,
)
_GIVEN: Final = regex(
    r"(?:passw(?:or)?d|pass(?:phrase|code)|_pass|pwd|key|secret|token|credentials?)"
    r"(?:['\"`\]]{1,2})?[ \t]{0,4}(?:=|:|is|was|to)"
)
"""In every casefolded text that `_ASSIGNED` is in, and in few others."""

_URL_PASSWORD: Final = regex(
    r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:([^\s/@'\"<>]{3,200})@"
    r"(?=[A-Za-z0-9\[])"
)
_PLACEHOLDER: Final = regex(
    r"example|placeholder|change.?me|dummy|redacted|your[_-]|my[_-](?:secret|token|key|pass)"
    r"|x{4}|\*{3}|\.{3}|…|(.)\1{5}|0123456|1234567|abcdefg|<|>",
    re.IGNORECASE,
)
_STAND_INS: Final = frozenset(
    {"password", "passwd", "pass", "pwd", "secret", "token", "key", "hidden", "none", "null"}
    | {"true", "false", "user", "admin", "test", "string", "password1", "password123", "letmein"}
)
"""What documentation writes where a secret goes."""

_REFERENCE: Final = regex(
    r"\$|%[A-Za-z(]|\{|~|\.{0,2}/|[A-Za-z]:\\|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"  # variables, paths
    r"|(?:https?|file|op|vault|arn|env|urn|ssm|sm|secretsmanager|sha\d+|md5)[:/]"
    r"|(?:os|process|env|self|this|config|settings|secrets|vault|args|request|data)[.\[]"
    r"|[\w.-]{1,16}(?:/[\w.-]{1,16}){2,}$"  # a path in some other store
    r"|v?\d+(?:[.:/_-]\d+)+$|\d{4}-\d\d-\d\d|[^@\s]+@[^@\s]+\.[a-z]+$"  # versions, times, addresses
)
_CALL: Final = regex(r"\w[(\[]")
_WORDS: Final = regex(r"[A-Za-z]+(?:[_./-][A-Za-z]+)*(?:[_.-]?\d{1,4})?")
"""Words of a language or a program, with a number behind at most."""


def sign_pattern(more: Iterable[str] = ()) -> re.Pattern[bytes]:
    r"""A pattern that is in every line of JSON which may hold a secret, and in few others.

    An escape of ASCII (`\u0041`, `\/`) counts as a sign: what it hides is not seen before reading.
    """
    return regex(_signs(more).encode())


def _signs(more: Iterable[str] = ()) -> str:
    return _any_of([*_SHAPE_SIGNS, *_NAME_SIGNS, "://", ":\\/", "\\u00", *more])


def _any_of(signs: Iterable[str]) -> str:
    """A pattern of texts, each distinct first letter of which is compared once."""
    by_first: dict[str, list[str]] = {}
    for sign in sorted({*signs}):
        by_first.setdefault(sign[0], []).append(re.escape(sign[1:]))
    each = (f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_first.items())
    return "|".join(each)


_SHAPE_SIGNS: Final = tuple(sign for one in SHAPES for sign in one.signs)
_SHAPE_SIGN: Final = regex(_any_of(_SHAPE_SIGNS))
_SIGN: Final = regex(_signs())
"""In every text that holds a secret which is no personal datum."""
