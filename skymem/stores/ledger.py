"""The ledger: every operation, hash-chained, one JSON line each, for the whole home (row M8).

Each entry carries the hash of the one before it, so that a line that was changed, inserted, or
removed from between others shows. A chain can't show that its end was cut off: whoever must know
keeps the last number and hash elsewhere, and compares.
Ids, reasons and numbers only, never text (promise 6).
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NoReturn

from skymem.model.plan import Damage
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.lines import last_newline_end, raw_lines
from skymem.stores.lock import held, never_stopped
from skymem.stores.quarantine import Quarantine

IDS_PER_ENTRY: Final = 500
"""Ids and decisions in one entry: keeps its line short enough to read back from the tail."""

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
BLOCK_BYTES: Final = 1024 * 1024
LOCK_SECONDS: Final = 30.0
GENESIS: Final = "0" * 64


class Ledger:
    """The `audit/` directory of a home."""

    def __init__(
        self, paths: HomePaths, files: Files, stop: Callable[[], str] = never_stopped
    ) -> None:
        self.path = paths.audit / "ledger.jsonl"
        self._lock = paths.run / "ledger.lock"
        self._torn = Quarantine(paths.audit / "torn", files)
        self._files = files
        self._stop = stop

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
            seq, previous = self._head(now)
            block = bytearray()
            for entry in chain([first], ahead):
                seq += 1
                line, previous = _chain(entry, seq, previous, now)
                block += line
                if len(block) > BLOCK_BYTES:
                    self._files.append(self.path, bytes(block))
                    block.clear()
            if block:
                self._files.append(self.path, bytes(block))

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

    def read_from(self, offset: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield each whole entry from `offset` on, with the offset of its end."""
        for end, raw in self._lines_from(offset):
            entry = _parse(raw)
            if entry is not None:
                yield end, entry

    def mentioning(self, word: bytes) -> Iterator[dict[str, Any]]:
        """Yield each whole entry whose line has these bytes in it."""
        for _, raw in self._lines_from(0):
            if raw is not None and word in raw and (entry := _parse(raw)) is not None:
                yield entry

    def _lines_from(self, offset: int) -> Iterator[tuple[int, bytes | None]]:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            stop = last_newline_end(fd, os.fstat(fd).st_size)
            for _, raw, end in raw_lines(fd, offset, stop, LINE_BYTES_MAX):
                yield end, raw
        finally:
            os.close(fd)

    def verify(self) -> tuple[int, list[str]]:
        """Walk the chain: how many entries, and what is wrong with which."""
        previous, seq, problems = GENESIS, 0, []
        for number, (_, raw) in enumerate(self._lines_from(0), start=1):
            entry = _parse(raw)
            if entry is None:
                problems.append(f"{self.path.name}: line {number} is no entry")
                continue
            seq += 1
            claimed = entry.pop("hash", None)
            if entry.get("seq") != seq or entry.get("prev") != previous:
                problems.append(f"{self.path.name}: entry {seq} does not follow the one before it")
                seq = entry["seq"]
            elif claimed != _hash(entry):
                problems.append(f"{self.path.name}: entry {seq} was changed")
            previous = str(claimed)
        return seq, problems

    def size(self) -> int:
        """Bytes of the ledger; 0 before the first entry."""
        return self.path.stat().st_size if self.path.exists() else 0

    def _head(self, now: float) -> tuple[int, str]:
        """Find number and hash of the last entry, cutting off what a kill left of one."""
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0, GENESIS
        with disk_errors(self.path):
            try:
                return self._read_head(fd, now)
            finally:
                os.close(fd)

    def _read_head(self, fd: int, now: float) -> tuple[int, str]:
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
        while end > 0:
            start = last_newline_end(fd, end - 1)
            entry = _parse(os.pread(fd, end - 1 - start, start))
            if entry is not None:
                return entry["seq"], entry["hash"]
            end = start
        return 0, GENESIS


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


def _chain(entry: Mapping[str, Any], seq: int, previous: str, now: float) -> tuple[bytes, str]:
    chained = {"seq": seq, "ts": now, **entry, "prev": previous}
    own = _hash(chained)
    line = json.dumps({**chained, "hash": own}, allow_nan=False, separators=(",", ":"))
    return line.encode() + b"\n", own


def _hash(entry: Mapping[str, Any]) -> str:
    text = json.dumps(entry, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _parse(raw: bytes | None) -> dict[str, Any] | None:
    try:
        value = json.loads(raw or b"", parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(value, dict) and type(value.get("seq")) is int
    return value if whole and isinstance(value.get("hash"), str) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # we write no NaN
