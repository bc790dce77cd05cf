"""Compact: trash is emptied of what has lain in it for its grace (promise 5).

After this `restore` no longer works for them. What an active summary cites stays, so that its
evidence can be looked at (row R10); so does the middle of a chain whose ends are there, or what it
had replaced would be back.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skymem.jobs.agent_by_agent import AgentResult, agent_by_agent, detail_of
from skymem.jobs.clock import check_clock
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Entry
from skymem.stores.catalog import Catalog
from skymem.stores.ledger import in_batches
from skymem.stores.naming import Naming
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.shelf import Shelf
from skymem.stores.standings import living_evidence
from skymem.stores.trash import Held

DAY_SECONDS = 86_400


@dataclass(slots=True)
class Compacted(AgentResult):
    """What one run did about one agent's trash; what is due is listed by `skymem trash list`."""

    job: str = "compact"
    acted: int = 0
    kept: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, Any]:
        """How much went, and how much stays by which gate."""
        return {
            "eligible": self.acted + sum(self.kept.values()),
            "acted": self.acted,
            "compacted": self.acted,
            "skipped": dict(self.kept),
        }


def compact(
    work: Workplace, agents: Collection[str], *, dry_run: bool = False
) -> tuple[dict[str, Any], list[Compacted]]:
    """Empty each agent's trash of what is past its grace.

    One agent's failure is recorded and does not stop the next.
    """
    started = work.now()
    each = [Compacted(agent) for agent in agents]
    agent_by_agent(work, each, lambda catalog, one: _one(work, catalog, one, dry_run=dry_run))
    why, numbers = _why_nothing(each), _numbers(each)
    told = detail_of(work, "compact", each, numbers, started=started, why=why, dry_run=dry_run)
    return told, each


def _numbers(each: Collection[Compacted]) -> dict[str, Any]:
    kept = sum((one.kept for one in each), Counter[str]())
    acted = sum(one.acted for one in each)
    return {
        "eligible": acted + sum(kept.values()),
        "acted": acted,
        "compacted": acted,
        "skipped": dict(kept),
    }


def _why_nothing(each: Collection[Compacted]) -> str:
    if any(one.error for one in each):
        return "it failed"
    kept = any(one.kept for one in each)
    return "nothing has lain in trash for its grace" if kept else "trash is empty"


def _one(work: Workplace, catalog: Catalog, one: Compacted, *, dry_run: bool) -> None:
    check_clock(work, "compact", dry_run=dry_run)
    if dry_run:
        shelf = work.shelf(one.agent)
        due, kept = work.ask(catalog, shelf, lambda: judged(work, shelf, catalog))
    else:
        with ready(work, catalog, one.agent, "compact") as (shelf, _):
            due, kept = judged(work, shelf, catalog)
            if due:
                _empty(work, shelf, due)
                catalog.catch_up(shelf.paths)
                _protect_no_more(work, shelf, catalog, {held.id for held in due})
    one.acted, one.kept = len(due), Counter(gate for _, gate in kept)


def judged(
    work: Workplace, shelf: Shelf, catalog: Catalog
) -> tuple[list[Held], list[tuple[str, str]]]:
    """What has lain long enough, and the ids of what stays, each with the gate that keeps it."""
    standings = work.standings(shelf, catalog)
    cited = living_evidence(standings, shelf, catalog, work.rules.kinds)
    protection = read_protection(shelf.paths.protected)
    before = work.now() - work.rules.trash.keep_seconds
    due: dict[str, list[Held]] = {}
    kept: list[tuple[str, str]] = []
    for held in shelf.trash.all():
        if held.trashed_at > before:
            kept.append((held.id, "too_young"))
        elif held.id in cited:
            kept.append((held.id, "evidence"))
        elif protection.is_pinned(held.id, held.memory):
            kept.append((held.id, "pinned"))
        else:
            due.setdefault(held.id, []).append(held)
    for name in _links(standings.bridges, shelf, catalog, gone=due):
        kept += ((name, "superseded") for _ in due.pop(name, ()))
    return [held for each in due.values() for held in each], kept


def _links(
    bridges: Mapping[str, Collection[str]], shelf: Shelf, catalog: Catalog, *, gone: Collection[str]
) -> set[str]:
    """What in trash links a memory that stays to its superseder: without it that were active."""
    if not bridges:
        return set()
    there = {entry.id for entry in _short(shelf, catalog)}
    for name, place in catalog.find(shelf.paths.name, [*set().union(*bridges.values())]).items():
        if place.tier != "trash" or name not in gone:
            there.add(name)
    links: set[str] = set()
    while more := {name for name, below in bridges.items() if not there.isdisjoint(below)} - links:
        links |= more
        there |= more
    return links


def _short(shelf: Shelf, catalog: Catalog) -> list[Entry]:
    found = [entry for entry in shelf.short_entries() if isinstance(entry, Entry)]
    Naming(shelf.paths.name, catalog).name(found)
    return found


def _empty(work: Workplace, shelf: Shelf, due: Collection[Held]) -> None:
    """Tell the ledger, then take them away, file by file: a kill leaves some for the next run."""
    agent, now = shelf.paths.name, work.now()
    run = run_id("compact", now)
    whose = {"agent": agent, "run": run}
    days = work.rules.trash.keep_seconds / DAY_SECONDS
    decided = [
        ["compact", held.id, "trash_age", round((now - held.trashed_at) / DAY_SECONDS, 3), days]
        for held in due
    ]
    spelled = ([*one, held.run, held.file, -1] for one, held in zip(decided, due, strict=True))
    begin = {"op": "begin", **whose, "job": "compact", "short": [], "decisions": len(due)}
    batches = in_batches("decided", spelled, op="decide", **whose)
    work.ledger().append([begin, *batches], now)
    by_file: dict[Path, set[tuple[str, bytes]]] = {}
    for held in due:  # by file: what was removed twice has its last removal still to come
        by_file.setdefault(shelf.trash.file_of(held.run), set()).add(held.key)
    for path, gone in by_file.items():
        shelf.trash.without(path, gone)
    work.ledger().append([{"op": "end", **whose, "job": "compact"}], work.now())


def _protect_no_more(work: Workplace, shelf: Shelf, catalog: Catalog, gone: set[str]) -> None:
    """Drop what is on record about memories that are nowhere any more, and graces that are over."""
    protection = read_protection(shelf.paths.protected)
    on_record = protection.ids
    there = catalog.find(shelf.paths.name, sorted(gone & on_record)).keys()
    nowhere = gone - there - {entry.id for entry in _short(shelf, catalog)}
    protection.forget(nowhere, work.now() - work.rules.restore_grace_seconds)
    if protection.ids != on_record:
        write_protection(shelf.paths.protected, protection, shelf.files)
