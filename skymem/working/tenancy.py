"""An agent's way to the business context of its tenant: by the rules, and to no other (row W8).

A handle is bound to one agent, and refuses every other. What belongs to an agent's tenant lies in a
directory of its own; the rules say which, and this gives a handle bound to that and nothing else.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from skymem.policy.admit import check_agent_name
from skymem.policy.bound import bound_to

if TYPE_CHECKING:
    from skymem.app import Home


def of_tenant(home: "Home", agent: str) -> "tuple[Home, str]":
    """Give a handle for what belongs to an agent's tenant, and the name of its directory.

    Raises:
        AgentNameError: the name is not allowed, or too long to have business context of its own.
        NotAllowedError: this handle is bound to another agent.
    """
    owner = check_agent_name(home.rules.tenants.owner(home.admit(agent)))
    return replace(home, bound=bound_to(owner, home.rules), _ready={}), owner
