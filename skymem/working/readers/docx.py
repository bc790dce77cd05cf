"""Word documents (.docx): paragraphs and tables, under their headings."""

import io
import re
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from skymem.policy.chunks import Block
from skymem.working.readers.reading import Headings, Read, UnreadableError, cleaned, missing

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import Table

UNFOLDED_BYTES_MAX: Final = 200 * 1024 * 1024
"""Of all parts together: more is a decompression bomb, or no document for reading."""

PARTS_MAX: Final = 10_000
_HEADING: Final = re.compile(r"heading (\d)", re.IGNORECASE)


def read(data: bytes, name: str) -> Read:
    """Read a Word document.

    Raises:
        UnreadableError: it is none, unfolds to too much, or python-docx is not there. Of a damaged
            one python-docx raises whatever it stumbled over.
    """
    del name
    try:
        import docx
    except ImportError:
        raise missing("python-docx") from None
    _check(data)
    document = docx.Document(io.BytesIO(data))
    return Read(list(_blocks(document)))


def _check(data: bytes) -> None:
    """Refuse what unfolds to more than any document, before any of it is unfolded."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile:
        raise UnreadableError("is no Word document, or not whole") from None
    size = sum(part.file_size for part in parts)
    if size > UNFOLDED_BYTES_MAX or len(parts) > PARTS_MAX:
        raise UnreadableError(f"unfolds to {size:,} bytes in {len(parts):,} parts: too much")


def _blocks(document: "Document") -> Iterator[Block]:
    from docx.table import Table

    headings = Headings()
    for item in document.iter_inner_content():
        if isinstance(item, Table):
            yield headings.block("\n".join(_rows(item)))
            continue
        text = cleaned(item.text).strip()
        style = str((item.style.name if item.style is not None else "") or "")
        level = _HEADING.match(style)
        if level or style == "Title":
            headings.enter(int(level[1]) if level else 0, text)
        elif text:
            listed = style.startswith("List")
            yield headings.block(f"- {text}" if listed else text, tight=listed)


def _rows(table: "Table") -> Iterator[str]:
    for row in table.rows:
        cells = list(dict.fromkeys(" ".join(cleaned(cell.text).split()) for cell in row.cells))
        yield " | ".join(filter(None, cells))
