"""The `api:` section of `retention_rules.yaml`: who may come through the API's door (row M7)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.key import Key
from skymem.config.problems import Complaints, shown
from skymem.config.readers import NONE, Setting, Settings
from skymem.config.yaml_nodes import Items, Node, Pair, Scalar
from skymem.policy.admit import agent_name_fault

UID_MAX: Final = 2**32 - 2
LOCAL: Final = "127.0.0.1:"


def _agents(pair: Pair, key: Key, complaints: Complaints) -> Mapping[int, tuple[str, ...]] | None:
    if fields.says_none(pair):
        return MappingProxyType({})
    found = fields.table(pair, key, complaints)
    if found is None:
        return None
    whose: dict[int, tuple[str, ...]] = {}
    for each in found.pairs:
        text = each.key.text
        if not (text.isascii() and text.isdecimal() and int(text[:12]) <= UID_MAX):
            remedy = "the number that `id -u USER` prints"
            complaints.at(each.key, f"uid {shown(text)} is none ({remedy})")
            continue
        names = _names(each.value, key, complaints)
        if names:
            whose[int(text)] = names
    return MappingProxyType(whose)


def _names(node: Node, key: Key, complaints: Complaints) -> tuple[str, ...]:
    items: tuple[Node, ...] = node.items if isinstance(node, Items) else (node,)
    names = []
    for one in items:
        # The text, not what YAML makes of it: an agent may be called no, null or 1e3.
        fault = agent_name_fault(one.text) if isinstance(one, Scalar) else "it is no word"
        if fault is None and isinstance(one, Scalar):
            names.append(one.text)
        else:
            word = shown(one.text) if isinstance(one, Scalar) else "there"
            complaints.at(one, f"agent name {word} is not allowed: {fault} (such as {key.example})")
    if not items:
        complaints.at(node, f"no agent is named (such as {key.example})")
    return tuple(dict.fromkeys(names))


def _port(pair: Pair, key: Key, complaints: Complaints) -> int | None:
    address = fields.text(pair, key, complaints)
    if address is None:
        return None
    port = address.removeprefix(LOCAL)
    if address != port and port.isascii() and port.isdecimal() and 0 < int(port[:6]) <= 65535:
        return int(port)
    remedy = f"nothing but this machine may reach it; such as {key.example}"
    complaints.at(pair.value, f"tcp must be {LOCAL}PORT ({remedy})")
    return None


def _words(whose: Mapping[int, tuple[str, ...]]) -> str:
    each = (f"{uid}: {', '.join(names)}" for uid, names in whose.items())
    return "; ".join(each) or NONE


API_SETTINGS: Final[Settings] = MappingProxyType(
    {
        "agents": Setting("agents", _agents, _words),
        "reach": Setting("reach", fields.choice),
        "tcp": Setting("tcp_port", _port, lambda port: f"{LOCAL}{port}", optional=True),
        "token_file": Setting("token_file", fields.text),
    }
)
