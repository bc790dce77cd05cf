"""What every reader takes and gives, and how bytes become text."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skymem.errors import InvalidMemoryError
from skymem.policy.chunks import Block

TEXT_CHARS_MAX: Final = 20_000_000
"""Of one document; what a small file unfolds to beyond it is no document."""

TITLE_CHARS_MAX: Final = 200
HEADING_JOINT: Final = " › "

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is the beginning of its own
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NO_CHARSETS: Final = frozenset({"punycode", "idna", "unicode-escape", "raw-unicode-escape"})
"""Codecs of Python that no page is written in, and that may take very long."""

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]")
_CONTROL_SHARE: Final = 50
"""A text may have one control character in so many; what has more is no text."""


class UnreadableError(InvalidMemoryError):
    """{0}"""

    # Why a document can't be read, without its name; the others are read all the same.


class OtherError(UnreadableError):
    """{0}"""

    # It is whole, and something else than what its name lets expect: nobody need look at it.


@dataclass(frozen=True, slots=True)
class Read:
    """What a document says."""

    blocks: Sequence[Block]
    note: str = ""
    """What was taken for something, or left out; "" when all of it was read as it is."""


def missing(package: str) -> UnreadableError:
    """Say that a format needs a package that is not there."""
    return UnreadableError(f"needs {package}; install it with: pip install 'skymem[documents]'")


def decoded(data: bytes, hint: str = "") -> tuple[str, str]:
    """Read bytes as text; the text, and a note where its encoding had to be guessed.

    By the mark it begins with, else by `hint`, else as UTF-8, else as Windows-1252 (which latin-1
    is a part of).

    Raises:
        UnreadableError: it is no text.
    """
    for mark, name in _BOMS:
        if data.startswith(mark):
            try:
                return _text_of(data.removeprefix(mark) if name == "utf-8" else data, name), ""
            except UnicodeDecodeError:
                raise UnreadableError(f"is no {name.upper()}, as its first bytes say") from None
    for name in (hint, "utf-8"):
        try:
            return _text_of(data, name), ""
        except (LookupError, UnicodeDecodeError, ValueError):
            continue
    try:
        return _text_of(data, "cp1252"), "read as Windows-1252; it is no UTF-8"
    except UnicodeDecodeError:
        return _text_of(data, "latin-1"), "read as latin-1; it is no UTF-8"


def _text_of(data: bytes, encoding: str) -> str:
    if not encoding or codecs.lookup(encoding).name in _NO_CHARSETS:
        raise LookupError
    text = data.decode(encoding)
    if len(_CONTROLS.findall(text[:100_000])) * _CONTROL_SHARE > min(len(text), 100_000):
        raise UnreadableError("is no text")
    return cleaned(text)


def cleaned(text: str) -> str:
    """The text with one sort of line end, and without what no line of ours can hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROLS.sub(" ", text).encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    """A title as it can stand in a line."""
    said = " ".join(cleaned(text).split())
    return said if len(said) <= TITLE_CHARS_MAX else said[: TITLE_CHARS_MAX - 1] + "…"


class Headings:
    """The headings a place stands under, as they come."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []
        self._number = 0

    def enter(self, level: int, text: str) -> None:
        """Come to a heading: those of its level and below end."""
        self._open = [one for one in self._open if one[0] < level]
        if said := one_line(text):
            self._open.append((level, said))
        self._number += 1

    @property
    def path(self) -> str:
        """All that are open, the highest first; "" before the first."""
        return HEADING_JOINT.join(text for _, text in self._open)

    def block(self, text: str, *, tight: bool = False) -> Block:
        """A paragraph that stands here."""
        path = self.path
        place = (("heading", path),) if path else ()
        return Block(text, place, (self._number,), path, tight=tight)
