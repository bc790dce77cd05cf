"""What a person does to single memories: forget, restore, undo, pin, correct; each on the record.

One code path for the CLI and the Python API, above the jobs whose work it is.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from skymem.app import READER_BUSY_MS
from skymem.errors import ElsewhereError, UsageError
from skymem.jobs import correct, restore, runner, undo
from skymem.jobs.detail import raise_refusal
from skymem.jobs.finding import refusing_others
from skymem.jobs.forget import Wanted, forget
from skymem.jobs.index import follow_back
from skymem.jobs.prepare import ready
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Plan
from skymem.model.strict_json import LineDamage
from skymem.recall.listing import pattern_of
from skymem.stores.aspects import EVIDENCE
from skymem.stores.damages import damaged_lines
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.shelf import Kept
from skymem.stores.tiers import tier_of
from skymem.stores.trash import Held

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.jobs.detail import Outcome
    from skymem.jobs.workplace import Workplace


GLANCE_LETTERS: Final = 400
"""Of a text that is looked at: many are held at once."""


class Glance(NamedTuple):
    """A memory as far as a person needs it to know which it is."""

    id: str
    tier: str
    text: str
    """The beginning of it."""

    @classmethod
    def at(cls, kept: Kept) -> "Glance":
        """Look at a memory."""
        return cls(kept.id, kept.tier, beginning(kept.memory))


def beginning(memory: Memory) -> str:
    """The beginning of a memory's text; of a structured record, of the text in it."""
    return memory.searchable[:GLANCE_LETTERS]


def forget_memories(
    home: "Home",
    agent: str,
    names: Collection[str],
    pattern: str | None = None,
    *,
    dry_run: bool = False,
) -> "tuple[dict[str, Any], list[Outcome]]":
    """Move memories to trash, by ids or by a pattern over their text.

    What was made of them keeps their words: the detail names it under `quoted_by`.

    Raises:
        UnknownMemoryError: one is not there, or in trash already; nothing was forgotten.
        UsageError: an id is empty, or the pattern is no regular expression or fits everything.
    """
    matching = None if pattern is None else _narrow(pattern)
    ids = [_living(home, agent, name, dry_run=dry_run).id for name in names]
    wanted = Wanted(frozenset(ids), matching)
    work, table = home.workplace(dry_run=dry_run), {"forget": forget(wanted)}
    detail, outcomes = runner.run(work, "forget", [agent], dry_run=dry_run, table=table)
    if not dry_run:
        detail["quoted_by"] = _quoting(work, agent, [run for one in outcomes for run in one.runs])
        home.record("forget", detail)
    return detail, outcomes


def _quoting(work: "Workplace", agent: str, runs: Collection[str]) -> list[str]:
    """Ids of active memories made of what these runs removed: their words stand there still."""
    shelf = work.shelf(agent)
    gone = {held.id for run in runs for held in shelf.trash.read(shelf.trash.file_of(run))}

    def ask() -> list[str]:
        life = Lifecycle(catalog, agent, work.rules.kinds)
        made = {one.source for one in life.references(EVIDENCE) if one.target in gone} - gone
        standings = work.standings(shelf, catalog)
        kept = shelf.read(catalog.find(agent, sorted(made)))
        return sorted(one.id for one in kept if standings.let(one.id, one.memory))

    with work.catalog() as catalog:
        return work.ask(catalog, shelf, ask) if gone else []


def glances(home: "Home", plan: Plan) -> list[Glance]:
    """The memories that a rehearsed plan takes to trash, to be looked at before it is done."""
    names = {decision.id for decision in plan.decisions if decision.action == "trash"}
    work, shelf = home.workplace(dry_run=True), home.shelf(plan.agent)

    def look() -> Iterator[Kept]:
        naming = Naming(plan.agent, catalog)
        for entry in shelf.short_entries():
            if not isinstance(entry, Damage):
                naming.name([entry])
                if entry.id in names and not entry.elsewhere:
                    yield Kept(entry.id, "short", shelf.paths.short_term.name, entry.memory)
        places = catalog.find(plan.agent, sorted(names)).items()
        yield from shelf.read({name: one for name, one in places if one.tier != "trash"})

    with work.catalog() as catalog, disk_errors(shelf.paths.directory):
        found = work.ask(catalog, shelf, lambda: {kept.id: Glance.at(kept) for kept in look()})
    # What has not come to short-term yet can't be looked at; that it would go is told all the same.
    unseen = [Glance(name, "short", "") for name in sorted(names - found.keys())]
    return [*found.values(), *unseen]


