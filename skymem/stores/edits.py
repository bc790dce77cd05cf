"""A file's content with some of it left out and some put in, as a stream of blocks."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from skymem.stores.lines import CHUNK_BYTES, ContentHash


class Edit(NamedTuple):
    """The bytes from `start` to `end` give way to `text`; both are line borders."""

    start: int
    end: int
    text: bytes = b""


def edited(fd: int, stop: int, edits: Iterable[Edit], content: ContentHash) -> Iterator[bytes]:
    """Yield the open file up to `stop` with the edits made; `content` takes in what was read.

    Args:
        fd: the file; read by offsets, so that nobody's position moves.
        stop: where reading ends.
        edits: in the order of their starts, none inside another. Those that only put in may share
            a start, and come out in their order.
        content: the hash of the bytes as they were.
    """
    ahead = deque(edits)
    position = 0
    while position < stop:
        block = os.pread(fd, min(CHUNK_BYTES, stop - position), position)
        if not block:
            break
        content.update(block)
        yield _made(block, position, ahead)
        position += len(block)
    yield b"".join(edit.text for edit in ahead if edit.start >= position)


def _made(block: bytes, position: int, ahead: deque[Edit]) -> bytes:
    """Return the block with its edits made; those it passed are taken off `ahead`."""
    kept: list[bytes] = []
    end = position + len(block)
    at = position
    while ahead and ahead[0].start < end:
        edit = ahead[0]
        if edit.start > at:
            kept.append(block[at - position : edit.start - position])
        if edit.start >= position:  # else an earlier block has put it in
            kept.append(edit.text)
        at = min(max(edit.end, at), end)
        if edit.end > end:
            break
        ahead.popleft()
    kept.append(block[at - position :])
    return b"".join(kept)
