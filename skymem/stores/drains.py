"""Drains: old short-term files, read until nobody can still be writing to them (design §4).

A writer without a lock may hold the old file open across a swap, so its inode is kept under
`drains/` beside a cursor that says how far it was taken over. What arrives late is appended to
short-term, once: the cursor names what is on its way before it goes, so that a kill in between is
seen.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

from skymem.model.plan import Damage
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.stores.files import Files, disk_errors, take_lease
from skymem.stores.home import AgentPaths
from skymem.stores.lines import CHUNK_BYTES, last_newline_end
from skymem.stores.lock import held, never_stopped
from skymem.stores.quarantine import Quarantine
from skymem.stores.status import read_json

APPEND_LOCK_SECONDS: Final = 30.0

# Where no lease can be had, a writer can only be guessed gone: its drain waits this long for it.
KEEP_WITHOUT_LEASE_SECONDS: Final = 24 * 3600.0

LINE_BYTES_MAX: Final = 1024 * 1024
"""The longest line that is held in memory, where the rules name no other."""


class Drained(Enum):
    """How one look at a drain ended."""

    CLEAN = "taken over; nobody can write to it"
    HELD = "a process still has it open for writing"
    BUSY = "someone came while we read: look again"
    UNLEASED = "taken over as far as it goes; no lease can be had here"


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a drain has been taken over; kept beside it, written before the swap."""

    source: str
    """The file it was, by name relative to the agent's directory."""

    offset: int
    made: float
    run: str
    delivering_to: int = 0
    """End of the block on its way to short-term; 0 when none is."""

    delivering_from: int = 0
    """Size of short-term before that block went: it lies at or after this."""


