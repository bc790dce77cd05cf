"""The one function that rewrites long-term and archives (promise 10).

Prune, forget, restore and undo come here, and nobody else: a tier's file is replaced whole by one
that lacks some lines or has some back. What somebody appends by hand meanwhile is taken over.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from skymem.errors import SkymemError
from skymem.stores.edits import Edit, edited
from skymem.stores.files import Files, disk_errors, refuse_link
from skymem.stores.home import AgentPaths
from skymem.stores.lines import CHUNK_BYTES, ContentHash


class TierChangedError(SkymemError):
    """{0} was changed by hand while a job worked on it"""

    exit_code = 11
    hint = "run the job again"


def rewrite(agent: AgentPaths, files: Files, name: str, edits: Sequence[Edit]) -> None:
    """Replace a file of a tier by itself with the edits made; the caller holds the job lock.

    An archive that has nothing left goes; one that isn't there is made of what is put in.

    Args:
        agent: whose.
        files: the disk.
        name: `long_term.jsonl` or an archive's name.
        edits: in the order of their starts; offsets are line borders of the file as it is.

    Raises:
        TierChangedError: somebody replaced or cut the file meanwhile; it is as they left it.
        DiskError: the file is as before.
        NotAllowedError: it is a symbolic link, or its owner can't be kept.
    """
    path = agent.directory / name
    refuse_link(path)
    with disk_errors(path):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            _make(path, files, edits)
            return
    try:
        _replace(path, files, fd, edits, may_go=path != agent.long_term)
    finally:
        os.close(fd)


def _make(path: Path, files: Files, edits: Sequence[Edit]) -> None:
    if any(edit.end for edit in edits):
        raise TierChangedError(str(path))
    files.replace(path, [edit.text for edit in edits])


def _replace(path: Path, files: Files, fd: int, edits: Sequence[Edit], *, may_go: bool) -> None:
    size = os.fstat(fd).st_size
    if edits and max(edit.end for edit in edits) > size:
        raise TierChangedError(str(path))
    if may_go and not any(edit.text for edit in edits) and _covers(edits, fd, size):
        _check_same(path, fd, size)
        with disk_errors(path):
            files.unlink(path)
            files.fsync_directory(path.parent)
        return
    files.replace(path, _content(path, fd, size, edits))
    _take_over_late(path, files, fd, size)


def _content(path: Path, fd: int, size: int, edits: Sequence[Edit]) -> Iterator[bytes]:
    """Yield the new content; an unterminated last line before what is put in is ended first."""
    if size and os.pread(fd, 1, size - 1) != b"\n":
        edits = sorted([*edits, Edit(size, size, b"\n")], key=_place)
    yield from edited(fd, size, edits, ContentHash())
    _check_same(path, fd, size)  # the last thing before the new file takes the name


def _place(edit: Edit) -> tuple[int, bool]:
    """Sort by start; at the end of the file a missing newline comes before what is put in."""
    return edit.start, edit.text != b"\n"


def _check_same(path: Path, fd: int, size: int) -> None:
    ours = os.fstat(fd)
    with disk_errors(path):
        there = os.lstat(path)
    if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino) or there.st_size < size:
        raise TierChangedError(str(path))


def _covers(edits: Sequence[Edit], fd: int, size: int) -> bool:
    """Whether nothing but blank space would be left."""
    at = 0
    for edit in edits:
        if edit.start > at and os.pread(fd, edit.start - at, at).strip():
            return False
        at = max(at, edit.end)
    return not os.pread(fd, size - at, at).strip()


def _take_over_late(path: Path, files: Files, fd: int, size: int) -> None:
    """Append what a hand added to the old file between our reading it and the new one's coming."""
    late = b""
    while block := os.pread(fd, CHUNK_BYTES, size + len(late)):
        late += block
    if not late.strip():
        return
    files.append(path, late if late.endswith(b"\n") else late + b"\n")
