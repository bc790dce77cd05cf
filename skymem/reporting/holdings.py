"""What an agent's tiers hold now: counted for the distributions, weighed for the two ends."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from skymem.app import READER_BUSY_MS, Home
from skymem.model.memory import Memory
from skymem.model.strict_json import LineDamage
from skymem.policy.archives import ArchiveFile, ended_us
from skymem.policy.importance import worth
from skymem.reporting.answers import Answers
from skymem.reporting.figures import Entry
from skymem.reporting.regrets import Asked
from skymem.reporting.spread import Spread
from skymem.reporting.worth import Ends, Weighed
from skymem.stores.catalog import Catalog
from skymem.stores.census import Counted, census
from skymem.stores.files import disk_errors
from skymem.stores.protection import Protection, read_protection
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.short_lines import named_short
from skymem.stores.trash import Held

TEXT_LETTERS = 160
"""Of a memory's text, how many are shown."""


@dataclass(slots=True)
class Holdings:
    """Looks at one agent after the other."""

    home: Home
    spread: Spread
    ends: Ends
    answers: Answers
    until: float

    def look(self, agent: str) -> None:
        """Count and weigh what an agent has.

        Raises:
            SkymemError: it can't be read.
        """
        work, shelf = self.home.workplace(), self.home.shelf(agent)
        protection = read_protection(shelf.paths.protected)
        with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
            work.ask(catalog, shelf, lambda: catalog.counts(agent))
            for entry in named_short(shelf, catalog):
                self._short(agent, entry.id, entry.memory, protection)
            for one in census(catalog, agent):
                self._stored(agent, one, protection)
        for held in shelf.trash.all():
            self._trashed(held)

    def _short(self, agent: str, name: str, memory: Memory, protection: Protection) -> None:
        at, importance = _seconds(memory.time_us), worth(memory, self.home.rules.kinds).importance
        self.spread.add("short", at, importance, None)
        pinned = protection.is_pinned(name, memory)
        self._weigh(agent, "short", name, (pinned, importance, at))

    def _stored(self, agent: str, one: Counted, protection: Protection) -> None:
        at, importance = _seconds(one.time_us), one.importance
        if importance is None:
            importance = self.home.rules.kinds.of(one.kind or None).importance
        self.spread.add(one.tier, at, importance, self._ended(one) if one.tier != "long" else None)
        if one.tier == "long":
            pinned = one.id in protection.pinned
            pinned |= one.pinned and one.id not in protection.unpinned
            self._weigh(agent, "long", one.id, (pinned, importance, at))

    def _trashed(self, held: Held) -> None:
        try:
            memory = held.memory
        except LineDamage:
            return
        importance = worth(memory, self.home.rules.kinds).importance
        left = None if held.tier == "archive" else held.trashed_at
        self.spread.add("trash", _seconds(memory.time_us), importance, left)

    def _ended(self, one: Counted) -> float | None:
        file = ArchiveFile(one.file, 0, one.time_us)
        return _seconds(ended_us(file, round(self.until * 1_000_000)))

    def _weigh(
        self, agent: str, tier: str, name: str, told: tuple[bool, float, float | None]
    ) -> None:
        pinned, importance, at = told
        asked = self.answers.asked[Asked(agent, name)]
        self.ends.add(Weighed(pinned, asked, round(importance, 6), at or 0.0, name, agent, tier))


def entries_of(home: Home, weighed: Collection[Weighed], *, texts: bool) -> list[Entry]:
    """Those memories as they are told of, in this order; what has moved meanwhile is left out."""
    found: dict[Asked, Entry] = {}
    for agent in sorted({one.agent for one in weighed}):
        own = {one.id: one for one in weighed if one.agent == agent}
        for name, entry in _of_agent(home, agent, own, texts=texts):
            found[Asked(agent, name)] = entry
    return [found[key] for one in weighed if (key := Asked(one.agent, one.id)) in found]


def _of_agent(
    home: Home, agent: str, own: Mapping[str, Weighed], *, texts: bool
) -> Iterator[tuple[str, Entry]]:
    work, shelf = home.workplace(), home.shelf(agent)
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        standings = work.ask(catalog, shelf, lambda: work.standings(shelf, catalog))
        for kept in _kept(shelf, catalog, own):
            standing = standings.of_memory(kept.id, kept.memory)
            yield kept.id, _entry(own[kept.id], kept, standing, texts=texts)


def _kept(shelf: Shelf, catalog: Catalog, own: Mapping[str, Weighed]) -> Iterator[Kept]:
    for entry in named_short(shelf, catalog):
        if entry.id in own:
            yield Kept(entry.id, "short", shelf.paths.short_term.name, entry.memory)
    yield from shelf.read(
        {
            name: place
            for name, place in catalog.find(shelf.paths.name, sorted(own)).items()
            if place.tier == "long"
        }
    )


def _entry(weighed: Weighed, kept: Kept, standing: str, *, texts: bool) -> Entry:
    memory = kept.memory
    said = " ".join(memory.searchable.split()) if texts else ""
    return Entry(
        id=kept.id,
        agent=weighed.agent,
        tier=kept.tier,
        ts=_seconds(memory.time_us),
        importance=weighed.importance,
        asked=weighed.asked,
        pinned=weighed.pinned,
        standing=standing,
        kind=memory.kind or memory.record_type,
        tags=memory.tags if texts else (),
        text=said if len(said) <= TEXT_LETTERS else said[: TEXT_LETTERS - 1] + "…",
    )


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / 1_000_000
