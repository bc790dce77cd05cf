"""Ingest: what a document says now takes the place of what it said before (row W8).

A plan like any other: new chunks are appended to long-term, and those that the document does not
say any more go to trash. What it says still stays as it is; so a run that was killed in
the middle is finished by the next, and nothing is there twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from skymem.jobs import removal
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.jobs.table import Job
from skymem.model.chunk import CHUNK, citation_of, document_key, same
from skymem.model.memory import Memory
from skymem.model.plan import Addition, Decision, Plan, Reason
from skymem.model.spelling import read_line
from skymem.stores.catalog import Catalog
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import Protection, read_protection

INGEST: Final = "ingest"
GATE: Final = "document"
BY_HAND: Final = "by_hand"
"""Of what a person forgot: a chunk that was forgotten does not come back with its document."""

CHUNKS_MAX: Final = 1_000_000
"""Of one document, that are looked up."""

Why = Literal["says no more", "is gone", "removed"]
REMOVED: Final[Why] = "removed"
"""By a person, who means it: whatever was brought back before."""


class New(NamedTuple):
    """A chunk as a line of long-term."""

    id: str
    line: bytes


@dataclass(frozen=True, slots=True)
class Saying:
    """What one document says now."""

    document: str
    """Its path."""

    chunks: Mapping[str, New]
    """By what makes them the same as before (`model.chunk.same`); none: the document is gone."""

    why: Why = "says no more"


def ingest(documents: Sequence[Saying], touched: set[str]) -> Job:
    """The job that takes in just these; `touched` gets those of which anything changes."""
    return Job(lambda sight: plan(sight, documents, touched), apply)


def plan(sight: Sight, documents: Sequence[Saying], touched: set[str]) -> Plan:
    """Decide what is new of each document, and what is no more."""
    found = Plan(INGEST, sight.agent)
    for _ in sight.entries_for(found):
        pass  # none of them is a document, and all of them are read: see `Reading`
    for one in documents:
        before = len(found.additions) + len(found.decisions)
        _decide(sight, one, found)
        if len(found.additions) + len(found.decisions) > before:
            touched.add(one.document)
    found.decisions += removal.repeats(sight, found.decisions)
    return found


def apply(carrying: Carrying) -> str:
    """Append what is new, then move what is no more to trash."""
    return removal.apply(carrying)


def known_chunks(catalog: Catalog, agent: str, document: str) -> list[str]:
    """The ids of a document's chunks, in trash as well."""
    return catalog.find_by_prefix(agent, document_key(document), CHUNKS_MAX)


def _decide(sight: Sight, saying: Saying, found: Plan) -> None:
    ids = known_chunks(sight.catalog, sight.agent, saying.document)
    places = sight.catalog.find(sight.agent, ids)
    living = {name: place for name, place in places.items() if place.tier != "trash"}
    there = {kept.id: kept.memory for kept in sight.shelf.read(living)}
    new = dict(saying.chunks)
    gone = [name for name, memory in there.items() if not _is_said(memory, new)]
    if new and len(living) < len(places):
        for held in sight.shelf.trash.all():
            forgotten = held.id in places and held.reason.gate == BY_HAND
            _keep(found, "forgotten", int(forgotten and _is_said(held.memory, new)))
    erased = sight.catalog.erased(sight.agent)
    for one in new.values():
        if erased and (erased.has_id(one.id) or erased.bars_import(read_line(one.line))):
            _keep(found, "erased", 1)
        else:
            found.additions.append(Addition(CHUNK, one.id, one.line))
    protection = read_protection(sight.shelf.paths.protected)
    for stored in Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds).named(gone):
        if protection.is_pinned(stored.id, there[stored.id]):
            _keep(found, "pinned", 1)
            continue
        if saying.why != REMOVED and _was_restored(sight, protection, stored.id):
            _keep(found, "restored", 1)
            continue
        reason = Reason(GATE, note=saying.why)
        place = (-1, stored.start, stored.end)
        found.decisions.append(Decision("trash", stored.id, *place, reason, stored.file))


def _was_restored(sight: Sight, protection: Protection, name: str) -> bool:
    """Whether a person has brought it back of late from where this job had put it (promise 10)."""
    one = protection.restored.get(name)
    grace = sight.work.rules.restore_grace_seconds
    return one is not None and one.gate == GATE and sight.work.now() - one.at < grace


def _is_said(memory: Memory, new: dict[str, New]) -> bool:
    """Whether the document says this still; then it is nothing new, and taken out of there."""
    citation = citation_of(memory)
    if citation is None:
        return False
    for time_us in (None, memory.time_us):
        if new.pop(same(citation, memory.content, time_us), None) is not None:
            return True
    return False


def _keep(found: Plan, gate: str, count: int) -> None:
    if count:
        found.kept[gate] = found.kept.get(gate, 0) + count
