"""Whom a handle may touch: the agent it is bound to, for good, and nobody else (row M7).

A handle is a Python object, a server of an agent's, a token, a process that an agent started. The
operator's own command line is bound to nobody.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from skymem.model.rules import RetentionRules

EVERYONE = "*"
"""Whose memories are asked for by what is about the whole home."""


class Bound(NamedTuple):
    """A binding."""

    agent: str
    own: frozenset[str] = frozenset()
    """What else is this agent's alone: its documents, where it is in no tenant."""

    lent: frozenset[str] = frozenset()
    """Owners of memories that this agent may read and never write, as its tenant."""

    def admits(self, agent: str) -> bool:
        """Whether the handle may write there."""
        return agent == self.agent or agent in self.own

    def reads(self, agent: str) -> bool:
        """Whether the handle may read there."""
        return self.admits(agent) or agent in self.lent


def bound_to(agent: str, rules: "RetentionRules") -> Bound:
    """Bind to an agent, with what the rules lend it: the business context it works with (W8)."""
    owner = frozenset({rules.tenants.owner(agent)})
    if rules.tenants.of(agent) is None:
        return Bound(agent, own=owner)
    return Bound(agent, lent=owner)
