"""Reading lines by their bytes: streaming, bounded, and never stopped by damage.

Lines end with a newline byte and nothing else (hazard A7). What can't be read comes back as
`Damage` with its place and the reason, and the next line follows (promise 2).
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Final

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.regex import regex
from skymem.model.strict_json import BOM, LineDamage, parse_object, split_glued

CHUNK_BYTES: Final = 1024 * 1024

TIER_LINE_BYTES_MAX: Final = 65 * 1024 * 1024
"""Longest line read from our own tiers: above the highest `line_max` and the fields we add, so that
what was let in stays readable whatever the setting says later."""

_BLANK_LINE: Final = regex(rb"\n[ \t\r\f\v]*(?=\n)")


Clean = Callable[[bytes, Memory], Memory]
"""Gives a memory as a reader gets it: without its secrets. Its digest stays that of its line."""


class ContentHash:
    """The hash by which a plan knows its input again."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def update(self, block: bytes) -> None:
        """Take in the next bytes."""
        self._hash.update(block)

    def hexdigest(self) -> str:
        """The hash of all bytes so far."""
        return self._hash.hexdigest()


def last_newline_end(fd: int, size: int) -> int:
    """Find where the last whole line ends: the offset after the last newline before `size`."""
    position = size
    while position > 0:
        start = max(0, position - CHUNK_BYTES)
        found = os.pread(fd, position - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0


def count_lines(fd: int, start: int, end: int) -> int:
    """Count the lines from `start`, a border, to `end` that are not blank; one not ended is none.

    What they say is not looked at: a status must answer at once.
    """
    lines = 0
    before = b"\n"
    for position in range(start, end, CHUNK_BYTES):
        block = os.pread(fd, min(CHUNK_BYTES, end - position), position)
        found = before + block
        lines += block.count(b"\n") - len(_BLANK_LINE.findall(found))
        begun = found[max(0, found.rfind(b"\n")) :]
        before = b"\n" if begun.isspace() else b"-"  # what has begun is blank so far, or a line
    return lines


def raw_lines(
    fd: int, start: int, stop: int, bytes_max: int, content: ContentHash | None = None
) -> Iterator[tuple[int, bytes | None, int]]:
    """Yield each line from `start` to `stop`: offset, bytes without newline, offset of its end.

    Both offsets are line borders. A line over `bytes_max` comes with None for its bytes: it is
    passed over without being held (hazard A12). `content` takes in every byte read.
    """
    position = line_start = start
    rest = b""
    skipping = False
    while position < stop:
        block = os.pread(fd, min(CHUNK_BYTES, stop - position), position)
        if not block:
            return
        if content is not None:
            content.update(block)
        position += len(block)
        pieces = (rest + block).split(b"\n")
        rest = pieces.pop()
        if skipping and pieces:
            line_end = position - len(rest) - sum(len(piece) + 1 for piece in pieces[1:])
            yield line_start, None, line_end
            line_start, skipping = line_end, False
            del pieces[0]
        for piece in pieces:
            line_end = line_start + len(piece) + 1
            yield line_start, piece if len(piece) <= bytes_max else None, line_end
            line_start = line_end
        if skipping or len(rest) > bytes_max:
            rest, skipping = b"", True


def read_entries(
    fd: int,
    start: int,
    stop: int,
    bytes_max: int,
    content: ContentHash | None = None,
    *,
    clean: Clean | None = None,
) -> Iterator[Entry | Damage]:
    """Yield every line from `start` to `stop` as what it is; blank lines are passed over."""
    for offset, raw, end in raw_lines(fd, start, stop, bytes_max, content):
        if raw is None:
            yield Damage(offset, end, f"longer than {bytes_max} bytes")
            continue
        yield from entries_of(offset, raw, end, clean)


def entries_of(
    offset: int, raw: bytes, end: int, clean: Clean | None = None
) -> Iterator[Entry | Damage]:
    """Yield what one line is, given without its newline: a memory, several, damage or nothing."""
    text = raw.removeprefix(BOM) if offset == 0 else raw
    try:
        memory = Memory(parse_object(text))
        yield Entry(offset, end, clean(text, memory) if clean else memory, digest(memory))
    except LineDamage as damage:
        if text and not text.isspace():
            first = offset + len(raw) - len(text)
            found: list[Entry | Damage] = [*_apart(text, first, clean)]
            yield from found or [Damage(offset, end, str(damage))]


def _apart(raw: bytes, first: int, clean: Clean | None) -> Iterator[Entry]:
    """Read a line that holds several memories; none, where it is damage as a whole."""
    entries: list[Entry] = []
    for start, stop in split_glued(raw):
        try:
            memory = Memory(parse_object(raw[start:stop]))
        except LineDamage:
            return
        read = clean(raw[start:stop], memory) if clean else memory
        entries.append(Entry(first + start, first + stop, read, digest(memory)))
    yield from entries
