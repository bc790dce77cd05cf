"""Tombstones: what was erased must not come back by replay, undo or import (promise 6, row X5).

`audit/tombstones/<agent>.jsonl`, beside the home's key, under which each mark is hashed: nobody who
has the file alone can guess a text by it. Of each memory there is a mark of its id and of its line,
against replay, and one of its text, against import. A line with a time of its own is another one.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.policy.alike import copy_key
from skymem.stores.files import Files, disk_errors, refuse_link
from skymem.stores.home import HomePaths
from skymem.stores.home_key import HomeKey

MARK_BYTES: Final = 12
BLOCK_LINES: Final = 2000


class Mark(NamedTuple):
    """One tombstone: keyed hashes in hex. An empty `id`: the memory lives on with other words."""

    id: str
    line: str
    text: str


class Marker:
    """Makes marks under the home's key."""

    def __init__(self, key: HomeKey) -> None:
        self._key = key.derived(b"tombstones")
        self.check = key.check
        """What tells the key from another."""

    def of_id(self, name: str) -> str:
        """Mark an id."""
        return self._mark(b"id", name.encode("utf-8", "surrogatepass"))

    def of_line(self, line_digest: bytes) -> str:
        """Mark what a line says, by its digest (`model.identity`)."""
        return self._mark(b"line", line_digest)

    def of_text(self, text: str) -> str:
        """Mark a text; its copies have the same mark."""
        return self._mark(b"text", copy_key(text).encode("utf-8", "surrogatepass"))

    def of_bytes(self, raw: bytes) -> str:
        """Mark bytes that are no line."""
        return self._mark(b"raw", raw.strip())

    def _mark(self, sort: bytes, value: bytes) -> str:
        return blake2b(value, digest_size=MARK_BYTES, key=self._key, person=sort).hexdigest()


@dataclass(frozen=True, slots=True)
class Tombstones:
    """The tombstones of one agent, as they are now; false where there is none."""

    marker: Marker | None = None
    ids: dict[str, float] = field(default_factory=dict)
    """Marks of ids, and when each was erased."""

    lines: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return self.marker is not None

    def has_id(self, name: str) -> bool:
        """Whether a memory of this id was erased."""
        return self.marker is not None and self.marker.of_id(name) in self.ids

    def erased_at(self, name: str) -> float | None:
        """When a memory of this id was erased, epoch seconds; None when none was."""
        return None if self.marker is None else self.ids.get(self.marker.of_id(name))

    def has_line(self, line_digest: bytes) -> bool:
        """Whether a line that says just this was erased."""
        return self.marker is not None and self.marker.of_line(line_digest) in self.lines

    def bars_import(self, memory: Memory) -> bool:
        """Whether another tool's copy of a memory is one of what was erased: by line or by text."""
        if self.marker is None:
            return False
        text = memory.searchable
        return self.has_line(digest(memory)) or (
            bool(text.strip()) and self.marker.of_text(text) in self.texts
        )


NONE: Final = Tombstones()


def nothing_erased(_agent: str) -> Tombstones:
    """Say of any agent that nothing of it was erased."""
    return NONE


class Graveyard:
    """The tombstones of a home's agents; a file is read again when it has changed."""

    def __init__(self, paths: HomePaths, key: Callable[[], HomeKey]) -> None:
        """Ask for `key` where there is any tombstone."""
        self._directory = paths.audit / "tombstones"
        self._key = key
        self._read: dict[str, tuple[tuple[int, int], Tombstones]] = {}

    def path(self, agent: str) -> Path:
        """Where an agent's tombstones lie."""
        return self._directory / f"{agent}.jsonl"

    def of(self, agent: str) -> Tombstones:
        """The tombstones of an agent.

        Raises:
            DiskError, NotAllowedError, KeyDamagedError: they can't be read.
        """
        path = self.path(agent)
        with disk_errors(path):
            try:
                status = os.stat(path)
            except FileNotFoundError:
                return NONE
        state = (status.st_ino, status.st_size)
        known = self._read.get(agent)
        if known is None or known[0] != state:
            known = self._read[agent] = (state, _tombstones(path, Marker(self._key())))
        return known[1]

    def add(self, agent: str, marks: Sequence[Mark], run: str, now: float, *, files: Files) -> int:
        """Add what is not there yet, durable when it returns; returns how many there were to add.

        Raises:
            DiskError: some may be there; do it again.
        """
        there = self.of(agent)
        marker = there.marker or Marker(self._key())
        new = [one for one in marks if not _has(there, one)]
        files.make_directory(self._directory)
        for first in range(0, len(new), BLOCK_LINES):
            about = {"run": run, "ts": now, "key": marker.check}
            block = (
                json.dumps({**one._asdict(), **about}).encode() + b"\n"
                for one in new[first : first + BLOCK_LINES]
            )
            files.append(self.path(agent), b"".join(block))
        return len(new)


def _has(there: Tombstones, mark: Mark) -> bool:
    return mark.line in there.lines and (not mark.id or mark.id in there.ids)


def _tombstones(path: Path, marker: Marker) -> Tombstones:
    refuse_link(path)
    ids: dict[str, float] = {}
    lines: set[str] = set()
    texts: set[str] = set()
    for one in _entries(path):
        if one.get("key") != marker.check:  # under another key: it bars nothing any more
            continue
        if one.get("id"):
            ids[str(one["id"])] = float(one.get("ts", 0))
        lines.add(str(one.get("line")))
        texts |= {str(one["text"])} if one.get("text") else set()
    return Tombstones(marker, ids, frozenset(lines), frozenset(texts))


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """Yield what can be read; a line that a hand broke bars nothing."""
    with disk_errors(path), path.open("rb") as stream:
        yield from _parsed(stream)


def _parsed(stream: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for raw in stream:
        try:
            found = json.loads(raw)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
