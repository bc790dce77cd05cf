"""Mail: one message (.eml), or a box of them (mbox); what was written, without attachments."""

import email
import re
from collections.abc import Iterator
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Final

from skymem.policy.chunks import Block, Place
from skymem.working.readers import html
from skymem.working.readers.reading import (
    Read,
    UnreadableError,
    cleaned,
    decoded,
    one_line,
)
from skymem.working.readers.text import paragraphs

PARTS_MAX: Final = 500
MESSAGES_MAX: Final = 100_000
REFERENCES_MAX: Final = 200
HEADER_CHARS_MAX: Final = 20_000
YEARS: Final = range(1970, 2101)

_FROM: Final = re.compile(rb"(?:\A|\n\r?\n)From [^\n]*\n")
_ESCAPED: Final = re.compile(rb"^>(>*From )", re.MULTILINE)
_IDS: Final = re.compile(r"<[^<>\s]{1,250}>")


def read(data: bytes, name: str) -> Read:
    """Read one message.

    Raises:
        UnreadableError: there is no message in it.
    """
    del name
    return _read([data])


def read_box(data: bytes, name: str) -> Read:
    """Read a box of messages; those that are damaged are counted in the note.

    Raises:
        UnreadableError: there is no message in it.
    """
    del name
    starts = [*_FROM.finditer(data)]
    if not starts or starts[0].start() != 0:
        raise UnreadableError('is no mbox: it does not begin with "From "')
    if len(starts) > MESSAGES_MAX:
        raise UnreadableError(f"holds more than {MESSAGES_MAX:,} messages; split it")
    ends = [one.start() for one in starts[1:]] + [len(data)]
    raw = [data[one.end() : end] for one, end in zip(starts, ends, strict=True)]
    return _read([_ESCAPED.sub(rb"\1", one) for one in raw])


def _read(messages: list[bytes]) -> Read:
    blocks: list[Block] = []
    threads: dict[str, str] = {}
    empty = 0
    for number, raw in enumerate(messages, start=1):
        found = list(_message(raw, number, threads))
        empty += not found
        blocks += found
    if not blocks:
        raise UnreadableError("has no message with a text in it")
    return Read(blocks, f"{empty} of {len(messages)} messages have no text" if empty else "")


def _message(raw: bytes, number: int, threads: dict[str, str]) -> Iterator[Block]:
    message = email.message_from_bytes(raw)
    headers = {name: one_line(_header(message, name)) for name in ("Subject", "From", "To", "Date")}
    if not any(headers.values()):
        return
    subject = one_line(headers["Subject"]) or "(no subject)"
    when = _date(headers["Date"])
    written = when.strftime("%Y-%m-%d %H:%M") if when is not None else ""
    about = [f"Mail: {subject}"]
    about += [f"{name.lower()} {headers[name]}" for name in ("From", "To") if headers[name]]
    about += [written] if written else []
    place = _place(message, threads, headers["From"])
    time_us = None if when is None else round(when.timestamp() * 1_000_000)
    for block in paragraphs(_body(message)):
        yield Block(block.text, place, (number,), ", ".join(about), time_us)


def _place(message: Message, threads: dict[str, str], sender: str) -> Place:
    own = next(iter(_IDS.findall(_header(message, "Message-ID"))), "")
    above = _IDS.findall(f"{_header(message, 'References')} {_header(message, 'In-Reply-To')}")
    first = next((threads[one] for one in above[:REFERENCES_MAX] if one in threads), "")
    thread = first or (above[0] if above else own)
    threads.update(dict.fromkeys([*above[:REFERENCES_MAX], own], thread))
    parts = {"message": own, "thread": thread if thread != own else "", "from": sender}
    return tuple((name, value) for name, value in parts.items() if value)


def _header(message: Message, name: str) -> str:
    """A header as text; as it is written where it is encoded wrongly, cut where it is too long."""
    written = str(message.get(name) or "")[:HEADER_CHARS_MAX]
    try:
        return cleaned(str(make_header(decode_header(written))))
    except (LookupError, UnicodeError, ValueError, HeaderParseError):
        return cleaned(written)


def _date(text: str) -> Any:
    try:
        found = parsedate_to_datetime(text)
        found = found if found.tzinfo is not None else found.astimezone()
        return found if found.year in YEARS else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _body(message: Message) -> str:
    """The parts that are text, as plain text where there is a choice."""
    said: list[str] = []
    for number, part in enumerate(message.walk()):
        if number >= PARTS_MAX:
            break
        kind = part.get_content_type()
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        if kind == "text/plain" or (kind == "text/html" and not _has_plain(message)):
            text = _text(part)
            said.append(html.plain(text) if kind == "text/html" else text)
    return cleaned("\n\n".join(said))


def _has_plain(message: Message) -> bool:
    return any(
        part.get_content_type() == "text/plain" and part.get_content_disposition() != "attachment"
        for _, part in zip(range(PARTS_MAX), message.walk(), strict=False)
    )


def _text(part: Any) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    try:
        return decoded(data, part.get_content_charset("") or "")[0]
    except UnreadableError:
        return ""
