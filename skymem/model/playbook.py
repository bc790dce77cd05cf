"""A playbook: a flow that went well, as a record (rows W6, W7).

Its `content` is what the user asked, so that it is found by what is asked; its `payload` holds the
recipe exactly as it was given. A flow that is completed and waits for the user's next turn is a
record of type `flow`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.errors import InvalidMemoryError
from skymem.model.memory import Memory
from skymem.model.preference import shown

PLAYBOOK: Final = "playbook"
FLOW: Final = "flow"

WAITING: Final = "waiting"
CONTINUED: Final = "continued"
CORRECTED: Final = "corrected"
"""What becomes of a completed flow: the user's next turn decides."""

NAME_CHARACTERS_MAX: Final = 128
DEPTH_MAX: Final = 64
"""Lists and objects inside each other: half of what a line may have."""

FIELDS: Final = ("flow_dact", "slots", "tool_calls", "outcome", "user_query")


@dataclass(frozen=True, slots=True)
class Flow:
    """One execution of a flow."""

    flow_dact: str
    """Which flow: the id it is found by."""

    tool_calls: Sequence[Mapping[str, Any]]
    """In their order, any JSON objects: a tool's id and its parameters, as a rule."""

    outcome: str
    user_query: str
    slots: Mapping[str, Any] = field(default_factory=dict)

    def faults(self) -> list[str]:
        """Say what is wrong with it, each with its field; nothing when it can be kept."""
        faults = [*_name_fault(self.flow_dact)]
        for name in ("outcome", "user_query"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                faults.append(f'field "{name}": no text')
        slots: Any = self.slots
        if not isinstance(slots, Mapping):
            faults.append('field "slots": not an object of names with their values')
        else:
            faults += _json_faults(slots, "slots", 1)
        return [*faults, *_call_faults(self.tool_calls)]

    def to_payload(self) -> dict[str, Any]:
        """Spell it."""
        return {
            "flow_dact": self.flow_dact,
            "slots": self.slots,
            "tool_calls": [*self.tool_calls],
            "outcome": self.outcome,
            "user_query": self.user_query,
        }

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Flow":
        """Read it.

        Raises:
            InvalidMemoryError: it is none; the message names the fields.
        """
        found = cls(**{name: payload.get(name) for name in FIELDS})  # type: ignore[arg-type]
        faults = found.faults()
        if faults:
            raise InvalidMemoryError("\n".join(faults))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """A playbook as a reader gets it."""

    id: str
    tier: str
    flow: Flow
    count: int
    """How often it went well."""

    user_id: str | None
    ts: float | None
    """When it last went well, epoch seconds."""

    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, tier: str, memory: Memory) -> "Playbook":
        """Read the playbook that a memory is.

        Raises:
            InvalidMemoryError: it is none; the message names the fields.
        """
        count = memory.payload.get("count")
        return cls(
            id=name,
            tier=tier,
            flow=Flow.of(memory.payload),
            count=count if type(count) is int and count > 0 else 1,
            user_id=memory.scope.get("user_id"),
            ts=None if memory.time_us is None else memory.time_us / 1_000_000,
            tags=memory.tags,
        )

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        told = {"id": self.id, "tier": self.tier, **self.flow.to_payload(), "count": self.count}
        return told | {"user_id": self.user_id, "ts": self.ts, "tags": [*self.tags]}


def _name_fault(name: Any) -> Iterator[str]:
    fits = isinstance(name, str) and 0 < len(name) <= NAME_CHARACTERS_MAX
    if not fits or not name.isprintable() or name != name.strip():
        remedy = f"use 1 to {NAME_CHARACTERS_MAX} characters that show, no space at either end"
        yield f'field "flow_dact": {shown(name)} is no name of a flow ({remedy})'


def _call_faults(calls: Any) -> Iterator[str]:
    if not isinstance(calls, list | tuple) or not calls:
        yield 'field "tool_calls": not a list of calls'
        return
    for at, call in enumerate(calls):
        if not isinstance(call, Mapping) or not call:
            yield f'field "tool_calls[{at}]": not an object'
        else:
            yield from _json_faults(call, f"tool_calls[{at}]", 2)


def _json_faults(value: Any, place: str, depth: int) -> Iterator[str]:
    """Say what of a value JSON can't hold as it is, each with its place."""
    if depth > DEPTH_MAX:
        yield f'field "{place}": nested more than {DEPTH_MAX} deep'
    elif isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                yield f'field "{place}": the name {name!r:.40} is no text'
            yield from _json_faults(one, f"{place}.{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from _json_faults(one, f"{place}[{at}]", depth + 1)
    else:
        yield from _plain_faults(value, place)


def _plain_faults(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield f'field "{place}": {value} is no number of JSON'
    elif value is not None and not isinstance(value, str | int | float):
        yield f'field "{place}": a {type(value).__name__} is no JSON'
