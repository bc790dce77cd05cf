"""Sharing: what the rules share of other agents is copied to an agent's long-term (row P17).

What a rule no longer shares, or its source no longer has, is withdrawn: the copy goes to trash. A
repeated run finds each copy by its id, so it makes none twice; a copy that its receiver forgot
lies in trash and is not made anew while it lies there.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from skymem.jobs import removal
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import Addition, Decision, Plan, Reason
from skymem.model.rules import ShareRule
from skymem.model.spelling import read_line
from skymem.model.strict_json import LineDamage
from skymem.policy.bound import EVERYONE
from skymem.policy.share import (
    SHARED_FROM,
    WITHDRAWN,
    Copy,
    Source,
    copy_of,
    rule_for,
    shared_from,
)
from skymem.stores.catalog import Catalog
from skymem.stores.ledger import in_batches
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection
from skymem.stores.shelf import Shelf
from skymem.stores.trash import Held

_MARK: Final = f'"{SHARED_FROM}"'.encode()

BATCH: Final = 500
"""Memories of a source that are held at once."""


@dataclass(slots=True)
class _Shared:
    """What the rules share with one agent, now."""

    copies: dict[str, Copy] = field(default_factory=dict)
    """By the copy's id."""

    kept: dict[Source, str] = field(default_factory=dict)
    """What a rule does not share, and the gate that keeps it."""


def plan(sight: Sight) -> Plan:
    """Decide what the agent gets, and what it has that is withdrawn; changes nothing.

    Raises:
        NotAllowedError: who works here is bound to an agent: it is not to read the others.
    """
    if sight.work.bound is not None:
        raise sight.work.crossing(EVERYONE)
    found = Plan("share", sight.agent)
    for _ in sight.entries_for(found):
        pass  # nothing of short-term is shared, and all of it is read: see `Reading`
    there = {name: source for name, source, _ in copies_in(sight.shelf)}
    shared = _shared_with(sight, {*there.values()})
    found.additions += _missing(sight, shared, there.keys())
    restored = _restored(sight)
    over = sorted(there.keys() - shared.copies.keys() - restored)
    for name, place in sight.catalog.find(sight.agent, over).items():
        if place.tier != "trash":
            reason = Reason(WITHDRAWN, note=shared.kept.get(there[name], "source"))
            one = Decision("trash", name, -1, place.start, place.end, reason, place.file)
            found.decisions.append(one)
    found.decisions += removal.repeats(sight, found.decisions)
    return found


def _missing(sight: Sight, shared: _Shared, there: Collection[str]) -> Iterator[Addition]:
    """The copies to be made: none that its receiver has, or has put to trash itself."""
    erased = sight.work.graveyard().of(sight.agent)
    wanted = [
        copy
        for name, copy in shared.copies.items()
        if name not in there and not erased.has_id(name)
    ]
    lying = sight.shelf.trash.find({copy.id for copy in wanted}) if wanted else {}
    for copy in wanted:
        held = lying.get(copy.id)
        if held is None or held.reason.gate == WITHDRAWN:
            yield Addition("copy", copy.id, copy.line, (copy.source.id,))


def apply(carrying: Carrying) -> str:
    """Append the copies to long-term, then take what is withdrawn to trash.

    It is put down for those whose memories they are before anything moves: that something was
    shared is never unsaid by a kill.
    """
    made = {one.id: one.evidence[0] for one in carrying.plan.additions}
    gone = [one.id for one in carrying.plan.decisions if one.reason.gate == WITHDRAWN]
    sources = _sources(carrying, made, gone)
    told = {"with": carrying.plan.agent, "of": carrying.run}
    entries = (
        in_batches("ids", ids, op=op, agent=agent, **told) for (op, agent), ids in sources.items()
    )
    carrying.work.ledger().append(chain.from_iterable(entries), carrying.now)
    return removal.apply(carrying)


def awaited(work: Workplace) -> tuple[str, ...]:
    """Agents that a rule shares with and that have no memory yet: their first one makes them."""
    meant = {name for rule in work.rules.share for name in rule.receivers}
    return tuple(sorted(meant.difference(work.agents())))


