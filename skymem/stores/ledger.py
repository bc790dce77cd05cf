"""The ledger: every operation, hash-chained, one JSON line each, for the whole home (row M8).

Each entry carries the hash of the one before it, so that a line that was changed, removed or
inserted shows. That its end was cut off, a chain can't show: number and hash of the last entry are
noted in `state/` after each append, and what comes next says so when they are gone.
A file that has grown past `SEGMENT_BYTES` is closed, and the chain goes on in the next.
Ids, reasons and numbers only, never text (promise 6).
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

from skymem.model.plan import Damage
from skymem.stores.chain import CUT_OFF, GENESIS, ChainCheck, parse, spell, true_hash
from skymem.stores.entries import well_formed
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.ledger_head import Head, difference, read_head, write_head
from skymem.stores.lines import last_newline_end
from skymem.stores.lock import held, never_stopped
from skymem.stores.quarantine import Quarantine
from skymem.stores.segments import (
    Segment,
    closed_files,
    closed_name,
    lines_of,
    open_segment,
    segments_of,
)

IDS_PER_ENTRY: Final = 500
"""Ids and decisions in one entry: keeps its line short enough to read back from the tail."""

SEGMENT_BYTES = 64 * 1024 * 1024
"""A file of the ledger that has grown past this is closed before the next entry."""

BLOCK_BYTES: Final = 1024 * 1024
LOCK_SECONDS: Final = 30.0
Progress = Callable[[int, int], None]


Teller = Callable[[int, dict[str, Any]], None]
"""Is told an entry, with the place of its end."""


def _untold(_done: int, _whole: int) -> None:
    """Nobody is told how far it is."""


def _unread(_end: int, _entry: dict[str, Any]) -> None:
    """Nobody wants the entries themselves."""


class Ledger:
    """The `audit/` directory of a home."""

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        stop: Callable[[], str] = never_stopped,
        actor: str = "",
    ) -> None:
        """Open it; `actor` is who acts, and stands in each entry as `by` (row M8)."""
        self._by = {"by": actor} if actor else {}
        self.path = paths.audit / "ledger.jsonl"
        self._paths = paths
        self._lock = paths.run / "ledger.lock"
        self._torn = Quarantine(paths.audit / "torn", files)
        self._files = files
        self._stop = stop

    # -- writing --------------------------------------------------------------------------------

    def append(self, entries: Iterable[Mapping[str, Any]], now: float) -> None:
        """Chain and write entries; returns once they are on disk.

        Raises:
            DiskError: they could not be written; the chain stands as before, or ends between two.
            BusyError: another process wrote for too long.
        """
        ahead = iter(entries)
        first = next(ahead, None)
        if first is None:
            return
        self._files.make_directory(self.path.parent)
        self._files.make_directory(self._lock.parent)
        with held(self._lock, "ledger", deadline_seconds=LOCK_SECONDS, stop=self._stop):
            written, previous = self._head(now)
            noted = read_head(self._paths)
            flaw = (noted and noted.flaw) or (written + 1 if self.looks_wrong() else 0)
            cut = _cut_off(noted, written, previous)
            seq = written
            block = bytearray()
            for entry in chain(cut, [first], ahead):
                seq += 1
                line, previous = spell({**entry, **self._by}, seq, previous, now)
                block += line
                if len(block) > BLOCK_BYTES:
                    self._write(bytes(block), written)
                    block.clear()
                    written = seq
            if block:
                self._write(bytes(block), written)
            write_head(self._paths, self._files, Head(seq, previous, self.size(), flaw))

    def _write(self, block: bytes, last: int) -> None:
        """Append whole entries, to a new file when the one in use is full; `last` is its last."""
        if self.path.exists() and self.path.stat().st_size >= SEGMENT_BYTES:
            self._close_file(last)
        self._files.append(self.path, block)

    def _close_file(self, last: int) -> None:
        """Give the full file its name for good; a kill leaves it under one name or the other."""
        closed = closed_files(self.path.parent)
        first = closed[-1][1] + 1 if closed else 1
        target = self.path.parent / closed_name(first, last)
        if last < first or os.path.lexists(target):
            return  # its numbers were meddled with: it goes on growing, and `verify` says why
        self.secure()
        with disk_errors(target):
            self._files.rename(self.path, target)
            self._files.fsync_directory(target.parent)

    def secure(self) -> None:
        """Make durable what a killed process wrote and never synced: runs act on what they read."""
        with disk_errors(self.path):
            try:
                fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return
            try:
                self._files.fsync(fd)
            finally:
                os.close(fd)

    def _head(self, now: float) -> tuple[int, str]:
        """Find number and hash of the last entry, cutting off what a kill left of one."""
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            fd = -1
        if fd >= 0:
            with disk_errors(self.path):
                try:
                    found = _last_entry(fd, self._without_torn_end(fd, now))
                finally:
                    os.close(fd)
            if found is not None:
                return found["seq"], found["hash"]
        for *_, path in reversed(closed_files(self.path.parent)):
            if (found := _last_of(path)) is not None:
                return found["seq"], found["hash"]
        return 0, GENESIS

    def _without_torn_end(self, fd: int, now: float) -> int:
        size = os.fstat(fd).st_size
        end = last_newline_end(fd, size)
        if end != size:
            # Only we write here, under the lock: the rest is an entry nobody was told about.
            torn = Damage(end, size, "an entry cut short by a kill or a full disk")
            # With the time: a later kill may cut short another entry at the same place.
            name = f"ledger_{end}_{round(now * 1_000_000)}"
            self._torn.keep(fd, self.path.name, [torn], name, now)
            self._files.truncate(fd, end)
            self._files.fsync(fd)
        return end

    # -- reading --------------------------------------------------------------------------------

    def read_from(self, place: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each whole entry from `place` on, with the place of its end.

        One that was meddled with, so that it has not what ours have, is left to `verify`.
        A place counts the bytes of all files before it: closing a file changes none.
        """
        for end, raw in self._lines_from(place):
            entry = parse(raw)
            if entry is not None and well_formed(entry):
                yield end, entry

    def last_written(self) -> float | None:
        """When the last entry was written, epoch seconds; None before the first.

        Raises:
            DiskError: it can't be read.
        """
        for segment in reversed(self.segments()):
            if (found := _last_of(segment.path)) is not None:
                ts = found.get("ts")
                return float(ts) if isinstance(ts, int | float) else None
        return None

    def mentioning(self, *words: bytes) -> Iterator[dict[str, Any]]:
        """Yield each whole entry whose line has one of these in it."""
        for _, raw in self._lines_from(0):
            if raw is None or not any(word in raw for word in words):
                continue
            entry = parse(raw)
            if entry is not None and well_formed(entry):
                yield entry

    def _lines_from(self, place: int) -> Iterator[tuple[int, bytes | None]]:
        for segment in self.segments():
            if segment.base + segment.size > place:
                for raw, end in lines_of(segment, max(0, place - segment.base)):
                    yield end, raw

    def verify(self, progress: Progress = _untold, tell: Teller = _unread) -> tuple[int, list[str]]:
        """Walk the chain: how many entries, and what is wrong with which.

        A problem names the entry by its number, its file and its line. `progress` is told how many
        bytes of how many have been read, `tell` what `read_from` would yield.
        """
        noted = read_head(self._paths)  # before the rest: nothing written after it is missing
        check = ChainCheck(noted and (noted.seq, noted.hash))
        whole = self.size()
        for segment in self.segments():
            check.open(segment)
            for raw, end in lines_of(segment):
                entry = check.take(raw)
                if entry is not None and well_formed(entry):
                    tell(end, entry)
                progress(end, whole)
        return check.entries, check.problems()

    def looks_wrong(self) -> str:
        """What its end and its size alone tell of damage; "" when nothing.

        Costs the same however long it is. What was found once is told until the note is removed.

        Raises:
            DiskError: it can't be read.
        """
        noted = read_head(self._paths)
        end, raw = self._last_line()
        entry = parse(raw)
        if raw and entry is None:
            return "its last line is no entry"
        found = Head(entry["seq"], entry.pop("hash"), end) if entry else Head(0, GENESIS, end)
        if entry and true_hash(entry) != found.hash:
            return f"its last entry, {found.seq}, was changed"
        if wrong := difference(noted, found):
            return wrong
        if noted is None or not noted.flaw:
            return ""
        return f"when entry {noted.flaw} was written, it was not what had been written before"

    def _last_line(self) -> tuple[int, bytes]:
        """Where the last whole line ends, and what it says; b"" before the first."""
        for segment in reversed(self.segments()):
            with disk_errors(segment.path):
                if (fd := open_segment(segment)) is None:
                    continue
                try:
                    if end := last_newline_end(fd, os.fstat(fd).st_size):
                        start = last_newline_end(fd, end - 1)
                        return segment.base + end, os.pread(fd, end - start, start)
                finally:
                    os.close(fd)
        return 0, b""

    def segments(self) -> list[Segment]:
        """Every file of the ledger, oldest first."""
        return segments_of(self.path)

    def size(self) -> int:
        """Bytes of the ledger; 0 before the first entry."""
        return sum(segment.size for segment in self.segments())


