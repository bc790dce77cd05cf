"""Tenants: whose business context, documents and `agent.md`, an agent works with (rows W8, W9).

What belongs to a tenant lies in a directory of `memory/` of its own, which is an agent in every
respect, so that its tiers, ledger, trash and index are those of any other. An agent in no tenant
has one for itself alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

OWNER_PREFIX: Final = "tenant-"
ALONE_PREFIX: Final = "docs-"
"""Before an agent's own name, where it is in no tenant. What is looked up there by explicit call
is not found by the agent's recall, as it is not for an agent in a tenant."""


class Tenant(NamedTuple):
    """One tenant: its agents, and the users it has."""

    name: str
    agents: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tenants:
    """The tenants of one home, by name; an agent is in one of them at most."""

    table: Mapping[str, Tenant] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, agent: str) -> Tenant | None:
        """The tenant an agent is in; None for one that is in none."""
        return next((one for one in self.table.values() if agent in one.agents), None)

    def owner(self, agent: str) -> str:
        """The directory of `memory/` that holds the business context of an agent.

        A name to be checked as any agent's: with what stands before it, it may be too long.
        """
        tenant = self.of(agent)
        return owner_name(tenant.name) if tenant is not None else ALONE_PREFIX + agent


NO_TENANTS: Final = Tenants()


def owner_name(tenant: str) -> str:
    """The directory of `memory/` that holds what belongs to a tenant."""
    return OWNER_PREFIX + tenant
