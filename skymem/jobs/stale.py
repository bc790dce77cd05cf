"""What the index has and no line: who removes one by hand leaves its vector behind (row R8).

Recall never returns it, as it looks each memory up in its line; but it is not to stay.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Shelf

if TYPE_CHECKING:
    from skymem.engine.client import Engine

IDS_AT_ONCE: Final = 5000


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
    """Take out of a collection what its tiers have not; returns how much.

    What moves meanwhile from tier to tier may be among it: what the index lacks is to be asked
    about again afterwards.
    """
    agent = shelf.paths.name
    tier = "long" if collection == "memory" else "archive"
    suspects: list[str] = []
    for page in ids_of_index(engine, agent, collection):
        there = _in_tier(catalog, agent, tier, page)
        suspects += [name for name in page if name not in there]
    # Looked at after the index, and short-term first: what is archived meanwhile is then in one.
    known = in_short() if tier == "archive" else set()
    known |= work.ask(catalog, shelf, lambda: _in_tier(catalog, agent, tier, suspects))
    stale = [name for name in suspects if name not in known]
    for first in range(0, len(stale), IDS_AT_ONCE):
        engine.drop(agent, stale[first : first + IDS_AT_ONCE])
    return len(stale)


def _in_tier(catalog: Catalog, agent: str, tier: str, ids: Sequence[str]) -> set[str]:
    """Which of these ids long-term has, or an archive."""
    found = catalog.find(agent, ids)
    return {name for name, place in found.items() if place.tier == tier}
