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
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from skymem import app
from skymem.model.plan import Entry
from skymem.policy.secrets import guard_of
from skymem.policy.standing import Chains, Link, expires_us, passed_on
from skymem.stores.aspects import SUPERSEDES
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import RECORD, Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.protection import Protection, read_protection
from skymem.stores.shelf import Kept
from skymem.working.short_records import SHORT_TERM, Marks, ShortRecords, Wanted, mark_of

if TYPE_CHECKING:
    from skymem.app import Home

HANDS_MAX: Final = 64
"""Agents whose records one process keeps: beyond it, the one not asked for longest is let go."""

BUSY_MS: Final = 1_000
"""How long to wait for a catalog that another process writes to, before doing without."""

NEVER_US: Final = 1 << 62

_Group = tuple[str, str | None]
"""A record type and a conversation, "" for none."""


class _Held(NamedTuple):
    """An active record, and when it expires, microseconds since the epoch."""

    kept: Kept
    ends_us: int


class _Answer(NamedTuple):
    """What was active from one moment until the next at which something expires."""

    versions: list[int]
    since_us: int
    until_us: int
    records: tuple[Kept, ...]


class Hand:
    """The records of one agent, as this process last saw them. Threads may share it."""

    def __init__(self, home: "Home", agent: str, *, dry_run: bool = False) -> None:
        self.home = home
        self._dry_run = dry_run
        self._agent = agent
        self._paths = home.workplace().agent_paths(agent)
        self._place = os.fspath(self._paths.directory)
        self._lock = threading.RLock()
        self._types: frozenset[str] = frozenset()
        """The record types that were asked for: others are not kept."""

        self._short = ShortRecords()
        self._stored = _Stored()
        self._protection = Protection()
        self._superseded: set[str] = set()
        self._groups: dict[_Group, dict[str, _Held]] = {}
        self._versions: Counter[_Group] = Counter()
        """How often each group changed; under no session's name, any group of that type."""

        self._answers: dict[tuple[tuple[str, ...], str | None], _Answer] = {}

    def of(self, *types: str, session: str | None = None) -> tuple[Kept, ...]:
        """The active records of these types, newest first, as they are now.

        Of one conversation where one is named. The very same tuple as long as nothing has changed.

        Raises:
            NotAllowedError: this process is not the home's owner.
            DiskError, ProtectionDamagedError: they can't be read.
        """
        self.home.only_owner("read working memory")
        with self._lock:
            self._catch_up(types)
            now_us = round(app.now() * 1_000_000)
            versions = [self._versions[one, session] for one in types]
            known = self._answers.get((types, session))
            if (
                known is None
                or versions != known.versions
                or not known.since_us <= now_us < known.until_us
            ):
                known = _answer(self._held(types, session), versions, now_us)
                self._answers[types, session] = known
            return known.records

    def every(self, record_type: str, session: str) -> list[Kept]:
        """All lines of a conversation, those that are expired or superseded as well."""
        self.of(record_type)
        with self._lock:
            found = {**self._short.records, **self._stored.records}.values()
            return [one for one in found if _group(one) == (record_type, session)]

    # -- what is active -------------------------------------------------------------------------

    def _held(self, types: tuple[str, ...], session: str | None) -> Iterator[_Held]:
        if session is not None:
            for one in types:
                yield from self._groups.get((one, session), {}).values()
            return
        for (one, _), held in self._groups.items():
            if one in types:
                yield from held.values()

    def _hold(self, kept: Kept) -> None:
        pinned = self._protection.is_pinned(kept.id, kept.memory)
        ends_us = expires_us(kept.memory, pinned=pinned)
        held = _Held(kept, NEVER_US if ends_us is None else ends_us)
        group = _group(kept)
        self._groups.setdefault(group, {})[kept.id] = held
        self._changed(group)

    def _changed(self, group: "_Group") -> None:
        self._versions[group] += 1
        self._versions[group[0], None] += 1

    def _group_anew(self) -> None:
        """Work out who is superseded, and hold all others."""
        links = [*self._stored.links, *self._short.links]
        links += [link for link, _ in passed_on(links, self._stored.removed)]
        self._superseded = set(Chains.of(links).superseded())
        self._groups.clear()
        self._answers.clear()
        # Long-term and archives last: of a line on its way, the tier it is going to is told.
        for kept in {**self._short.records, **self._stored.records}.values():
            if kept.id not in self._superseded:
                self._hold(kept)

    def _take_in(self, records: list[Kept], links: list[Link]) -> None:
        """Take in a few new lines, nearly always such as nothing supersedes yet."""
        for link in links:
            if link.source in self._superseded or link.target in self._stored.removed:
                self._group_anew()  # it may close a ring, or go on through trash
                return
            if link.source == link.target:
                continue
            self._superseded.add(link.target)
            gone = self._short.records.get(link.target) or self._stored.records.get(link.target)
            if gone is not None:
                self._groups.get(_group(gone), {}).pop(gone.id, None)
                self._changed(_group(gone))
        for kept in records:
            if kept.id not in self._superseded and kept.id not in self._stored.records:
                self._hold(kept)

    # -- being up to date -----------------------------------------------------------------------

    def _catch_up(self, types: tuple[str, ...]) -> None:
        """Read what is new, in the order in which lines travel: none on its way is missed."""
        if not self._types.issuperset(types):
            self._types |= frozenset(types)
            self._short, self._stored = ShortRecords(), _Stored()
        try:
            with contextlib.suppress(OSError):  # it is told below, and by its name
                # Stored last: what left short-term meanwhile has arrived there already.
                if self._short_is_as_read() and self._stored_is_as_read():
                    return
            with disk_errors(self._paths.directory):
                self._read_anew()
        except BaseException:  # half of it would pass for all of it: the next call reads it anew
            self._short, self._stored = ShortRecords(), _Stored()
            raise

    def _read_anew(self) -> None:
        new = self._catch_up_short()
        if not self._stored_is_as_read():
            self._stored = self._read_stored()
            new = None
        if new is None:
            self._group_anew()
        else:
            self._take_in(*new)

    def _short_is_as_read(self) -> bool:
        short, place = self._short, self._place
        if mark_of(f"{place}/drains") != short.drains_mark:
            return False
        for name, mark in short.drains:
            if mark_of(name) != mark:
                return False
        return short.begun and mark_of(f"{place}/short_term.jsonl") == short.mark

    def _stored_is_as_read(self) -> bool:
        for name, mark in self._stored.marks:
            if mark_of(name) != mark:
                return False
        return bool(self._stored.marks)

    def _catch_up_short(self) -> tuple[list[Kept], list[Link]] | None:
        """Read short-term and drains; gives what is new, or None when all was read anew."""
        short, place, rules = self._short, self._place, self.home.rules
        wanted = Wanted(self._types, rules.line_bytes_max, guard_of(rules.secrets).clean)
        drains_mark = mark_of(f"{place}/drains")
        drains = tuple((name, mark_of(name)) for name, _ in short.drains)
        if short.begun and (drains_mark, drains) == (short.drains_mark, short.drains):
            short.new, links = [], len(short.links)
            if (
                not short.foreign
                and short.read_on(self._paths.short_term, wanted)
                and not short.foreign
            ):
                return short.new, short.links[links:]
            drains_mark = mark_of(f"{place}/drains")
        self._short = short = ShortRecords(drains_mark)
        found = self._paths.drains.glob("[!.]*.jsonl")
        short.drains = tuple((name, mark_of(name)) for name in sorted(map(os.fspath, found)))
        for path, start in self.home.shelf(self._agent).drains.tails():
            short.read_drain(path, start, wanted)
        short.read_on(self._paths.short_term, wanted)
        if short.foreign:
            self._name(short)
        return None

    def _name(self, short: ShortRecords) -> None:
        """Read all of short-term for the ids of its records: writers gave some of their own.

        Such an id holds while it is unique among all lines of all tiers, which few lines make worth
        this.
        """
        work, shelf = self.home.workplace(dry_run=self._dry_run), self.home.shelf(self._agent)
        with work.catalog(busy_ms=BUSY_MS) as catalog:

            def named() -> dict[str, Kept]:
                naming, found = Naming(self._agent, catalog), dict[str, Kept]()
                for entry in shelf.short_entries():
                    if isinstance(entry, Entry):
                        naming.name([entry])
                        if entry.memory.record_type in self._types and not entry.elsewhere:
                            kept = Kept(entry.id, "short", SHORT_TERM, entry.memory)
                            found.setdefault(entry.id, kept)
                return found

            short.records = work.ask(catalog, shelf, named)

    def _read_stored(self) -> "_Stored":
        """Ask the catalog about long-term and archives, and the file about what is pinned."""
        place, paths = self._place, self._paths
        watched = [place, *map(os.fspath, (paths.trash, paths.long_term, paths.protected))]
        marks = [(name, mark_of(name)) for name in watched]
        archives = paths.directory.glob("short_term_archive_*.jsonl")
        marks += [(name, mark_of(name)) for name in map(os.fspath, archives)]
        self._protection = read_protection(paths.protected)
        work, shelf = self.home.workplace(dry_run=self._dry_run), self.home.shelf(self._agent)
        with work.catalog(busy_ms=BUSY_MS) as catalog:

            def found() -> _Stored:
                life = Lifecycle(catalog, self._agent)
                ids = [one.id for one in life.of_kinds(RECORD + name for name in self._types)]
                references = life.references(SUPERSEDES)
                links = [Link(one.source, one.time_us, one.target) for one in references]
                records = {one.id: one for one in shelf.read(catalog.find(self._agent, ids))}
                return _Stored(tuple(marks), records, links, life.removed())

            return work.ask(catalog, shelf, found)


