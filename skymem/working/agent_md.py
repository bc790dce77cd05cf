"""`agent.md`: what a tenant's agents are to know of its business, kept by people and by promotion.

Row W9. The file is a person's: it may be written with any editor, or uploaded. What is promoted is
appended between two markers, each entry with the id of its memory in a comment, so that none is
appended twice. Every other byte stays as it is, inside the markers as well; where the markers are
damaged, a new pair is put at the end. It is replaced whole, or not at all.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from skymem.errors import BusyError, DiskError, InvalidMemoryError
from skymem.policy.admit import check_agent_name
from skymem.stores.agent_file import LOCK_SECONDS, NAME, PREVIOUS, lock_of, mark
from skymem.stores.files import disk_errors, refuse_link
from skymem.stores.lock import held

if TYPE_CHECKING:
    from skymem.app import Home

BEGIN: Final = b"<!-- skymem:begin -->"
END: Final = b"<!-- skymem:end -->"
BYTES_MAX: Final = 1024 * 1024
TRIES: Final = 5
"""Times that a person's save in the middle has the change made again."""

_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")


def path_of(home: "Home", agent: str) -> Path:
    """Where the `agent.md` of an agent's tenant is, or would be.

    Raises:
        AgentNameError: the name is not allowed, or too long to have documents of its own.
    """
    owner = check_agent_name(home.rules.tenants.owner(check_agent_name(agent)))
    return home.shelf(owner).paths.directory / NAME


def read(home: "Home", agent: str) -> str:
    """Give the text; "" where there is none. Bytes that are no UTF-8 are shown as `�`.

    Raises:
        NotAllowedError: this process is not the home's owner, or the file is a link.
        DiskError: it can't be read.
    """
    home.only_owner("read agent.md")
    return _read(path_of(home, agent)).decode(errors="replace")


def append(home: "Home", agent: str, text: str, *, memory_id: str) -> bool:
    """Append what a promoted memory says; False where the memory stands there already.

    Args:
        home: where.
        agent: whose tenant's file.
        text: what it says; becomes one line.
        memory_id: the memory it is of.

    Raises:
        InvalidMemoryError: there is no text in it, or the file is no UTF-8 that can be added to.
        NotAllowedError, DiskError, BusyError: the file is as it was.
    """
    said = _one_line(text)
    if not said or not memory_id:
        raise InvalidMemoryError("agent.md: there is no text, or no id of its memory")
    own = mark(memory_id)
    entry = f"- {said} ".encode(errors="replace") + own
    return _change(home, agent, lambda old: None if own in old else _with_entry(old, entry))


def upload(home: "Home", agent: str, data: bytes, *, dry_run: bool = False) -> bool:
    """Put a person's text in its place; False where it says the same already.

    What was promoted is taken along, unless the text has a block of its own. What was there before
    is kept beside it, as `agent.md.previous`.

    Raises:
        InvalidMemoryError: it is too long, or no UTF-8.
        NotAllowedError, DiskError, BusyError: the file is as it was.
    """
    if len(data) > BYTES_MAX:
        raise InvalidMemoryError(f"agent.md: {len(data):,} bytes, more than {BYTES_MAX:,}")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise InvalidMemoryError(f"agent.md: no UTF-8 from byte {error.start} on") from None

    def changed(old: bytes) -> bytes | None:
        block = b"" if _block(data) else _block_of(old)
        new = _ended(data) + block if block else data
        return None if new == old else new

    if dry_run:
        home.only_owner("write agent.md")
        return changed(_read(path_of(home, agent))) is not None
    return _change(home, agent, changed, keep=True)


def _change(
    home: "Home",
    agent: str,
    change: Callable[[bytes], bytes | None],
    *,
    keep: bool = False,
) -> bool:
    """Replace the file by what `change` makes of it; None leaves it as it is."""
    home.only_owner("write agent.md")
    path = path_of(home, agent)
    refuse_link(path)
    home.make_ready(home.admit(path.parent.name, writing=True))
    files = home.files
    files.make_directory(home.paths.run)
    lock = lock_of(home.paths, path.parent.name)
    with held(lock, NAME, deadline_seconds=LOCK_SECONDS, stop=home.stop):
        files.remove_left(path.parent, NAME)
        for _ in range(TRIES):
            before = _seen(path)
            old = _read(path)
            new = change(old)
            if new is None:
                return False
            if keep and old:
                files.replace(path.with_name(PREVIOUS), old)
            if _replaced(home, path, new, before):
                return True
    raise BusyError(str(path), "somebody who saves it again and again")


def _replaced(home: "Home", path: Path, new: bytes, before: tuple[int, ...]) -> bool:
    """Put new content in its place, unless a person has saved it since it was read."""
    files = home.files
    temporary = files.write_beside(path, new)
    with disk_errors(path):
        try:
            if _seen(path) != before:
                files.unlink(temporary)
                return False
            files.rename(temporary, path)
        except OSError:
            with contextlib.suppress(OSError):
                files.unlink(temporary)
            raise
        files.fsync_directory(path.parent)
    return True


def _seen(path: Path) -> tuple[int, ...]:
    """What tells a file from one that was saved since."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read(path: Path) -> bytes:
    refuse_link(path)
    with disk_errors(path):
        if os.path.lexists(path) and not path.is_file():
            raise DiskError(str(path), "is no regular file; put one there")
        try:
            with path.open("rb") as stream:
                data = stream.read(BYTES_MAX * 2 + 1)
        except FileNotFoundError:
            return b""
    if len(data) > BYTES_MAX * 2:
        raise DiskError(str(path), f"is longer than {BYTES_MAX * 2:,} bytes; shorten it")
    return data


def _with_entry(old: bytes, entry: bytes) -> bytes:
    """The text with one entry more, at the end of the last block that is whole, else of its own."""
    if old.startswith(_WIDE):
        raise InvalidMemoryError("agent.md is UTF-16; save it as UTF-8")
    newline = b"\r\n" if b"\r\n" in old else b"\n"
    whole = _block(old)
    if whole:
        at = whole[1]
        return old[:at] + entry + newline + old[at:]
    start = _ended(old, newline) + newline if old else b""
    return start + BEGIN + newline + entry + newline + END + newline


def _block(text: bytes) -> tuple[int, int, int] | None:
    """Where the last whole block begins, where its closing marker does, and where that ends."""
    begin, found = -1, None
    at = 0
    for line in text.splitlines(keepends=True):
        if line.strip() == BEGIN:
            begin = at
        elif line.strip() == END and begin >= 0:
            found = (begin, at, at + len(line))
            begin = -1
        at += len(line)
    return found


def _block_of(text: bytes) -> bytes:
    found = _block(text)
    return b"\n" + _ended(text[found[0] : found[2]]) if found else b""


def _ended(text: bytes, newline: bytes = b"\n") -> bytes:
    return text if not text or text.endswith(b"\n") else text + newline


def _one_line(text: str) -> str:
    """The text as one line of a list, in which nothing can be taken for a marker."""
    said = " ".join(text.split())
    return said.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
