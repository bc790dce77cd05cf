"""Making one agent's files ready for work: what was left is finished, what waits is taken over.

Whoever changes an agent's tiers comes through here first, whether by a job, `restore` or `undo`.
"""

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final

from skymem.jobs.erasing import resume
from skymem.jobs.move import run_id
from skymem.jobs.recover import recover
from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.drains import Drained
from skymem.stores.shelf import Shelf

# A plain `echo` has the file open for microseconds; a busy machine makes that milliseconds.
SETTLE_ROUNDS: Final = 40


@contextmanager
def ready(
    work: Workplace, catalog: Catalog, agent: str, purpose: str
) -> Iterator[tuple[Shelf, list[str]]]:
    """Hold an agent's job lock over files that are whole; gives the shelf and the runs finished.

    Raises:
        BusyError: another job works on the agent for too long.
        NotAllowedError: its directory is a link.
        DiskError: what was left can't be finished; nothing is lost.
    """
    shelf = work.shelf(agent)
    run = run_id(purpose, work.now())
    with work.job_lock(agent, purpose):
        shelf.ensure()
        finished = recovered(work, shelf, catalog)
        flat = work.paths.flat_short_term
        if shelf.paths.name == DEFAULT_AGENT and flat.exists():
            shelf.swap.adopt(flat, run, work.now())
        for drain in shelf.drains.names():
            shelf.drains.look(drain, {run}, work.now())
        yield shelf, finished


def recovered(work: Workplace, shelf: Shelf, catalog: Catalog) -> list[str]:
    """Finish what was left, and know what every tier has: else it would be moved again."""
    try:
        finished = recover(work, shelf, catalog)
        catalog.catch_up(shelf.paths)
        finished += resume(work, shelf, catalog)
    except sqlite3.Error as error:
        if catalog.temporary:
            raise
        work.do_without_file(catalog, error)
        return recovered(work, shelf, catalog)
    return finished


def settle(work: Workplace, shelf: Shelf, own: Collection[str]) -> int:
    """Take over what still arrives in the old files; no lock is held between two looks.

    Returns how many of them a process still has open for writing.
    """
    outcomes: dict[str, Drained] = {}
    for number in range(SETTLE_ROUNDS):
        if number:
            work.pause()
        with work.job_lock(shelf.paths.name, "late lines"):
            for drain in shelf.drains.names():
                if outcomes.get(drain.name) is not Drained.CLEAN:
                    outcomes[drain.name] = shelf.drains.look(drain, own, work.now())
        if all(one is Drained.CLEAN for one in outcomes.values()) or work.stop():
            break
        if number >= 1 and all(one is Drained.UNLEASED for one in outcomes.values()):
            break
    return sum(one is Drained.HELD for one in outcomes.values())
