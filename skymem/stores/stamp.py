"""What tells whether a small file was written since: one look, no reading."""

import os
from pathlib import Path
from typing import TypeAlias

Stamp: TypeAlias = tuple[int, int, int]
"""Inode, time of the last write in nanoseconds, bytes."""


def stamp_of(path: "Path | os.DirEntry[str]") -> Stamp | None:
    """The stamp of what stands there now; None of what can't be looked at."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
