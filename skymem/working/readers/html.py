"""HTML: what a reader of the page would read, under its headings."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from typing import Final

from skymem.policy.chunks import Block
from skymem.working.readers.reading import Headings, Read, decoded

_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I
)
_UNREAD: Final = frozenset({"script", "style", "template", "noscript", "svg", "iframe", "object"})
_HEADING: Final = re.compile(r"h[1-6]")
_BLOCKS: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "body", "br", "dd", "details", "div", "dl"),
        *("dt", "fieldset", "figcaption", "figure", "footer", "form", "head", "header", "hr"),
        *("html", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody"),
        *("tfoot", "thead", "title", "tr", "ul", "h1", "h2", "h3", "h4", "h5", "h6"),
    }
)
_TIGHT: Final = frozenset({"li", "tr", "br", "dd", "dt"})
_OPEN: Final = re.compile(r"<(?![^<>]{1,8000}>)|<(?=!\[)")
"""A sign that opens no tag, or never closes it. The parser looks for the end of each anew: hours,
where there are a hundred thousand."""

HEAD_BYTES: Final = 4096


def read(data: bytes, name: str) -> Read:
    """Read a page.

    Raises:
        UnreadableError: it is no text.
    """
    del name
    charset = _CHARSET.search(data[:HEAD_BYTES])
    text, note = decoded(data, charset[1].decode() if charset else "")
    return Read(blocks_of(text), note)


def blocks_of(text: str) -> Sequence[Block]:
    """The paragraphs of a page, whatever is wrong with its marks."""
    page = _Page()
    page.feed(_OPEN.sub("&lt;", _without_comments(text)))
    page.close()
    page.end()
    return page.blocks


def plain(text: str) -> str:
    """A page as plain text, for what needs no places in it."""
    said = ""
    for block in blocks_of(text):
        said += ("\n" if block.tight else "\n\n") + block.text
    return said.strip()


def _without_comments(text: str) -> str:
    """Leave out comments; what is behind one that never ends is part of it."""
    parts: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        parts.append(text[at:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join(parts)
        at = end + 3
    return "".join([*parts, text[at:]])


class _Page(HTMLParser):
    """Gathers text, paragraph by paragraph."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._headings = Headings()
        self._said: list[str] = []
        self._unread: list[str] = []
        self._heading = ""
        self._title = False
        self._kept = 0
        self._tight = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a paragraph, or what is not read."""
        del attrs
        if tag in _UNREAD:
            self._unread.append(tag)
        elif tag in _BLOCKS:
            self.end()
            self._tight = tag in _TIGHT
            self._kept += tag == "pre"
            if tag == "li":
                self._said.append("- ")
            self._title = tag == "title"
            self._heading = tag if _HEADING.fullmatch(tag) else self._heading
        elif tag in ("td", "th") and "".join(self._said).strip():
            self._said.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        """End a paragraph, or what is not read."""
        if tag in _UNREAD:
            if tag in self._unread:
                del self._unread[self._unread.index(tag) :]
        elif tag in _BLOCKS:
            self.end()
            self._kept = max(0, self._kept - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        """Take text that is read."""
        if not self._unread:
            self._said.append(data)

    def end(self) -> None:
        """End the paragraph that is open."""
        whole = "".join(self._said)
        said = whole.strip("\n") if self._kept else " ".join(whole.split())
        self._said = []
        heading, self._heading = self._heading, ""
        title, self._title = self._title, False
        if said.strip(" -\n"):
            if heading:
                self._headings.enter(int(heading[1]), said)
            elif title:
                self._headings.enter(0, said)
            else:
                self.blocks.append(self._headings.block(said, tight=self._tight))
        self._tight = False