def in_batches(name: str, items: Iterable[Any], **fields: Any) -> Iterator[dict[str, Any]]:
    """Spread many ids or decisions over entries of at most `IDS_PER_ENTRY`."""
    batch: list[Any] = []
    for item in items:
        batch.append(item)
        if len(batch) == IDS_PER_ENTRY:
            yield {**fields, name: batch}
            batch = []
    if batch:
        yield {**fields, name: batch}


def _cut_off(noted: Head | None, seq: int, own: str) -> list[dict[str, Any]]:
    """An entry that says so, when the last one that was written is not there any more."""
    if noted is None or noted.seq < seq or noted[:2] == (seq, own):
        return []
    lost = [min(seq + 1, noted.seq), noted.seq]
    return [{"op": CUT_OFF, "lost": lost, "was": noted.hash}]


def _last_of(path: Path) -> dict[str, Any] | None:
    with disk_errors(path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _last_entry(fd, last_newline_end(fd, os.fstat(fd).st_size))
        finally:
            os.close(fd)


def _last_entry(fd: int, end: int) -> dict[str, Any] | None:
    """Find the last entry before `end`; lines that are none are passed over."""
    while end > 0:
        start = last_newline_end(fd, end - 1)
        entry = parse(os.pread(fd, end - 1 - start, start))
        if entry is not None:
            return entry
        end = start
    return None
