"""Which documents were taken in, by what is kept of them: the lines, and no list beside them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skymem.jobs.ingest import CHUNKS_MAX
from skymem.model.chunk import CHUNK, KEY_LETTERS, citation_of
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import Lifecycle

if TYPE_CHECKING:
    from skymem.jobs.workplace import Workplace
    from skymem.working.versions import Versions


@dataclass(frozen=True, slots=True)
class Kept:
    """One document, as far as it is kept."""

    path: str
    chunks: int

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        return {"file": self.path, "chunks": self.chunks}


def kept_documents(work: "Workplace", owner: str, versions: "Versions | None" = None) -> list[Kept]:
    """The documents of an owner, by path; `versions` spares a look at those it knows."""
    shelf = work.shelf(owner)
    known = versions.taken if versions is not None else {}

    def ask() -> list[Kept]:
        counts = Lifecycle(catalog, owner).beginnings(CHUNK, KEY_LETTERS)
        paths = {key: known[key].path if key in known else _cited(key) for key in counts}
        return sorted(
            (Kept(path, counts[key]) for key, path in paths.items() if path),
            key=lambda one: one.path,
        )

    def _cited(key: str) -> str:
        """The document that the chunks of a key are of; "" where no line says so."""
        places = catalog.find(owner, catalog.find_by_prefix(owner, key, CHUNKS_MAX))
        for name, place in places.items():
            for kept in shelf.read({name: place}) if place.tier != "trash" else ():
                citation = citation_of(kept.memory)
                if citation is not None:
                    return citation.document
        return ""

    with work.catalog() as catalog, disk_errors(shelf.paths.directory):
        return work.ask(catalog, shelf, ask)
