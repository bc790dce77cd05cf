"""Do two texts say the same? By their words, and without a model (rows P15, P16).

`word_key` finds what may be copies among very many; `copy_key` says which of those are.
"""

import unicodedata
from hashlib import blake2b
from typing import Final

from skymem.model.regex import regex
from skymem.policy import cues
from skymem.policy.claims import tokens
from skymem.policy.rank import ascii_words

WORD_KEY_BYTES: Final = 8
_WORDS: Final = regex(r"\w+")

_GAP: Final = regex(r"(?<=\S)[ \t\u00a0\u202f]+(?=\S)")
_TRAILING: Final = regex(r"[ \t]+(?=\n|\Z)")
_WRAP: Final = regex(r"(?<=[^\n:])\n(?=[^\W\d_])")
"""A line break in running text: before a letter, and after no blank line and no title."""

_FULL_STOP: Final = regex(r"(?<=\w)[.。]\Z|(?<=[^\W\d_])!\Z")
_CAPITAL: Final = regex(r"[A-Z][a-z]+(?= \w)")
"""A first word as sentences have it; one that stands alone may be a name, or a secret."""

_QUOTES: Final = str.maketrans("‘’“”", "''\"\"")
_RECURRING: Final = frozenset(
    {"am", "pm", "a.m", "p.m", "a.m.", "p.m.", "noon", "midnight"}
    | {"daily", "weekly", "monthly", "yearly", "hourly"}
)
_MOMENT: Final = frozenset(
    {"ago", "currently", "recently", "lately", "nowadays", "earlier", "later", "soon", "again"}
    | {"already", "still", "just", "yet", "week", "weeks", "weekend", "month", "months"}
    | {"year", "years", "day", "days", "hour", "hours", "minutes"}
)
"""Beside the words that say when: what they say depends on the day."""


def word_key(text: str) -> bytes:
    """Hash a text's words in their order: equal for texts that differ in case and punctuation."""
    if text.isascii():
        words = " ".join(ascii_words(text))
    else:
        words = " ".join(_WORDS.findall(unicodedata.normalize("NFC", text).casefold()))
    return blake2b(words.encode("utf-8", "replace"), digest_size=WORD_KEY_BYTES).digest()


def copy_key(text: str) -> str:
    """Spell a text so that copies are equal, and nothing else is.

    They may differ in the first word's capital, the full stop or exclamation mark at the end, how
    wide a gap is and where running text is wrapped, and the shape of quotes. All else counts:
    `day-8.md` and `day-8.md*`, turkey and Turkey, "No, come" and "No come" are no copies. Nor is
    what was cut off (…) a copy of the whole.
    """
    plain = unicodedata.normalize("NFC", text).translate(_QUOTES).replace("\r\n", "\n")
    plain = _WRAP.sub(" ", _GAP.sub(" ", _TRAILING.sub("", plain.strip())))
    plain = _FULL_STOP.sub("", plain)
    first = _CAPITAL.match(plain)
    return plain if first is None else first.group().lower() + plain[first.end() :]


def is_of_its_moment(text: str) -> bool:
    """Whether when it was said is part of what it says: tomorrow is another day every day."""
    return any(
        token.key in _MOMENT
        or (token.what == "time" and token.key in cues.CLOCK_WORDS - _RECURRING)
        or (token.what == "time" and not token.key.isascii())
        for token in tokens(text)
    )
