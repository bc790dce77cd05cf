"""Which documents a path stands for: files, or of a Slack export its channels (row W8).

Links are not followed; names that begin with a dot and what the home keeps are passed over. Each
document comes with what tells it from another version of itself, and nothing is opened for that.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from skymem.errors import UsageError
from skymem.working.readers import slack
from skymem.working.readers.formats import SUFFIXES
from skymem.working.readers.reading import UnreadableError

Version: TypeAlias = str
"""Size, times and number of a document's files: what a change to it changes."""

MBOX_NAMES: Final = ("mbox",)


@dataclass(frozen=True, slots=True)
class Found:
    """A document, not opened yet."""

    path: str
    format: str
    version: Version
    mtime_us: int
    changed: float
    """When it was last touched, epoch seconds: of late, the same version may yet be another."""

    size: int = 0
    files: tuple[str, ...] = ()
    """Of a channel, its days, by name."""


@dataclass(slots=True)
class Walk:
    """What was found below one path."""

    root: str
    found: list[Found] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Paths that are there and can't be taken, each with why."""

    passed_over: int = 0
    """Files of no format that is known, and links."""


def walk(path: str, own: Sequence[Path]) -> Walk:
    """Find the documents a path stands for, but for what is in the home's `own` directories.

    Raises:
        UsageError: it is not there, or nothing that could be a document.
    """
    root = os.path.realpath(path)
    found = Walk(root)
    try:
        status = os.stat(root)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; give a file or a directory") from None
    kept = [os.path.realpath(one) for one in own]
    if any(_within(root, one) for one in kept):
        raise UsageError(f"{path} is the home's own; what is in there is remembered already")
    if stat.S_ISDIR(status.st_mode):
        _directory(found, root, kept)
    elif stat.S_ISREG(status.st_mode):
        if format_of(root) is None:
            known = ", ".join(sorted(SUFFIXES))
            raise UsageError(f"{path} is of no format that is known; there are: {known}")
        _file(found, root)
    else:
        raise UsageError(f"{path} is no regular file; give a file or a directory")
    return found


def format_of(name: str) -> str | None:
    """The format of a file, by its name; None of one that is not known."""
    base = os.path.basename(name).lower()
    if base in MBOX_NAMES:
        return "mbox"
    return SUFFIXES.get(os.path.splitext(base)[1])


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _directory(found: Walk, root: str, own: Sequence[str]) -> None:
    def unlisted(error: OSError) -> None:
        found.failed.append((str(error.filename), f"can't be listed: {error.strerror}"))

    for directory, names, files in os.walk(root, onerror=unlisted):
        names[:] = sorted(
            name
            for name in names
            if not name.startswith(".") and os.path.join(directory, name) not in own
        )
        if {slack.CHANNELS, slack.USERS} <= set(files):
            _export(found, directory, names)
            names[:] = []
            continue
        for name in sorted(files):
            path = os.path.join(directory, name)
            if name.startswith(".") or format_of(name) is None or os.path.islink(path):
                found.passed_over += not name.startswith(".")
            else:
                _file(found, path)


def _file(found: Walk, path: str) -> None:
    if not _is_utf8(path):
        found.failed.append((path, "its name is no UTF-8; rename it"))
        return
    try:
        status = os.lstat(path)
    except OSError as error:
        found.failed.append((path, str(error.strerror)))
        return
    if not stat.S_ISREG(status.st_mode):
        found.failed.append((path, "is no regular file"))
        return
    found.found.append(
        Found(
            path,
            format_of(path) or "",
            _version([status]),
            status.st_mtime_ns // 1000,
            max(status.st_mtime, status.st_ctime),
            status.st_size,
        )
    )


def _export(found: Walk, directory: str, channels: Sequence[str]) -> None:
    users = _stat(os.path.join(directory, slack.USERS))
    for name in channels:
        path = os.path.join(directory, name)
        if not _is_utf8(path) or os.path.islink(path):
            found.failed.append((path, "its name is no UTF-8, or it is a link"))
            continue
        days = dict(_days(path))
        if not days:
            found.passed_over += 1
            continue
        statuses = [*days.values(), *([users] if users else [])]
        found.found.append(
            Found(
                path,
                "slack",
                _version(statuses, tuple(days)),
                max(one.st_mtime_ns for one in statuses) // 1000,
                max(max(one.st_mtime, one.st_ctime) for one in statuses),
                sum(one.st_size for one in statuses),
                tuple(days),
            )
        )


def _days(channel: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        names = sorted(os.listdir(channel))
    except OSError:
        return
    for name in names:
        status = _stat(os.path.join(channel, name)) if slack.DAY.fullmatch(name) else None
        if status is not None:
            yield name, status


def _stat(path: str) -> os.stat_result | None:
    """Of a regular file; None of anything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _version(statuses: Sequence[os.stat_result], names: Sequence[str] = ()) -> Version:
    parts = [
        f"{one.st_size}.{one.st_mtime_ns}.{one.st_ctime_ns}.{one.st_ino}.{one.st_dev}"
        for one in statuses
    ]
    spelled = " ".join([*parts, *names])
    if len(spelled) <= 200:
        return spelled
    import hashlib

    return hashlib.blake2b(spelled.encode(), digest_size=16).hexdigest()


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_bytes(path: str, limit: int) -> bytes:
    """Read a file whole: no link, and no longer than it may be.

    Raises:
        UnreadableError: it is longer, or can't be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise UnreadableError(f"can't be opened: {error.strerror}") from None
    with os.fdopen(fd, "rb") as stream:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("is no regular file")
        if status.st_size > limit:
            raise UnreadableError(f"has {status.st_size:,} bytes, more than file_max ({limit:,})")
        try:
            data = stream.read(limit + 1)
        except OSError as error:
            raise UnreadableError(f"can't be read: {error.strerror}") from None
    if len(data) > limit:
        raise UnreadableError(f"has more than file_max ({limit:,}) bytes")
    return data
