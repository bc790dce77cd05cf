"""Trash: what a job or a person removed, kept with its reason until it is compacted (promise 5).

One file a run, `trash/<run>.jsonl`, one line a memory: whence and why, and then the line itself,
byte for byte, as the value of `memory`. So it can be searched with grep, read with any JSON tool,
and put back exactly as it was.
"""

import json
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry, Reason
from skymem.model.spelling import read_line
from skymem.model.strict_json import LineDamage, parse_object
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import AgentPaths
from skymem.stores.lines import TIER_LINE_BYTES_MAX, entries_of, last_newline_end, raw_lines

_INTRODUCES: Final = b',"memory":'
ENVELOPE_BYTES_MAX: Final = 64 * 1024
"""Beyond this around a line, it is no envelope of ours."""


class Held(NamedTuple):
    """One memory in trash."""

    id: str
    tier: str
    """Where it was, and where `restore` puts it: short, long or archive."""

    file: str
    """The file it was in, by its name in the agent's directory."""

    run: str
    trashed_at: float
    """Epoch seconds."""

    reason: Reason
    after: str | None
    """The id of the memory before it in its file; None when it stood first."""

    line: bytes
    """As it was, without its newline."""

    @property
    def memory(self) -> Memory:
        """The line, read."""
        return read_line(self.line)

    @property
    def key(self) -> tuple[str, bytes]:
        """What tells it from the others: the id, and the line."""
        return self.id, self.line

    def saying(self, line: bytes) -> "Held":
        """The same with another line, with or without its newline."""
        return self._replace(line=line.strip(b"\n"))

    def envelope(self) -> bytes:
        """Spell it as it stands in trash, with its newline."""
        about = {
            "id": self.id,
            "tier": self.tier,
            "file": self.file,
            "run": self.run,
            "trashed_at": self.trashed_at,
            "reason": list(self.reason),
            "after": self.after,
            "bytes": len(self.line),
        }
        spelled = json.dumps(about, allow_nan=False, separators=(",", ":")).encode()
        return spelled[:-1] + _INTRODUCES + self.line + b"}\n"


def opened(raw: bytes) -> Held:
    """Read a line of a trash file, with or without its newline.

    Raises:
        LineDamage: it is not what `Held.envelope` writes.
    """
    raw = raw.rstrip(b"\n")
    fields = parse_object(raw)
    length = fields.get("bytes")
    if type(length) is not int or not 0 < length < len(raw):
        raise LineDamage("not an entry of trash: its length is missing")
    line = raw[-1 - length : -1]
    if not raw[: -1 - length].endswith(_INTRODUCES) or not line.lstrip().startswith(b"{"):
        raise LineDamage("not an entry of trash: its length is wrong")
    try:
        return _held(fields, line)
    except (KeyError, TypeError, ValueError):
        raise LineDamage("not an entry of trash: it does not say whence and why") from None


def _held(fields: dict[str, Any], line: bytes) -> Held:
    after = fields["after"]
    return Held(
        id=str(fields["id"]),
        tier=str(fields["tier"]),
        file=str(fields["file"]),
        run=str(fields["run"]),
        trashed_at=float(fields["trashed_at"]),
        reason=Reason(*fields["reason"]),
        after=None if after is None else str(after),
        line=line,
    )


def trash_entries(fd: int, start: int, stop: int) -> Iterator[Entry | Damage]:
    """Yield what a trash file holds, as the catalog takes it: each memory in its whole line."""
    most = TIER_LINE_BYTES_MAX + ENVELOPE_BYTES_MAX
    for offset, raw, end in raw_lines(fd, start, stop, most):
        if raw is None or not raw.strip():
            if raw is None:
                yield Damage(offset, end, f"longer than {most} bytes")
            continue
        try:
            held = opened(raw)
        except LineDamage as damage:
            yield Damage(offset, end, str(damage))
            continue
        for inner in entries_of(1, held.line, end):  # an offset that is no file's start: no BOM
            if isinstance(inner, Entry):
                entry = Entry(offset, end, inner.memory, inner.digest)
                entry.id = held.id
                yield entry
            else:
                yield Damage(offset, end, inner.reason)