class Drains:
    """The `drains/` directory of one agent. Callers hold the agent's job lock."""

    def __init__(
        self,
        agent: AgentPaths,
        files: Files,
        quarantine: Quarantine,
        torn_after_seconds: float,
        *,
        line_bytes_max: int = LINE_BYTES_MAX,
        stop: Callable[[], str] = never_stopped,
    ) -> None:
        self._agent = agent
        self._files = files
        self._torn_after_seconds = torn_after_seconds
        self._line_bytes_max = line_bytes_max
        self._stop = stop
        self.quarantine = quarantine
        self._exhausted: dict[str, tuple[int, int]] = {}
        """Size and time of each drain when no whole line was left in it to take over."""

    def names(self) -> list[Path]:
        """The drains there are, oldest first."""
        return sorted(self._agent.drains.glob("[!.]*.jsonl"))

    def begin(self, name: str, cursor: Cursor) -> Path:
        """Record, durably and before the rename, the drain-to-be and how far it is taken over."""
        self._files.make_directory(self._agent.drains)
        drain = self._agent.drains / name
        self._write(drain, cursor)
        return drain

    def take_back(self, drain: Path) -> None:
        """Forget a drain: its swap did not happen, or all of it was taken over.

        The cursor goes only when the drain is surely gone: a drain that a power cut brought back
        alone would be taken over again from its start.
        """
        with disk_errors(drain):
            with contextlib.suppress(FileNotFoundError):
                self._files.unlink(drain)
                self._files.fsync_directory(drain.parent)
            with contextlib.suppress(FileNotFoundError):
                self._files.unlink(_cursor_path(drain))

    def recover(self) -> None:
        """Finish or take back what a kill left half done."""
        self._files.remove_left(self._agent.drains)
        cursors = self._agent.drains.glob("[!.]*.cursor.json")
        named = (path.with_name(path.name.removesuffix(".cursor.json")) for path in cursors)
        for drain in sorted({*named, *self.names()}):
            if not drain.exists() or _same_file(drain, self._source(self._read(drain))):
                self.take_back(drain)
        for drain in self.names():
            self._finish_delivery(drain)

    def look(self, drain: Path, own: Collection[str], now: float) -> Drained:
        """Take over what a drain holds beyond its cursor, and remove it when its time has come.

        Drains of the runs `own` stay: a writer that opened the file just before its name moved may
        still be about to write.
        """
        with disk_errors(drain):
            fd = os.open(drain, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                return self._look(fd, drain, own, now)
            finally:
                os.close(fd)

    def _look(self, fd: int, drain: Path, own: Collection[str], now: float) -> Drained:
        try:
            leased = take_lease(fd, fcntl.F_RDLCK)
        except OSError:
            self._take_over(fd, drain, now)
            return self._after_unleased(fd, drain, own, now)
        self._take_over(fd, drain, now)
        if not leased:
            return Drained.HELD
        clean = self._settle_tail(fd, drain, now)
        size = os.fstat(fd).st_size
        # A writer that opens the file now waits for us: let it in and come back.
        waiting = fcntl.fcntl(fd, fcntl.F_GETLEASE) != fcntl.F_RDLCK
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        if waiting or os.fstat(fd).st_size != size:
            return Drained.BUSY
        # Only now: what was let in and wrote at once would have written to a file without a name.
        if clean and self._read(drain).run not in own:
            self.take_back(drain)
        return Drained.CLEAN

    def _after_unleased(self, fd: int, drain: Path, own: Collection[str], now: float) -> Drained:
        cursor = self._read(drain)
        old = now - cursor.made > KEEP_WITHOUT_LEASE_SECONDS
        if old and cursor.run not in own and self._settle_tail(fd, drain, now):
            self.take_back(drain)
        return Drained.UNLEASED

    def _take_over(self, fd: int, drain: Path, now: float) -> None:
        """Append every whole line beyond the cursor to short-term, in bounded blocks."""
        status = os.fstat(fd)
        mark = (status.st_size, status.st_mtime_ns)
        if self._exhausted.get(drain.name) == mark:
            return
        while self._take_block(fd, drain, status.st_size, now):
            pass
        self._exhausted[drain.name] = mark

    def _take_block(self, fd: int, drain: Path, size: int, now: float) -> bool:
        """Take over the next lines of a drain; False when no whole one is left before `size`."""
        offset = self._read(drain).offset
        end = last_newline_end(fd, min(size, offset + CHUNK_BYTES))
        if end <= offset:  # a line longer than a block: take it whole
            end = _next_newline_end(fd, offset, size)
            if end - 1 - offset > self._line_bytes_max:  # never held: it is damage by any reader
                damage = Damage(offset, end, f"longer than {self._line_bytes_max} bytes")
                self._set_aside(fd, drain, "long", damage, now)
                return True
        if end <= offset:
            return False
        self._deliver(drain, fd, _block(fd, offset, end), end)
        return True

    def _set_aside(self, fd: int, drain: Path, kind: str, damage: Damage, now: float) -> None:
        """Quarantine a piece of a drain under a name of its own, then count it as taken over."""
        source = f"drains/{drain.name}"
        name = f"{kind}_{drain.stem}_{damage.start}"
        self.quarantine.take(fd, source, damage, name, now)
        self._write(drain, replace(self._read(drain), offset=damage.end))

    def _deliver(self, drain: Path, fd: int, block: bytes, end: int) -> None:
        # Its writer may not have synced it: a drain that loses what short-term keeps would seem
        # not to have been delivered, and be delivered again.
        self._files.fsync(fd)
        cursor = self._read(drain)
        short_term = self._agent.short_term
        size = short_term.stat().st_size if short_term.exists() else 0
        self._write(drain, replace(cursor, delivering_to=end, delivering_from=size))
        lock, mode = self._agent.append_lock, self._files.modes.file
        with held(lock, "", deadline_seconds=APPEND_LOCK_SECONDS, stop=self._stop, mode=mode):
            self._files.append(short_term, block, shared=True)
        self._write(drain, replace(cursor, offset=end, delivering_to=0, delivering_from=0))

    def _finish_delivery(self, drain: Path) -> None:
        """See whether a block that was on its way when a kill came has arrived."""
        cursor = self._read(drain)
        if not cursor.delivering_to:
            return
        with drain.open("rb") as stream:
            block = _block(stream.fileno(), cursor.offset, cursor.delivering_to)
        arrived = self._secure_arrived(block, cursor.delivering_from)
        offset = cursor.delivering_to if arrived else cursor.offset
        self._write(drain, replace(cursor, offset=offset, delivering_to=0, delivering_from=0))

    def _secure_arrived(self, block: bytes, after: int) -> bool:
        """Look for a block in short-term and make it durable there; its sync may never have come.

        It is written over itself first: after a failed sync the kernel may call pages clean that
        never reached the disk.
        """
        short_term = self._agent.short_term
        with disk_errors(short_term):
            try:
                fd = os.open(short_term, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                return False
            try:
                found = _find(fd, block, after)
                if found >= 0:
                    self._files.overwrite(fd, block, found)
                    self._files.fsync(fd)
                return found >= 0
            finally:
                os.close(fd)

    def _settle_tail(self, fd: int, drain: Path, now: float) -> bool:
        """Judge an unterminated rest nobody can finish; True when nothing is left to take over."""
        offset = self._read(drain).offset
        status = os.fstat(fd)
        if status.st_size <= offset:
            return True
        if status.st_size - offset <= self._line_bytes_max:
            rest = os.pread(fd, status.st_size - offset, offset)
            if _is_memory(rest):  # only its newline is missing (hazard A3)
                self._deliver(drain, fd, rest + b"\n", status.st_size)
                return True
        if now - status.st_mtime < self._torn_after_seconds:
            return False
        damage = Damage(offset, status.st_size, "torn: its writer stopped in the middle")
        self._set_aside(fd, drain, "torn", damage, now)
        return True

    def blank(self, drain: Path) -> bool:
        """Blank what was taken over of a drain, in place; whether there was anything (row X5).

        Readers and writers are beyond it, and a drain without a cursor is read over blank lines.
        """
        offset = self._read(drain).offset
        with disk_errors(drain):
            fd = os.open(drain, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                found = False
                for at in range(0, offset, CHUNK_BYTES):
                    block = os.pread(fd, min(CHUNK_BYTES, offset - at), at)
                    if block.strip(b"\n"):
                        self._files.overwrite(fd, b"\n" * len(block), at)
                        found = True
                if found:
                    self._files.fsync(fd)
                return found
            finally:
                os.close(fd)

    def tails(self) -> list[tuple[Path, int]]:
        """Each drain and how far it was taken over: what readers read beside short-term."""
        found = []
        for drain in self.names():
            cursor = self._read(drain)
            if not _same_file(drain, self._source(cursor)):
                found.append((drain, cursor.offset))
        return found

    def _source(self, cursor: Cursor) -> Path:
        return self._agent.directory / cursor.source

    def _read(self, drain: Path) -> Cursor:
        """Read a cursor; a drain without one is taken over from its start: ids tell repeats."""
        value = read_json(_cursor_path(drain))
        try:
            return Cursor(**value or {})
        except TypeError:
            return Cursor("short_term.jsonl", 0, 0.0, "")

    def _write(self, drain: Path, cursor: Cursor) -> None:
        data: dict[str, Any] = asdict(cursor)
        self._files.replace(_cursor_path(drain), json.dumps(data).encode() + b"\n")


def _block(fd: int, start: int, end: int) -> bytes:
    """Read what goes to short-term; a byte order mark may stand at the start of a file only."""
    block = os.pread(fd, end - start, start)
    return block.removeprefix(BOM) if start == 0 else block


def _find(fd: int, block: bytes, after: int) -> int:
    """Find where a block stands in a file at or after `after`, or -1; reads overlapping windows."""
    size = os.fstat(fd).st_size
    step = max(CHUNK_BYTES, len(block))
    for position in range(after, size, step):
        found = os.pread(fd, step + len(block), position).find(block)
        if found >= 0:
            return position + found
    return -1


def _cursor_path(drain: Path) -> Path:
    return drain.with_name(drain.name + ".cursor.json")


def _same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except FileNotFoundError:
        return False


def _next_newline_end(fd: int, offset: int, size: int) -> int:
    position = offset
    while position < size:
        found = os.pread(fd, min(CHUNK_BYTES, size - position), position).find(b"\n")
        if found >= 0:
            return position + found + 1
        position += CHUNK_BYTES
    return offset


def _is_memory(raw: bytes) -> bool:
    try:
        read_line(raw)
    except LineDamage:
        return False
    return True
