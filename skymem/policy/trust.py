"""How far a memory is believed, and what it may become for that (row X11).

Trust only falls along the way: a line may say less of itself than its origin allows, never more,
and what is made of several is believed as the least of them (`model.marks`).
"""

from typing import Any, Final

from skymem.errors import InvalidMemoryError
from skymem.model.caution import TrustRules
from skymem.model.marks import UNMARKED
from skymem.model.memory import Memory
from skymem.policy.instructions import reads_as_instruction

COMMANDING: Final = frozenset(
    {"rule", "preference", "soul", "agent", "user", "playbook", "procedure"}
)
"""Kinds that tell an agent what to do, whatever their words."""

GATE: Final = "instruction"


def most(origin: str | None, rules: TrustRules) -> float:
    """How far what comes from there is believed; from a place nobody knows, least."""
    each = {
        "user": rules.user,
        "agent": rules.agent,
        "tool": rules.tool,
        "document": rules.document,
        "import": rules.imported,
    }
    return each.get(UNMARKED if origin is None else origin, min(each.values()))


def trust_of(memory: Memory, rules: TrustRules) -> float:
    """How far a memory is believed: as far as it says, and as its origin allows."""
    allowed = most(memory.origin, rules)
    return allowed if memory.trust is None else min(memory.trust, allowed)


def is_trusted(memory: Memory, rules: TrustRules) -> bool:
    """Whether it may tell somebody what to do."""
    return trust_of(memory, rules) >= rules.needed


def commands(memory: Memory) -> bool:
    """Whether a memory tells its reader what to do: by its kind, or by how it reads."""
    named = {memory.kind, memory.record_type}
    return not named.isdisjoint(COMMANDING) or reads_as_instruction(memory.searchable)


def is_held_back(memory: Memory, rules: TrustRules) -> bool:
    """Whether it commands and is not to be obeyed: then it stays out of all that is followed."""
    return not is_trusted(memory, rules) and commands(memory)


def given(origin: str | None, trust: float | None, rules: TrustRules) -> dict[str, Any]:
    """The fields of a new memory for whose origin or trust somebody said something.

    Raises:
        InvalidMemoryError: it were believed more than what comes from there is.
    """
    if origin is None:
        return {} if trust is None else {"trust": trust}
    allowed = most(origin, rules)
    if trust is not None and trust > allowed:
        raise InvalidMemoryError(
            f'field "trust": {trust:g} is more than the {allowed:g} of origin {origin} (trust: in '
            "retention_rules.yaml)"
        )
    believed = allowed if trust is None else trust
    return {"origin": origin} | ({"trust": believed} if believed < 1 else {})
