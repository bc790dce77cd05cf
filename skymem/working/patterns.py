"""Patterns that several tenants have in common, for those that take them (row W10).

A tenant is looked at only where the rules say that it gives, and gets only where they say that it
takes. Nothing is stored: what is found is found anew, so what a tenant forgets or gives no more is
in no pattern at once.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from skymem.errors import InvalidMemoryError
from skymem.model.memory import Memory
from skymem.model.playbook import PLAYBOOK, Flow
from skymem.model.tenants import owner_name
from skymem.policy.patterns import Kind, Pattern, flow, in_common, statements
from skymem.working.at_hand import at_hand
from skymem.working.promotion import CONTEXT

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.model.tenants import Tenant

FLOW: Final[Kind] = "flow"
STATEMENT: Final[Kind] = "statement"


class Patterns:
    """The patterns that one agent may know: those of its tenant, if that takes any."""

    def __init__(self, home: "Home", agent: str) -> None:
        self._home = home
        self._agent = home.admit(agent)

    @property
    def taken(self) -> bool:
        """Whether the rules say that the agent's tenant takes patterns."""
        return takes(self._home, self._agent)

    def list(self) -> "list[Pattern]":
        """What enough giving tenants have in common; nothing where the agent's takes none.

        Raises:
            NotAllowedError, DiskError.
        """
        return patterns(self._home) if self.taken else []


def takes(home: "Home", agent: str) -> bool:
    """Whether an agent's tenant takes patterns."""
    tenant = home.rules.tenants.of(agent)
    return tenant is not None and tenant.name in home.rules.patterns.take


def patterns(home: "Home") -> list[Pattern]:
    """What enough of the tenants that give have in common.

    Whoever calls sees the patterns, and nothing else of what was read for them.

    Raises:
        NotAllowedError: this process is not the home's owner.
        DiskError: something can't be read.
    """
    home.only_owner("read patterns")
    rules = home.rules
    giving = [one for one in rules.tenants.table.values() if one.name in rules.patterns.give]
    if len(giving) < rules.patterns.tenants_least:
        return []
    everyone = replace(home, bound=None, _ready={})  # the rules say whose lines: those that give
    told = {tenant.name: _told_by(everyone, tenant) for tenant in giving}
    return in_common(told, rules.patterns.tenants_least)


def _told_by(home: "Home", tenant: "Tenant") -> dict[Kind, set[str]]:
    work = home.workplace()
    there = [agent for agent in tenant.agents if work.agent_paths(agent).directory.is_dir()]
    flows = {
        _flow(kept.memory)
        for agent in there
        for kept in at_hand(home, agent).of(PLAYBOOK)
        if kept.memory.sensitivity is None
    }
    said: set[str] = set()
    owner = owner_name(tenant.name)
    if work.agent_paths(owner).directory.is_dir():
        for kept in at_hand(home, owner).of(CONTEXT):
            if kept.memory.sensitivity is None:
                said |= statements(kept.memory.searchable)
    return {FLOW: flows - {""}, STATEMENT: said}


def _flow(memory: Memory) -> str:
    try:
        found = Flow.of(memory.payload)
    except InvalidMemoryError:  # a hand has written it otherwise
        return ""
    return flow(found.flow_dact, found.tool_calls)
