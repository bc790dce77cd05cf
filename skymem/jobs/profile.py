"""A profile that somebody writes, by hand or by code: never without evidence (row R10).

Each statement cites one of the memories it rests on. What counts in it, numbers, times and names of
things, has to stand there; how it is put is its writer's affair. The active records of the same
user are taken up and superseded, as compress does it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skymem.errors import InvalidMemoryError, UnknownMemoryError
from skymem.jobs.compress import active_records, lapsed
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.jobs.table import Job
from skymem.model.marks import SENSITIVE
from skymem.model.memory import Memory
from skymem.model.plan import Plan
from skymem.model.records import Statement
from skymem.policy.draft import Draft
from skymem.policy.faithful import check
from skymem.policy.living import Living, RecordKey
from skymem.policy.summary import extractive

COUNTED: Final = frozenset({"number", "time", "id"})
"""What a statement may not have of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What is to be known of a user from now on, beside what is."""

    user_id: str | None
    evidence_ids: Sequence[str]
    said: Mapping[str, Sequence[str]]
    """Texts by the list they belong to."""


def upsert(update: Update) -> Job:
    """The job that writes just this."""
    return Job(lambda sight: plan(sight, update), apply)


def plan(sight: Sight, update: Update) -> Plan:
    """Find the evidence and write the user's next profile; nothing when it says nothing new.

    Raises:
        UnknownMemoryError: an evidence id is no memory of short-term, long-term or an archive.
        InvalidMemoryError: there is no evidence, it holds no more or is of different users, or it
            does not bear a statement.
    """
    found = Plan("profile", sight.agent)
    evidence = _evidence(sight, found, update.evidence_ids)
    standings = sight.standings()
    for name, memory in evidence.items():
        state = standings.of_memory(name, memory)
        if state != "active":
            raise InvalidMemoryError(f'field "evidence_ids": {name} is {state}')
    key = _key(update.user_id, evidence)
    records = dict(active_records(sight, standings))
    parts = Living.of(records.items()).parts.get(key, ())
    gone = lapsed(sight, standings, records)
    draft = Draft(key, parts, gone, rules=sight.work.rules)
    room = [draft.rest_on(name, memory) for name, memory in evidence.items()]
    for section, texts in update.said.items():
        for place, text in enumerate(texts):
            statement = _statement(f"{section}[{place}]", text, evidence)
            room.append(draft.state(section, statement))
    if not all(room):
        raise InvalidMemoryError("the profile's line would be too long; set line_max higher")
    made = draft.finish(sight.now_us, extractive, lambda _texts: (), {})
    if made is not None:
        found.additions.append(made)
    return found


def apply(carrying: Carrying) -> str:
    """Append the profile to long-term."""
    return carrying.carry_out(lambda raw, _memory, _decision: raw, lambda _lines: None)


def _evidence(sight: Sight, found: Plan, names: Collection[str]) -> dict[str, Memory]:
    """Read what is cited, wherever it is, in the order it is cited."""
    memories: dict[str, Memory] = {}
    for entry in sight.entries_for(found):
        if entry.id in names and not entry.elsewhere:
            memories.setdefault(entry.id, entry.memory)
    rest = [name for name in names if name not in memories]
    for kept in sight.shelf.read(sight.catalog.find(sight.agent, rest)):
        if kept.tier in ("long", "archive"):
            memories[kept.id] = kept.memory
    missing = [name for name in names if name not in memories]
    if missing:
        raise UnknownMemoryError(f"{', '.join(missing)} (agent {sight.agent}), cited as evidence")
    return {name: memories[name] for name in names}


def _key(user_id: str | None, evidence: Mapping[str, Memory]) -> RecordKey:
    """Say whose profile it is: memories of different users, tenants or scopes never mix."""
    if not evidence:
        raise InvalidMemoryError('field "evidence_ids": a profile needs evidence')
    given = {} if user_id is None else {"user_id": user_id}
    found: dict[str, str] = {}
    for name in ("user_id", "tenant", "scope"):
        values = {memory.scope.get(name, "") for memory in evidence.values()} - {""}
        values |= {given[name]} if name in given else set()
        if len(values) > 1:
            raise InvalidMemoryError(
                f'field "evidence_ids": not of one {name}, but of {", ".join(sorted(values))}'
            )
        found[name] = next(iter(values), "")
    sensitive = any(memory.sensitivity == SENSITIVE for memory in evidence.values())
    return RecordKey("", found["user_id"], found["tenant"], found["scope"], sensitive)


def _statement(field: str, text: str, evidence: Mapping[str, Memory]) -> Statement:
    """Cite the memory that says it, else the first that has all that counts in it.

    Raises:
        InvalidMemoryError: none does; names what none has.
    """
    said = text.strip()
    if not said:
        raise InvalidMemoryError(f'field "{field}": no text')
    for name, memory in evidence.items():
        start = memory.content.find(said)
        if start >= 0:
            return Statement(said, name, (start, start + len(said)), memory.time_us)
    lacking: dict[str, list[str]] = {}
    for name, memory in evidence.items():
        if memory.content.strip():
            faults = check(said, [memory.content])
            lacking[name] = sorted({one.token for one in faults if one.what in COUNTED})
    if not lacking:
        raise InvalidMemoryError('field "evidence_ids": no memory with a text among them')
    best = min(lacking, key=lambda name: len(lacking[name]))
    if lacking[best]:
        signs = ", ".join(lacking[best])
        raise InvalidMemoryError(f'field "{field}": not in its evidence: {signs}')
    memory = evidence[best]
    return Statement(said, best, (0, len(memory.content)), memory.time_us)
