"""Promote: what is worth it goes from short-term to long-term (rows P6, M2, M5)."""

from collections.abc import Iterable, Iterator
from typing import Final

from skymem.jobs.move import Taken, carry_out
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.model.spelling import promoted
from skymem.policy.promote import plan_promote
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Reading, Shelf

BLOCK_BYTES: Final = 8 * 1024 * 1024
"""What is appended to long-term at once; a run cut between two is finished by ids (`recover`)."""


def plan(shelf: Shelf, reading: Reading) -> Plan:
    """Read short-term and decide; changes nothing."""
    agent = shelf.paths.name
    return plan_promote(reading.entries(), agent, shelf.rules.for_agent(agent))


def apply(plan: Plan, work: Workplace, shelf: Shelf, catalog: Catalog, *, reading: Reading) -> str:
    """Append the promoted lines to long-term, then take them out of short-term."""
    promoted_at = int(work.now())

    def store(taken: Taken) -> None:
        lines = (promoted(raw, memory, decision.id, promoted_at) for raw, memory, decision in taken)
        for block in _blocks(lines):
            shelf.files.append(shelf.paths.long_term, block)

    return carry_out(plan, work, shelf, catalog, reading=reading, moving="promote", store=store)


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Join lines to blocks of at most `BLOCK_BYTES`, or of one line that is longer."""
    block = bytearray()
    for line in lines:
        if block and len(block) + len(line) > BLOCK_BYTES:
            yield bytes(block)
            block.clear()
        block += line
    if block:
        yield bytes(block)
