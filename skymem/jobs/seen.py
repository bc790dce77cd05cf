"""What came in since the last run, and what was edited outside: told to the ledger (design §4).

Writers record nothing themselves: `remember` is one durable append. The next run compares what
short-term holds with what it held, and enters the difference.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from skymem.model.identity import DIGEST_BYTES
from skymem.model.plan import Plan
from skymem.stores.catalog import Catalog
from skymem.stores.ledger import in_batches
from skymem.stores.shelf import Reading


def seen(agent: str, catalog: Catalog, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield ledger entries about the lines that `reading` found new, or no longer found."""
    known = catalog.known(agent)
    there = reading.digests
    if known is None:
        yield from _ids("adopt", agent, digests_of(there), reading.named)
    elif there.startswith(known[0]):
        yield from _ids("remember", agent, digests_of(there, len(known[0])), reading.named)
    else:
        before, after = set(digests_of(known[0])), set(digests_of(there))
        gone = [known[1].get(one.hex(), one.hex()) for one in before - after]
        moved = catalog.find(agent, gone)
        erased = catalog.erased(agent)  # an erasure that was killed had not come to note it
        edited = sorted(one for one in gone if one not in moved and not erased.has_id(one))
        yield from in_batches("ids", edited, op="edited outside", agent=agent)
        new = (one for one in digests_of(there) if one not in before)
        yield from _ids("remember", agent, new, reading.named)


def came_in(agent: str, catalog: Catalog, reading: Reading) -> int:
    """How many lines `reading` found that no run has seen."""
    known = catalog.known(agent)
    there = reading.digests
    if known is None:
        return len(there) // DIGEST_BYTES
    if there.startswith(known[0]):
        return (len(there) - len(known[0])) // DIGEST_BYTES
    before = set(digests_of(known[0]))
    return sum(one not in before for one in digests_of(there))


def remember_known(catalog: Catalog, reading: Reading, plan: Plan) -> None:
    """Record what stays in short-term: the digests between those of the lines that left."""
    stays = bytearray()
    at = 0
    for line in sorted(decision.line for decision in plan.decisions if decision.line >= 0):
        stays += reading.digests[at : line * DIGEST_BYTES]
        at = (line + 1) * DIGEST_BYTES
    stays += reading.digests[at:]
    names = {one.hex() for one in digests_of(stays)} if reading.named else set()
    named = {key: name for key, name in reading.named.items() if key in names}
    catalog.set_known(plan.agent, bytes(stays), named)


def _ids(
    op: str, agent: str, digests: Iterable[bytes], named: dict[str, str]
) -> Iterator[dict[str, Any]]:
    ids = (named.get(name, name) for name in (one.hex() for one in digests))
    return in_batches("ids", ids, op=op, agent=agent)


def digests_of(joined: bytes | bytearray, start: int = 0) -> Iterator[bytes]:
    """Take digests apart that are kept one after the other."""
    return (bytes(joined[at : at + DIGEST_BYTES]) for at in range(start, len(joined), DIGEST_BYTES))
