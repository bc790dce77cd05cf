"""Erasing reaches what others have of it: shared copies, and business context (rows X5, P17, W9).

The copies go first: a kill in between leaves the source, by which the next erase finds the rest;
and what was erased of a receiver is not shared with it again. What was copied meanwhile goes after.
Documents and business context lie in a directory of their tenant: an agent that is in none has that
for itself, so all that is said about its memories is said about those.
"""

from collections.abc import Collection
from dataclasses import replace

from skymem.jobs.erase import erase
from skymem.jobs.erase_find import Sought
from skymem.jobs.erase_receipt import Receipt
from skymem.jobs.share import copies_of
from skymem.jobs.workplace import Workplace
from skymem.policy.admit import agent_name_fault


def erase_with_copies(
    work: Workplace,
    agent: str,
    sought: Sought,
    *,
    of_tenant: Collection[str] = (),
    dry_run: bool = False,
) -> Receipt:
    """Erase an agent's memories, and what others have of them.

    Args, raises: as of `erase`; `of_tenant` are ids of its tenant's context and documents. The
    copies are withdrawn in the name of whoever had them given, so also where who works here is
    bound to that agent.
    """
    everyone = work.for_the_operator()
    if {*everyone.agents()} <= {agent}:  # nobody else can have anything of it
        return erase(work, agent, sought, dry_run=dry_run)
    meant = erase(replace(work, rehearsing=True), agent, sought, dry_run=True)
    shared = _erase_copies(everyone, agent, meant.ids, dry_run=dry_run)
    theirs = _at_tenant(everyone, agent, sought, of_tenant, meant.ids)
    shared += _erase_at_tenant(everyone, agent, theirs, dry_run=dry_run)
    receipt = erase(work, agent, sought, dry_run=dry_run)
    if not dry_run:
        shared += _erase_copies(everyone, agent, receipt.ids, dry_run=False)
        if late := {*receipt.ids} - {*meant.ids}:
            shared += _erase_at_tenant(everyone, agent, Sought(made_of=late), dry_run=False)
    for one in shared:
        receipt.shared += [{"agent": one.agent, "id": name, "run": one.run} for name in one.ids]
        receipt.left += one.left
        receipt.exit_code = receipt.exit_code or one.exit_code
    return receipt


def _erase_copies(
    work: Workplace, agent: str, ids: Collection[str], *, dry_run: bool
) -> list[Receipt]:
    """Erase the copies of these memories; the receipts, one for each receiver that had any.

    What a receiver says in the same words of its own stays: it was not given that.
    """
    found: dict[str, set[str]] = {}
    for receiver, name, _ in copies_of(work, agent, ids) if ids else ():
        found.setdefault(receiver, set()).add(name)
    return [
        erase(work, receiver, Sought(frozenset(names), copies=False), dry_run=dry_run)
        for receiver, names in sorted(found.items())
    ]


def _at_tenant(
    work: Workplace,
    agent: str,
    sought: Sought,
    ids: Collection[str],
    made_of: Collection[str],
) -> Sought:
    """What of a tenant's is meant: of one that has other agents, what was named or is made of it.

    A document is named by its file.
    """
    alone = work.rules.tenants.of(agent) is None
    return Sought(
        ids=frozenset(ids),
        pattern=sought.pattern if alone else None,
        source=sought.source,
        everything=sought.everything and alone,
        copies=sought.copies,
        made_of=frozenset(made_of),
    )


def _erase_at_tenant(
    work: Workplace, agent: str, sought: Sought, *, dry_run: bool
) -> list[Receipt]:
    owner = work.rules.tenants.owner(agent)
    if agent_name_fault(owner) is not None or not work.agent_paths(owner).directory.is_dir():
        return []
    return [erase(work, owner, sought, dry_run=dry_run)]
