"""A snippet of a conversation's scratchpad: a line with `record_type` "snippet" (row W1)."""

from dataclasses import dataclass
from typing import Any, Final

from skymem.model.memory import Memory

SNIPPET: Final = "snippet"

SESSION: Final = "default"
"""The conversation of whoever names none."""

CHARACTERS_MAX: Final = 2000
"""A snippet says what came of something, not all of it: 64 of them stand in a prompt."""

IMPORTANCE: Final = 0.1
"""Worth what was said of late is: promote leaves it where it is."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """One thing that a flow of a conversation found out; `str()` gives its text."""

    id: str
    text: str
    session: str
    ts: float | None
    """When it was last written, epoch seconds."""

    expires_at: float | None
    user_id: str | None = None
    origin: str | None = None
    trust: float | None = None
    remember: bool = False
    """Whether somebody asked for it to be remembered."""

    def __str__(self) -> str:
        """Give its text."""
        return self.text

    @classmethod
    def of(cls, name: str, memory: Memory) -> "Snippet":
        """Read it from its line; a hand's may lack anything."""
        scope, expires_us = memory.scope, memory.expires_us
        return cls(
            name,
            memory.searchable,
            scope.get("session", ""),
            None if memory.time_us is None else memory.time_us / 1_000_000,
            None if expires_us is None else expires_us / 1_000_000,
            scope.get("user_id"),
            memory.origin,
            memory.trust,
            memory.payload.get("remember") is True,
        )

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        return {name: getattr(self, name) for name in self.__slots__}
