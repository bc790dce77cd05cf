"""Which memories of one agent another may read, by rule, and how a copy of one is spelled (P17).

Change what is shared in `gate`. A copy says whose it is (`shared_from`) and is never shared on: so
rules may go both ways, and what is withdrawn at its source is withdrawn everywhere.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from skymem.model.caution import USUAL_TRUST, TrustRules
from skymem.model.identity import derived_id, digest
from skymem.model.marks import SENSITIVE
from skymem.model.memory import Memory
from skymem.model.rules import ShareRule
from skymem.model.spelling import compose
from skymem.policy.trust import is_held_back, trust_of

SHARED_FROM: Final = "shared_from"
WITHDRAWN: Final = "withdrawn"

_KEPT: Final = ("stability", "ttl_days", "expires_at", "evidence", "origin")
_SCOPE: Final = ("scope", "user_id", "session", "tenant")


class Source(NamedTuple):
    """Whose memory a copy is, and which."""

    agent: str
    id: str


class Copy(NamedTuple):
    """A copy as its receiver is to have it."""

    source: Source
    id: str
    line: bytes


def shared_from(memory: Memory) -> Source | None:
    """Whose memory this is a copy of; None of one that is its agent's own."""
    value = memory.fields.get(SHARED_FROM)
    if not isinstance(value, dict):
        return None
    agent, name = value.get("agent"), value.get("id")
    return Source(agent, name) if isinstance(agent, str) and isinstance(name, str) else None


def gate(
    memory: Memory, rule: ShareRule, copies: Collection[str], caution: TrustRules = USUAL_TRUST
) -> str:
    """Name what keeps a memory from being shared by a rule; "" when nothing does.

    Args:
        memory: active, of the rule's agent.
        rule: the rule.
        copies: ids of what that agent has from others itself.
        caution: how far what is believed.
    """
    if shared_from(memory) is not None or not copies_free(memory, copies):
        return "copy"
    if memory.sensitivity == SENSITIVE:
        return "sensitive"
    if memory.record_type is not None or not memory.content.strip():
        return "record"
    if rule.kinds and memory.kind not in rule.kinds:
        return "kind"
    if rule.tags and not {*rule.tags} & {*memory.tags}:
        return "tag"
    return _doubted(memory, rule, caution)


def _doubted(memory: Memory, rule: ShareRule, caution: TrustRules) -> str:
    """Name what it is not believed enough for: to tell another what to do, or to be shared."""
    if is_held_back(memory, caution):
        return "instruction"
    return "trust" if trust_of(memory, caution) < rule.trust_min else ""


def copies_free(memory: Memory, copies: Collection[str]) -> bool:
    """Whether a memory neither rests on what its agent has from others, nor corrects it."""
    return not copies or not {*memory.evidence_ids, *memory.supersedes} & {*copies}


def rule_for(
    memory: Memory,
    rules: Sequence[ShareRule],
    copies: Collection[str],
    caution: TrustRules = USUAL_TRUST,
) -> tuple[ShareRule | None, str]:
    """The first rule that shares a memory, or None and the gate that came last."""
    kept = "rule"
    for rule in rules:
        kept = gate(memory, rule, copies, caution)
        if not kept:
            return rule, ""
    return None, kept


def copy_of(
    source: Source, memory: Memory, rule: ShareRule, caution: TrustRules = USUAL_TRUST
) -> Copy:
    """Spell the copy: whence it comes stays, and its trust is no higher than the rule lets it.

    The same memory by the same rule is always the same line, whenever it is copied.
    """
    seconds = None if memory.time_us is None else memory.time_us / 1_000_000
    fields: dict[str, Any] = {} if seconds is None else {"ts": seconds}
    fields |= {"type": "long", "content": memory.content}
    fields |= {"tags": list(memory.tags)} if memory.tags else {}
    fields |= {} if memory.importance is None else {"importance": memory.importance}
    fields |= {"kind": memory.kind} if memory.kind else {}
    fields |= {key: memory.scope[key] for key in _SCOPE if key in memory.scope}
    values = {key: memory.field(key) for key in _KEPT}
    fields |= {key: value for key, value in values.items() if value is not None}
    fields |= {key: value for key, value in memory.others.items() if key not in fields}
    fields["trust"] = min(trust_of(memory, caution), rule.trust_max)
    fields[SHARED_FROM] = source._asdict()
    own = derived_id(digest(Memory(fields)))
    return Copy(source, own, compose({**fields, "id": own}))
