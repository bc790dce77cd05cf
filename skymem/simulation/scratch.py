"""A home of its own for a replay: in a private directory that goes when it ends, or is ended."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skymem.errors import DiskError

SPARE_BYTES: Final = 32 * 1024 * 1024
"""For the ledger and what a run writes beside what it replaces."""

ROOM: Final = 4
"""How often the text of all lines may lie there: at its old place, its new one, and in drains."""


@contextmanager
def scratch_directory(home: Path, needed: int) -> Iterator[Path]:
    """Make a directory that nobody else can look into: by `TMPDIR`, else beside the home.

    Raises:
        DiskError: neither has room for `needed` bytes of lines.
    """
    wanted = needed * ROOM + SPARE_BYTES
    made = ""
    refused: OSError | None = None
    for place in (Path(tempfile.gettempdir()), home.absolute().parent):
        try:
            if _free(place) < wanted:
                refused = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))
                continue
            made = tempfile.mkdtemp(prefix="skymem-simulate-", dir=place)
            break
        except OSError as error:
            refused = error
    if not made:
        why = refused.strerror if refused is not None and refused.strerror else "no room"
        raise DiskError(tempfile.gettempdir(), f"{why}: a simulation needs {wanted:,} bytes")
    try:
        yield Path(made)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _free(place: Path) -> int:
    disk = os.statvfs(place)
    return disk.f_frsize * disk.f_bavail
