"""Erase: for good, everywhere, and with a receipt (promise 6, row X5).

What is meant is found and recorded, durably; then it is carried out under the agent's job lock,
place by place, and vectors after that, when no lock is held. A kill at any step is made good by the
next erase, or the next job of the agent.
"""

import sqlite3
from collections.abc import Collection
from typing import Final

from skymem.errors import SkymemError
from skymem.jobs import index
from skymem.jobs.erase_end import end
from skymem.jobs.erase_find import Found, Sought, find
from skymem.jobs.erase_proof import prove
from skymem.jobs.erase_receipt import Receipt
from skymem.jobs.erasing import Erasing
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready, recovered, settle
from skymem.jobs.words import keep_words
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.erasures import Erasure, Erasures
from skymem.stores.shelf import Shelf
from skymem.stores.tombstones import Marker

JOB: Final = "erase"


def erase(work: Workplace, agent: str, sought: Sought, *, dry_run: bool = False) -> Receipt:
    """Erase an agent's memories; the receipt says what was done, and what is out of reach.

    Args:
        work: the home.
        agent: whose.
        sought: what is meant.
        dry_run: only say what would go, and from where.

    Raises:
        BusyError, ShortTermChangedError, TierChangedError: nothing has begun, or it is ended by
            whatever comes next.
        DiskError, InterruptedRunError: likewise.
    """
    receipt = Receipt(agent, work.now())
    with work.catalog() as catalog:
        if dry_run:
            _rehearse(work, catalog, agent, sought, receipt)
            return receipt
        texts = _carry_out(work, catalog, agent, sought, receipt)
        settle(work, work.shelf(agent), {receipt.run})
        _end(work, agent, receipt)
        keep_words(work, catalog, [agent])
        index.follow_up(work, catalog, [agent])
    receipt.proof = prove(work, texts)
    receipt.ended = work.now()
    return receipt


def _rehearse(
    work: Workplace, catalog: Catalog, agent: str, sought: Sought, receipt: Receipt
) -> None:
    shelf = work.shelf(agent)
    marker = Marker(work.home_key())
    found = work.ask(catalog, shelf, lambda: find(work, shelf, catalog, sought, marker))
    receipt.found(found, _already(work, agent, sought.ids, found))
    receipt.dry_run, receipt.ended = True, work.now()


def _carry_out(
    work: Workplace, catalog: Catalog, agent: str, sought: Sought, receipt: Receipt
) -> list[str]:
    """Do all that is done under the job lock; returns the texts that are to be nowhere now."""
    with ready(work, catalog, agent, JOB) as (shelf, _):
        try:
            return _begin(work, shelf, catalog, sought, receipt)
        except sqlite3.Error as error:
            if catalog.temporary:
                raise
            work.do_without_file(catalog, error)
            recovered(work, shelf, catalog)  # which ends it, where it has begun
            return _begin(work, shelf, catalog, sought, receipt)


def _begin(
    work: Workplace, shelf: Shelf, catalog: Catalog, sought: Sought, receipt: Receipt
) -> list[str]:
    agent, marker = shelf.paths.name, Marker(work.home_key())
    found = find(work, shelf, catalog, sought, marker)
    if not receipt.run:
        receipt.found(found, _already(work, agent, sought.ids, found))
    if not (found.targets or found.raws or sought.everything):
        return found.texts
    erasure = Erasure(
        run=run_id(JOB, work.now()),
        agent=agent,
        begun=work.now(),
        key=marker.check,
        everything=sought.everything,
        copies=sought.copies,
        said=sorted({*found.said}),
        raws=sorted({*found.raws}),
        bridges=found.bridges,
    )
    for name, count in found.places.items():
        erasure.count(name).before = count
    receipt.run = erasure.run
    erasures = Erasures(work.paths, shelf.files, agent)
    erasures.begin(erasure, found.targets)
    Erasing(work, shelf, catalog, erasure, erasures).carry_out()
    receipt.done(erasure)
    return found.texts


def _already(work: Workplace, agent: str, names: Collection[str], found: Found) -> dict[str, float]:
    """Which of these were erased before and are nowhere now, and when."""
    there = {one.name for one in found.targets}
    tombstones = work.graveyard().of(agent)
    when = {name: tombstones.erased_at(name) for name in names if name not in there}
    return {name: at for name, at in when.items() if at is not None}


def _end(work: Workplace, agent: str, receipt: Receipt) -> None:
    """End this erasure, and those that earlier ones have left."""
    erasures = Erasures(work.paths, work.files, agent)
    for erasure in erasures.open():
        try:
            end(work, erasures, erasure)
        except SkymemError as error:
            receipt.pending(erasure, error)
        if erasure.run == receipt.run:
            receipt.done(erasure)
