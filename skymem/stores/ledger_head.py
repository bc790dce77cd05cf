"""Which entry of the ledger was the last, and how far it reached: `state/ledger_head.json`.

A chain can't show that its end was cut off, and only who reads all of it sees that a line is gone
from its middle. So this is noted after each append, and held against what is there.
Derived, and never ahead of the ledger: a note that is older, or none, says less and nothing wrong.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Final, NamedTuple

from skymem.errors import SkymemError
from skymem.stores.chain import parse
from skymem.stores.files import Files, refuse_link
from skymem.stores.home import HomePaths

NOTE_BYTES: Final = 224
"""What the note takes, padded: written over at one place, at once."""


class Head(NamedTuple):
    """The last entry, noted or found."""

    seq: int
    """Its number; 0 before the first."""

    hash: str
    end: int
    """Where its line ends: bytes of all files together."""

    flaw: int = 0
    """The first entry that was written after the ledger was found not to be as noted; 0 when it
    always was."""


def head_path(paths: HomePaths) -> Path:
    """Where a home keeps the note."""
    return paths.state / "ledger_head.json"


def read_head(paths: HomePaths) -> Head | None:
    """Read the note; None where there is none, or half of it is of another entry."""
    try:
        raw = head_path(paths).read_bytes()
    except OSError:
        return None
    found = parse(raw) or {}
    try:
        head = Head(*(found[name] for name in Head._fields))
    except KeyError:
        return None
    return head if raw == _spell(head) else None


def damage(paths: HomePaths) -> str:
    """Why the note can't be believed, or "" when it can."""
    path = head_path(paths)
    if not path.exists() or read_head(paths) is not None:
        return ""
    return (
        f"state/{path.name} can't be read: whether the end of the ledger was cut off can't be told "
        "(the next run notes it anew)"
    )


def write_head(paths: HomePaths, files: Files, head: Head) -> None:
    """Note the last entry. It need not be durable, and where it can't be written there is none."""
    path = head_path(paths)
    try:
        refuse_link(path)
        files.make_directory(path.parent)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            files.overwrite(fd, _spell(head), 0)
        finally:
            os.close(fd)
    except (OSError, SkymemError):
        return


def difference(noted: Head | None, found: Head) -> str:
    """Say how the ledger, read after its note, is not as noted; "" when it is, or has gone on."""
    if noted is None:
        return ""
    if found.seq < noted.seq:
        left = f"it ends with entry {found.seq}" if found.seq else "nothing of it is left"
        return f"{left}, and {noted.seq} were written"
    if found.seq > noted.seq:  # its writer was killed before it could note that, or is at work
        return "" if found.end > noted.end else _resized(noted, found)
    if found.hash != noted.hash:
        return f"its last entry, {found.seq}, is not the one that was written"
    return "" if found.end == noted.end else _resized(noted, found)


def _resized(noted: Head, found: Head) -> str:
    return (
        f"it has {found.end:,} bytes up to entry {found.seq}, and {noted.end:,} were written up to "
        f"entry {noted.seq}: lines were changed, removed or inserted"
    )


def _spell(head: Head) -> bytes:
    """Spell the note, with a check: a power cut may leave a mixture of two."""
    told = json.dumps(head._asdict())
    check = hashlib.sha256(told.encode()).hexdigest()[:16]
    noted = json.dumps({**head._asdict(), "check": check})
    return noted.encode().ljust(NOTE_BYTES - 1) + b"\n"
