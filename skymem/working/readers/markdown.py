"""Markdown (CommonMark and tables): its blocks as they are written, under their headings."""

import re
from typing import Final

from skymem.working.readers.reading import Headings, Read, decoded, missing

_FRONT: Final = re.compile(r"\A---[ \t]*\n(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")


def read(data: bytes, name: str) -> Read:
    """Read a Markdown document.

    Raises:
        UnreadableError: it is no text, or markdown-it-py is not there.
    """
    del name
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise missing("markdown-it-py") from None
    text, note = decoded(data)
    front = _FRONT.match(text)
    if front:
        text = text[front.end() :]
    lines = text.split("\n")
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    headings, blocks = Headings(), []
    tokens = parser.parse(text)
    for at, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        if token.type == "heading_open":
            headings.enter(int(token.tag[1:]), tokens[at + 1].content)
        elif token.nesting >= 0:
            said = "\n".join(lines[token.map[0] : token.map[1]]).strip("\n")
            blocks.append(headings.block(said))
    return Read(blocks, note)
