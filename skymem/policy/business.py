"""What people wrote into `agent.md`, in pieces that a prompt may hold whole (row W9)."""

import re
from typing import Final

from skymem.model.regex import regex

_PROMOTED: Final = regex(r"<!-- memory: \S+ -->\s*$")
_COMMENT: Final = regex(r"<!--.*?-->", re.DOTALL)
_HEADING: Final = regex(r"#{1,6}\s")
_EMPTY: Final = regex(r"\n\s*\n")


def paragraphs(text: str) -> list[str]:
    """Part it at empty lines, each heading with what follows it.

    Without comments, and without the lines that were promoted: those are memories, which stand
    beside it with their origin.
    """
    lines = [line for line in text.splitlines() if not _PROMOTED.search(line)]
    found: list[str] = []
    titles: list[str] = []
    for part in _EMPTY.split(_COMMENT.sub("", "\n".join(lines))):
        said = part.strip()
        if not said:
            continue
        if _HEADING.match(said) and "\n" not in said:
            titles.append(said)
        else:
            found.append("\n".join((*titles, said)))
            titles = []
    return found
