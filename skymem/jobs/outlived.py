"""What was made of a scratchpad's snippets in the business context of a tenant (rows W2, X5)."""

from collections.abc import Collection, Iterator

from skymem.jobs.workplace import Workplace

WORD = b'"scratchpad"'
"""In the ledger's line of each promotion; few others have it."""


def outlived(work: Workplace, agent: str, ids: Collection[str]) -> Iterator[tuple[str, str]]:
    """The memories that were made of these snippets: whose directory they are in, and their ids.

    By the ledger, whatever has become of them since.
    """
    owner, wanted = work.rules.tenants.owner(agent), {*ids}
    for entry in work.ledger().mentioning(WORD):
        if entry["op"] == "scratchpad" and entry["agent"] == owner:
            for _, name, evidence, _ in entry["added"]:
                if not wanted.isdisjoint(evidence):
                    yield owner, name
