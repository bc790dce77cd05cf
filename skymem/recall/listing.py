"""Memories listed and not ranked: the newest of every tier, and what archives hold (R4, P10)."""

import heapq
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from skymem.errors import UsageError
from skymem.model.plan import Damage
from skymem.recall.request import Filters
from skymem.recall.result import listed
from skymem.recall.search import READER_BUSY_MS, Place
from skymem.stores.catalog import Catalog, tier_files, tier_of
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.shelf import Kept, Shelf, tier_entries
from skymem.stores.standings import Standings

LOOKED_UP_AT_ONCE: Final = 200


def recent(
    place: Place, agent: str, filters: Filters, limit: int, *, since_us: int = 0
) -> list[dict[str, Any]]:
    """The newest active memories of every tier that pass the filters, newest first (row R4).

    Args:
        place: the home's lines, catalog and clock.
        agent: whose memories.
        filters: which may be listed.
        limit: how many, at most.
        since_us: not older, microseconds since the epoch; a memory without a time is not listed.

    Raises:
        AgentNameError, NotAllowedError, DiskError.
    """
    shelf = place.shelf(agent)
    with place.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        return place.ask(
            catalog, shelf, lambda: _newest(place, shelf, catalog, filters, limit, since_us)
        )


def _newest(  # noqa: PLR0917  (one question)
    place: Place, shelf: Shelf, catalog: Catalog, filters: Filters, limit: int, since_us: int
) -> list[dict[str, Any]]:
    standings = Standings.of(shelf, catalog, round(place.now() * 1_000_000), place.rules.kinds)
    short = sorted(_short(shelf, catalog, since_us), key=_order)
    stored = _stored(shelf, catalog, since_us)
    found = (
        kept
        for kept in heapq.merge(short, stored, key=_order)
        if kept.tier in filters.tiers
        and filters.let(kept.memory)
        and standings.of_memory(kept.id, kept.memory) == "active"
    )
    return [listed(kept.id, kept.tier, kept.memory) for kept in islice(found, limit)]


def _order(kept: Kept) -> tuple[int, str]:
    return -(kept.memory.time_us or 0), kept.id


def _short(shelf: Shelf, catalog: Catalog, since_us: int) -> Iterator[Kept]:
    naming = Naming(shelf.paths.name, catalog)
    for entry in shelf.short_entries():
        if isinstance(entry, Damage):
            continue
        naming.name([entry])
        time_us = entry.memory.time_us
        if not entry.elsewhere and time_us is not None and time_us >= since_us:
            yield Kept(entry.id, "short", shelf.paths.short_term.name, entry.memory)


def _stored(shelf: Shelf, catalog: Catalog, since_us: int) -> Iterator[Kept]:
    """Long-term and archives, newest first, read some at a time."""
    newest = Lifecycle(catalog, shelf.paths.name).newest_first(since_us)
    while lot := [name for _, name in islice(newest, LOOKED_UP_AT_ONCE)]:
        places = catalog.find(shelf.paths.name, lot)
        yield from sorted(shelf.read(places), key=_order)


def pattern_of(text: str) -> "re.Pattern[str]":
    """Read a pattern: a regular expression, in either case.

    Raises:
        UsageError: it is none.
    """
    try:
        return re.compile(text, re.IGNORECASE)
    except re.error as error:
        raise UsageError(
            f"pattern {text!r:.60} is no regular expression: {error}; put \\ before signs meant "
            "as they are"
        ) from None


def search_archives(
    place: Place, agents: Sequence[str], pattern: "re.Pattern[str]", filters: Filters, limit: int
) -> list[dict[str, Any]]:
    """What archives hold whose text has the pattern, newest first; expired ones too (row P10).

    An archive is a record: it is searched as it is.
    """
    found: list[tuple[tuple[int, str], dict[str, Any]]] = []
    for agent in agents:
        shelf = place.shelf(agent)
        for name, path in tier_files(shelf.paths):
            if tier_of(name) != "archive":
                continue
            for entry in tier_entries(path):
                memory = entry.memory
                if filters.let(memory) and pattern.search(memory.searchable):
                    own = memory.source_id or entry.digest.hex()
                    told = {"agent": agent, "file": name, **listed(own, "archive", memory)}
                    found.append(((-(memory.time_us or 0), own), told))
    found.sort(key=lambda one: one[0])
    return [told for _, told in found[:limit]]
