"""Whom a handle may touch: the agent it is bound to, for good, and nobody else (row M7).

A handle is a Python object, a server of an agent's, a token, a process that an agent started. The
operator's own command line is bound to nobody.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skymem.model.rules import RetentionRules

EVERYONE = "*"
"""Whose memories are asked for by what is about the whole home."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A binding."""

    agent: str
    lent: frozenset[str] = frozenset()
    """Owners of memories that this agent may read and never write, as its tenant."""

    def admits(self, agent: str) -> bool:
        """Whether the handle may write there."""
        return agent == self.agent

    def reads(self, agent: str) -> bool:
        """Whether the handle may read there."""
        return agent == self.agent or agent in self.lent


def bound_to(agent: str, rules: "RetentionRules") -> Bound:
    """Bind to an agent, with what the rules lend it."""
    return Bound(agent, lent_to(agent, rules))


def lent_to(_agent: str, _rules: "RetentionRules") -> frozenset[str]:
    """Whose memories an agent may read beside its own: nobody's, but by a rule that says so."""
    return frozenset()
