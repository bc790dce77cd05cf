"""Forget: what a person names goes to trash, from whatever tier it is in.

By ids, or by a pattern over the text. Pinned memories stay; `restore` brings the others back.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from skymem.jobs import removal
from skymem.jobs.sight import Sight
from skymem.jobs.table import Job
from skymem.model.memory import Memory
from skymem.model.plan import Decision, Plan, Reason, Stored
from skymem.policy.promote import leave, repeat
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection
from skymem.stores.shelf import tier_entries
from skymem.stores.tiers import tier_files


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten."""

    ids: Collection[str] = ()
    pattern: "re.Pattern[str] | None" = None

    def fits(self, name: str, memory: Memory) -> bool:
        """Whether this memory is meant."""
        if name in self.ids:
            return True
        return self.pattern is not None and bool(self.pattern.search(memory.searchable))


def forget(wanted: Wanted) -> Job:
    """The job that forgets just these."""
    return Job(lambda sight: plan(sight, wanted), removal.apply)


def plan(sight: Sight, wanted: Wanted) -> Plan:
    """Decide every memory that is meant; what is in trash already is there."""
    found = Plan("forget", sight.agent)
    reason = Reason("by_hand", note="named" if wanted.ids else "matched")
    _decide_short(sight, wanted, found, reason)
    protection = read_protection(sight.shelf.paths.protected)
    for stored, memory in _stored(sight, wanted):
        if protection.is_pinned(stored.id, memory):
            found.kept["pinned"] = found.kept.get("pinned", 0) + 1
            continue
        place = (-1, stored.start, stored.end)
        found.decisions.append(Decision("trash", stored.id, *place, reason, stored.file))
    found.decisions += removal.repeats(sight, found.decisions)
    return found


def _decide_short(sight: Sight, wanted: Wanted, found: Plan, reason: Reason) -> None:
    chosen: set[str] = set()
    for entry in sight.entries_for(found):
        if entry.elsewhere:  # or a forget that was killed would leave it in both places
            found.decisions.append(repeat(entry, entry.elsewhere))
        elif entry.id in chosen:  # an exact repeat leaves with its twin (design §3)
            found.decisions.append(repeat(entry, "this run"))
        elif not wanted.fits(entry.id, entry.memory):
            continue
        elif entry.pinned:
            found.kept["pinned"] = found.kept.get("pinned", 0) + 1
        else:
            chosen.add(entry.id)
            found.decisions.append(leave("trash", entry, reason))


def _stored(sight: Sight, wanted: Wanted) -> Iterator[tuple[Stored, Memory]]:
    """The memories of long-term and archives that are meant."""
    life = Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds)
    if wanted.pattern is not None:
        yield from _matching(sight, life, wanted)
        return
    places = sight.catalog.find(sight.agent, [*wanted.ids])
    memories = {kept.id: kept.memory for kept in sight.shelf.read(places)}
    for one in life.named(wanted.ids):
        if one.id in memories:
            yield one, memories[one.id]


def _matching(sight: Sight, life: Lifecycle, wanted: Wanted) -> Iterator[tuple[Stored, Memory]]:
    """Read every line of the tiers; an id counts once, where the catalog has it."""
    for name, path in tier_files(sight.shelf.paths):
        for entry in tier_entries(path):
            if not wanted.fits("", entry.memory):
                continue
            own = entry.memory.source_id or entry.digest.hex()
            for one in life.named([own]):
                if (one.file, one.start) == (name, entry.start):
                    yield one, entry.memory
