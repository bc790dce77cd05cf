"""Reading bytes that are no JSON line as a person would: for searching, never for keeping (X5)."""

import re
from typing import Final

_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIMPLE: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def loosened(raw: bytes) -> str:
    """Spell bytes as text with JSON's escapes undone, and white space as single spaces."""
    text = _ESCAPE.sub(_undone, raw.decode("utf-8", "replace"))
    # Two escapes of a pair are one character.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(text.split())


def _undone(found: re.Match[str]) -> str:
    code, simple = found.groups()
    return chr(int(code, 16)) if code else _SIMPLE.get(simple, simple)
