"""Quarantine: bytes that could not be read, kept exactly, with place and reason (promise 2).

Two files a run: `<run>.raw` holds the bytes one after another, `<run>.jsonl` an entry for each:
source file, line, offset, length, reason, time, and where in the raw file it lies.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from skymem.model.plan import Damage
from skymem.stores.files import Files, disk_errors

COPY_BYTES: Final = 1024 * 1024

Tell = Callable[[str, Damage], None]
"""Is told of a piece, with the file it was in."""


def untold(_source: str, _damage: Damage) -> None:
    """Nobody keeps a record."""


class Quarantine:
    """The `quarantine/` directory of an agent."""

    def __init__(self, directory: Path, files: Files, tell: Tell = untold) -> None:
        """Open it; `tell` records what is set aside by no decision of a job."""
        self.directory = directory
        self._files = files
        self._tell = tell
        self.taken: list[tuple[str, Damage]] = []
        """What `take` set aside, with the file it was in."""

    def take(self, fd: int, source: str, damage: Damage, name: str, now: float) -> None:
        """Set one piece aside that the caller takes out of its place next, and record it.

        A kill before that has it set aside again, under the same name, and recorded twice.
        """
        self.keep(fd, source, [damage], name, now)
        self._tell(source, damage)
        self.taken.append((source, damage))

    def keep(self, fd: int, source: str, damages: Sequence[Damage], run: str, now: float) -> None:
        """Copy the damaged bytes of the open file `fd`; the same run again replaces its files."""
        if not damages:
            return
        self._files.make_directory(self.directory)
        self._files.replace(self.directory / f"{run}.raw", _copies(fd, damages))
        self._files.replace(self.directory / f"{run}.jsonl", _index(fd, source, damages, now))

    def take_back(self, run: str) -> None:
        """Remove what a run set aside before it was cut short: the bytes are still in place."""
        with disk_errors(self.directory):
            for name in (f"{run}.jsonl", f"{run}.raw"):
                with contextlib.suppress(FileNotFoundError):
                    self._files.unlink(self.directory / name)
                    # One by one: an index without its bytes must not survive a power cut.
                    self._files.fsync_directory(self.directory)

    def entries(self) -> list[dict[str, Any]]:
        """Everything in quarantine, oldest run first."""
        return [
            {**json.loads(line), "index": path.name}
            for path in self.indexes()
            for line in path.read_bytes().split(b"\n")
            if line
        ]

    def pieces(self, index: Path) -> Iterator[tuple[int, bytes]]:
        """Yield what an index tells of, each with where it lies in its raw file, in that order."""
        raw = index.with_suffix(".raw")
        with disk_errors(raw):
            entries = [json.loads(line) for line in index.read_bytes().split(b"\n") if line]
            if not raw.exists():
                return
            with raw.open("rb") as stream:
                for one in sorted(entries, key=lambda entry: int(entry["raw_offset"])):
                    stream.seek(one["raw_offset"])
                    yield one["raw_offset"], stream.read(one["bytes"])

    def indexes(self) -> list[Path]:
        """The indexes there are, oldest run first."""
        return sorted(self.directory.glob("[!.]*.jsonl"))

    def blank(self, index: Path, goes: Callable[[bytes], bool]) -> int:
        """Blank pieces of a run, whose index stays; returns how many (row X5).

        Raises:
            DiskError: all is as before.
        """
        blanked = 0
        blocks: list[bytes] = []
        for _, piece in self.pieces(index):
            gone = bool(piece.strip()) and goes(piece)
            blanked += gone
            blocks.append(b" " * (len(piece) - 1) + b"\n" if gone else piece)
        if blanked:
            self._files.replace(index.with_suffix(".raw"), blocks)
        return blanked

    def count(self) -> int:
        """How many pieces are in quarantine."""
        return sum(path.read_bytes().count(b"\n") for path in self.directory.glob("[!.]*.jsonl"))


def _copies(fd: int, damages: Iterable[Damage]) -> Iterator[bytes]:
    for damage in damages:
        for position in range(damage.start, damage.end, COPY_BYTES):
            yield os.pread(fd, min(COPY_BYTES, damage.end - position), position)


def _index(fd: int, source: str, damages: Sequence[Damage], now: float) -> bytes:
    lines = []
    raw_offset = 0
    numbers = _line_numbers(fd, damages)
    for damage, number in zip(damages, numbers, strict=True):
        length = damage.end - damage.start
        record = {
            "ts": now,
            "file": source,
            "line": number,
            "offset": damage.start,
            "bytes": length,
            "reason": damage.reason,
            "raw_offset": raw_offset,
        }
        lines.append(json.dumps(record).encode() + b"\n")
        raw_offset += length
    return b"".join(lines)


def _line_numbers(fd: int, damages: Iterable[Damage]) -> Iterator[int]:
    """Number the lines on which the damages start, from 1, in one pass over what is before them."""
    number, position = 1, 0
    for damage in damages:  # in the order of the file
        for at in range(position, damage.start, COPY_BYTES):
            number += os.pread(fd, min(COPY_BYTES, damage.start - at), at).count(b"\n")
        position = damage.start
        yield number
