"""`agent.md` on disk: its names, and the entries that were promoted into it, each of a memory (W9).

An entry is one line that ends with a comment which names its memory. What else is in the file is a
person's, and stays byte for byte.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from skymem.model.regex import regex
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.lock import held, never_stopped

NAME: Final = "agent.md"
PREVIOUS: Final = "agent.md.previous"
"""As it was before the last upload."""

LOCK_SECONDS: Final = 30.0

_PLAIN: Final = regex(r"[A-Za-z0-9_.:]")
_MARK: Final = regex(rb"<!-- memory: ([A-Za-z0-9_.:%]+) -->")


def mark(memory_id: str) -> bytes:
    """The comment that says of which memory an entry is; no id can end it."""
    spelled = "".join(
        one if _PLAIN.match(one) else "".join(f"%{b:02X}" for b in one.encode(errors="replace"))
        for one in memory_id
    )
    return f"<!-- memory: {spelled} -->".encode()


def without(text: bytes, is_gone: Callable[[str], bool]) -> tuple[bytes, int]:
    """A text without the entries of some memories, whatever they say now, and how many those were.

    Args:
        text: of the file.
        is_gone: whether an entry of the memory with this id goes.
    """
    lines = text.splitlines(keepends=True)
    kept = [
        line
        for line in lines
        if not any(is_gone(unquote(one.decode())) for one in _MARK.findall(line))
    ]
    return b"".join(kept), len(lines) - len(kept)


def lock_of(paths: HomePaths, owner: str) -> Path:
    """Held by who replaces an owner's file."""
    return paths.run / f"agent-md-{owner}.lock"


def take_out(
    directory: Path,
    lock: Path,
    is_gone: Callable[[str], bool],
    *,
    files: Files,
    stop: Callable[[], str] = never_stopped,
) -> int:
    """Take entries out of the file and the version before; returns how many.

    Args:
        directory: the owner's.
        lock: see `lock_of`.
        is_gone: whether an entry of the memory with this id goes.
        files: the disk.
        stop: the stop flag.

    Raises:
        DiskError, BusyError, NotAllowedError: what is left can be taken out by doing it again.
    """
    count = 0
    for path in (directory / PREVIOUS, directory / NAME):
        with disk_errors(path):
            if not path.is_file() or path.is_symlink():
                continue
        files.make_directory(lock.parent)
        with held(lock, NAME, deadline_seconds=LOCK_SECONDS, stop=stop):
            with disk_errors(path):
                text, gone = without(path.read_bytes(), is_gone)
            if gone:
                files.replace(path, text)
            count += gone
    return count
