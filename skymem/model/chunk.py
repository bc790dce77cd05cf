"""A chunk of a document as a memory: what it cites, and the id by which it is known again (W8).

All chunks of a document begin with the same half of an id, so that they are found without reading
any other; the rest is what any memory's id is derived from. What a new version of a document leaves
as it was is known by its text and place, and keeps its memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from skymem.model.identity import derived_id, digest
from skymem.model.memory import Memory

CHUNK: Final = "chunk"
"""Record type and kind."""

IMPORTANCE: Final = 0.5
HALF_BYTES: Final = 8
KEY_LETTERS: Final = 2 * HALF_BYTES + 1
"""Of an id, those that all chunks of a document share."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a chunk stands."""

    file: str
    """Absolute path."""

    document: str
    """What is read and replaced as a whole: the file, but of a Slack export the channel."""

    place: Mapping[str, str | int]
    """Heading, page, message, thread, speaker or time within the file, as the format has them."""

    def words(self) -> str:
        """Say it in a line."""
        return ", ".join([self.file, *(spelled_place(*one) for one in self.place.items())])

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        return {"file": self.file, "place": dict(self.place)}


def spelled_place(name: str, value: str | int) -> str:
    """Say one part of a place."""
    return str(value) if name in ("heading", "at") else f"{name} {value}"


def document_key(document: str) -> str:
    """What the ids of all chunks of a document begin with."""
    return blake2b(document.encode(), digest_size=HALF_BYTES).hexdigest() + "-"


def chunk_id(document: str, fields: Mapping[str, Any]) -> str:
    """The id of a chunk whose line has these fields: its document's key, and what it says."""
    return document_key(document) + derived_id(digest(Memory(dict(fields))))


def same(citation: Citation, text: str, time_us: int | None = None) -> str:
    """What two chunks agree in where a new version of their document says the same as before.

    The time is only of what the document tells: when its file was changed last says nothing.
    """
    place = [f"{name}={value}" for name, value in citation.place.items()]
    when = [] if time_us is None else [str(time_us)]
    said = "\0".join(f"{len(part)}:{part}" for part in (citation.file, text, *place, *when))
    return blake2b(said.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def payload(citation: Citation) -> dict[str, Any]:
    """Spell a chunk's structure."""
    spelled = citation.as_json()
    if citation.document != citation.file:
        spelled["document"] = citation.document
    return spelled


def citation_of(memory: Memory) -> Citation | None:
    """Where a chunk stands; None of what is no chunk."""
    if memory.record_type != CHUNK:
        return None
    held = memory.payload
    file, place = held.get("file"), held.get("place")
    if not isinstance(file, str) or not isinstance(place, dict):
        return None
    parts = {
        str(name): value
        for name, value in place.items()
        if isinstance(value, str) or type(value) is int
    }
    document = held.get("document")
    return Citation(file, document if isinstance(document, str) else file, parts)
