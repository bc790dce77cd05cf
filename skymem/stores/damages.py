"""Where the lines stand that can't be read in long-term, archives and trash, for who mends them.

The catalog counts them and keeps no place of them; it knows where the others are.
"""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from skymem.model.plan import Damage
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.home import AgentPaths
from skymem.stores.lines import CHUNK_BYTES, TIER_LINE_BYTES_MAX, read_entries
from skymem.stores.tiers import tier_of
from skymem.stores.trash import trash_entries

NAMED_MAX: Final = 20
"""Lines of one file that are named: who has mended those looks again."""

_BETWEEN: Final = """
SELECT before, start FROM (
    SELECT LAG(end, 1, 0) OVER (ORDER BY start) AS before, start FROM memories WHERE file = ?
    UNION ALL
    SELECT COALESCE((SELECT MAX(end) FROM memories WHERE file = ?), 0), read_to
    FROM files WHERE file = ?)
WHERE before < start ORDER BY start
"""


def damaged_lines(agent: AgentPaths, catalog: Catalog) -> dict[str, list[int]]:
    """The numbers of an agent's unreadable lines, from 1, by file; `catalog` is caught up.

    Costs a look at each memory of a file in which there is one, and nothing for the others.

    Raises:
        DiskError: a file can't be read.
    """
    query = "SELECT name, file FROM files WHERE agent = ? AND damaged > 0 ORDER BY name"
    found = catalog.database.execute(query, (agent.name,)).fetchall()
    return {
        name: list(islice(_lines(agent, catalog, name, file), NAMED_MAX)) for name, file in found
    }


def _lines(agent: AgentPaths, catalog: Catalog, name: str, file: int) -> Iterator[int]:
    path = agent.directory / name
    with disk_errors(path):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            line = 1
            counted_to = 0
            for start in _damages(catalog, file, fd, in_trash=tier_of(name) == "trash"):
                line += _newlines(fd, counted_to, start)
                counted_to = start
                yield line
        finally:
            os.close(fd)


def _damages(catalog: Catalog, file: int, fd: int, *, in_trash: bool) -> Iterator[int]:
    """Where damage begins: it is between the memories, as are blank lines and repeats."""
    for start, stop in catalog.database.execute(_BETWEEN, (file, file, file)):
        entries = (
            trash_entries(fd, start, stop)
            if in_trash
            else read_entries(fd, start, stop, TIER_LINE_BYTES_MAX)
        )
        yield from (entry.start for entry in entries if isinstance(entry, Damage))


def _newlines(fd: int, start: int, stop: int) -> int:
    positions = range(start, stop, CHUNK_BYTES)
    return sum(os.pread(fd, min(CHUNK_BYTES, stop - at), at).count(b"\n") for at in positions)