class Trash:
    """The `trash/` directory of one agent. Callers that write hold the agent's job lock."""

    def __init__(self, agent: AgentPaths, files: Files) -> None:
        self.directory = agent.trash
        self._files = files

    def names(self) -> list[Path]:
        """The files there are, oldest run first."""
        return sorted(self.directory.glob("[!.]*.jsonl"))

    def file_of(self, run: str) -> Path:
        """Where a run keeps what it removes."""
        return self.directory / f"{run}.jsonl"

    def keep(self, run: str, envelopes: Iterable[bytes]) -> None:
        """Write what a run removes, whole and durable; the same run again replaces its file.

        Raises:
            DiskError: nothing of it is there.
        """
        self._files.make_directory(self.directory)
        self._files.replace(self.file_of(run), envelopes)

    def read(self, path: Path) -> Iterator[Held]:
        """Yield what a file holds; what is no entry is passed over, and stays in the file."""
        for _, held in self._lines(path):
            if held is not None:
                yield held

    def unreadable(self, path: Path) -> int:
        """How many lines of a file are no entries."""
        return sum(held is None for _, held in self._lines(path))

    def lines(self, path: Path) -> Iterator[tuple[bytes, Held | None]]:
        """Yield each line of a file, and what it is where it can be read."""
        return chain(self._lines(path), _unterminated(path))

    def all(self) -> Iterator[Held]:
        """Yield everything, oldest run first."""
        for path in self.names():
            yield from self.read(path)

    def find(self, ids: Collection[str]) -> dict[str, Held]:
        """Find memories by their ids; of one that was removed twice, the last removal."""
        return {held.id: held for held in self.all() if held.id in ids}

    def without(self, path: Path, gone: Container[tuple[str, bytes]]) -> int:
        """Take memories out of a file, and the file away with the last; returns how many.

        Args:
            path: one of `names`.
            gone: the `key` of each: two memories may have come here under one id.

        Raises:
            DiskError: the file is as before.
        """
        return self.change(path, lambda _, held: b"" if held and held.key in gone else None)

    def change(self, path: Path, change: Callable[[bytes, Held | None], bytes | None]) -> int:
        """Change lines of a file, which goes with its last; returns how many.

        Args:
            path: one of `names`.
            change: is given a line, and what it is where it can be read; gives what takes its
                place, b"" for nothing, None where it stays.

        Raises:
            DiskError: the file is as before.
        """
        kept: list[bytes] = []
        changed = 0
        for raw, held in self.lines(path):
            line = change(raw, held)
            changed += line is not None
            kept.append(raw + b"\n" if line is None else line)
        if any(kept) and changed:
            self._files.replace(path, kept)
        elif changed:
            self.remove(path)
        return changed

    def remove(self, path: Path) -> None:
        """Take a whole file away, durably."""
        with disk_errors(path):
            self._files.unlink(path)
            self._files.fsync_directory(path.parent)

    def _lines(self, path: Path) -> Iterator[tuple[bytes, Held | None]]:
        with disk_errors(path):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                return
            try:
                size = os.fstat(fd).st_size
                most = TIER_LINE_BYTES_MAX + ENVELOPE_BYTES_MAX
                for offset, short_enough, end in raw_lines(fd, 0, last_newline_end(fd, size), most):
                    raw = short_enough or os.pread(fd, end - 1 - offset, offset)
                    if raw.strip():
                        yield raw, _opened_or_none(raw)
            finally:
                os.close(fd)


def _unterminated(path: Path) -> list[tuple[bytes, Held | None]]:
    """The last line of a file that a hand has left without its newline: when it stays, ended."""
    with disk_errors(path):
        if not path.exists():
            return []
        with path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(last_newline_end(stream.fileno(), size))
            rest = stream.read()
    return [(rest, None)] if rest.strip() else []


def _opened_or_none(raw: bytes) -> Held | None:
    try:
        return opened(raw)
    except LineDamage:
        return None
