"""What a memory made of others inherits from them: the least trust, the most care (promise 7, H1).

An untrusted source must not gain standing by being summed up beside a trusted one.
"""

from collections.abc import Iterable
from typing import Any, Final

from skymem.model.memory import Memory

ORIGINS: Final = ("user", "agent", "tool", "document", "import")
"""Where memories come from, the most trusted first."""

UNMARKED: Final = "agent"
"""What a line without an origin is weighed as: agents append such lines."""

SENSITIVE: Final = "sensitive"


def inherited(sources: Iterable[Memory]) -> dict[str, Any]:
    """Give the fields `origin`, `trust` and `sensitivity` of what is made of these memories.

    The origin is that of the least trusted source, and absent when that one has none; the trust is
    the lowest that is given; one sensitive source makes the whole sensitive.
    """
    found = list(sources)
    fields: dict[str, Any] = {}
    worst = max(found, key=lambda memory: _distrust(memory.origin), default=None)
    if worst is not None and worst.origin is not None:
        fields["origin"] = worst.origin
    trusts = [memory.trust for memory in found if memory.trust is not None]
    if trusts:
        fields["trust"] = min(trusts)
    if any(memory.sensitivity == SENSITIVE for memory in found):
        fields["sensitivity"] = SENSITIVE
    return fields


def _distrust(origin: str | None) -> tuple[int, str]:
    """Order origins; a name nobody knows is trusted least."""
    known = UNMARKED if origin is None else origin
    rank = ORIGINS.index(known) if known in ORIGINS else len(ORIGINS)
    return rank, origin or "~"  # among equals one without an origin: it must not borrow one
