"""Does a memory earn its place in long-term? The one function of how the gates go together.

In this order (rows P6, P13, P14; what recall teaches):

1. `never_tag`, `never_kind`: it stays, whatever else speaks for it.
2. `always_tag`, `always_kind`: it is promoted.
3. `importance` at or above the threshold, which falls with its age: it is promoted.
4. `recalled` so often, by so many different questions: it is promoted.
5. Else `importance` keeps it.

What is pinned, held back, restored, an echo, or of a kind that the table does not promote stays all
the same: `policy.promote` asks that of each. Tags and kinds are the same word in any case of
letters (casefolded), and no word is part of another.
"""

import math
from typing import Final, NamedTuple

from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory
from skymem.model.plan import Entry, Reason
from skymem.model.promotion import USUAL_PROMOTION, DecayRules, PromotionRules
from skymem.model.rules import AgentRules
from skymem.policy.due import DAY_US
from skymem.policy.importance import Worth, worth

GATES: Final = frozenset({"importance", "recalled", "always_tag", "always_kind"})
"""The reasons for which a memory is promoted."""

DECIMALS: Final = 4
"""Of a threshold that fell, as it is shown."""


class Recalled(NamedTuple):
    """How often a memory was recalled of late."""

    times: int = 0
    """The same question on the same day counts once."""

    queries: int = 0


class Known(NamedTuple):
    """What is known of a memory beside its line; each default changes nothing."""

    predicted: Worth | None = None
    """What a model takes it to be worth; where its writer gave no importance, this counts."""

    recalled: Recalled = Recalled()


NOTHING: Final = Known()


def nothing_known(_entry: Entry) -> Known:
    """Know nothing of any memory."""
    return NOTHING


class Verdict(NamedTuple):
    """Whether it has earned its place."""

    reason: Reason | None
    """Why it is promoted; None when it is not."""

    kept: str = ""
    """The gate that keeps it, else ""."""

    worth: float = -1.0
    """Its importance as it was held against the threshold; -1 where it was not."""


_NEVER: Final = {what: Verdict(None, f"never_{what}") for what in ("tag", "kind")}


def earned(
    memory: Memory,
    rules: AgentRules,
    kinds: Kinds = KINDS,
    known: Known = NOTHING,
    *,
    now_us: int = 0,
) -> Verdict:
    """Decide about one memory.

    Args:
        memory: what it is about.
        rules: the agent's own.
        kinds: the table of kinds.
        known: what else is known of it.
        now_us: the time, microseconds since the epoch; without it nothing is old.
    """
    own = rules.promotion
    # Most homes name nothing, and this is asked of each line.
    named = None if own is USUAL_PROMOTION else _by_name(memory, own)
    if named is not None:
        return named
    importance, source = weigh(memory, kinds, known)
    threshold = rules.promote_threshold
    if importance < threshold and own.decay.per_day:
        threshold = threshold_at(rules, memory, now_us)
    if importance >= threshold:
        note = source + fallen(rules, memory, threshold, now_us)
        reason = Reason("importance", importance, round(threshold, DECIMALS), note)
        return Verdict(reason, "", importance)
    if known is not NOTHING and is_recalled_enough(rules, known.recalled):
        return Verdict(recall_reason(rules, known.recalled), "", importance)
    return Verdict(None, "importance", importance)


def weigh(memory: Memory, kinds: Kinds = KINDS, known: Known = NOTHING) -> Worth:
    """What it is worth: as given, else as predicted, else as the guide says of its kind."""
    return worth(memory, kinds, known.predicted)


def threshold_at(rules: AgentRules, memory: Memory, now_us: int) -> float:
    """The threshold as it stands to a memory of that age (row P13).

    One without a time does not age, and one from the future has not begun to.
    """
    decay = rules.promotion.decay
    if not decay.per_day or memory.time_us is None or now_us <= memory.time_us:
        return rules.promote_threshold
    return _fallen(rules.promote_threshold, decay, now_us - memory.time_us)


def opens_us(rules: AgentRules, memory: Memory, importance: float) -> int | None:
    """From when on its importance is enough; None when no age makes it so.

    Where it is enough without any age, that is its own time, or the beginning of all.
    """
    threshold, decay = rules.promote_threshold, rules.promotion.decay
    if importance >= threshold:
        return memory.time_us or 0
    if memory.time_us is None or not decay.per_day or importance < decay.floor:
        return None
    # The last digit of a float is some time: the moment lies a little to either side.
    step_us = math.ceil(DAY_US * 1e-15 / decay.per_day)
    age_us = max(0, math.floor((threshold - importance) / decay.per_day * DAY_US) - step_us)
    while _fallen(threshold, decay, age_us) > importance:
        age_us += step_us
    return memory.time_us + age_us


def _fallen(threshold: float, decay: DecayRules, age_us: int) -> float:
    return min(threshold, max(decay.floor, threshold - decay.per_day * (age_us / DAY_US)))


def fallen(rules: AgentRules, memory: Memory, threshold: float, now_us: int) -> str:
    """Say by what a threshold fell; "" when it did not."""
    if threshold >= rules.promote_threshold or memory.time_us is None:
        return ""
    days = (now_us - memory.time_us) / DAY_US
    return f"; {rules.promote_threshold:g} less {days:.1f} days of decay"


def is_recalled_enough(rules: AgentRules, recalled: Recalled) -> bool:
    """Whether recall alone promotes it."""
    wanted = rules.promotion.recalled
    if not wanted.times:
        return False
    return recalled.times >= wanted.times and recalled.queries >= wanted.queries


def recall_reason(rules: AgentRules, recalled: Recalled) -> Reason:
    """How often it was recalled, against how often it takes."""
    wanted = rules.promotion.recalled
    note = f"times; by {recalled.queries} questions against {wanted.queries}"
    return Reason("recalled", recalled.times, wanted.times, note)


def _by_name(memory: Memory, own: PromotionRules) -> Verdict | None:
    """What is decided by a tag or a kind, whatever it is worth; None when nothing is."""
    never = _match(memory, own.never_tags, own.never_kinds)
    if never:
        return _NEVER[never]
    always = _match(memory, own.always_tags, own.always_kinds)
    return Verdict(Reason(f"always_{always}")) if always else None


def _match(memory: Memory, tags: tuple[str, ...], kinds: tuple[str, ...]) -> str:
    """What of it is named: `tag`, `kind` or ""."""
    if tags and any(tag.casefold() in tags for tag in memory.tags):
        return "tag"
    if kinds and memory.kind is not None and memory.kind.casefold() in kinds:
        return "kind"
    return ""
