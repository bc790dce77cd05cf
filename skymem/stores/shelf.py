"""One agent's shelf: its tiers, read and written as one (design §3, §4).

Readers see short-term plus what its drains still hold. Order of reading: drains, short-term,
long-term, archives: the way lines travel, so that a line on its way may be seen twice and is never
missed.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from skymem.errors import NotAllowedError
from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry, Inputs
from skymem.model.rules import RetentionRules
from skymem.model.spelling import read_line
from skymem.model.strict_json import LineDamage
from skymem.stores.catalog import Catalog, Found, tier_files
from skymem.stores.drains import APPEND_LOCK_SECONDS, Drains
from skymem.stores.files import Files, disk_errors, refuse_link
from skymem.stores.home import AgentPaths
from skymem.stores.lines import ContentHash, last_newline_end, read_entries
from skymem.stores.lock import held, never_stopped
from skymem.stores.quarantine import Quarantine
from skymem.stores.swap import Swap

BATCH_ENTRIES: Final = 500


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
    ) -> None:
        self.paths = agent
        self.files = files
        self.rules = rules
        self.stop = stop
        self.drains = Drains(agent, files, rules.torn_after_seconds)
        self.swap = Swap(agent, files, self.drains, stop)
        self.quarantine = Quarantine(agent.quarantine, files)

    def append(self, lines: Iterable[bytes]) -> None:
        """Append whole lines to short-term; returns once they are on disk.

        Raises:
            DiskError: they could not be written, and none of them stays.
            BusyError: another process held the append lock for too long.
        """
        mode = self.files.modes.file
        lock = self.paths.append_lock
        block = b"".join(lines)
        with held(lock, "", deadline_seconds=APPEND_LOCK_SECONDS, stop=self.stop, mode=mode):
            self.files.append(self.paths.short_term, block, shared=True)

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
            fd = _open_or_none(path)
            if fd is None:
                continue
            try:
                yield from read_entries(
                    fd, start, last_newline_end(fd, os.fstat(fd).st_size), limit
                )
            finally:
                os.close(fd)

    def find(self, name: str, catalog: Catalog) -> list[Kept]:
        """Find a memory by its id, or by the first letters of it, in every tier."""
        exact: dict[str, Kept] = {}
        begins: dict[str, Kept] = {}
        for entry in self.short_entries():
            if isinstance(entry, Damage):
                continue
            own = entry.memory.source_id or entry.digest.hex()
            if own.startswith(name):
                kept = Kept(own, "short", "short_term.jsonl", entry.memory)
                (exact if own == name else begins).setdefault(own, kept)
        catalog.catch_up(self.paths)
        for own in [name, *catalog.find_by_prefix(self.paths.name, name, 20)]:
            for found in catalog.find(self.paths.name, [own]).values():
                memory = self._read(found.file, found.start, found.end)
                kept = Kept(own, found.tier, found.file, memory)
                (exact if own == name else begins)[own] = kept
        return list(exact.values()) or list(begins.values())

    def _read(self, name: str, start: int, end: int) -> Memory:
        with (self.paths.directory / name).open("rb") as stream:
            stream.seek(start)
            return read_line(stream.read(end - start))

    def surroundings(self) -> list[tuple[str, int]]:
        """The other tiers' files and sizes: a saved plan fits only these."""
        return [(name, path.stat().st_size) for name, path in tier_files(self.paths)]


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
        self.digests = bytearray()
        self.named: dict[str, str] = {}
        self.pass_over: frozenset[int] = frozenset()
        """Offsets of lines to leave out, as if another plan had taken them already."""

        self.progress: Callable[[int, int], None] = lambda _done, _whole: None
        """Told now and then how many bytes of how many were read."""

        self._owners: dict[str, bytes] = {}
        self.fd = _open_or_none(shelf.paths.short_term)
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

    def inputs(self, surroundings: str) -> Inputs | None:
        """What the pass saw, for the plan; None when there is no file."""
        if self.fd is None:
            return None
        return Inputs(
            *self._identity, self.size, self.consumed, self._content.hexdigest(), surroundings
        )

    def entries(self) -> Iterator[Entry | Damage]:
        """Yield every line, each with its id and where its memory is already."""
        if self.fd is None:
            return
        limit = self._shelf.rules.line_bytes_max
        batch: list[Entry | Damage] = []
        for entry in read_entries(self.fd, 0, self.consumed, limit, self._content):
            batch.append(entry)
            if len(batch) == BATCH_ENTRIES:
                self.progress(entry.end, self.consumed)
                yield from self._identified(batch)
                batch = []
        yield from self._identified(batch)
        if self._dead_tail:
            yield from self._identified(self._read_tail())

    def _read_tail(self) -> list[Entry | Damage]:
        """Read the last line whose writer is gone: a memory without its newline, or torn."""
        assert self.fd is not None  # noqa: S101  (entries() returned before otherwise)
        raw = os.pread(self.fd, self.size - self.consumed, self.consumed)
        self._content.update(raw)
        start, self.consumed = self.consumed, self.size
        try:
            memory = read_line(raw)
        except LineDamage:
            return [Damage(start, self.size, "torn: its writer stopped in the middle")]
        return [Entry(start, self.size, memory, digest(memory))]

    def _identified(self, batch: list[Entry | Damage]) -> list[Entry | Damage]:
        entries = [entry for entry in batch if isinstance(entry, Entry)]
        for entry in entries:
            entry.id = entry.memory.source_id or entry.digest.hex()
        found = self._catalog.find(self._shelf.paths.name, [entry.id for entry in entries])
        for entry in entries:
            self._identify(entry, found)
            entry.line = len(self.digests) // len(entry.digest)
            self.digests += entry.digest
        if not self.pass_over:
            return batch
        return [item for item in batch if item.start not in self.pass_over]

    def _identify(self, entry: Entry, found: dict[str, Found]) -> None:
        """Settle id and whereabouts of one line (design §3, "Ids")."""
        own = entry.memory.source_id
        there = found.get(entry.id)
        if own is not None:
            # Who has it in another tier has it for good; else the first one here.
            owner = self._owners.setdefault(own, there.digest if there else entry.digest)
            if owner != entry.digest:
                entry.id = entry.digest.hex()
                there = self._catalog.find(self._shelf.paths.name, [entry.id]).get(entry.id)
            else:
                self.named[entry.digest.hex()] = own
        if there is not None:
            entry.elsewhere = there.tier


def _open_or_none(path: Path) -> int | None:
    refuse_link(path)
    with disk_errors(path):
        try:
            if not stat.S_ISREG(os.lstat(path).st_mode):  # opening a pipe would wait for its writer
                raise OSError(errno.EINVAL, "is no regular file")
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