class _Stored(NamedTuple):
    """What long-term and archives hold."""

    marks: Marks = ()
    records: dict[str, Kept] = {}  # noqa: RUF012  (never written to)
    links: list[Link] = []  # noqa: RUF012
    removed: dict[str, list[str]] = {}  # noqa: RUF012


_hands: "OrderedDict[tuple[Path, str], Hand]" = OrderedDict()
_hands_lock: Final = threading.Lock()


def at_hand(home: "Home", agent: str, *, dry_run: bool = False) -> Hand:
    """Give the records of an agent whose name passed the gate, kept from call to call.

    A dry run reads them anew, and writes nothing at all: no catalog either.

    Raises:
        NotAllowedError: the handle is bound to another agent.
    """
    if home.bound is not None and not home.bound.reads(agent):
        home.admit(agent)  # raises, and is on record: what another handle reads is not this one's
    if dry_run:
        return Hand(home, agent, dry_run=True)
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


def _answer(found: Iterable[_Held], versions: list[int], now_us: int) -> _Answer:
    active = [one for one in found if one.ends_us > now_us]
    until_us = min((one.ends_us for one in active), default=NEVER_US)
    records = sorted((one.kept for one in active), key=_newest_first)
    return _Answer(versions, now_us, until_us, tuple(records))


def _newest_first(kept: Kept) -> tuple[int, str]:
    return -(kept.memory.time_us or 0), kept.id


def _group(kept: Kept) -> "_Group":
    session = kept.memory.field("session")  # not by `scope`, which looks for three fields more
    return kept.memory.record_type or "", session if isinstance(session, str) else ""
