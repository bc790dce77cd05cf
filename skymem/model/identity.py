"""Ids: which lines are the same memory (design §3, "Ids").

A line without an id has one derived from what it says: a hash of its parsed fields, its time as
integer microseconds, without the fields we add and the tier mark. Two lines that differ in any
other field are two memories.
"""

from hashlib import blake2b
from typing import Final

from skymem.model.memory import UNUSABLE_ID, Memory
from skymem.model.strict_json import canonical

DIGEST_BYTES: Final = 12  # 96 bits: among a billion memories, a chance of 1 in 10^11 that two agree

_OURS: Final = ("id", "source_id", "promoted_at", "committed")
"""Fields we add; an id that is no id, and what it became, are the writer's and count."""


def digest(memory: Memory) -> bytes:
    """Hash what a memory says; equal for two lines exactly when they are one memory."""
    fields = memory.fields.copy()
    for name in _OURS:
        fields.pop(name, None)
    fields.pop(UNUSABLE_ID, None)
    if memory.unusable_id is not None:
        fields["id"] = memory.unusable_id
    if fields.get("type") in ("short", "long"):  # a list, too, may be asked for in a tuple
        del fields["type"]
    if "source_id" in memory.metadata:
        fields["metadata"] = {k: v for k, v in memory.metadata.items() if k != "source_id"}
    fields.pop(memory.spelling, None)
    fields["ts"] = memory.time_us
    return blake2b(canonical(fields), digest_size=DIGEST_BYTES).digest()


def derived_id(memory_digest: bytes, attempt: int = 0) -> str:
    """Name a memory by its digest; a later attempt where other content has that name."""
    for _ in range(attempt):
        memory_digest = blake2b(memory_digest, digest_size=DIGEST_BYTES).digest()
    return memory_digest.hex()
