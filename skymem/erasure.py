"""Erasing what a person names, for the CLI and the Python API alike (row X5)."""

import contextlib
from collections.abc import Collection
from typing import TYPE_CHECKING

from skymem.errors import AgentNameError, UnknownMemoryError, UsageError
from skymem.jobs.erase_find import Sought
from skymem.jobs.erase_receipt import Receipt
from skymem.jobs.erase_shared import erase_with_copies
from skymem.recall.listing import pattern_of
from skymem.working.tenancy import of_tenant

if TYPE_CHECKING:
    from skymem.app import Home


def erase_memories(
    home: "Home",
    agent: str,
    names: Collection[str] = (),
    *,
    match: str | None = None,
    source: str | None = None,
    everything: bool = False,
    copies: bool = True,
    dry_run: bool = False,
) -> Receipt:
    """Erase memories for good, by ids, by a pattern over their text, by source, or all.

    Raises:
        UnknownMemoryError: one is nowhere, and was not erased either; nothing was done.
        UsageError: it is not said what, or in two ways; a pattern is none, or fits everything.
        NotAllowedError: this process is not the home's owner.
    """
    home.only_owner("erase")
    if sum((bool(names), match is not None, source is not None, everything)) != 1:
        raise UsageError("give ids, --match PATTERN, --source ORIGIN/FILE or --agent-all")
    home.agents(agent)  # or it would be made
    pattern = None
    if match is not None:
        pattern = pattern_of(match)
        if pattern.search("") and pattern.search("\0"):
            raise UsageError(f"pattern {match!r:.60} matches everything; use --agent-all for that")
    if source is not None and not source.strip():
        raise UsageError("--source is empty; give an origin, or a file")
    work = home.workplace(dry_run=dry_run)
    ids: dict[str, set[str]] = {agent: set()}
    for name in names:
        whose, own = _known(home, agent, name, dry_run=dry_run)
        ids.setdefault(whose, set()).add(own)
    sought = Sought(frozenset(ids.pop(agent)), pattern, source or "", everything, copies)
    theirs = [own for found in ids.values() for own in found]
    receipt = erase_with_copies(work, agent, sought, of_tenant=theirs, dry_run=dry_run)
    if not dry_run:
        home.record("erase", receipt.detail())
    return receipt


def _known(home: "Home", agent: str, name: str, *, dry_run: bool) -> tuple[str, str]:
    """Whose memory is meant, and its id: the agent's, or one of its tenant's context and documents.

    One that was erased is known as well.
    """
    try:
        return agent, home.find(agent, name, dry_run=dry_run).id
    except UnknownMemoryError:
        if home.workplace(dry_run=dry_run).graveyard().of(agent).has_id(name):
            return agent, name
        with contextlib.suppress(UnknownMemoryError, AgentNameError):
            theirs, owner = of_tenant(home, agent)
            return owner, theirs.find(owner, name, dry_run=dry_run).id
        raise
