"""When is a memory promoted? When it is worth at least the threshold (rows P6, M5).

Change the rule in `decide`. Lines below the threshold stay untouched, and so do pinned ones, those
of a kind that is not promoted, and those whose promotion was undone of late. A line whose memory
another tier has already is a repeat: it leaves short-term and is never added again (design §4).
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from skymem.model.kinds import KINDS, Kinds
from skymem.model.plan import Action, Damage, Decision, Entry, Plan, Reason
from skymem.model.rules import AgentRules
from skymem.policy.importance import worth

DECISIONS_MAX: Final = 100_000
"""Decisions in one round: bounds memory; a job goes round until nothing is left to decide."""


def plan_promote(
    entries: Iterable[Entry | Damage], agent: str, rules: AgentRules, kinds: Kinds = KINDS
) -> Plan:
    """Decide every line of an agent's short-term, each once."""
    plan = Plan("promote", agent, threshold=rules.promote_threshold)
    chosen: set[str] = set()
    kept: Counter[str] = Counter()
    for entry in entries:
        if isinstance(entry, Damage):
            plan.decisions.append(quarantine(entry))
            continue
        plan.lines += 1
        if len(plan.decisions) >= DECISIONS_MAX:
            plan.unfinished = True
            continue
        if entry.elsewhere:
            plan.decisions.append(repeat(entry, entry.elsewhere))
            continue
        reason = decide(entry, rules, kinds)
        gate = keeps(entry, reason, kinds)
        if gate or reason is None:
            kept[gate] += 1
        elif entry.id in chosen:
            plan.decisions.append(repeat(entry, "this run"))
        else:
            chosen.add(entry.id)
            plan.decisions.append(leave("promote", entry, reason))
    plan.kept |= kept
    return plan


def decide(entry: Entry, rules: AgentRules, kinds: Kinds = KINDS) -> Reason | None:
    """Say why this memory is promoted, or None when it is not."""
    importance, source = worth(entry.memory, kinds)
    if importance < rules.promote_threshold:
        return None
    return Reason("importance", importance, rules.promote_threshold, source)


def keeps(entry: Entry, reason: Reason | None, kinds: Kinds) -> str:
    """Name the gate that keeps a memory in short-term; "" when none does."""
    if entry.pinned:
        return "pinned"
    if reason is None:
        return "importance"
    if entry.restored == reason.gate:
        return "restored"
    return "" if kinds.of(entry.memory.kind).promote else "kind"


def leave(action: Action, entry: Entry, reason: Reason) -> Decision:
    """Take a readable line out of short-term."""
    return Decision(action, entry.id, entry.line, entry.start, entry.end, reason)


def quarantine(damage: Damage) -> Decision:
    """Set unreadable bytes aside."""
    reason = Reason("unreadable", note=damage.reason)
    return Decision("quarantine", "", -1, damage.start, damage.end, reason)


def repeat(entry: Entry, place: str) -> Decision:
    """Count a line whose memory is elsewhere already, and drop it from short-term."""
    return leave("repeat", entry, is_at(place))


def is_at(place: str) -> Reason:
    """Why a repeat is dropped: another place has its memory, or it was erased (row X5)."""
    return Reason("erased") if place == "erased" else Reason("already_in", note=place)
