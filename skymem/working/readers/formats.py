"""The formats of documents by the ends of their names, each with its reader."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from skymem.working.readers import docx, html, mail, markdown, pdf, text, transcript
from skymem.working.readers.reading import TEXT_CHARS_MAX, Read, UnreadableError

Reader = Callable[[bytes, str], Read]

SUFFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".md": "markdown",
        ".markdown": "markdown",
        ".txt": "text",
        ".text": "text",
        ".html": "html",
        ".htm": "html",
        ".pdf": "pdf",
        ".docx": "docx",
        ".eml": "mail",
        ".mbox": "mbox",
        ".vtt": "vtt",
        ".srt": "srt",
        ".json": "json",
    }
)

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "markdown": markdown.read,
        "text": text.read,
        "html": html.read,
        "pdf": pdf.read,
        "docx": docx.read,
        "mail": mail.read,
        "mbox": mail.read_box,
        "vtt": transcript.read_vtt,
        "srt": transcript.read_srt,
        "json": transcript.read_json,
    }
)


def read(format_: str, data: bytes, name: str) -> Read:
    """Read a document.

    Args:
        format_: one of `READERS`.
        data: the bytes of its file.
        name: what to call it where it says no title.

    Raises:
        UnreadableError: it can't be read, and why.
    """
    try:
        return checked(READERS[format_](data, name))
    except UnreadableError:
        raise
    except MemoryError:
        raise UnreadableError("needs more memory than there is") from None
    except Exception as error:
        raise UnreadableError(f"is damaged ({type(error).__name__})") from error


def checked(found: Read) -> Read:
    """Refuse a document that says nothing, or more than any.

    Raises:
        UnreadableError: it does.
    """
    chars = sum(len(block.text) for block in found.blocks)
    if chars > TEXT_CHARS_MAX:
        raise UnreadableError(f"unfolds to more than {TEXT_CHARS_MAX:,} characters")
    if not any(block.text.strip() for block in found.blocks):
        raise UnreadableError("has no text in it")
    return found
