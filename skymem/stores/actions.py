"""Reading on in `status/actions.jsonl` as it grows, past its rotations (`status --follow`)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from skymem.stores.status import ACTIONS_KEPT, last_json_line

BLOCK_BYTES: Final = 1024 * 1024


class ActionsTail:
    """What is appended from now on, each action once, whatever happens to the file meanwhile."""

    def __init__(self, path: Path) -> None:
        """Begin at the end of `path`, which need not be there yet."""
        self._path = path
        self._seq = _seq(last_json_line(path) or {})
        self._fd = _open(path)
        self._rest = b""
        if self._fd is not None:
            os.lseek(self._fd, 0, os.SEEK_END)

    def fresh(self) -> Iterator[dict[str, Any]]:
        """Yield the actions that came since the last call, oldest first.

        Raises:
            OSError: the file can't be read.
        """
        if self._fd is not None:
            yield from self._read(self._fd)
        for path in self._newer():
            self.close()
            self._fd = _open(path)
            if path == self._path and _seq(last_json_line(path) or {}) < self._seq:
                self._seq = 0  # the status files were removed: numbers begin anew
            if self._fd is not None:
                yield from self._read(self._fd)

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
        self._fd, self._rest = None, b""

    def _newer(self) -> list[Path]:
        """The files that came after the one that is read, oldest first; itself if it was cut."""
        ours = None if self._fd is None else os.fstat(self._fd)
        found: list[Path] = []
        for number in range(ACTIONS_KEPT + 1):
            path = self._path.with_name(f"{self._path.name}.{number}") if number else self._path
            try:
                status = os.stat(path)
            except FileNotFoundError:
                continue
            if ours is not None and os.path.samestat(ours, status):
                cut = self._fd is not None and status.st_size < os.lseek(self._fd, 0, os.SEEK_CUR)
                return [path, *found] if cut else found
            found.insert(0, path)
        return found

    def _read(self, fd: int) -> Iterator[dict[str, Any]]:
        while block := os.read(fd, BLOCK_BYTES):
            *lines, self._rest = (self._rest + block).split(b"\n")
            for line in lines:
                record = _parse(line)
                if record is not None and _seq(record) > self._seq:
                    self._seq = _seq(record)
                    yield record


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _seq(record: dict[str, Any]) -> int:
    seq = record.get("seq")
    return seq if isinstance(seq, int) else 0
