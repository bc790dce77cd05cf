"""A directory that is made beside its place, and gets its name when all of it is there."""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from skymem.errors import BusyError, NotAllowedError
from skymem.stores.files import Files, disk_errors


@contextlib.contextmanager
def beside(root: Path, doing: str) -> Iterator[Path]:
    """Give an empty directory beside the place, ours alone; what is left of it goes."""
    staging = root.parent / f".{root.name}.{doing}"
    with disk_errors(staging):
        with contextlib.suppress(FileExistsError):
            staging.mkdir(mode=0o700)
        fd = os.open(staging, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(fd).st_uid != os.geteuid():
            raise NotAllowedError(f"{staging} belongs to somebody else; remove it")
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BusyError(str(staging), f"another that is {doing}") from None
        os.fchmod(fd, 0o700)
        with disk_errors(staging):
            _empty(staging)  # of one that was killed
        try:
            yield staging
        finally:
            if staging.exists():
                shutil.rmtree(staging, ignore_errors=True)
    finally:
        os.close(fd)


def _empty(directory: Path) -> None:
    for item in list(os.scandir(directory)):
        if item.is_dir(follow_symlinks=False):
            shutil.rmtree(item.path)
        else:
            Path(item.path).unlink()


def take_place(staging: Path, root: Path) -> None:
    """Give the directory its name, durably.

    Raises:
        DiskError: the place is not free any more.
    """
    files = Files()
    with disk_errors(root):
        files.rename(staging, root)  # over an empty directory, or nothing
        files.fsync_directory(root.parent)
