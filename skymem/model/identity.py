"""Ids: which lines are the same memory (design §3, "Ids").

A line without an id has one derived from what it says: a hash of its parsed fields, its time as
integer microseconds, without the fields we add and the tier mark. Two lines that differ in any
other field are two memories.
"""

from hashlib import blake2b
from typing import Any, Final

from skymem.model.memory import UNUSABLE_ID, Memory
from skymem.model.strict_json import canonical

DIGEST_BYTES: Final = 12  # 96 bits: among a billion memories, a chance of 1 in 10^11 that two agree

_OURS: Final = ("id", "source_id", "promoted_at", "committed")
"""Fields we add; an id that is no id, and what it became, are the writer's and count."""

REDACTED_FROM: Final = "redacted_from"
"""Of a line that moved without its secrets: the digest it had with them, then its own."""


def digest(memory: Memory) -> bytes:
    """Hash what a memory says; equal for two lines exactly when they are one memory.

    A line whose secrets gave way when it moved is the memory it was: it says so, and its mark holds
    only for what stands beside it. A line that was edited since is a new memory.
    """
    mark = memory.fields.get(REDACTED_FROM)
    if mark is not None and (former := _former(mark, memory)) is not None:
        return former
    return _digest(memory.fields.copy(), memory)


def redaction_mark(memory: Memory, redacted: Memory) -> str:
    """What the redacted line of a memory says in `redacted_from`."""
    return f"{digest(memory).hex()}-{_unmarked(redacted).hex()}"


def _former(mark: object, memory: Memory) -> bytes | None:
    if not isinstance(mark, str) or not mark.endswith(f"-{_unmarked(memory).hex()}"):
        return None
    try:
        former = bytes.fromhex(mark.partition("-")[0])
    except ValueError:
        return None
    return former if len(former) == DIGEST_BYTES else None


def _unmarked(memory: Memory) -> bytes:
    fields = memory.fields.copy()
    fields.pop(REDACTED_FROM, None)
    return _digest(fields, memory)


def _digest(fields: dict[str, Any], memory: Memory) -> bytes:
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
