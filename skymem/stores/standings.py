"""Which memories of an agent are active now: what every reader asks before it returns one (N3).

The catalog knows the links of long-term and archives; those of short-term are read from its lines,
few of which have any. Nothing is stored: what expires is gone from answers at that very moment.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from skymem.model.identity import derived_id
from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.policy.standing import (
    Chains,
    Link,
    Single,
    State,
    is_expired,
    passed_on,
    single_of,
    standing,
)
from skymem.stores.aspects import EVIDENCE, SUPERSEDES
from skymem.stores.catalog import Catalog
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.lines import entries_of, last_newline_end, raw_lines
from skymem.stores.protection import Protection, read_protection
from skymem.stores.shelf import Shelf, open_or_none

Timed = TypeVar("Timed", Link, Single)


class Standings:
    """The standing of one agent's memories at one moment."""

    def __init__(
        self,
        chains: Chains,
        protection: Protection,
        life: Lifecycle,
        now_us: int,
        bridges: Mapping[str, frozenset[str]],
    ) -> None:
        """Hold what `of` finds out."""
        self.chains = chains
        self.bridges = bridges
        """Memories in trash, and what each still supersedes, as its own superseder is there."""

        self._protection = protection
        self._life = life
        self.now_us = now_us

    @classmethod
    def of(
        cls,
        shelf: Shelf,
        catalog: Catalog,
        now_us: int,
        kinds: Kinds = KINDS,
        *,
        coming: Iterable[tuple[str, Memory]] = (),
        looking_back: bool = False,
    ) -> "Standings":
        """Find out who supersedes whom; `catalog` is caught up.

        Args:
            shelf: whose memories.
            catalog: knows those of long-term and archives.
            now_us: the moment, microseconds since the epoch.
            kinds: says of which only the newest counts.
            coming: ids and memories that count as if they were there already.
            looking_back: the moment is asked about, and what happened after it supersedes nothing.

        Raises:
            ProtectionDamagedError: what is pinned can't be read.
            DiskError: short-term can't be read.
        """
        protection = read_protection(shelf.paths.protected)
        life = Lifecycle(catalog, shelf.paths.name, kinds)
        single_kinds = kinds.single()
        links = [Link(one.source, one.time_us, one.target) for one in life.references(SUPERSEDES)]
        singles: list[Single] = []

        def note(name: str, memory: Memory) -> None:
            pinned = protection.is_pinned(name, memory)
            if memory.kind in single_kinds and not is_expired(memory, now_us=now_us, pinned=pinned):
                singles.append(Single(name, memory.time_us, single_of(memory)))

        entries = _notable(shelf, single_kinds)
        short = ((one.memory.source_id or derived_id(one.digest), one.memory) for one in entries)
        for name, memory in chain(short, coming):
            links += [Link(name, memory.time_us, one) for one in memory.supersedes]
            note(name, memory)
        places = catalog.find(shelf.paths.name, [one.id for one in life.of_kinds(single_kinds)])
        for kept in shelf.read(places):
            note(kept.id, kept.memory)
        if looking_back:
            links, singles = _by(links, now_us), _by(singles, now_us)
        bridges: dict[str, frozenset[str]] = {}
        for link, removed in [*passed_on(links, life.removed())]:
            bridges[removed] = bridges.get(removed, frozenset()) | {link.target}
            links.append(link)
        return cls(Chains.of(links, singles=singles), protection, life, now_us, bridges)

    def surely_active(self, names: Sequence[str]) -> set[str]:
        """Those of these ids that are active, of long-term and archives, told without a line.

        It may well be more: what would be over is pinned perhaps.
        """
        lasting = self._life.lasting(names, self.now_us)
        return {name for name in lasting if name not in self.chains}

    def of_memory(self, name: str, memory: Memory) -> State:
        """Whether a reader may return a memory: only when it is active."""
        pinned = self._protection.is_pinned(name, memory)
        return standing(name, memory, self.chains, now_us=self.now_us, pinned=pinned)

    def let(self, name: str, memory: Memory) -> bool:
        """Whether it is active."""
        return self.of_memory(name, memory) == "active"


def _by(found: list[Timed], moment_us: int) -> list[Timed]:
    """What had happened by then; what says no time may well have."""
    return [one for one in found if one.time_us is None or one.time_us <= moment_us]


def living_evidence(standings: Standings, shelf: Shelf, catalog: Catalog, kinds: Kinds) -> set[str]:
    """What memories cite that are active: it never goes (row X4)."""
    life = Lifecycle(catalog, shelf.paths.name, kinds)
    cited: dict[str, list[str]] = {}
    for one in life.references(EVIDENCE):
        if one.source not in standings.chains:
            cited.setdefault(one.source, []).append(one.target)
    over = {one.id for one in life.expired(standings.now_us)} & cited.keys()
    for kept in shelf.read(catalog.find(shelf.paths.name, sorted(over))) if over else ():
        if not standings.let(kept.id, kept.memory):
            del cited[kept.id]
    return {target for targets in cited.values() for target in targets}


def _notable(shelf: Shelf, kinds: frozenset[str]) -> Iterator[Entry]:
    """The lines of short-term that may have to do with others: few are parsed for this."""
    sign = _sign_of(kinds)
    limit = shelf.rules.line_bytes_max
    for path, start in [*shelf.drains.tails(), (shelf.paths.short_term, 0)]:
        fd = open_or_none(path)
        if fd is None:
            continue
        try:
            stop = last_newline_end(fd, os.fstat(fd).st_size)
            for offset, raw, end in raw_lines(fd, start, stop, limit):
                # A key or a kind spelled with \u escapes is not seen; json.dumps never does that
                # to ASCII, and long-term and archives are parsed whole.
                if raw is not None and sign.search(raw):
                    found = entries_of(offset, raw, end, shelf.guard.clean)
                    yield from (one for one in found if isinstance(one, Entry))
        finally:
            os.close(fd)


def _sign_of(kinds: frozenset[str]) -> re.Pattern[bytes]:
    """What a line has that refers to others, or is of such a kind: not all that name one."""
    named = b"|".join(re.escape(kind.encode()) for kind in sorted(kinds))
    return re.compile(rb'supersedes|"(?:kind|type)"\s*:\s*"(?:' + named + rb')"')
