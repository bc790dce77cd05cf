"""What goes into the index and how its pieces are named: shared by the engine and its clients.

Imports nothing but the standard library, so that a client costs nothing (house test of imports).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from skymem.errors import UsageError

COLLECTIONS: Final = ("memory", "recent")
"""Long-term; short-term with archives. In Chroma they are `<agent>_memory`, `<agent>_recent`."""

ALIKE_TEXTS_MAX: Final = 2000
"""Texts that are compared with each other in one request."""

ALIKE_CHARACTERS: Final = 1000
"""Of each of them: about what the model reads at once; so many fit a frame however spelt."""

RERANKED_MAX: Final = 16
"""Texts a cross-encoder weighs in one request: some tenths of a second, while others wait."""

RERANKED_CHARACTERS: Final = 4000
"""Of each of them: more than such a model reads at once."""

TEXT_CHARACTERS_MAX: Final = 2_000_000
"""Of a text, and of all texts of one request: what a frame holds however they are spelt."""


class Item(NamedTuple):
    """One memory to be found again."""

    id: str
    digest: str
    """Of what the memory says: another digest under the same id replaces it (hazard D10)."""

    text: str


def collection_code(name: str) -> int:
    """The number the register knows a collection by.

    Raises:
        UsageError: there is no such collection.
    """
    if name not in COLLECTIONS:
        raise UsageError(f"no collection {name!r}; there are {' and '.join(COLLECTIONS)}")
    return COLLECTIONS.index(name) + 1


def piece_name(memory_id: str, number: int) -> str:
    """Name a memory's piece in Chroma; two pieces never share a name, whatever the id holds."""
    return f"{memory_id}#{number}"


def piece_of(name: str) -> tuple[str, int]:
    """Tell whose piece it is, and which: the reverse of `piece_name`."""
    memory_id, _, number = name.rpartition("#")
    return memory_id, int(number)


def parts_of(items: Sequence[Item]) -> list[list[list[str]]]:
    """Split items into requests that fit a frame; of an endless text beginning and end are kept.

    The engine reads no more of it than that anyway (hazard E5); its digest tells it as a whole.
    """
    parts: list[list[list[str]]] = [[]]
    characters = 0
    for memory_id, digest, text in items:
        kept = text
        if len(text) > TEXT_CHARACTERS_MAX:
            kept = text[: TEXT_CHARACTERS_MAX * 3 // 4] + text[-(TEXT_CHARACTERS_MAX // 4) :]
        characters += len(kept)
        if characters > TEXT_CHARACTERS_MAX and parts[-1]:
            parts.append([])
            characters = len(kept)
        parts[-1].append([memory_id, digest, kept])
    return parts
