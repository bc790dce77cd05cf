"""An agent's working records, kept at hand: reading them again costs a look at the files (W1, W3).

A record is a line with a `record_type` (`snippet`, `preference`, `playbook` …) and no kind of its
own: the catalog then knows it by its record type, and nobody reads a million lines to find it.

    at_hand(home, agent).of("preference")    # the active ones, newest first

What was written since, by this process or another, is there at the next call, from whichever tier;
what has expired or is superseded is gone at that very moment. Nothing is stored: another process,
or this one after a restart, works out the same from the same lines.
"""

import contextlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem import app
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

_Marks = tuple[tuple[str, _Mark], ...]


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
        self._place = os.fspath(self._paths.directory)
        self._lock = threading.RLock()
        self._types: frozenset[str] = frozenset()
        """The record types that were asked for: others are not kept."""

        self._short = _Short()
        self._stored = _Stored()
        self._protection = Protection()
        self._superseded: set[str] = set()
        self._answers: dict[tuple[str, ...], _Answer] = {}

    def of(self, *types: str) -> tuple[Kept, ...]:
        """The active records of these types, newest first, as they are now.

        Raises:
            NotAllowedError: this process is not the home's owner.
            DiskError, ProtectionDamagedError: they can't be read.
        """
        self.home.only_owner("read working memory")
        with self._lock:
            self._catch_up(types)
            now_us = round(app.now() * 1_000_000)
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
            with contextlib.suppress(OSError):  # it is told below, and by its name
                # Stored last: what left short-term meanwhile has arrived there already.
                if self._short_is_as_read() and self._stored_is_as_read():
                    return
            with disk_errors(self._paths.directory):
                self._read_anew()
        except BaseException:  # half of it would pass for all of it: the next call reads it anew
            self._short, self._stored = _Short(), _Stored()
            raise

    def _read_anew(self) -> None:
        self._answers.clear()
        links = self._catch_up_short()
        if not self._stored_is_as_read():
            self._stored = self._read_stored()
            links = None
        if links is None:
            self._work_out_superseded()
        else:
            self._supersede(links)

    def _short_is_as_read(self) -> bool:
        short, place = self._short, self._place
        if _mark(f"{place}/drains") != short.drains_mark:
            return False
        for name, mark in short.drains:
            if _mark(name) != mark:
                return False
        return short.begun and _mark(f"{place}/short_term.jsonl") == short.mark

    def _stored_is_as_read(self) -> bool:
        for name, mark in self._stored.marks:
            if _mark(name) != mark:
                return False
        return bool(self._stored.marks)

    def _catch_up_short(self) -> list[Link] | None:
        """Read short-term and drains; gives the new links, or None when all was read anew."""
        short, place = self._short, self._place
        drains_mark = _mark(f"{place}/drains")
        drains = tuple((name, _mark(name)) for name, _ in short.drains)
        if short.begun and (drains_mark, drains) == (short.drains_mark, short.drains):
            if self._read_on(short):
                return short.take_new_links()
            drains_mark = _mark(f"{place}/drains")
        self._short = short = _Short(drains_mark)
        found = self._paths.drains.glob("[!.]*.jsonl")
        short.drains = tuple((name, _mark(name)) for name in sorted(map(os.fspath, found)))
        for path, start in self.home.shelf(self._agent).drains.tails():
            fd = open_or_none(path)
            if fd is not None:
                try:
                    self._read(short, fd, start)
                finally:
                    os.close(fd)
        self._read_on(short)
        return None

    def _read_on(self, short: "_Short") -> bool:
        """Read what was appended to short-term; False when it is not the file it was."""
        short.begun = True
        fd = open_or_none(self._paths.short_term)
        if fd is None:
            return short.mark is None
        try:
            status = os.fstat(fd)
            if short.mark is not None:
                grew = status.st_ino == short.mark[0] and status.st_size > short.mark[1]
                if not grew or tail_hash(fd, short.read_to) != short.tail:
                    return False
            short.read_to = self._read(short, fd, short.read_to)
            short.tail = tail_hash(fd, short.read_to)
            short.mark = (status.st_ino, status.st_size, status.st_mtime_ns)
            return True
        finally:
            os.close(fd)

    def _read(self, short: "_Short", fd: int, start: int) -> int:
        """Keep the records and links of a file from an offset on; returns how far it was read."""
        limit = self.home.rules.line_bytes_max
        stop = last_newline_end(fd, os.fstat(fd).st_size)
        for offset, raw, end in _lines_with_signs(fd, start, stop):
            if len(raw) <= limit:
                for entry in entries_of(offset, raw, end):
                    if isinstance(entry, Entry):
                        short.take(entry, self._types, self._paths.short_term.name)
        return stop

    def _read_stored(self) -> "_Stored":
        """Ask the catalog about long-term and archives, and the file about what is pinned."""
        place, paths = self._place, self._paths
        watched = [place, *map(os.fspath, (paths.trash, paths.long_term, paths.protected))]
        marks = [(name, _mark(name)) for name in watched]
        archives = paths.directory.glob("short_term_archive_*.jsonl")
        marks += [(name, _mark(name)) for name in map(os.fspath, archives)]
        self._protection = read_protection(paths.protected)
        work, shelf = self.home.workplace(), self.home.shelf(self._agent)
        with work.catalog(busy_ms=BUSY_MS) as catalog:

            def found() -> _Stored:
                life = Lifecycle(catalog, self._agent)
                ids = [one.id for one in life.of_kinds(RECORD + name for name in self._types)]
                references = life.references(SUPERSEDES)
                links = [Link(one.source, one.time_us, one.target) for one in references]
                records = {one.id: one for one in shelf.read(catalog.find(self._agent, ids))}
                return _Stored(tuple(marks), records, links, life.removed())

            return work.ask(catalog, shelf, found)

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

    def __init__(self, drains_mark: _Mark = None) -> None:
        self.begun = False
        self.drains_mark = drains_mark
        self.drains: _Marks = ()
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

    marks: _Marks = ()
    records: dict[str, Kept] = {}  # noqa: RUF012  (never written to)
    links: list[Link] = []  # noqa: RUF012
    removed: dict[str, list[str]] = {}  # noqa: RUF012


_hands: "OrderedDict[tuple[Path, str], Hand]" = OrderedDict()
_hands_lock: Final = threading.Lock()


def at_hand(home: "Home", agent: str) -> Hand:
    """Give the records of an agent whose name passed the gate, kept from call to call."""
    key = (home.paths.root, agent)
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


def _mark(path: str) -> _Mark:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
