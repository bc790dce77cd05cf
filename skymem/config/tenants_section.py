"""The `tenants:` section of `retention_rules.yaml`: who shares documents (row W8)."""

from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.key import RULES_FILE, TENANT, TOP, Key
from skymem.config.keys import key_at
from skymem.config.problems import Complaints, shown
from skymem.config.readers import note_lines
from skymem.config.yaml_nodes import Pair, Scalar, Table
from skymem.model.tenants import Tenant, Tenants, owner_name
from skymem.policy.admit import agent_name_fault

_REMEDY: Final = "use 1 to 57 of a-z, 0-9, _ and -, starting with a letter or digit"


def read_tenants(pair: Pair, complaints: Complaints, lines: dict[str, int]) -> Tenants:
    """The tenants that the file names; `lines` is told where each key stands."""
    found = fields.table(pair, key_at(RULES_FILE, TOP, "tenants"), complaints)
    table: dict[str, Tenant] = {}
    whose: dict[str, str] = {}
    for each in found.pairs if found else ():
        name = each.key.text  # as it is written: a tenant may be called no or null
        if agent_name_fault(owner_name(name)) is not None or agent_name_fault(name) is not None:
            complaints.at(each.key, f"tenant name {shown(name)} is not allowed ({_REMEDY})")
        elif not isinstance(each.value, Table):
            complaints.at(each.key, f"tenant {name} has no agents (such as agents: [sky])")
        else:
            note_lines(each.value, TENANT, f"tenants.{name}", lines)
            table[name] = _read_tenant(name, each.value, whose, complaints)
    return Tenants(MappingProxyType(table))


def _read_tenant(name: str, found: Table, whose: dict[str, str], complaints: Complaints) -> Tenant:
    """One tenant; `whose` tells, of each agent met so far, which tenant it is in."""
    words: dict[str, tuple[str, ...]] = {}
    for pair, key in fields.known_pairs(found, RULES_FILE, TENANT, complaints):
        scalars = _words(pair, key, complaints)
        words[key.name] = tuple(dict.fromkeys(one.text for one in scalars))
        for one in scalars if key.name == "agents" else ():
            _check_agent(one, whose.setdefault(one.text, name), name, complaints)
    return Tenant(name, words.get("agents", ()), words.get("users", ()))


def _check_agent(one: Scalar, taken: str, name: str, complaints: Complaints) -> None:
    fault = agent_name_fault(one.text)
    if fault is not None:
        complaints.at(one, f"agent name {shown(one.text)} is not allowed: {fault}")
    elif taken != name:
        remedy = "an agent is in one tenant at most; remove it from one of them"
        complaints.at(one, f"agent {one.text} is in tenant {taken} already ({remedy})")


def _words(pair: Pair, key: Key, complaints: Complaints) -> list[Scalar]:
    found = fields.items(pair, key, complaints)
    scalars = []
    for one in found.items if found else ():
        if isinstance(one, Scalar) and one.text.strip():
            scalars.append(one)
        else:
            complaints.at(one, f"{key.name}: a name is expected here (such as {key.example})")
    return scalars
