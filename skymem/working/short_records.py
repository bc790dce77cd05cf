"""What an agent's short-term holds of records, read from where it was read to (rows W1, W3)."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from skymem.model.identity import derived_id
from skymem.model.plan import Entry
from skymem.policy.standing import Link
from skymem.stores.lines import CHUNK_BYTES, Clean, entries_of
from skymem.stores.shelf import Kept, open_or_none

# Keys spelled with \u escapes are not seen; json.dumps never does that to ASCII.
_SIGNS: Final = (b'"record_type"', b'"supersedes"')

TAIL_BYTES: Final = 512
SHORT_TERM: Final = "short_term.jsonl"

Mark = tuple[int, int, int] | None
"""A file as it was: inode, size, time of its last write; None where there is none."""

Marks = tuple[tuple[str, Mark], ...]


class Wanted(NamedTuple):
    """What is kept of the lines."""

    types: Collection[str]
    bytes_max: int
    """A longer line is damage, to every reader."""

    clean: Clean


class ShortRecords:
    """The records and links of short-term and its drains, and how far they were read."""

    def __init__(self, drains_mark: Mark = None) -> None:
        self.begun = False
        self.drains_mark = drains_mark
        self.drains: Marks = ()
        self.mark: Mark = None
        self.records: dict[str, Kept] = {}
        self.links: list[Link] = []
        self.new: list[Kept] = []
        """The records that were read last."""

        self.foreign = False
        """Whether one of the lines that matter has an id that its writer gave it."""

        self._read_to = 0
        self._tail = b""

    def read_on(self, path: Path, wanted: Wanted) -> bool:
        """Read what was appended to short-term; False when it is not the file it was."""
        self.begun = True
        fd = open_or_none(path)
        if fd is None:
            return self.mark is None
        try:
            status = os.fstat(fd)
            if self.mark is not None:
                grew = status.st_ino == self.mark[0] and status.st_size > self.mark[1]
                if not grew or _tail(fd, self._read_to) != self._tail:
                    return False
            self._read_to = self._read(fd, self._read_to, wanted)
            self._tail = _tail(fd, self._read_to)
            self.mark = (status.st_ino, status.st_size, status.st_mtime_ns)
            return True
        finally:
            os.close(fd)

    def read_drain(self, path: Path, start: int, wanted: Wanted) -> None:
        """Read what a drain still holds."""
        fd = open_or_none(path)
        if fd is not None:
            try:
                self._read(fd, start, wanted)
            finally:
                os.close(fd)

    def _read(self, fd: int, start: int, wanted: Wanted) -> int:
        """Keep the records and links of a file from an offset on; returns how far it was read."""
        size = os.fstat(fd).st_size
        while block := _whole_lines(fd, start, size):
            if any(sign in block for sign in _SIGNS):  # nearly no other line is looked at
                for offset, raw in _lines(start, block):
                    if len(raw) <= wanted.bytes_max:
                        end = offset + len(raw) + 1
                        for entry in entries_of(offset, raw, end, wanted.clean):
                            if isinstance(entry, Entry):
                                self._take(entry, wanted.types)
            start += len(block)
        return start

    def _take(self, entry: Entry, types: Collection[str]) -> None:
        """Keep what an entry says, once."""
        memory, derived = entry.memory, derived_id(entry.digest)
        name = memory.source_id or derived
        self.foreign = self.foreign or name != derived
        self.links += [Link(name, memory.time_us, target) for target in memory.supersedes]
        if memory.record_type in types and name not in self.records:
            self.records[name] = Kept(name, "short", SHORT_TERM, memory)
            self.new.append(self.records[name])


def mark_of(path: str) -> Mark:
    """See how a file is now."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _whole_lines(fd: int, start: int, size: int) -> bytes:
    """Read some lines from an offset on; nothing where none has ended."""
    asked = CHUNK_BYTES
    while True:
        block = os.pread(fd, min(asked, size - start), start) if start < size else b""
        end = block.rfind(b"\n") + 1
        if end or len(block) < asked:
            return block[:end]
        asked *= 2  # a line longer than that


def _lines(start: int, block: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that may matter, each with its offset."""
    for raw in block[:-1].split(b"\n"):
        if any(sign in raw for sign in _SIGNS):
            yield start, raw
        start += len(raw) + 1


def _tail(fd: int, end: int) -> bytes:
    """What stands before an offset: who wrote the file anew wrote something else there."""
    start = max(0, end - TAIL_BYTES)
    return os.pread(fd, end - start, start)
