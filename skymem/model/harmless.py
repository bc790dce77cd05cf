"""Text made harmless for a terminal or a log: nothing in it moves a cursor or turns its reading.

Two strengths. `harmless` is for a text in a line of ours: all that is not to be seen is escaped.
`plain` is the last look before anything leaves, for lines whose texts should be harmless already.
"""

from typing import Final

from skymem.model.regex import regex

_OBEYED: Final = regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""What a terminal obeys or hides: controls, marks of direction, what is not seen, halves of pairs.

A line's end, a tab, and the joiners of Persian, Hindi and emoji are none.
"""


def harmless(text: str) -> str:
    """Escape what a terminal would obey: control characters, direction marks, lone surrogates."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def plain(text: str) -> str:
    """Escape the same in whole lines, which keep their ends and tabs."""
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda found: _escape(found[0]), text)


def _escape(one: str) -> str:
    code = ord(one)
    short = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(one)
    return short or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
