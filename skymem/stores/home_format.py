"""In which format a home is: `skymem.json` at its top, one small file written whole.

A format is the sum of what stands in a home's files and where. `skymem init` writes the number of
the release's own; a home without the file is in format 0, as releases made it before formats had
numbers. What is newer than a release knows, it leaves alone. What is older can be read, and be
appended to, by every release to come; jobs may need a newer one, which `skymem upgrade` makes.
"""

import errno
import json
import os
import stat
from typing import Final, NamedTuple

from skymem.errors import DiskError, HomeFormatError, HomeTooNewError, HomeTooOldError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import FORMAT_FILE, HomePaths

CURRENT: int = 1
"""The format that this release keeps a home in; steps to it are in `skymem.upgrading.steps`."""

WORKED_ON: int = 0
"""The oldest format whose files jobs change as they are: what came since only added to it."""

BYTES_MAX: Final = 4096


class HomeFormat(NamedTuple):
    """What the file says."""

    number: int
    release: str
    """Of the release that made the home, or brought it over; "" where nobody said."""


UNNUMBERED: Final = HomeFormat(0, "")


def read_format(paths: HomePaths) -> HomeFormat:
    """Say in which format a home is: one small read.

    Raises:
        HomeFormatError: the file is there and says nothing that makes sense.
        DiskError: it can't be read.
    """
    with disk_errors(paths.format):
        try:
            data = _small_file(paths)
        except FileNotFoundError:
            return UNNUMBERED
    try:
        told = json.loads(data)
        number, release = told["format"], told["release"]
    except (ValueError, RecursionError, KeyError, TypeError):
        number, release = None, None
    if type(number) is not int or number < 1 or not isinstance(release, str):
        raise HomeFormatError(
            f"{paths.format} does not say in which format the home is; put it back from a backup, "
            "or if this release made the home: remove the file, and skymem upgrade writes it anew"
        )
    return HomeFormat(number, release)


def _small_file(paths: HomePaths) -> bytes:
    """The first bytes of a regular file; of anything else none."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(paths.format, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return b""
        raise
    try:
        return os.read(fd, BYTES_MAX) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    finally:
        os.close(fd)


def must_be_known(paths: HomePaths) -> None:
    """Refuse a home of a format that is not known here: every door asks this at its start.

    One that makes no sense, or may not be read, keeps nobody from reading and appending: the home's
    group may append and need not see it, and jobs stop at it.

    Raises:
        HomeTooNewError: a newer release keeps it.
    """
    try:
        found = read_format(paths)
    except (HomeFormatError, DiskError):
        return
    if found.number > CURRENT:
        raise too_new(str(paths.root), found)


def must_be_worked_on(paths: HomePaths) -> None:
    """Refuse a home of a format that jobs can't work on, be it newer or older.

    Raises:
        HomeFormatError: it is, or nobody can say.
        DiskError: the file can't be read.
    """
    found = read_format(paths)
    if found.number > CURRENT:
        raise too_new(str(paths.root), found)
    if found.number < WORKED_ON:
        whose = f"this is skymem {this_release()}, whose jobs work on format {WORKED_ON} and newer"
        raise HomeTooOldError(str(paths.root), f"{found.number}; {whose}")


def too_new(what: str, found: HomeFormat) -> HomeTooNewError:
    """Say that something is in a format of a newer release, with both releases."""
    is_said = found.release and found.release.isprintable()
    keeper = f"skymem {found.release}" if is_said else "a newer skymem"
    own = f"this is skymem {this_release()}, which knows formats up to {CURRENT}"
    return HomeTooNewError(what, f"{found.number}, which {keeper} keeps; {own}")


def write_format(paths: HomePaths, files: Files, number: int) -> None:
    """Say in which format the home is from now on, durable when it returns.

    Raises:
        DiskError: the disk refuses; what was said stands.
    """
    files.remove_left(paths.root, FORMAT_FILE)
    told = {"format": number, "release": this_release()}
    files.replace(paths.format, json.dumps(told).encode() + b"\n")


def this_release() -> str:
    """The version of the program that runs, as far as its installation tells."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("skymem")
    except (PackageNotFoundError, OSError):  # an owner whom root became may see less
        return "of an unknown release"
