"""Whether a file of the tiers is the one the catalog has read: then only its new end is read."""

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

TAIL_BYTES: Final = 4096


class AsRead(NamedTuple):
    """A file as it was when it was read."""

    file: int
    """Its number in the catalog."""

    inode: int
    read_to: int
    mtime_ns: int
    tail: bytes
    """The hash of what stood before `read_to`."""


def unchanged(status: os.stat_result | None, row: AsRead | None) -> bool:
    """Whether nothing was written to a file since, by what the disk says of it."""
    if row is None or status is None:
        return False
    return (status.st_ino, status.st_size, status.st_mtime_ns) == row[1:4]


def still_there(path: Path | None, row: AsRead) -> bool:
    """Whether a file is the one we read, with the end of that intact: as it was, or longer."""
    if path is None:
        return False
    if unchanged(path.stat(), row):
        return True
    with path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        longer = status.st_ino == row.inode and status.st_size > row.read_to
        return longer and tail_hash(stream.fileno(), row.read_to) == row.tail


def tail_hash(fd: int, end: int) -> bytes:
    """Hash the bytes before `end`: no text of a memory stays here (promise 6)."""
    start = max(0, end - TAIL_BYTES)
    return blake2b(os.pread(fd, end - start, start), digest_size=16).digest()
