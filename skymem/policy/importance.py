"""What a memory is worth: what its writer says, else a transparent rule (rows P5, M4).

A missing importance is no error. It counts as what the scoring guide says of its kind: 0–2 routine,
3–4 normal, 5–6 notable, 7–8 important, 9–10 critical.
"""

from types import MappingProxyType
from typing import Final, NamedTuple

from skymem.model.memory import Memory

GUIDE: Final = MappingProxyType(
    {
        "escalation": 0.9,  # "Critical system event"
        "decision": 0.8,
        "goal": 0.8,
        "rule": 0.8,
        "soul": 0.8,
        "insight": 0.7,  # "Important insight or pattern"
        "configuration": 0.7,
        "error": 0.6,  # "Notable event"; its pattern is an insight
        "preference": 0.6,
        "fact": 0.5,
        "project": 0.5,
        "result": 0.5,
        "request": 0.4,
        "data": 0.4,
        "summary": 0.4,
        "user_interaction": 0.3,
        "action": 0.2,  # "Routine action, low value"
        "log": 0.2,
        "crumb": 0.1,
    }
)
"""Importance by kind, for a memory whose writer gave none; scores of the guide divided by ten."""

UNKNOWN_KIND: Final = 0.3  # "Normal action, some context"


class Worth(NamedTuple):
    """Importance, 0 to 1, and where it came from."""

    importance: float
    source: str


_GIVEN: Final = "given"


def worth(memory: Memory) -> Worth:
    """Weigh one memory."""
    given = memory.importance
    if given is not None:
        return Worth(given, _GIVEN)
    kind = memory.kind
    if kind is None:
        return Worth(UNKNOWN_KIND, "none given; no kind")
    known = kind if kind in GUIDE else "unknown kind"
    return Worth(GUIDE.get(kind, UNKNOWN_KIND), f"none given; {known} in the scoring guide")