def restore_memories(
    home: "Home", agent: str, names: Collection[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Bring memories back from trash to their tier.

    Raises:
        UnknownMemoryError: one is not in trash; nothing was restored.
    """
    work = home.workplace(dry_run=dry_run)
    with refusing_others(work, names):
        detail = restore.restore(work, agent, names, dry_run=dry_run)
    if not dry_run:
        follow_back(work, [agent])
        home.record("restore", detail)
    return detail


def undo_run(
    home: "Home", run: str | None, agents: Collection[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Take a whole run back; all that was done last when none is named.

    Raises:
        UsageError: there is no such run.
    """
    work = home.workplace(dry_run=dry_run)
    detail = undo.undo(work, run, agents, dry_run=dry_run)
    if not dry_run:
        follow_back(work, sorted(agents))
        home.record("undo", detail)
    return detail


def correct_memory(
    home: "Home",
    agent: str,
    name: str,
    text: str,
    *,
    origin: str = correct.USER,
    dry_run: bool = False,
) -> "tuple[dict[str, Any], list[Outcome]]":
    """Supersede a memory by a correction, which is pinned when the memory was.

    `origin` says who corrects: all but a person is believed no more than the memory was.

    Raises:
        UnknownMemoryError: it is not there, or in trash.
        InvalidMemoryError: the correction says nothing new.
        UsageError: something has taken the memory's place; it is named.
    """
    kept = _living(home, agent, name, dry_run=dry_run)
    work, table = (
        home.workplace(dry_run=dry_run),
        {"correct": correct.correct(kept.id, kept.memory, text, origin)},
    )
    detail, outcomes = runner.run(work, "correct", [agent], dry_run=dry_run, table=table)
    raise_refusal(outcomes)
    detail["id"] = next((one for outcome in outcomes for one in outcome.made), None)
    if not dry_run:
        protection = read_protection(home.shelf(agent).paths.protected)
        if detail["id"] and protection.is_pinned(kept.id, kept.memory):
            _pin(home, agent, _living(home, agent, detail["id"], dry_run=False), pinned=True)
        home.record("correct", detail)
    return detail, outcomes


def pin_memory(
    home: "Home", agent: str, name: str, *, pinned: bool = True, dry_run: bool = False
) -> str:
    """Protect a memory from every job, or let them have it again; returns its id.

    Raises:
        UnknownMemoryError: it is not there, or in trash.
    """
    kept = _living(home, agent, name, dry_run=dry_run)
    if dry_run:
        return kept.id
    now, verb = home.workplace().now, "pin" if pinned else "unpin"
    started = now()
    _pin(home, agent, kept, pinned=pinned)
    detail = {"ok": True, "job": verb, "started": started, "duration_s": round(now() - started, 6)}
    home.record(verb, {**detail, "acted": 1, "agent": agent, f"{verb}ned": [kept.id]})
    return kept.id


def _pin(home: "Home", agent: str, kept: Kept, *, pinned: bool) -> None:
    work = home.workplace()
    with work.catalog() as catalog, ready(work, catalog, agent, "pin") as (shelf, _):
        protection = read_protection(shelf.paths.protected)
        if pinned:
            protection.pin(kept.id, work.now())
        else:
            protection.unpin(kept.id, kept.memory, work.now())
        write_protection(shelf.paths.protected, protection, shelf.files)
        entry = {"op": "pin" if pinned else "unpin", "agent": agent, "ids": [kept.id]}
        work.ledger().append([entry], work.now())


def trash_listing(
    home: "Home", agents: Sequence[str], *, texts: bool = False
) -> list[dict[str, Any]]:
    """What is in trash, oldest removal first: whence, why, and until when it can be restored.

    With `texts` each has the beginning of its text as well.
    """
    work = home.workplace()
    keep = home.rules.trash.keep_seconds
    return [
        {
            "id": held.id,
            "agent": agent,
            "tier": held.tier,
            "run": held.run,
            "trashed_at": held.trashed_at,
            "until": held.trashed_at + keep,
            "gate": held.reason.gate,
            "reason": held.reason.words(),
            **({"text": _text_of(held)} if texts else {}),
        }
        for agent in agents
        for held in work.shelf(agent).trash.all()
    ]


def _text_of(held: Held) -> str:
    """The beginning of what lies in trash; of a line that a hand has broken there is none."""
    try:
        return beginning(held.memory)
    except LineDamage:
        return ""


def _narrow(pattern: str) -> "re.Pattern[str]":
    """Read a pattern; one that fits where there is nothing, as an empty one, is a slip."""
    found = pattern_of(pattern)
    if found.search("") and found.search("\0"):
        raise UsageError(
            f"pattern {pattern!r:.60} matches everything; use --match . if you mean that"
        )
    return found


def unreadable_trash(home: "Home", agents: Sequence[str]) -> dict[str, list[int]]:
    """The numbers of lines in trash that can't be read, from 1, by file of the home."""
    work = home.workplace()
    found: dict[str, list[int]] = {}
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog:
        for shelf in map(work.shelf, agents):
            damaged = work.ask(catalog, shelf, partial(damaged_lines, shelf.paths, catalog))
            found |= {
                f"memory/{shelf.paths.name}/{file}": lines
                for file, lines in damaged.items()
                if tier_of(file) == "trash"
            }
    return found


def _living(home: "Home", agent: str, name: str, *, dry_run: bool) -> Kept:
    kept = home.find(agent, name, dry_run=dry_run)
    if kept.tier == "trash":
        raise ElsewhereError(
            f"{kept.id} is in trash (agent {agent}); bring it back with: skymem restore {kept.id}"
        )
    return kept
