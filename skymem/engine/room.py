"""How large an index may be: room on the disk, bytes its vectors explain, and the limit on a file.

Light enough for `status` and `doctor`: no numpy, no chromadb (hazard D3).
"""

import os
import resource
from pathlib import Path
from typing import Final

from skymem.errors import DiskError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths

MIB: Final = 1024 * 1024
ROOM_BYTES: Final = 32 * MIB
FULL_BYTES: Final = MIB
ROOM_FACTOR: Final = 4
"""Chroma has a vector up to three times for a while (queue, journal, HNSW), and we once."""

FILE_BYTES_MIN: Final = 64 * MIB
# Measured with chromadb 1.5.9 and 384 dimensions (1,536 bytes of vector), 20,000 rows: 1,676 bytes
# a row in data_level0.bin, 377 in chroma.sqlite3 with its queue, 68 in the pickle; with 1,024
# dimensions and 5,000 rows 4,236 and 1,226. Twice the vector and 2 KiB leave twice that and more.
ROW_BYTES: Final = 2 * 1024
ROW_VECTORS: Final = 2


def set_aside_root(paths: HomePaths) -> Path:
    """Where damaged generations are kept, the newest one of each agent."""
    return paths.rag / "set_aside"


def file_bytes_max(rows: int, dimension: int) -> int:
    """The most that one file of an index of `rows` vectors may grow to."""
    return FILE_BYTES_MIN + rows * (ROW_VECTORS * 4 * dimension + ROW_BYTES)


def explained_bytes(rows: int, dimension: int) -> int:
    """The most that a whole index of `rows` vectors has reason to take, both generations counted.

    More than this is an index that grows by itself, and the user is told.
    """
    return 3 * file_bytes_max(rows, dimension)


def index_bytes(paths: HomePaths, agent: str) -> int:
    """What an agent's vectors take on the disk: generations, cache and register."""
    return tree_bytes(paths.chroma_store / agent) + tree_bytes(paths.embeddings / agent)


def tree_bytes(top: Path) -> int:
    """Bytes of all files under `top`, holes and all; 0 where there is nothing.

    A runaway index file is sparse before it fills the disk: its size tells, not its blocks.
    """
    total = 0
    for directory, _, names in os.walk(top):
        for name in names:
            try:
                total += os.lstat(os.path.join(directory, name)).st_size
            except FileNotFoundError:
                continue
    return total


def open_kept(path: Path, files: Files) -> int:
    """Open a file of the index for reading and writing, made with the home's modes (promise 9).

    Raises:
        DiskError: the disk refuses, or the path is a symbolic link.
    """
    with disk_errors(path):
        known = path.exists()
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if not known and files.modes.group >= 0:
            os.fchown(fd, -1, files.modes.group)
            os.fchmod(fd, files.modes.file)
        return fd


def require_room(path: Path, bytes_to_write: int) -> None:
    """Refuse to begin what could fill the disk.

    Raises:
        DiskError: less than 32 MiB and four times `bytes_to_write` are free at `path`.
    """
    place = path
    while not place.is_dir() and place != place.parent:
        place = place.parent
    try:
        status = os.statvfs(place)
    except OSError as error:
        raise DiskError(str(path), error.strerror or str(error)) from error
    needed = ROOM_BYTES + ROOM_FACTOR * bytes_to_write
    free = status.f_bavail * status.f_frsize
    if free < needed:
        raise DiskError(str(path), f"{needed:,} bytes are needed free, {free:,} are")


def is_full(path: Path) -> bool:
    """Whether the disk has no room for a write that matters; one that can't be asked has."""
    try:
        status = os.statvfs(path)
    except OSError:
        return False
    return status.f_bavail * status.f_frsize < FULL_BYTES


def limit_file_size(rows: int, dimension: int) -> None:
    """Let no file this process writes outgrow what `rows` vectors explain.

    A damaged index file has grown to 70 GB; with the limit its writer gets an error instead.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    wanted = file_bytes_max(rows, dimension)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != wanted:
        resource.setrlimit(resource.RLIMIT_FSIZE, (wanted, hard))
