"""Plain text: its paragraphs, each with the line it begins on."""

import re
from collections.abc import Iterator
from typing import Final

from skymem.policy.chunks import Block
from skymem.working.readers.reading import Read, decoded

_GAP: Final = re.compile(r"\n[ \t]*\n\s*")


def read(data: bytes, name: str) -> Read:
    """Read a plain text.

    Raises:
        UnreadableError: it is none.
    """
    text, note = decoded(data)
    return Read(list(paragraphs(text, name)), note)


def paragraphs(text: str, top: str = "") -> Iterator[Block]:
    """The paragraphs of a text, with the lines they begin on."""
    line, at = 1, 0
    for gap in [*_GAP.finditer(text), None]:
        end = len(text) if gap is None else gap.start()
        part = text[at:end]
        if part.strip():
            lead = len(part) - len(part.lstrip())
            start = line + part.count("\n", 0, lead)
            yield Block(part.strip("\n"), (("line", start),), (), top)
        stop = end if gap is None else gap.end()
        line += text.count("\n", at, stop)
        at = stop
