"""When is a memory promoted? When it is worth at least the threshold (rows P6, M5).

Change the rule in `policy.earning`. Lines below the threshold stay untouched, and so do pinned
ones, those of a kind that is not promoted, those whose promotion was undone of late, commands from
where none is trusted, and what only says again what was recalled (row X11). A line whose memory
another tier has already is a repeat: it leaves short-term and is never added again (design §4).
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from skymem.model.caution import USUAL_TRUST, TrustRules
from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory
from skymem.model.plan import Action, Damage, Decision, Entry, Plan, Reason
from skymem.model.rules import AgentRules
from skymem.policy.duplicates import DUPLICATE
from skymem.policy.earning import GATES, Known, Verdict, earned, nothing_known
from skymem.policy.echo import GATE as ECHO
from skymem.policy.trust import GATE as HELD_BACK
from skymem.policy.trust import is_held_back

DECISIONS_MAX: Final = 100_000
"""Decisions in one round: bounds memory; a job goes round until nothing is left to decide."""


Echo = Callable[[str, Memory], str]
"""Gives the id of the recalled memory that one says again, else ""."""

Earner = Callable[[int, Entry, Verdict, Known], None]
"""Is told a memory that is promoted, with the place of its decision among the plan's."""


def plan_promote(  # noqa: PLR0913  (all that a promotion depends on, each by its name)
    entries: Iterable[Entry | Damage],
    agent: str,
    rules: AgentRules,
    kinds: Kinds = KINDS,
    *,
    caution: TrustRules = USUAL_TRUST,
    echo_of: Echo = lambda _name, _memory: "",
    known_of: Callable[[Entry], Known] = nothing_known,
    earner: Earner = lambda _place, _entry, _verdict, _known: None,
    now_us: int = 0,
) -> Plan:
    """Decide every line of an agent's short-term, each once.

    `known_of` tells what is known of a memory beside its line, `echo_of` what it says again of what
    was recalled; `earner` is told each that is promoted, with the place of its decision in the
    plan. `now_us` is the time, microseconds since the epoch; without it nothing is old.
    """
    plan = Plan("promote", agent, threshold=rules.promote_threshold)
    chosen, kept = set[str](), Counter[str]()
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
        known = known_of(entry)
        verdict = earned(entry.memory, rules, kinds, known, now_us=now_us)
        gate = keeps(entry, verdict, kinds, caution, echo_of)
        if gate or verdict.reason is None:
            kept[gate] += 1
            plan.highest = max(plan.highest or 0.0, verdict.worth)
        elif entry.id in chosen:
            plan.decisions.append(repeat(entry, "this run"))
        else:
            chosen.add(entry.id)
            earner(len(plan.decisions), entry, verdict, known)
            plan.decisions.append(leave("promote", entry, verdict.reason))
    plan.kept |= kept
    return plan


def keeps(
    entry: Entry,
    verdict: Verdict,
    kinds: Kinds,
    caution: TrustRules = USUAL_TRUST,
    echo_of: Echo = lambda _name, _memory: "",
) -> str:
    """Name the gate that keeps a memory in short-term; "" when none does.

    What was brought back from a promotion is exempt from all that promotes (promise 10).
    """
    if entry.pinned:
        return "pinned"
    if verdict.reason is None:
        return verdict.kept
    if entry.restored in (*GATES, DUPLICATE):
        return "restored"
    if not kinds.of(entry.memory.kind).promote:
        return "kind"
    if is_held_back(entry.memory, caution):
        return HELD_BACK
    return ECHO if echo_of(entry.id, entry.memory) else ""


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
