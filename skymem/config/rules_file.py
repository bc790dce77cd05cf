"""`retention_rules.yaml`: read whole, every complaint collected, then frozen values. Row P4."""

from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

from skymem.config import fields
from skymem.config.engine_section import with_engine_value
from skymem.config.key import AGENT, ENGINE, PROMOTE, REMOTE, RULES_FILE, TOP, Key
from skymem.config.keys import key_at, names_at
from skymem.config.life_sections import read_sections
from skymem.config.problems import Complaints, shown
from skymem.config.promote_section import read_promotion
from skymem.config.readers import note_lines
from skymem.config.share_section import read_share
from skymem.config.yaml_nodes import Pair, Table
from skymem.config.yaml_text import read_yaml
from skymem.errors import AgentNameError
from skymem.model.rules import AgentRules, RetentionRules
from skymem.policy.admit import agent_name_fault

_EXAMPLE: Final = '"promote_threshold: 0.70", or {} for every default'


@dataclass(slots=True)
class RulesReading:
    """What was read of the file, what is wrong with it, and the line each value stands on."""

    complaints: Complaints
    rules: RetentionRules = field(default_factory=RetentionRules)
    lines: dict[str, int] = field(default_factory=dict)


def read_rules(path: Path) -> RetentionRules:
    """Read the retention rules.

    Raises ConfigurationError with all problems of the file, one a line. Rows P4, M5.
    """
    reading = examine_rules(path)
    reading.complaints.raise_if_any()
    return reading.rules


def examine_rules(path: Path) -> RulesReading:
    """Read the retention rules without raising, for `skymem config check` and `config show`."""
    reading = RulesReading(Complaints(path.name))
    root = read_yaml(path, reading.complaints, _EXAMPLE)
    if root is not None:
        root = _without_misplaced_agents(root, reading.complaints)
        for pair, key in fields.known_pairs(root, RULES_FILE, TOP, reading.complaints):
            reading.lines[key.name] = pair.key.line
            reading.rules = _with_value(reading.rules, pair, key, reading.complaints)
        promote = root.get(PROMOTE)
        if promote is not None:
            reading.rules = reading.rules._replace(
                default=_with_promotion(reading.rules.default, promote, PROMOTE, reading),
            )
        # Last, since what an agent does not say is as at the top, wherever that stands.
        agents = root.get("agents")
        if agents is not None:
            _read_agents(agents, reading)
        engine = root.get("engine")
        if engine is not None:
            _read_engine(engine, reading)
        share = root.get("share")
        if share is not None:
            own = read_share(share, reading.rules, path.parent, reading.complaints, reading.lines)
            reading.rules = reading.rules._replace(share=own)
        reading.rules = read_sections(root, reading.rules, reading.complaints, reading.lines)
    return reading


def _with_value(
    rules: RetentionRules, pair: Pair, key: Key, complaints: Complaints
) -> RetentionRules:
    if key.name == "access":
        access = fields.choice(pair, key, complaints)
        return rules._replace(access="group" if access == "group" else "private")
    if key.name == "line_max":
        size_bytes = fields.size(pair, key, complaints)
        return rules if size_bytes is None else rules._replace(line_bytes_max=size_bytes)
    if key.name == "torn_after":
        seconds = fields.duration(pair, key, complaints)
        return rules if seconds is None else rules._replace(torn_after_seconds=seconds)
    if key.name == "restore_grace":
        seconds = fields.duration(pair, key, complaints)
        return rules if seconds is None else rules._replace(restore_grace_seconds=seconds)
    if key.name == "recall_log":
        wanted = fields.truth(pair, key, complaints)
        return rules if wanted is None else rules._replace(recall_log=wanted)
    return rules._replace(default=_with_limit(rules.default, pair, key, complaints))


def _with_limit(rules: AgentRules, pair: Pair, key: Key, complaints: Complaints) -> AgentRules:
    if key.name == "promote_threshold":
        threshold = fields.number(pair, key, complaints)
        return rules if threshold is None else rules._replace(promote_threshold=float(threshold))
    if key.name == "short_term_max_lines":
        lines = fields.whole(pair, key, complaints)
        return rules if lines is None else rules._replace(short_term_max_lines=lines)
    return rules


def _read_agents(pair: Pair, reading: RulesReading) -> None:
    complaints = reading.complaints
    found = fields.table(pair, key_at(RULES_FILE, TOP, "agents"), complaints)
    agents: dict[str, AgentRules] = {}
    for agent in found.pairs if found else ():
        # The key's text, not what YAML makes of it: an agent may be called no, null or 1e3.
        name = agent.key.text
        fault = agent_name_fault(name)
        if fault is not None:
            message = f"agent name {shown(name)} is not allowed: {fault}; {AgentNameError.hint}"
            complaints.at(agent.key, message)
        elif not isinstance(agent.value, Table):
            example = f"{name}: {{promote_threshold: 0.60}}"
            complaints.at(agent.key, f"agent {name} has no rules (such as {example})")
        else:
            agents[name] = _read_agent(agent.value, name, reading)
    reading.rules = reading.rules._replace(agents=MappingProxyType(agents))


def _read_engine(pair: Pair, reading: RulesReading) -> None:
    complaints = reading.complaints
    found = fields.table(pair, key_at(RULES_FILE, TOP, "engine"), complaints)
    engine = reading.rules.engine
    for each, key in fields.known_pairs(found, RULES_FILE, ENGINE, complaints) if found else ():
        reading.lines[key.dotted] = each.key.line
        engine = with_engine_value(engine, each, key, complaints)
        if key.name == "remote" and isinstance(each.value, Table):
            note_lines(each.value, REMOTE, REMOTE, reading.lines)
    reading.rules = reading.rules._replace(engine=engine)


def _read_agent(found: Table, name: str, reading: RulesReading) -> AgentRules:
    rules = reading.rules.default
    for pair, key in fields.known_pairs(found, RULES_FILE, AGENT, reading.complaints):
        reading.lines[f"agents.{name}.{key.name}"] = pair.key.line
        if key.name == PROMOTE:
            rules = _with_promotion(rules, pair, f"agents.{name}.{PROMOTE}", reading)
        rules = _with_limit(rules, pair, key, reading.complaints)
    return rules


def _with_promotion(rules: AgentRules, pair: Pair, place: str, reading: RulesReading) -> AgentRules:
    own = read_promotion(pair, rules.promotion, place, reading.complaints, reading.lines)
    return rules._replace(promotion=own)


def _without_misplaced_agents(root: Table, complaints: Complaints) -> Table:
    """Tell where an agent's rules go that stand at the top: "unknown key" alone would not."""
    misplaced = [pair for pair in root.pairs if _looks_like_agent(pair)]
    for pair in misplaced:
        complaints.at(pair.key, f"the rules of agent {shown(pair.key.text)} go under agents:")
    return root._replace(pairs=tuple(pair for pair in root.pairs if pair not in misplaced))


def _looks_like_agent(pair: Pair) -> bool:
    if pair.key.text in names_at(RULES_FILE, TOP) or not isinstance(pair.value, Table):
        return False
    inner = {each.key.text for each in pair.value.pairs}
    return bool(inner) and inner <= set(names_at(RULES_FILE, AGENT))
