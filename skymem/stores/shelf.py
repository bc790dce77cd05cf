"""One agent's shelf: its tiers, read and written as one (design §3, §4).

Readers see short-term plus what its drains still hold. Order of reading: drains, short-term,
long-term, archives: the way lines travel, so that a line on its way may be seen twice and is never
missed.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from skymem.errors import NotAllowedError
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry, Inputs
from skymem.model.rules import RetentionRules
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM
from skymem.policy.secrets import guard_of
from skymem.stores.catalog import Catalog, Found
from skymem.stores.drains import APPEND_LOCK_SECONDS, Drains
from skymem.stores.files import Files, disk_errors, refuse_link
from skymem.stores.home import AgentPaths
from skymem.stores.lines import (
    CHUNK_BYTES,
    TIER_LINE_BYTES_MAX,
    Clean,
    ContentHash,
    entries_of,
    last_newline_end,
    raw_lines,
    read_entries,
)
from skymem.stores.lock import held, never_stopped
from skymem.stores.naming import Naming
from skymem.stores.protection import Protection
from skymem.stores.quarantine import Quarantine, Tell, untold
from skymem.stores.swap import Swap
from skymem.stores.tiers import tier_files, tier_of
from skymem.stores.trash import Trash, opened

BATCH_ENTRIES: Final = 500
TORN: Final = "torn: its writer stopped in the middle"


class Kept(NamedTuple):
    """A memory as a reader gets it."""

    id: str
    tier: str
    file: str
    memory: Memory


class Shelf:
    """The tiers of one agent."""

    def __init__(
        self,
        agent: AgentPaths,
        files: Files,
        rules: RetentionRules,
        stop: Callable[[], str] = never_stopped,
        *,
        tell: Tell = untold,
    ) -> None:
        """Open them; `tell` records what recovery and drains put into quarantine."""
        self.paths = agent
        self.files = files
        self.rules = rules
        self.stop = stop
        self.guard = guard_of(rules.secrets)
        """Whoever reads a text here gets it without its secrets (row X11)."""

        self.quarantine = Quarantine(agent.quarantine, files, tell)
        self.drains = Drains(
            agent,
            files,
            self.quarantine,
            rules.torn_after_seconds,
            line_bytes_max=rules.line_bytes_max,
            stop=stop,
        )
        self.swap = Swap(agent, files, self.drains, stop)
        self.trash = Trash(agent, files)

    def append(self, lines: Iterable[bytes], *, synced: bool = True) -> None:
        """Append whole lines to short-term; returns once they are on disk.

        Without `synced` it returns once the kernel has them: see `Files.append`.

        Raises:
            DiskError: they could not be written, and none of them stays.
            BusyError: another process held the append lock for too long.
        """
        mode = self.files.modes.file
        lock = self.paths.append_lock
        block = b"".join(lines)
        with held(lock, "", deadline_seconds=APPEND_LOCK_SECONDS, stop=self.stop, mode=mode):
            self.files.append(self.paths.short_term, block, shared=True, synced=synced)

    def ensure(self) -> None:
        """Make the agent's directory, so that a plain `echo >>` finds where to write."""
        for path in (self.paths.directory.parent, self.paths.directory):
            if path.is_symlink():
                raise NotAllowedError(
                    f"{path} is a symbolic link; put a real directory there, or a bind mount"
                )
        self.files.make_directory(self.paths.directory)

    def short_entries(self) -> Iterator[Entry | Damage]:
        """Everything readers count as short-term: drains' rests, then the file."""
        limit = self.rules.line_bytes_max
        for path, start in [*self.drains.tails(), (self.paths.short_term, 0)]:
            fd = open_or_none(path)
            if fd is None:
                continue
            try:
                stop = last_newline_end(fd, os.fstat(fd).st_size)
                yield from read_entries(fd, start, stop, limit, clean=self.guard.clean)
            finally:
                os.close(fd)

    def tier_lines(
        self, tiers: Collection[str], starts: Mapping[str, int]
    ) -> Iterator[tuple[str, str, Iterator[tuple[int, bytes | None, int]]]]:
        """Each file of long-term and the archives: tier, name, and its lines as `raw_lines` does.

        From where `starts` says, by the file's name. The lines can be read until the next file is
        asked for.
        """
        for name, path in tier_files(self.paths):
            tier = "long" if name == self.paths.long_term.name else "archive"
            fd = open_or_none(path) if tier in tiers else None
            if fd is None:
                continue
            try:
                size, begin = os.fstat(fd).st_size, starts.get(name, 0)
                stop = last_newline_end(fd, size) if begin < size else size
                yield tier, name, raw_lines(fd, min(stop, begin), stop, TIER_LINE_BYTES_MAX)
            finally:
                os.close(fd)

    def find(self, name: str, catalog: Catalog) -> list[Kept]:
        """Find a memory by its id, or by the first letters of it, in every tier."""
        exact: dict[str, Kept] = {}
        begins: dict[str, Kept] = {}
        catalog.catch_up(self.paths)
        naming = Naming(self.paths.name, catalog)
        for entry in self.short_entries():
            if isinstance(entry, Damage):
                continue
            naming.name([entry])
            if entry.id.startswith(name) and not entry.elsewhere:
                kept = Kept(entry.id, "short", self.paths.short_term.name, entry.memory)
                (exact if entry.id == name else begins).setdefault(entry.id, kept)
        for own in [name, *catalog.find_by_prefix(self.paths.name, name, 20)]:
            for found in catalog.find(self.paths.name, [own]).values():
                memory = self._read(found.file, found.start, found.end)
                kept = Kept(own, found.tier, found.file, memory)
                known = exact if own == name else begins
                if found.tier != "trash" or own not in known:
                    known[own] = kept
        return list(exact.values()) or list(begins.values())

    def read(self, places: Mapping[str, Found]) -> Iterator[Kept]:
        """Read memories where they are, file by file; what is no longer there is left out."""
        by_file: dict[str, list[tuple[int, str]]] = {}
        for name, found in places.items():
            by_file.setdefault(found.file, []).append((found.start, name))
        for file, wanted in by_file.items():
            fd = open_or_none(self.paths.directory / file)
            if fd is None:
                continue
            try:
                for start, name in sorted(wanted):
                    tier, digest, _, _, end = places[name]
                    raw = os.pread(fd, end - start, start)
                    for entry in entries_of(start, raw, end, self.guard.clean):
                        if isinstance(entry, Entry) and entry.digest == digest:
                            yield Kept(name, tier, file, entry.memory)
            finally:
                os.close(fd)

    def _read(self, name: str, start: int, end: int) -> Memory:
        with (self.paths.directory / name).open("rb") as stream:
            stream.seek(start)
            raw = stream.read(end - start)
        if tier_of(name) == "trash":
            raw = opened(raw).line
        raw = raw.removeprefix(BOM) if start == 0 else raw
        return self.guard.clean(raw, read_line(raw))


