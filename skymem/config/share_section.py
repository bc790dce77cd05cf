"""The `share:` list of `retention_rules.yaml`: who may read what of whom (row P17).

A rule that names nobody there is, or its own agent, is a slip of the hand: somebody would wait for
memories that never come, or be given all of them.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from skymem.config import fields
from skymem.config.key import RULES_FILE, SHARE, TOP, Key
from skymem.config.keys import key_at, nearest
from skymem.config.problems import Complaints, shown
from skymem.config.readers import Setting, Settings, Shown, note_lines, read_settings
from skymem.config.yaml_nodes import Items, Node, Pair, Scalar, Table
from skymem.model.rules import RetentionRules, ShareRule
from skymem.policy.admit import agent_name_fault

DEFAULT_AGENT: Final = "sky"
"""Whom every home has; `jobs.workplace` says it, which this can't import."""


def read_share(
    pair: Pair, rules: RetentionRules, home: Path, complaints: Complaints, lines: dict[str, int]
) -> tuple[ShareRule, ...]:
    """The rules of the list, each whole; `lines` is told where each key stands.

    Args:
        pair: the key and its list.
        rules: what the rest of the file says: agents that have rules are known ones.
        home: where the agents of the home are looked for.
        complaints: told of what is wrong.
        lines: told where each key stands, as `share.0.from`.
    """
    found = fields.items(pair, key_at(RULES_FILE, TOP, "share"), complaints)
    there = _agents_of(home)
    known = None if there is None else {DEFAULT_AGENT, *rules.agents, *there}
    read: list[ShareRule] = []
    for number, item in enumerate(found.items if found else ()):
        if not isinstance(item, Table):
            complaints.at(item, f"a rule needs keys (such as {_example('from')}, {_example('to')})")
            continue
        note_lines(item, SHARE, f"share.{number}", lines)
        rule = _read_rule(item, complaints)
        if rule is not None and _makes_sense(item, rule, known, complaints):
            read.append(rule)
    return tuple(read)


def share_values(rule: ShareRule) -> dict[str, Shown]:
    """A rule as it is written in the file; of a list, its words."""
    return {
        "from": rule.source,
        "to": ", ".join(rule.receivers),
        "tags": ", ".join(rule.tags) or "none",
        "kinds": ", ".join(rule.kinds) or "none",
        "trust_min": rule.trust_min,
        "trust_max": rule.trust_max,
    }


def _read_rule(item: Table, complaints: Complaints) -> ShareRule | None:
    values: dict[str, Any] = read_settings(item, SHARE, _SETTINGS, complaints)
    for name in ("from", "to"):
        if item.get(name) is None:
            complaints.at(item, f"the rule has no {name} (such as {_example(name)})")
    if item.get("tags") is None and item.get("kinds") is None:
        remedy = f"such as {_example('kinds')}, or {_example('tags')}"
        complaints.at(item, f"the rule would share everything: say what ({remedy})")
        return None
    whole = "source" in values and "receivers" in values
    said = all(item.get(name) is None or name in values for name in ("tags", "kinds"))
    return ShareRule(**values) if whole and said else None


def _makes_sense(
    item: Table, rule: ShareRule, known: Collection[str] | None, complaints: Complaints
) -> bool:
    """Whether the agents are there, and nobody is told what it knows."""
    sense = True
    for node in [*_nodes(item.get("from")), *_nodes(item.get("to"))]:
        if known is not None and node.text not in known:
            near = nearest(node.text, tuple(sorted(known)))
            remedy = f'did you mean "{near}"?' if near else f"there are: {', '.join(sorted(known))}"
            more = "" if near else "; one that is to come is named under agents:"
            complaints.at(node, f"no agent {shown(node.text)} here ({remedy}{more})")
            sense = False
    for node in _nodes(item.get("to")):
        if node.text == rule.source:
            complaints.at(node, f"agent {shown(node.text)} would share with itself (remove it)")
            sense = False
    if rule.trust_min > rule.trust_max:
        what = f"trust_min {rule.trust_min:g} is above trust_max {rule.trust_max:g}"
        complaints.at(item, f"{what}: a copy would not be trusted enough to be shared")
        sense = False
    return sense


def _nodes(pair: Pair | None) -> list[Scalar]:
    if pair is None:
        return []
    nodes: tuple[Node, ...] = pair.value.items if isinstance(pair.value, Items) else (pair.value,)
    return [node for node in nodes if isinstance(node, Scalar)]


def _agents_of(home: Path) -> set[str] | None:
    """The agents there are; None where there is no home, as for rules that are tried out."""
    try:
        return {path.name for path in (home / "memory").iterdir() if path.is_dir()}
    except OSError:
        return None


def _agent(pair: Pair, key: Key, complaints: Complaints) -> str | None:
    found = fields.scalar(pair, key, complaints)
    return None if found is None else _name(found, complaints)


def _name(node: Scalar, complaints: Complaints) -> str | None:
    # The text, not what YAML makes of it: an agent may be called no, null or 1e3.
    fault = agent_name_fault(node.text)
    if fault is None:
        return node.text
    complaints.at(node, f"agent name {shown(node.text)} is not allowed: {fault}")
    return None


def _agents(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    words = _words(pair, key, complaints)
    if words is None:
        return None
    names = [_name(node, complaints) for node in _nodes(pair)]
    return None if None in names else words


def _words(pair: Pair, key: Key, complaints: Complaints) -> tuple[str, ...] | None:
    """A list of words, at least one, none of them twice."""
    found = fields.items(pair, key, complaints)
    if found is None:
        return None
    words = [node.text for node in _nodes(pair) if node.text.strip()]
    if len(words) != len(found.items) or not words:
        complaints.at(found, f"{key.name} must be a list of words (such as {key.example})")
        return None
    return tuple(dict.fromkeys(words))


def _example(name: str) -> str:
    return key_at(RULES_FILE, SHARE, name).example


_SETTINGS: Final[Settings] = {
    "from": Setting("source", _agent),
    "to": Setting("receivers", _agents),
    "tags": Setting("tags", _words),
    "kinds": Setting("kinds", _words),
    "trust_min": Setting("trust_min", fields.number),
    "trust_max": Setting("trust_max", fields.number),
}
