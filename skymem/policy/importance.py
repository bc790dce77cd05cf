"""What a memory is worth: what its writer says, else what its kind is worth (rows P5, M4).

A missing importance is no error. It counts as what the scoring guide says of its kind: 0–2 routine,
3–4 normal, 5–6 notable, 7–8 important, 9–10 critical (`model/kinds.py`).
"""

from typing import Final, NamedTuple

from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory


class Worth(NamedTuple):
    """Importance, 0 to 1, and where it came from."""

    importance: float
    source: str


_GIVEN: Final = "given"


def worth(memory: Memory, kinds: Kinds = KINDS) -> Worth:
    """Weigh one memory."""
    given = memory.importance
    if given is not None:
        return Worth(given, _GIVEN)
    guided = expected(memory.kind, kinds)
    return Worth(guided.importance, f"none given; {guided.source}")


def expected(name: str | None, kinds: Kinds = KINDS) -> Worth:
    """What the scoring guide says of a kind; of a memory without one, where `name` is None."""
    if name is None:
        return Worth(kinds.of(None).importance, "no kind")
    known = name if name in kinds else "unknown kind"
    return Worth(kinds.of(name).importance, f"{known} in the scoring guide")
