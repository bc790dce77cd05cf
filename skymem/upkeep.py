"""What a person does to single memories: forget, restore, undo, pin, correct; each on the record.

One code path for the CLI and the Python API, above the jobs whose work it is.
"""

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from skymem.errors import UnknownMemoryError, UsageError
from skymem.jobs import correct, restore, runner, undo
from skymem.jobs.forget import Wanted, forget
from skymem.jobs.prepare import ready
from skymem.recall.listing import pattern_of
from skymem.stores.catalog import EVIDENCE
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.shelf import Kept
from skymem.stores.standings import Standings

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.jobs.detail import Outcome
    from skymem.jobs.workplace import Workplace


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
        standings = Standings.of(shelf, catalog, round(work.now() * 1_000_000), work.rules.kinds)
        kept = shelf.read(catalog.find(agent, sorted(made)))
        return sorted(one.id for one in kept if standings.let(one.id, one.memory))

    with work.catalog() as catalog:
        return work.ask(catalog, shelf, ask) if gone else []


def restore_memories(
    home: "Home", agent: str, names: Collection[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Bring memories back from trash to their tier.

    Raises:
        UnknownMemoryError: one is not in trash; nothing was restored.
    """
    detail = restore.restore(home.workplace(dry_run=dry_run), agent, names, dry_run=dry_run)
    if not dry_run:
        home.record("restore", detail)
    return detail


def undo_run(
    home: "Home", run: str | None, agents: Collection[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Take a whole run back; all that was done last when none is named.

    Raises:
        UsageError: there is no such run.
    """
    detail = undo.undo(home.workplace(dry_run=dry_run), run, agents, dry_run=dry_run)
    if not dry_run:
        home.record("undo", detail)
    return detail


def correct_memory(
    home: "Home", agent: str, name: str, text: str, *, dry_run: bool = False
) -> "tuple[dict[str, Any], list[Outcome]]":
    """Supersede a memory by a correction, which is pinned when the memory was.

    Raises:
        UnknownMemoryError: it is not there, or in trash.
        InvalidMemoryError: the correction says nothing new.
    """
    kept = _living(home, agent, name, dry_run=dry_run)
    work, table = (
        home.workplace(dry_run=dry_run),
        {"correct": correct.correct(kept.id, kept.memory, text)},
    )
    detail, outcomes = runner.run(work, "correct", [agent], dry_run=dry_run, table=table)
    detail["id"] = next((one for outcome in outcomes for one in outcome.made), None)
    if not dry_run:
        protection = read_protection(home.paths.agent(agent).protected)
        if detail["id"] and protection.is_pinned(kept.id, kept.memory):
            pin_memory(home, agent, detail["id"])
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
    return kept.id


def trash_listing(home: "Home", agents: Sequence[str]) -> list[dict[str, Any]]:
    """What is in trash, oldest removal first: whence, why, and until when it can be restored."""
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
        }
        for agent in agents
        for held in work.shelf(agent).trash.all()
    ]


def _narrow(pattern: str) -> "re.Pattern[str]":
    """Read a pattern; one that fits where there is nothing, as an empty one, is a slip."""
    found = pattern_of(pattern)
    if found.search("") and found.search("\0"):
        raise UsageError(
            f"pattern {pattern!r:.60} matches everything; use --match . if you mean that"
        )
    return found


def _living(home: "Home", agent: str, name: str, *, dry_run: bool) -> Kept:
    kept = home.find(agent, name, dry_run=dry_run)
    if kept.tier == "trash":
        raise UnknownMemoryError(
            f"{kept.id} is in trash (agent {agent}); bring it back with: skymem restore {kept.id}"
        )
    return kept
