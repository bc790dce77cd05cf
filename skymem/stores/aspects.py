"""What the catalog keeps of a memory beside its place: what questions about its life ask for."""

from collections.abc import Iterator
from typing import Final, TypeAlias

from skymem.model.memory import Memory
from skymem.policy import standing

SUPERSEDES: Final = "supersedes"
EVIDENCE: Final = "evidence"
REMOVED: Final = "removed"
"""Superseded by what is in trash: no more, unless something took the place of that as well."""

_REFERRING: Final = frozenset({"supersedes", "evidence_ids"})

Link: TypeAlias = tuple[str, str, str]
"""What is referred to, how, and by which memory."""


def links_of(name: str, memory: Memory) -> Iterator[Link]:
    """What a memory refers to; itself is nothing to refer to."""
    if _REFERRING.isdisjoint(memory.fields) and _REFERRING.isdisjoint(memory.metadata):
        return  # as nearly all are
    for target in memory.supersedes:
        if target != name:
            yield target, SUPERSEDES, name
    for target in memory.evidence_ids:
        if target != name:
            yield target, EVIDENCE, name


def storable(text: str) -> str:
    """A text as a database takes it: half a surrogate pair is a question mark (hazard A9)."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def aspects(memory: Memory) -> tuple[int | None, float | None, str, bool, bytes | None, bool]:
    """What queries ask for: expiry, worth, kind, lack of a ttl, what it says, whether pinned."""
    from skymem.policy.alike import word_key  # whoever only counts asks for none of it

    expires_us = standing.expires_us(memory)
    unlimited = memory.stability == "volatile" and expires_us is None
    words = word_key(memory.content) if memory.content else None
    kind = memory.kind or (f"record:{memory.record_type}" if memory.record_type else "")
    return expires_us, memory.importance, storable(kind), unlimited, words, memory.pinned
