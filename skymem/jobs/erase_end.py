"""Ending erasures: vectors go when no lock is held, and the ledger gets the receipt (row X5).

Light where there is nothing to end: every job comes by.
"""

from collections.abc import Sequence

from skymem.errors import SkymemError
from skymem.jobs.erasing import is_carried_out
from skymem.jobs.prepare import ready
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.erasures import Erasure, Erasures


def finish(work: Workplace, catalog: Catalog, agents: Sequence[str]) -> None:
    """End what kills, or an engine that was away, have left; what can't be is told and waits."""
    for agent in agents:
        try:
            _finish(work, catalog, agent)
        except SkymemError as error:
            work.degrade(f"erase: {error}")


def _finish(work: Workplace, catalog: Catalog, agent: str) -> None:
    erasures = Erasures(work.paths, work.files, agent)
    if not all(map(is_carried_out, erasures.open())):
        with ready(work, catalog, agent, "erase"):
            pass  # that is where it is made good
    for erasure in erasures.open():
        end(work, erasures, erasure)


def end(work: Workplace, erasures: Erasures, erasure: Erasure) -> None:
    """Take the vectors away, put the receipt into the ledger, and forget the erasure.

    Raises:
        VectorsLeftError, DiskError, InterruptedRunError: do it again; it goes on where it was.
    """
    from skymem.jobs.scrub import scrub  # talks to the engine

    scrub(work, erasure)
    places = {name: [one.before, one.after] for name, one in erasure.places.items()}
    told = {"op": "erased", "agent": erasure.agent, "run": erasure.run, "places": places}
    work.ledger().append([told], work.now())
    erasures.end(erasure)
