"""Backup and its way back: a home in one file, of one moment, proven on writing and on reading.

The home's key is in it, and every text: whoever has the file has the home. Vectors, the catalog
and the word index are not: they are made anew.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from skymem.app import Home
from skymem.errors import DiskError, HomeFormatError, UsageError
from skymem.exchange.container import Member, Reading, packed
from skymem.exchange.snapshot import NAMED, PARTS, Snapshot, snapshot_of
from skymem.exchange.staging import beside, take_place
from skymem.stores import home_format
from skymem.stores.files import Files, Modes, disk_errors
from skymem.stores.home import RULES_FILE, HomePaths
from skymem.stores.home_format import HomeFormat, read_format, too_new

KIND: Final = "skymem backup"
TOPS: Final = (*PARTS, *NAMED)


def backup(home: Home, target: Path, now: float, *, dry_run: bool = False) -> dict[str, Any]:
    """Write a backup of a home that may be at work; returns what is in it.

    It gets its name when it is on disk and has been read back; until then there is none.

    Args:
        home: the operator's handle.
        target: the file to make; it must not be there, nor lie among the home's own files.
        now: when, epoch seconds.
        dry_run: only say what would be in it.

    Raises:
        NotAllowedError: who asks is bound to an agent, or not the home's owner.
        UsageError: there is such a file already, or it would lie within what is backed up.
        BusyError: a job works on an agent for too long.
        DiskError: the disk refuses; nothing of it stays.
    """
    home.only_operator()
    home.only_owner("make a backup")
    target = new_file(target, home)
    work = home.workplace(dry_run=dry_run)
    with snapshot_of(work) as snapshot:
        if dry_run:
            return {**_told(target, snapshot), "dry_run": True}
        whole = sum(one.size for one in snapshot.files)
        about = {"kind": KIND, "version": 1, "made": now, "passed_over": snapshot.passed_over}
        about |= format_of(home.paths)
        blocks = packed((one.piece() for one in snapshot.files), about, now)
        publish(target, _watched(home, "backup", blocks, whole), lambda path: check(path, home))
        return _told(target, snapshot)


def new_file(target: Path, home: Home) -> Path:
    """Where a file is to be made that holds what a home holds.

    Raises:
        UsageError: there is something already, no directory for it, or the home would take it in.
    """
    target = Path(os.path.abspath(target))  # the last part is not to be followed
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already; choose another name")
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent} is no directory; make it first")
    place = target.parent.resolve()
    if any(place.is_relative_to(own.resolve()) for own in home.paths.own):
        raise UsageError(f"{target} lies among the home's own files; choose a place elsewhere")
    return target


def publish(target: Path, blocks: Iterator[bytes], prove: Callable[[Path], object]) -> None:
    """Write a file, prove it, and only then give it its name, which nobody may have taken.

    Raises:
        DiskError, UsageError: there is no such file.
    """
    files = Files(Modes())  # its owner's alone, whatever the home's modes: the key is in it
    files.remove_left(target.parent, target.name)
    temporary = files.write_beside(target, blocks)
    try:
        prove(temporary)
        with disk_errors(target):
            _name(files, temporary, target)
    finally:
        with disk_errors(temporary):
            files.unlink(temporary)


def _name(files: Files, temporary: Path, target: Path) -> None:
    try:
        files.link(temporary, target)
    except FileExistsError:
        raise UsageError(f"{target} is there already; choose another name") from None
    files.fsync_directory(target.parent)


def _watched(home: Home, what: str, blocks: Iterator[bytes], whole: int) -> Iterator[bytes]:
    done = 0
    for block in blocks:
        home.workplace().check_stop()
        done += len(block)
        home.progress(what, min(done, whole), whole)
        yield block


def _told(target: Path, snapshot: Snapshot) -> dict[str, Any]:
    agents = {
        one.name.split("/")[1]
        for one in snapshot.files
        if one.name.startswith("memory/") and one.name.count("/") > 1
    }
    return {
        "file": str(target),
        "files": len(snapshot.files),
        "bytes": sum(one.size for one in snapshot.files),
        "agents": sorted(agents),
        "passed_over": snapshot.passed_over,
    }


def check(path: Path, home: Home | None = None) -> dict[str, Any]:
    """Read a backup from end to end against its hashes; returns its manifest.

    Raises:
        ArchiveDamagedError: it is not whole.
        HomeTooNewError: it is of a home in a newer format.
        DiskError: it can't be read.
    """
    with _reading(path) as (stream, size):
        reading = Reading(stream, str(path), TOPS)
        if home is not None:
            reading.progress = lambda done: home.progress("reading it back", done, size)
        return known(reading.whole(KIND), path)


def format_of(paths: HomePaths) -> dict[str, Any]:
    """What a manifest says of the format of the home it is of; nothing where nobody can say."""
    try:
        found = read_format(paths)
    except HomeFormatError:
        return {}
    return {"format": found.number, "release": found.release}


def known(manifest: dict[str, Any], path: Path) -> dict[str, Any]:
    """Give a manifest back when what it is of can be read by this release.

    Raises:
        HomeTooNewError: it is of a home in a newer format.
    """
    found, release = manifest.get("format", 0), manifest.get("release")
    number = found if type(found) is int else 0
    if number > home_format.CURRENT:
        raise too_new(str(path), HomeFormat(number, release if isinstance(release, str) else ""))
    return manifest


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[tuple[IO[bytes], int]]:
    with disk_errors(path), path.open("rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        yield stream, status.st_size


def restore_backup(path: Path, root: Path, *, dry_run: bool = False) -> dict[str, Any]:
    """Make a home of a backup; it is there whole, or not at all.

    All is written and checked in a directory beside, which then gets the home's name.

    Args:
        path: the backup.
        root: where the home is to be: nothing, or an empty directory.
        dry_run: only check it, and the place.

    Raises:
        ArchiveDamagedError: it is not whole, or names what no backup of ours does.
        HomeTooNewError: it is of a home in a newer format.
        UsageError: there is something already.
        DiskError, NotAllowedError, BusyError: there is no home.
    """
    root = Path(os.path.abspath(root))  # the last part is not to be followed
    _check_place(root)
    if dry_run:
        manifest = check(path)
    else:
        with beside(root, "restoring") as staging:
            manifest = _unpack(path, staging)
            take_place(staging, root)
    files = manifest["files"]
    told = {"home": str(root), "made": manifest.get("made"), "files": len(files)}
    told["bytes"] = sum(one["size"] for one in files)
    return told | ({"dry_run": True} if dry_run else {})


def _check_place(root: Path) -> None:
    with disk_errors(root):
        if os.path.lexists(root) and (
            root.is_symlink() or not root.is_dir() or any(root.iterdir())
        ):
            raise UsageError(f"{root} is not empty; a backup is restored into an empty place only")
        if not root.parent.is_dir():
            raise UsageError(f"{root.parent} is no directory; make it first")


def _unpack(path: Path, staging: Path) -> dict[str, Any]:
    files = Files()

    def take(member: Member, blocks: Iterator[bytes]) -> None:
        target = staging / member.name
        files.make_directory(target.parent)
        files.replace(target, blocks)
        if member.mode & 0o060:
            target.chmod(0o600 | member.mode & 0o660)
            _open_to_group(staging, target.parent)

    with _reading(path) as (stream, _):
        manifest = known(Reading(stream, str(path), TOPS).whole(KIND, take), path)
    if not (staging / RULES_FILE).is_file():
        raise DiskError(str(path), f"there is no {RULES_FILE} in it")
    return manifest


def _open_to_group(staging: Path, directory: Path) -> None:
    """With `access: group` the directories of what is shared are, too (promise 9)."""
    while directory != staging:
        directory.chmod(0o2770)
        directory = directory.parent
    staging.chmod(0o2750)
