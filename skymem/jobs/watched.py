"""The memories that must go on being recalled: those pinned and those recalled most (X4, X10)."""

from collections.abc import Iterable
from typing import Final

from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.stores.catalog import Catalog
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.protection import read_protection
from skymem.stores.recall_log import MOST
from skymem.stores.shelf import Shelf

WORDS_MAX: Final = 30
"""Of a memory's text, the words it is asked for by."""


def watched(shelf: Shelf, catalog: Catalog, often: Iterable[str]) -> dict[str, Memory]:
    """Read those of `often`, and the first that are pinned, by whoever and in whatever tier.

    `catalog` is caught up.
    """
    protection = read_protection(shelf.paths.protected)
    agent = shelf.paths.name
    named = {*protection.pinned, *Lifecycle(catalog, agent).pinned(), *often}
    there = {kept.id: kept.memory for kept in shelf.read(catalog.find(agent, sorted(named)))}
    naming = Naming(agent, catalog)
    for entry in shelf.short_entries():
        if isinstance(entry, Entry):
            naming.name([entry])
            if entry.id in named or entry.memory.pinned:
                there.setdefault(entry.id, entry.memory)
    pinned = [name for name, memory in there.items() if protection.is_pinned(name, memory)]
    return {name: there[name] for name in [*sorted(pinned)[:MOST], *often] if name in there}
