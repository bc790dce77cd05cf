"""Every memory of one agent, for a reader: by words, line by line, or by id."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.strict_json import LineDamage, parse_object
from skymem.recall.best import Best
from skymem.recall.candidate import Candidate, Scale
from skymem.recall.glance import Glance
from skymem.recall.request import Filters
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import IndexCursors
from skymem.stores.lines import entries_of
from skymem.stores.naming import Naming
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.standings import Standings

BATCH_ENTRIES: Final = 500


class Tiers:
    """Short-term with its drains' rests, long-term and archives, read as one.

    The order is that of `Shelf`: a line on its way from one tier to the next may be seen twice, and
    counts once, and is never missed.
    """

    def __init__(self, shelf: Shelf, catalog: Catalog, standings: Callable[[], Standings]) -> None:
        """Use `catalog`, caught up, to tell where a memory has its place.

        `standings` tells, when it is first needed, which memories are active: no other answers.
        """
        self._shelf = shelf
        self._catalog = catalog
        self._agent = shelf.paths.name
        self._ask_standings = standings

    @cached_property
    def _standings(self) -> Standings:
        return self._ask_standings()

    def best_by_words(self, scale: Scale, filters: Filters, limit: int) -> list[Candidate]:
        """The best by row R2's score, best first. Reads every tier once; damage is passed over."""
        best = Best(limit, self._in_place)
        if "short" in filters.tiers:
            self._scan_short(best, scale, filters)
        self._scan_lines(best, scale, filters)
        return best.ranked()

    def _scan_short(self, best: Best, scale: Scale, filters: Filters) -> None:
        file = self._shelf.paths.short_term.name
        for entry in self._short():
            if filters.let(entry.memory) and self._standings.let(entry.id, entry.memory):
                parts = scale.weigh(entry.memory)
                best.offer(Candidate(entry.id, "short", file, entry.start, entry.memory, parts))

    def _scan_lines(self, best: Best, scale: Scale, filters: Filters) -> None:
        glance = Glance(scale.tokens, scale.bias, scale.now_us)
        for tier, file, lines in self._shelf.tier_lines(filters.tiers):
            for start, raw, end in lines:
                if raw is None or not glance.reaches(raw, best.floor):
                    continue
                for at, memory in _memories(start, raw, end):
                    parts = scale.weigh(memory)
                    if parts.deterministic < best.floor or not filters.let(memory):
                        continue
                    name = memory.source_id or digest(memory).hex()
                    if self._standings.let(name, memory):
                        best.offer(Candidate(name, tier, file, at, memory, parts))

    def locate(self, names: Sequence[str], tiers: Collection[str]) -> dict[str, Kept]:
        """Find active memories by their ids in these tiers; an id that no line has is left out."""
        places = self._catalog.find(self._agent, names)
        wanted = {name: place for name, place in places.items() if place.tier in tiers}
        found = {
            kept.id: kept
            for kept in self._shelf.read(wanted)
            if self._standings.let(kept.id, kept.memory)
        }
        rest = set(names) - places.keys()
        if rest and "short" in tiers:
            file = self._shelf.paths.short_term.name
            for entry in self._short():
                if entry.id in rest:
                    if self._standings.let(entry.id, entry.memory):
                        found[entry.id] = Kept(entry.id, "short", file, entry.memory)
                    rest.remove(entry.id)
                    if not rest:
                        break
        return found

    def unindexed(self, epoch: str) -> int:
        """How many long-term memories the index of that epoch does not have yet."""
        if self._catalog.temporary:  # it knows of no cursor, and is told about as it is
            return 0
        return IndexCursors(self._catalog, self._agent, epoch).owed("long")

    def _short(self) -> Iterator[Entry]:
        """The lines of short-term that no other tier has, each with its id."""
        naming = Naming(self._agent, self._catalog)
        readable = (one for one in self._shelf.short_entries() if not isinstance(one, Damage))
        while batch := list(islice(readable, BATCH_ENTRIES)):
            naming.name(batch)
            yield from (entry for entry in batch if not entry.elsewhere)

    def _in_place(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Leave out lines of long-term and archives whose id has its place in another line.

        A line the catalog does not know was appended since it caught up.
        """
        names = [one.id for one in candidates if one.tier != "short"]
        places = self._catalog.find(self._agent, names)
        return [
            one
            for one in candidates
            if one.tier == "short"
            or (place := places.get(one.id)) is None
            or (place.file, place.start) == (one.file, one.start)
        ]


def _memories(start: int, raw: bytes, end: int) -> Iterator[tuple[int, Memory]]:
    """The memories of a line, each with its offset: one, nearly always."""
    try:
        yield start, Memory(parse_object(raw))
    except LineDamage:
        for entry in entries_of(start, raw, end):
            if isinstance(entry, Entry):
                yield entry.start, entry.memory
