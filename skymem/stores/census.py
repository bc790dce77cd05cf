"""Every memory of long-term and archives with what is counted of it, as the catalog knows it."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from skymem.stores.catalog import Catalog

_QUERY: Final = """
SELECT id, tier, name, time_us, importance, kind, pinned FROM memories JOIN files USING (file)
WHERE memories.agent = ? AND tier IN ('long', 'archive')
"""


class Counted(NamedTuple):
    """One memory, without its text."""

    id: str
    tier: str
    file: str
    time_us: int | None
    importance: float | None
    """What its writer says."""

    kind: str
    pinned: bool
    """By its own line."""


def census(catalog: Catalog, agent: str) -> Iterator[Counted]:
    """Yield them as they stand, none held; `catalog` is caught up."""
    for name, tier, file, time_us, importance, kind, pinned in catalog.database.execute(
        _QUERY, (agent,)
    ):
        yield Counted(name, tier, file, time_us, importance, kind, bool(pinned))
