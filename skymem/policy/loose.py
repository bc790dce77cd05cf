"""Reading bytes that are no JSON line as a person would: for searching, never for keeping (X5).

What is torn holds the beginning of a text, or its end: it is told by that, where all of it up to
the tear is the text's.
"""

import re
from typing import Final

from skymem.model.regex import regex

_ESCAPE: Final = regex(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIMPLE: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


WORDS_MIN: Final = 12
"""A text of fewer characters stands in too much that has nothing to do with it."""

TORN_MIN: Final = 24
"""So many characters at the least tell a torn piece."""

WINDOW: Final = 64
"""So many characters of its beginning, or end, tell a text wherever they stand."""

_CUT_ESCAPE: Final = regex(r"(\\(u[0-9a-fA-F]{0,3})?|\ufffd+)\Z")


def holds(said: str, text: str) -> bool:
    """Whether something loosened has a text, or what a tear has left of it."""
    words = " ".join(text.split())
    if len(words) < WORDS_MIN:
        return False
    if any(window in said for window in windows(words)):
        return True
    return len(words) > TORN_MIN and (_is_cut(said, words) or _is_rest(said, words))


def windows(words: str) -> list[str]:
    """What tells a text: its beginning and its end, or all of it where it is short."""
    return [words] if len(words) <= WINDOW else [words[:WINDOW], words[-WINDOW:]]


def _is_cut(said: str, words: str) -> bool:
    """Whether it breaks off within the text, or another line begins there."""
    at = said.find(words[:TORN_MIN])
    return at >= 0 and words.startswith(_CUT_ESCAPE.sub("", said[at:].split('{"', maxsplit=1)[0]))


def _is_rest(said: str, words: str) -> bool:
    """Whether it begins within the text."""
    at = said.find(words[-TORN_MIN:])
    return at >= 0 and words.endswith(said[: at + TORN_MIN].lstrip("\ufffd"))


def loosened(raw: bytes) -> str:
    """Spell bytes as text with JSON's escapes undone, and white space as single spaces."""
    text = _ESCAPE.sub(_undone, raw.decode("utf-8", "replace"))
    # Two escapes of a pair are one character.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(text.split())


def _undone(found: re.Match[str]) -> str:
    code, simple = found.groups()
    return chr(int(code, 16)) if code else _SIMPLE.get(simple, simple)
