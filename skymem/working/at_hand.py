"""An agent's working records, kept at hand: reading them again costs a look at the files (W1, W3).

A record is a line with a `record_type` (`snippet`, `preference`, `playbook` …) and no kind of its
own: the catalog then knows it by its record type, and nobody reads a million lines to find it.

    at_hand(home, agent).of("preference")    # the active ones, newest first

What was written since, by this process or another, is there at the next call, from whichever tier;
what has expired or is superseded is gone at that very moment. Nothing is stored: another process,
or this one after a restart, works out the same from the same lines.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem.model.identity import derived_id
from skymem.model.plan import Entry
from skymem.policy.standing import Chains, Link, expires_us, passed_on
from skymem.stores.catalog import SUPERSEDES
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import RECORD, Lifecycle
from skymem.stores.lines import CHUNK_BYTES, entries_of, last_newline_end
from skymem.stores.protection import Protection, read_protection
from skymem.stores.shelf import Kept, open_or_none
from skymem.stores.unchanged import tail_hash

if TYPE_CHECKING:
    from skymem.app import Home

HANDS_MAX: Final = 64
"""Agents whose records one process keeps: beyond it, the one not asked for longest is let go."""

BUSY_MS: Final = 1_000
"""How long to wait for a catalog that another process writes to, before doing without."""

NEVER_US: Final = 1 << 62

# Keys spelled with \u escapes are not seen; json.dumps never does that to ASCII.
_SIGNS: Final = (b'"record_type"', b'"supersedes"')

_Mark = tuple[int, int, int] | None
"""A file as it was: inode, size, time of its last write; None where there is none."""


class _Answer(NamedTuple):
    """What was active from one moment until the next at which something expires."""

    since_us: int
    until_us: int
    records: tuple[Kept, ...]


class Hand:
    """The records of one agent, as this process last saw them. Threads may share it."""

    def __init__(self, home: "Home", agent: str) -> None:
        self.home = home
        self._agent = agent
        self._paths = home.paths.agent(agent)
        self._lock = threading.RLock()
        self._types: frozenset[str] = frozenset()
        """The record types that were asked for: others are not kept."""

        self._short = _Short()
        self._stored = _Stored()
        self._protection = Protection()
        self._protection_mark: _Mark = None
        self._superseded: set[str] = set()
        self._answers: dict[tuple[str, ...], _Answer] = {}

    def of(self, *types: str) -> tuple[Kept, ...]:
        """The active records of these types, newest first, as they are now.

        Raises:
            NotAllowedError: this process is not the home's owner.
            DiskError, ProtectionDamagedError: they can't be read.
        """
        from skymem.app import now

        self.home.only_owner("read working memory")
        with self._lock, disk_errors(self._paths.directory):
            self._catch_up(types)
            now_us = round(now() * 1_000_000)
            known = self._answers.get(types)
            if known is None or not known.since_us <= now_us < known.until_us:
                known = self._answers[types] = self._answer(types, now_us)
            return known.records

    # -- what is active -------------------------------------------------------------------------

    def _answer(self, types: tuple[str, ...], now_us: int) -> _Answer:
        until_us, found = NEVER_US, []
        # Long-term and archives last: of a line on its way, the tier it is going to is told.
        for kept in {**self._short.records, **self._stored.records}.values():
            if kept.memory.record_type not in types or kept.id in self._superseded:
                continue
            pinned = self._protection.is_pinned(kept.id, kept.memory)
            ends = expires_us(kept.memory, pinned=pinned)
            if ends is None or ends > now_us:
                until_us = min(until_us, ends or NEVER_US)
                found.append(kept)
        found.sort(key=lambda one: (-(one.memory.time_us or 0), one.id))
        return _Answer(now_us, until_us, tuple(found))

    # -- being up to date -----------------------------------------------------------------------

    def _catch_up(self, types: tuple[str, ...]) -> None:
        """Read what is new, in the order in which lines travel: none on its way is missed."""
        if not self._types.issuperset(types):
            self._types |= frozenset(types)
            self._short, self._stored = _Short(), _Stored()
        try:
            links = self._catch_up_short()
            if self._catch_up_stored():
                links = None
            self._catch_up_protection()
        except BaseException:  # half of it would pass for all of it: the next call reads it anew
            self._short, self._stored = _Short(), _Stored()
            raise
        if links is None:
            self._work_out_superseded()
        else:
            self._supersede(links)

    def _catch_up_protection(self) -> None:
        mark = _mark(self._paths.protected)
        if mark != self._protection_mark:
            self._protection = read_protection(self._paths.protected)
            self._protection_mark = mark
            self._answers.clear()

    def _catch_up_short(self) -> list[Link] | None:
        """Read short-term and drains; gives the new links, or None when all was read anew."""
        drains = _marks(self._paths.drains)
        mark = _mark(self._paths.short_term)
        short = self._short
        if mark == short.mark and drains == short.drains:
            return []
        self._answers.clear()
        if drains == short.drains and self._read_on():
            return self._short.take_new_links()
        self._short = _Short(drains=drains)
        shelf = self.home.shelf(self._agent)
        for path, start in shelf.drains.tails():
            fd = open_or_none(path)
            if fd is not None:
                try:
                    self._read(fd, start)
                finally:
                    os.close(fd)
        self._read_on()
        return None

    def _read_on(self) -> bool:
        """Read what was appended to short-term; False when it is not the file it was."""
        short = self._short
        fd = open_or_none(self._paths.short_term)
        if fd is None:
            return short.mark is None
        try:
            status = os.fstat(fd)
            begun = short.mark is not None
            if begun and not _grew(short.mark, status):
                return False
            if begun and tail_hash(fd, short.read_to) != short.tail:
                return False
            short.read_to = self._read(fd, short.read_to)
            short.tail = tail_hash(fd, short.read_to)
            short.mark = (status.st_ino, status.st_size, status.st_mtime_ns)
            return True
        finally:
            os.close(fd)

    def _read(self, fd: int, start: int) -> int:
        """Keep the records and links of a file from an offset on; returns how far it was read."""
        limit = self.home.rules.line_bytes_max
        stop = last_newline_end(fd, os.fstat(fd).st_size)
        for offset, raw, end in _lines_with_signs(fd, start, stop):
            if len(raw) <= limit:
                for entry in entries_of(offset, raw, end):
                    if isinstance(entry, Entry):
                        self._short.take(entry, self._types, self._paths.short_term.name)
        return stop

    def _catch_up_stored(self) -> bool:
        """Ask the catalog about long-term and archives, where they changed."""
        marks = self._stored_marks()
        if marks == self._stored.marks:
            return False
        self._answers.clear()
        work, shelf = self.home.workplace(), self.home.shelf(self._agent)
        with work.catalog(busy_ms=BUSY_MS) as catalog:

            def found() -> _Stored:
                life = Lifecycle(catalog, self._agent)
                ids = [one.id for one in life.of_kinds(RECORD + name for name in self._types)]
                links = [Link(*one) for one in _links(life)]
                places = catalog.find(self._agent, ids)
                records = {kept.id: kept for kept in shelf.read(places)}
                return _Stored(marks, records, links, life.removed())

            self._stored = work.ask(catalog, shelf, found)
        return True

    def _stored_marks(self) -> dict[str, _Mark]:
        """Long-term, the archives, and the directory of what once superseded and is in trash."""
        directory = os.fspath(self._paths.directory)
        found: dict[str, _Mark] = {"trash": _mark(self._paths.trash)}
        for name in _names(directory):
            if name.endswith(".jsonl") and name != "short_term.jsonl":
                found[name] = _mark(f"{directory}/{name}")
        return found

    # -- who is superseded ----------------------------------------------------------------------

    def _supersede(self, links: list[Link]) -> None:
        """Take in a few new links, nearly always by memories that nothing supersedes."""
        for link in links:
            if link.source in self._superseded or link.target in self._stored.removed:
                self._work_out_superseded()  # it may close a ring, or go on through trash
                return
        self._superseded.update(link.target for link in links if link.source != link.target)

    def _work_out_superseded(self) -> None:
        self._short.take_new_links()
        links = [*self._stored.links, *self._short.links]
        links += [link for link, _ in passed_on(links, self._stored.removed)]
        self._superseded = set(Chains.of(links).superseded())
        self._answers.clear()


class _Short:
    """What short-term and its drains hold, and how far that was read."""

    def __init__(self, drains: dict[str, _Mark] | None = None) -> None:
        self.drains = {} if drains is None else drains
        self.mark: _Mark = None
        self.read_to = 0
        self.tail = b""
        self.records: dict[str, Kept] = {}
        self.links: list[Link] = []
        self._told = 0

    def take(self, entry: Entry, types: frozenset[str], file: str) -> None:
        """Keep what an entry says, once: a writer's own id holds while it is unique."""
        memory = entry.memory
        name = memory.source_id or derived_id(entry.digest)
        known = self.records.get(name)
        if known is not None and known.memory.fields != memory.fields:
            name = derived_id(entry.digest)
        self.links += [Link(name, memory.time_us, target) for target in memory.supersedes]
        if memory.record_type in types:
            self.records.setdefault(name, Kept(name, "short", file, memory))

    def take_new_links(self) -> list[Link]:
        """The links that were not given before."""
        new = self.links[self._told :]
        self._told = len(self.links)
        return new