class Reading:
    """One pass over short-term for a job: entries with their ids, and what the pass saw.

    After `entries` is exhausted `digests`, `named` and `inputs` tell of the file it read.
    """

    def __init__(self, shelf: Shelf, catalog: Catalog, *, torn_before: float) -> None:
        """Open short-term; a file that isn't there reads as empty.

        Args:
            shelf: whose short-term.
            catalog: caught up, to tell which memories other tiers have.
            torn_before: epoch seconds; an unterminated last line whose file is older than this is
                dead and read as a line (hazard A20).
        """
        self._shelf = shelf
        self._catalog = catalog
        self._content = ContentHash()
        self._naming = Naming(shelf.paths.name, catalog)
        self.pass_over: frozenset[int] = frozenset()
        """Offsets of lines to leave out, as if another plan had taken them already."""

        self.protection = Protection()
        """Who is pinned or was brought back of late; nobody until somebody says so."""

        self.waiting: Sequence[tuple[Path, int]] = ()
        """Files, and offsets in them, that hold lines on their way to short-term."""

        self.texts = True
        """Whether texts are read, and so without their secrets; who goes by numbers is faster."""

        self.progress: Callable[[int, int], None] = lambda _done, _whole: None
        """Told now and then how many bytes of how many were read."""

        self.fd = open_or_none(shelf.paths.short_term)
        self.size = self.consumed = 0
        self._dead_tail = False
        if self.fd is not None:
            status = os.fstat(self.fd)
            self._identity = (status.st_dev, status.st_ino)
            self.size = status.st_size
            self.consumed = last_newline_end(self.fd, status.st_size)
            self._dead_tail = self.size > self.consumed and status.st_mtime < torn_before

    def close(self) -> None:
        """Let the file go."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    @property
    def digests(self) -> bytearray:
        """Of every line so far, in order."""
        return self._naming.digests

    @property
    def named(self) -> dict[str, str]:
        """Ids that are not the digest's own, by the digest's hex."""
        return self._naming.named

    def inputs(self, surroundings: str) -> Inputs | None:
        """What the pass saw, for the plan; None when there is no file."""
        if self.fd is None:
            return None
        return Inputs(
            *self._identity, self.size, self.consumed, self._content.hexdigest(), surroundings
        )

    def entries(self) -> Iterator[Entry | Damage]:
        """Yield every line, each with its id and where its memory is already."""
        if self.fd is not None:
            yield from self._read(self.fd)
        yield from self._read_waiting()

    @property
    def _clean(self) -> Clean | None:
        return self._shelf.guard.clean if self.texts else None

    def _read(self, fd: int) -> Iterator[Entry | Damage]:
        limit = self._shelf.rules.line_bytes_max
        batch: list[Entry | Damage] = []
        for entry in read_entries(fd, 0, self.consumed, limit, self._content, clean=self._clean):
            batch.append(entry)
            if len(batch) == BATCH_ENTRIES:
                self.progress(entry.end, self.consumed)
                yield from self._named(batch)
                batch = []
        yield from self._named(batch)
        if self._dead_tail:
            yield from self._named(self._read_tail())

    def _read_waiting(self) -> Iterator[Entry | Damage]:
        """Read what other files still hold for short-term, as if it stood at the end already."""
        behind = self.size
        for path, start in self.waiting:
            fd = open_or_none(path)
            if fd is None:
                continue
            try:
                stop = last_newline_end(fd, os.fstat(fd).st_size)
                limit = self._shelf.rules.line_bytes_max
                for entry in read_entries(fd, start, stop, limit, clean=self._clean):
                    yield from self._named([_moved_by(entry, behind)])
                behind += stop
            finally:
                os.close(fd)

    def _read_tail(self) -> list[Entry | Damage]:
        """Read the last line, whose writer is gone: it only lacks its newline, or it is torn."""
        assert self.fd is not None  # noqa: S101  (entries() returned before otherwise)
        start, self.consumed = self.consumed, self.size
        for at in range(start, self.size, CHUNK_BYTES):
            self._content.update(os.pread(self.fd, min(CHUNK_BYTES, self.size - at), at))
        if self.size - start > self._shelf.rules.line_bytes_max:
            return [Damage(start, self.size, TORN)]
        raw = os.pread(self.fd, self.size - start, start)
        found = list(entries_of(start, raw, self.size, self._clean))
        if any(isinstance(one, Damage) for one in found):
            return [Damage(start, self.size, TORN)]
        return found

    def _named(self, batch: list[Entry | Damage]) -> list[Entry | Damage]:
        entries = [entry for entry in batch if isinstance(entry, Entry)]
        for entry in entries if not self.texts else ():
            if entry.memory.source_id is not None:
                entry.memory = self._shelf.guard.named(entry.memory)
        self._naming.name(entries)
        for entry in entries:
            entry.pinned = self.protection.is_pinned(entry.id, entry.memory)
            if entry.id in self.protection.restored:
                entry.restored = self.protection.restored[entry.id].gate
        if not self.pass_over:
            return batch
        return [item for item in batch if item.start not in self.pass_over]


def tier_entries(path: Path, clean: Clean | None = None) -> Iterator[Entry]:
    """Yield the memories of one file of long-term or the archives; damage is passed over."""
    fd = open_or_none(path)
    if fd is None:
        return
    try:
        stop = last_newline_end(fd, os.fstat(fd).st_size)
        for entry in read_entries(fd, 0, stop, TIER_LINE_BYTES_MAX, clean=clean):
            if isinstance(entry, Entry):
                yield entry
    finally:
        os.close(fd)


def _moved_by(entry: Entry | Damage, behind: int) -> Entry | Damage:
    if isinstance(entry, Damage):
        return Damage(entry.start + behind, entry.end + behind, entry.reason)
    return Entry(entry.start + behind, entry.end + behind, entry.memory, entry.digest)


def open_or_none(path: Path) -> int | None:
    """Open a file for reading; None where there is none.

    Raises:
        NotAllowedError, DiskError: it is a link, a pipe, or can't be read.
    """
    refuse_link(path)
    with disk_errors(path):
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):  # opening a pipe would wait for its writer
                raise OSError(errno.EINVAL, "is no regular file")
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
