"""Which version of each document was taken in last, so that an unchanged one is not opened again.

Derived: what is lost or damaged is read once more, and comes to the same chunks.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skymem.model.chunk import document_key
from skymem.stores.files import Files
from skymem.stores.home import HomePaths

FORM: Final = 1
"""Goes up when what is read of a document changes: then all are read again."""


@dataclass(frozen=True, slots=True)
class Taken:
    """One document as it was taken in."""

    path: str
    version: str
    """"" where it may have been touched since."""

    chunks: int


@dataclass(slots=True)
class Versions:
    """Of one owner's documents, by their key."""

    path: Path
    cutting: tuple[int, int]
    """How chunks were cut: another way makes others."""

    taken: dict[str, Taken] = field(default_factory=dict)

    @classmethod
    def read(cls, paths: HomePaths, owner: str, cutting: tuple[int, int]) -> "Versions":
        """Read what is known; nothing where that is damaged, or of another form."""
        path = paths.state / "documents" / f"{owner}.json"
        found = cls(path, cutting)
        try:
            held = json.loads(path.read_bytes())
            if (held["form"], *held["cutting"]) == (FORM, *cutting):
                found.taken = {key: _taken(one) for key, one in held["documents"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found.taken = {}
        return found

    def is_unchanged(self, path: str, version: str, counts: Mapping[str, int]) -> bool:
        """Whether this version was taken in, and all that came of it is there."""
        key = document_key(path)
        known = self.taken.get(key)
        return known is not None and known == Taken(path, version, counts.get(key, 0))

    def note(self, path: str, version: str, chunks: int) -> None:
        """Note what was taken in."""
        self.taken[document_key(path)] = Taken(path, version, chunks)

    def forget(self, path: str) -> None:
        """Note that a document is gone."""
        self.taken.pop(document_key(path), None)

    def write(self, files: Files) -> None:
        """Write it down, whole.

        Raises:
            DiskError: it can't be written; the next run reads more than it had to.
        """
        documents: dict[str, Any] = {
            key: [one.path, one.version, one.chunks] for key, one in self.taken.items()
        }
        held = {"form": FORM, "cutting": [*self.cutting], "documents": documents}
        files.make_directory(self.path.parent)
        files.replace(self.path, json.dumps(held).encode() + b"\n")


def _taken(one: Any) -> Taken:
    path, version, chunks = one
    return Taken(str(path), str(version), int(chunks))