class _Stored(NamedTuple):
    """What long-term and archives hold."""

    marks: dict[str, _Mark] | None = None
    records: dict[str, Kept] = {}  # noqa: RUF012  (never written to)
    links: list[Link] = []  # noqa: RUF012
    removed: dict[str, list[str]] = {}  # noqa: RUF012


_hands: "OrderedDict[tuple[str, str], Hand]" = OrderedDict()
_hands_lock: Final = threading.Lock()


def at_hand(home: "Home", agent: str) -> Hand:
    """Give the records of an agent whose name passed the gate, kept from call to call."""
    key = (os.fspath(home.paths.root), agent)
    with _hands_lock:
        hand = _hands.get(key)
        if hand is None:
            hand = _hands[key] = Hand(home, agent)
            while len(_hands) > HANDS_MAX:
                _hands.popitem(last=False)
        else:
            hand.home = home
            _hands.move_to_end(key)
        return hand


def _links(life: Lifecycle) -> Iterator[tuple[str, int | None, str]]:
    return ((one.source, one.time_us, one.target) for one in life.references(SUPERSEDES))


def _lines_with_signs(fd: int, start: int, stop: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield the lines that may matter: offset, bytes without newline, end; other blocks fly by."""
    position = start
    while position < stop:
        block = os.pread(fd, min(CHUNK_BYTES, stop - position), position)
        size = CHUNK_BYTES
        while b"\n" not in block and position + len(block) < stop:  # a line longer than a block
            size *= 2
            block = os.pread(fd, min(size, stop - position), position)
        block = block[: block.rfind(b"\n") + 1]
        if not block:
            return
        if any(sign in block for sign in _SIGNS):
            at = position
            for raw in block[:-1].split(b"\n"):
                if any(sign in raw for sign in _SIGNS):
                    yield at, raw, at + len(raw) + 1
                at += len(raw) + 1
        position += len(block)


def _grew(mark: _Mark, status: os.stat_result) -> bool:
    assert mark is not None  # noqa: S101  (asked of a file that was read)
    return status.st_ino == mark[0] and status.st_size > mark[1]


def _mark(path: "Path | str") -> _Mark:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _marks(directory: Path) -> dict[str, _Mark]:
    place = os.fspath(directory)
    return {name: _mark(f"{place}/{name}") for name in _names(place)}


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []
