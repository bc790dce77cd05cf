"""What the index has and should not: of no line any more, or superseded (rows R8, P15).

Who removes a line by hand leaves its vector behind. Recall never returns it, as it looks each
memory up in its line; but it is not to stay.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Shelf
from skymem.stores.vectorless import LetGo, vectorless

if TYPE_CHECKING:
    from skymem.engine.client import Engine

IDS_AT_ONCE: Final = 5000


def let_go(work: Workplace, engine: "Engine", noted: LetGo, agent: str, names: list[str]) -> int:
    """Take memories out of the index that should have no vector, and note it; returns how many.

    They were noted before as about to go.

    Raises:
        EngineUnavailableError: it is away; what has not gone stays owed.
        InterruptedRunError: a signal came.
    """
    taken = 0
    for start in range(0, len(names), IDS_AT_ONCE):
        work.check_stop()
        lot = names[start : start + IDS_AT_ONCE]
        taken += int(engine.drop(agent, lot)["dropped"])
        noted.note(lot, gone=True)
    return taken


def ids_of_index(engine: "Engine", agent: str, collection: str) -> Iterator[list[str]]:
    """Yield the ids a collection has, some thousand at a time."""
    after = ""
    while page := engine.ids(agent, collection, after, IDS_AT_ONCE)["ids"]:
        yield page
        after = page[-1]


def take_out_stale(  # noqa: PLR0917  (the home, the two that are compared, and where)
    work: Workplace,
    catalog: Catalog,
    engine: "Engine",
    shelf: Shelf,
    collection: str,
    in_short: Callable[[], set[str]],
) -> int:
    """Take out of a collection what its tiers have not, or what is superseded; returns how much.

    What moves meanwhile from tier to tier may be among it: what the index lacks is to be asked
    about again afterwards.
    """
    agent = shelf.paths.name
    tier = "long" if collection == "memory" else "archive"
    suspects: list[str] = []
    spared = vectorless(catalog, agent)
    for page in ids_of_index(engine, agent, collection):
        there = _in_tier(catalog, agent, tier, page) - spared
        suspects += [name for name in page if name not in there]
    # Looked at after the index, and short-term first: what is archived meanwhile is then in one.
    known = in_short() if tier == "archive" else set()
    known |= work.ask(
        catalog,
        shelf,
        lambda: _in_tier(catalog, agent, tier, suspects) - vectorless(catalog, agent),
    )
    stale = [name for name in suspects if name not in known]
    for first in range(0, len(stale), IDS_AT_ONCE):
        engine.drop(agent, stale[first : first + IDS_AT_ONCE])
    return len(stale)


def _in_tier(catalog: Catalog, agent: str, tier: str, ids: Sequence[str]) -> set[str]:
    """Which of these ids long-term has, or an archive."""
    found = catalog.find(agent, ids)
    return {name for name, place in found.items() if place.tier == tier}