def copies_of(work: Workplace, agent: str, ids: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Copies that others have of an agent's memories: the receiver, the copy's id, its file.

    Trash is looked through as well.
    """
    wanted = {*ids}
    for receiver in work.agents():
        if receiver == agent:
            continue
        shelf = work.shelf(receiver)
        for name, source, file in copies_in(shelf):
            if source.agent == agent and source.id in wanted:
                yield receiver, name, file
        for path in shelf.trash.names():
            for held in shelf.trash.read(path):
                found = _source_of(held)
                if found is not None and found.agent == agent and found.id in wanted:
                    yield receiver, held.id, f"trash/{path.name}"


def copies_in(shelf: Shelf) -> Iterator[tuple[str, Source, str]]:
    """The copies in an agent's long-term and archives: id, source, file; few lines are parsed."""
    for _, file, lines in shelf.tier_lines(("long", "archive"), {}):
        for _, raw, _ in lines:
            if raw is None or _MARK not in raw:
                continue
            try:
                memory = read_line(raw)
            except LineDamage:
                continue
            source = shared_from(memory)
            if source is not None and memory.source_id is not None:
                yield memory.source_id, source, file


def _source_of(held: Held) -> Source | None:
    """Of what lies in trash, whose copy it is; of a line that a hand has broken nobody's."""
    try:
        return shared_from(held.memory)
    except LineDamage:
        return None


def _shared_with(sight: Sight, had: Collection[Source]) -> _Shared:
    """See what is shared with the agent, and of what it has already why that is not shared."""
    shared = _Shared()
    rules: dict[str, list[ShareRule]] = {}
    for rule in sight.work.rules.share:
        if sight.agent in rule.receivers:
            rules.setdefault(rule.source, []).append(rule)
    there = {*sight.work.agents()}
    for agent in sorted(rules.keys() & there):
        for source, memory, by, kept in _judged(sight, agent, rules[agent]):
            if by is not None:
                copy = copy_of(source, memory, by, sight.work.rules.trust)
                shared.copies[copy.id] = copy
            elif source in had:
                shared.kept[source] = kept
    gone = {source: "rule" for source in had if source.agent not in rules}
    shared.kept |= gone
    return shared


def _judged(
    sight: Sight, agent: str, rules: list[ShareRule]
) -> Iterator[tuple[Source, Memory, ShareRule | None, str]]:
    """Each memory of an agent's long-term with the rule that shares it, or the gate against it."""
    shelf = sight.work.shelf(agent)
    sight.catalog.catch_up(shelf.paths)
    standings = sight.work.standings(shelf, sight.catalog)
    own = {name for name, _, _ in copies_in(shelf)}
    for source, memory in _of_long(shelf, sight.catalog):
        rule, kept = rule_for(memory, rules, own, sight.work.rules.trust)
        if rule is not None and not standings.let(source.id, memory):
            rule, kept = None, standings.of_memory(source.id, memory)
        yield source, memory, rule, kept


def _of_long(shelf: Shelf, catalog: Catalog) -> Iterator[tuple[Source, Memory]]:
    agent = shelf.paths.name
    names = [one.id for one in Lifecycle(catalog, agent).in_file(shelf.paths.long_term.name)]
    for first in range(0, len(names), BATCH):
        for kept in shelf.read(catalog.find(agent, names[first : first + BATCH])):
            if kept.tier == "long":
                yield Source(agent, kept.id), kept.memory


def _restored(sight: Sight) -> set[str]:
    """What was brought back by hand after it had been withdrawn: left alone for the grace."""
    protection = read_protection(sight.shelf.paths.protected)
    protection.forget((), sight.work.now() - sight.work.rules.restore_grace_seconds)
    return {name for name, one in protection.restored.items() if one.gate == WITHDRAWN}


def _sources(
    carrying: Carrying, made: Mapping[str, str], gone: Collection[str]
) -> dict[tuple[str, str], list[str]]:
    """Ids of sources, by what is done with their copies and whose they are."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in carrying.plan.additions:
        if (source := shared_from(read_line(one.line))) is not None:
            found.setdefault(("share", source.agent), []).append(made[one.id])
    places = carrying.catalog.find(carrying.plan.agent, sorted(gone))
    for kept in carrying.shelf.read(places):
        if (source := shared_from(kept.memory)) is not None:
            found.setdefault(("withdraw", source.agent), []).append(source.id)
    return found
