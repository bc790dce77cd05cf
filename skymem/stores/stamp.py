"""What tells whether a file was written since, or is another one by now: one look, no reading."""

import os
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, int, int]
"""Inode, time of the last write in nanoseconds, bytes."""

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""


def stamp_of(path: "Path | os.DirEntry[str]") -> Stamp | None:
    """The stamp of what stands there now; None of what can't be looked at."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def identity_of(path: Path) -> Identity:
    """Which file stands under that name now, a link as itself; (0, 0) where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
