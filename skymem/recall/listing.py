"""Memories listed and not ranked: the newest of every tier, and what archives hold (R4, P10)."""

import heapq
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from skymem.errors import UsageError
from skymem.recall.place import READER_BUSY_MS, Place
from skymem.recall.request import Filters
from skymem.recall.result import listed
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.shelf import Kept, Shelf, tier_entries
from skymem.stores.short_lines import named_short
from skymem.stores.standings import Standings
from skymem.stores.tiers import tier_files, tier_of

LOOKED_UP_AT_ONCE: Final = 200


def recent(
    place: Place,
    agent: str,
    filters: Filters,
    limit: int,
    *,
    since_us: int | None = None,
    at_us: int | None = None,
) -> list[dict[str, Any]]:
    """The newest active memories of every tier that pass the filters, newest first (row R4).

    Args:
        place: the home's lines, catalog and clock.
        agent: whose memories.
        filters: which may be listed.
        limit: how many, at most.
        since_us: not older, microseconds since the epoch; None: all, those without a time last.
        at_us: as it was at that moment, and nothing that happened later; None: now.

    Raises:
        AgentNameError, NotAllowedError, DiskError.
    """
    found = newest(place, agent, filters, limit, since_us=since_us, at_us=at_us)
    return [listed(kept.id, kept.tier, kept.memory) for kept in found]


def newest(
    place: Place,
    agent: str,
    filters: Filters,
    limit: int,
    *,
    since_us: int | None = None,
    at_us: int | None = None,
) -> list[Kept]:
    """The same, as they are kept: with all that is in them.

    Raises:
        AgentNameError, NotAllowedError, DiskError.
    """
    shelf, filters = place.shelf(agent), filters.by(at_us)
    with place.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        return place.ask(
            catalog, shelf, lambda: _newest(place, shelf, catalog, filters, limit, since_us, at_us)
        )


def _newest(  # noqa: PLR0917  (one question)
    place: Place,
    shelf: Shelf,
    catalog: Catalog,
    filters: Filters,
    limit: int,
    since_us: int | None,
    at_us: int | None,
) -> list[Kept]:
    short = sorted(_short(shelf, catalog, since_us), key=_order)
    every = heapq.merge(short, _stored(shelf, catalog, since_us), key=_order)
    found = (kept for kept in every if kept.tier in filters.tiers and filters.let(kept.memory))
    return [*islice(_active(place, shelf, catalog, found, at_us), limit)]


def newest_of_kind(
    place: Place, shelf: Shelf, catalog: Catalog, kind: str | None
) -> Iterator[Kept]:
    """Every active memory of a kind, or of any kind at all, newest first; `catalog` is caught up.

    Costs what there is of that kind. One without a time comes last.
    """
    if kind is not None:
        return newest_of_kinds(place, shelf, catalog, [kind])
    short = sorted(_short(shelf, catalog, None), key=_order)
    every = heapq.merge(short, _stored(shelf, catalog, None), key=_order)
    return _active(place, shelf, catalog, (one for one in every if one.memory.kind))


def newest_of_kinds(
    place: Place,
    shelf: Shelf,
    catalog: Catalog,
    kinds: Collection[str],
    at_us: int | None = None,
) -> Iterator[Kept]:
    """The same of several kinds, as it is or as it was at a moment."""
    short = sorted(_short(shelf, catalog, None), key=_order)
    named = Lifecycle(catalog, shelf.paths.name).of_kinds(kinds)
    named.sort(key=lambda one: (-(one.time_us or 0), one.id))
    every = heapq.merge(short, _read(shelf, catalog, (one.id for one in named)), key=_order)
    by_then = Filters().by(at_us)
    found = (one for one in every if one.memory.kind in kinds and by_then.let(one.memory))
    return _active(place, shelf, catalog, found, at_us)


def _standings(place: Place, shelf: Shelf) -> Standings:
    now_us = round(place.now() * 1_000_000)
    with place.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        return place.ask(
            catalog, shelf, lambda: Standings.of(shelf, catalog, now_us, place.rules.kinds)
        )


def _active(
    place: Place, shelf: Shelf, catalog: Catalog, found: Iterator[Kept], at_us: int | None = None
) -> Iterator[Kept]:
    looking_back = at_us is not None
    moment_us = round(place.now() * 1_000_000) if at_us is None else at_us
    standings = Standings.of(
        shelf, catalog, moment_us, place.rules.kinds, looking_back=looking_back
    )
    return (kept for kept in found if standings.let(kept.id, kept.memory))


def _order(kept: Kept) -> tuple[int, str]:
    return -(kept.memory.time_us or 0), kept.id


def _short(shelf: Shelf, catalog: Catalog, since_us: int | None) -> Iterator[Kept]:
    for entry in named_short(shelf, catalog):
        time_us = entry.memory.time_us
        if since_us is None or (time_us is not None and time_us >= since_us):
            yield Kept(entry.id, "short", shelf.paths.short_term.name, entry.memory)


def _stored(shelf: Shelf, catalog: Catalog, since_us: int | None) -> Iterator[Kept]:
    """Long-term and archives, newest first."""
    return _read(shelf, catalog, Lifecycle(catalog, shelf.paths.name).newest_first(since_us))


def _read(shelf: Shelf, catalog: Catalog, newest: Iterator[str]) -> Iterator[Kept]:
    """Read memories in this order, some at a time."""
    while lot := [*islice(newest, LOOKED_UP_AT_ONCE)]:
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
    """What archives hold whose text has the pattern, newest first (row P10).

    An archive is a record: it is searched as it is. What is expired or superseded says so, under
    `standing`.
    """
    found: list[tuple[tuple[int, str], dict[str, Any]]] = []
    for agent in agents:
        shelf = place.shelf(agent)
        standings = _standings(place, shelf)
        for name, path in tier_files(shelf.paths):
            if tier_of(name) != "archive":
                continue
            for entry in tier_entries(path, shelf.guard.clean):
                memory = entry.memory
                if filters.let(memory) and pattern.search(memory.searchable):
                    own = memory.source_id or entry.digest.hex()
                    told = {"agent": agent, "file": name, **listed(own, "archive", memory)}
                    told["standing"] = standings.of_memory(own, memory)
                    found.append(((-(memory.time_us or 0), own), told))
    found.sort(key=lambda one: one[0])
    return [told for _, told in found[:limit]]
