"""Ending erasures: vectors go when no lock is held, and the ledger gets the receipt (row X5).

Light where there is nothing to end: every job comes by.
"""

from collections.abc import Sequence

from skymem.errors import SkymemError
from skymem.jobs.erasing import is_carried_out
from skymem.jobs.workplace import Workplace
from skymem.stores.erasures import Erasure, Erasures


def finish(work: Workplace, agents: Sequence[str]) -> None:
    """End what kills, or an engine that was away, have left; what can't be is told and waits."""
    for agent in agents:
        erasures = Erasures(work.paths, work.files, agent)
        for erasure in erasures.open():
            if is_carried_out(erasure):
                try:
                    end(work, erasures, erasure)
                except SkymemError as error:
                    work.degrade(f"erase: {error}")


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
