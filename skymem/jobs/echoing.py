"""Which memories were recalled of late: read when one is about to be promoted (row X11)."""

from collections.abc import Iterable, Iterator

from skymem.jobs.sight import Sight
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.policy.echo import Echoes
from skymem.stores.recall_log import recalled_ids


class Echoing:
    """Tells what says again what was recalled; nothing is read until somebody asks."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        logged = sight.work.rules.recall_log
        self._ids = recalled_ids(sight.work.paths, sight.agent) if logged else frozenset()
        self._met: dict[str, Memory] = {}
        """Those of short-term, in its order; an echo stands behind what it says again."""

        self._echoes: Echoes | None = None

    def watched(self, entries: Iterable[Entry | Damage]) -> Iterable[Entry | Damage]:
        """The same entries, looked at on their way."""
        return self._watch(entries) if self._ids else entries

    def _watch(self, entries: Iterable[Entry | Damage]) -> Iterator[Entry | Damage]:
        for entry in entries:
            if isinstance(entry, Entry) and entry.id in self._ids:
                self._met[entry.id] = entry.memory
            yield entry

    def of(self, name: str, memory: Memory) -> str:
        """The id of the recalled memory that this one says again, else ""."""
        if self._echoes is None:
            self._echoes = Echoes(self._stored())
        for met in [*self._met]:
            self._echoes.add(met, self._met.pop(met))
        return self._echoes.of(name, memory)

    def _stored(self) -> Iterator[tuple[str, Memory]]:
        sight = self._sight
        places = sight.catalog.find(sight.agent, sorted(self._ids)) if self._ids else {}
        there = {name: place for name, place in places.items() if place.tier != "trash"}
        for kept in sight.shelf.read(there):
            yield kept.id, kept.memory
