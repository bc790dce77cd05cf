"""The ledger's files in their order: full ones that are closed, and the one that is written to.

A full file keeps its inode when it is closed, by a rename, so that whoever reads sees each entry
once: what is open is looked at first, and skipped when it turns up among the closed ones.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from skymem.model.regex import regex
from skymem.stores.files import disk_errors
from skymem.stores.lines import last_newline_end, raw_lines

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
DIGITS: Final = 12

_CLOSED: Final = regex(r"ledger_(\d+)-(\d+)\.jsonl")


class Segment(NamedTuple):
    """One file of the ledger, as it was when it was looked at."""

    path: Path
    inode: int
    size: int
    base: int
    """How many bytes the files before it have: a place in the ledger is this plus the offset."""

    first: int = 0
    """The number of its first entry, by its name; 0 of the open file."""

    @property
    def name(self) -> str:
        """The file's name in `audit/`."""
        return self.path.name


def closed_name(first: int, last: int) -> str:
    """Name a closed file, so that names sort as entries do."""
    return f"ledger_{first:0{DIGITS}}-{last:0{DIGITS}}.jsonl"


def closed_files(directory: Path) -> list[tuple[int, int, Path]]:
    """The closed files by number of first and last entry, oldest first."""
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = [match for name in names if (match := _CLOSED.fullmatch(name))]
    return sorted((int(match[1]), int(match[2]), directory / match[0]) for match in found)


def segments_of(current: Path) -> list[Segment]:
    """Every file of the ledger whose open one is `current`, oldest first."""
    status = _stat(current)
    found: list[Segment] = []
    base = 0
    for first, _, path in closed_files(current.parent):
        closed = _stat(path)
        if closed is None:
            continue
        if status is not None and closed.st_ino == status.st_ino:
            status = None  # it was closed between our two looks
        found.append(Segment(path, closed.st_ino, closed.st_size, base, first))
        base += closed.st_size
    if status is not None:
        found.append(Segment(current, status.st_ino, status.st_size, base))
    return found


def lines_of(segment: Segment, start: int = 0) -> Iterator[tuple[bytes | None, int]]:
    """Yield each whole line of a file from an offset on, with the place of its end in the ledger.

    None stands for a line longer than any of ours. A file that was closed since it was looked at
    is read under its new name.

    Raises:
        DiskError: it can't be read.
    """
    with disk_errors(segment.path):
        fd = open_segment(segment)
        if fd is None:
            return
        try:
            # Of a file that is written to, what has come since is read as well.
            stop = last_newline_end(fd, os.fstat(fd).st_size)
            for _, raw, end in raw_lines(fd, start, stop, LINE_BYTES_MAX):
                yield raw, segment.base + end
        finally:
            os.close(fd)


def open_segment(segment: Segment) -> int | None:
    """Open a file of the ledger, also one that was closed meanwhile; None when it is gone."""
    for path in _names(segment):
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            if segment.first or os.fstat(fd).st_ino == segment.inode:
                return fd
            os.close(fd)
    return None


def _names(segment: Segment) -> Iterator[Path]:
    """Where a file may be; the closed ones are listed once it is known not to be the open one."""
    yield segment.path
    if not segment.first:
        yield from (path for *_, path in reversed(closed_files(segment.path.parent)))


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
