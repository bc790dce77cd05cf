"""PDF: the text of its pages. What is only a picture is not read."""

import io
import logging
import re
from typing import Final

from skymem.policy.chunks import Block
from skymem.working.readers.reading import (
    TEXT_CHARS_MAX,
    Read,
    UnreadableError,
    cleaned,
    missing,
    one_line,
)

PAGES_MAX: Final = 2000
_HYPHEN: Final = re.compile(r"(?<=\w)-\n(?=[a-zß-ÿ])")


def read(data: bytes, name: str) -> Read:
    """Read a PDF.

    Raises:
        UnreadableError: it is encrypted or too long, or pypdf is not there. Of a damaged one pypdf
            raises whatever it stumbled over.
    """
    try:
        from pypdf import PdfReader
    except ImportError:
        raise missing("pypdf") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it says on stderr what it mends
    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadableError("is encrypted with a password")
    pages = len(reader.pages)
    if pages > PAGES_MAX:
        raise UnreadableError(f"has {pages:,} pages, more than {PAGES_MAX:,}")
    title = one_line(str(reader.metadata.title or "") if reader.metadata else "") or name
    blocks: list[Block] = []
    chars, blank = 0, 0
    for number in range(1, pages + 1):
        text = _HYPHEN.sub("", cleaned(reader.pages[number - 1].extract_text()))
        chars += len(text)
        if chars > TEXT_CHARS_MAX:
            raise UnreadableError(f"unfolds to more than {TEXT_CHARS_MAX:,} characters")
        blank += not text.strip()
        blocks.append(Block(text, (("page", number),), (number,), title))
    if blank == pages:
        raise UnreadableError("has no text in it; it may be a scan")
    return Read(blocks, f"{blank} of {pages} pages have no text" if blank else "")
