"""Which of the memories that are near to each other become one, and what stands for them (P15).

One stands for all of them, which are its evidence; each must say the same as every other. How
often that was said, and how near each was to another, says `duplicates` in its line.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from skymem.model.memory import Memory
from skymem.model.plan import Addition, Plan, Reason
from skymem.model.rules import RetentionRules
from skymem.policy.duplicates import DUPLICATE, difference, judge
from skymem.policy.merge import MergeItem, keeps_whole, merged_copies

FIELD: Final = "duplicates"
"""Of a line that stands for others: the id of each, and how near it was."""


def stands_for(memory: Memory) -> frozenset[str]:
    """The ids of those that a memory stands for, as they say the same."""
    said = memory.fields.get(FIELD)
    if not isinstance(said, dict):
        return frozenset()
    return frozenset(said.keys() & {*memory.evidence_ids}) if memory.supersedes else frozenset()


class Pair(NamedTuple):
    """Two memories, and the cosine of their vectors."""

    one: str
    other: str
    cosine: float


@dataclass(slots=True)
class United:
    """Memories that become one."""

    items: list[MergeItem]
    near: dict[str, float] = field(default_factory=dict)
    """Of each how near it was to another of them."""

    addition: Addition | None = None

    @property
    def stands(self) -> MergeItem:
        """The one whose words stand for them: of those in long-term the newest, else of all.

        Its vector is there already, and none has to be made for the others.
        """
        in_long = [item for item in self.items if item.tier == "long"]
        return max(in_long or self.items, key=lambda item: (item.memory.time_us or 0, item.id))


def united(
    items: Mapping[str, MergeItem],
    pairs: Iterable[Pair],
    rules: RetentionRules,
    *,
    now_us: int,
    undone: Callable[[str, str], bool] = lambda _one, _other: False,
    kept: dict[str, int],
) -> list[United]:
    """Find what becomes one, and make what stands for it; the order of the pairs does not matter.

    Args:
        items: active memories of one agent, by their ids; a pair of which one is not here is none.
        pairs: which are near to each other.
        rules: the home's.
        now_us: the time, microseconds since the epoch.
        undone: whether two became one before, and that was taken back.
        kept: counts each memory that stays apart from all it is near to, by the nearest's gate.
    """
    groups: dict[str, United] = {}
    apart: dict[str, str] = {}
    for pair in sorted(_spelled(pairs), key=lambda one: (-one.cosine, one)):
        if pair.one not in items or pair.other not in items:
            continue
        one, other = items[pair.one], items[pair.other]
        gate = gate_between(one, other, pair.cosine, rules, now_us=now_us, undone=undone)
        if gate == DUPLICATE and _joined(groups, one, other, pair.cosine):
            continue
        apart.setdefault(pair.other, gate)
    for name, gate in apart.items():
        if name not in groups and gate != DUPLICATE:
            kept[gate] = kept.get(gate, 0) + 1
    found = list({id(group): group for group in groups.values()}.values())
    for group in found:
        group.addition = _addition(group, rules, now_us)
    return found


def decided_by(rules: RetentionRules) -> str:
    """What of the rules says which memories may become one, in short: by others, all may differ."""
    may = sorted((name, kind.merge) for name, kind in rules.kinds.items())
    said = repr((may, rules.trust)).encode()
    return f"{rules.merge.duplicates.likeness} {blake2b(said, digest_size=8).hexdigest()}"


def reason_of(group: United, name: str, rules: RetentionRules) -> Reason:
    """Why a memory became part of another: how near it was, and which that is."""
    note = group.addition.id if group.addition is not None else ""
    return Reason(DUPLICATE, round(group.near[name], 4), rules.merge.duplicates.likeness, note)


def note_united(plan: Plan, groups: Collection[United], rules: RetentionRules) -> None:
    """Put into a plan what stands for each group, and of those in long-term why."""
    for group in groups:
        if group.addition is None:
            continue
        plan.additions.append(group.addition)
        plan.duplicates += len(group.items) - 1
        for item in group.items:
            if item.tier == "long":
                why = reason_of(group, item.id, rules)
                plan.likened.append((item.id, why.note, why.value or 0.0, why.threshold or 0.0))
    plan.likened.sort()
    plan.additions.sort(key=lambda made: made.evidence)


def _spelled(pairs: Iterable[Pair]) -> list[Pair]:
    """Each pair once, and the same whichever of the two came first."""
    best: dict[tuple[str, str], float] = {}
    for one, other, cosine in pairs:
        if one != other:
            key = min(one, other), max(one, other)
            best[key] = max(cosine, best.get(key, -1.0))
    return [Pair(*key, cosine) for key, cosine in best.items()]


def gate_between(
    one: MergeItem,
    other: MergeItem,
    cosine: float,
    rules: RetentionRules,
    *,
    now_us: int,
    undone: Callable[[str, str], bool],
) -> str:
    """The gate that keeps two apart, or `duplicate`."""
    for item in (one, other):
        if gate := keeps_whole(item, rules, now_us):
            return gate
    least = rules.merge.duplicates.likeness
    gate = judge(one.memory, other.memory, cosine, 1.0 if least is None else least).gate
    return "restored" if gate == DUPLICATE and undone(one.id, other.id) else gate


def _joined(groups: dict[str, United], one: MergeItem, other: MergeItem, cosine: float) -> bool:
    """Put two into one group, where each says the same as all of the others."""
    first, second = (groups.get(item.id) or United([item]) for item in (one, other))
    if first is not second:
        texts = [[item.memory.content for item in group.items] for group in (first, second)]
        if any(difference(a, b) for a in texts[0] for b in texts[1]):
            return False
        first.items += second.items
        first.near |= second.near
    for item in (one, other):
        first.near[item.id] = max(cosine, first.near.get(item.id, -1.0))
    groups |= dict.fromkeys((item.id for item in first.items), first)
    return True


def _addition(group: United, rules: RetentionRules, now_us: int) -> Addition:
    known: dict[str, Any] = {}
    for item in group.items:
        before = item.memory.fields.get(FIELD)
        if isinstance(before, dict):
            known |= {name: one for name, one in before.items() if isinstance(one, float)}
    known |= {name: round(cosine, 4) for name, cosine in sorted(group.near.items())}
    return merged_copies(
        group.items, now_us=now_us, kinds=rules.kinds, stands=group.stands, more={FIELD: known}
    )
