"""Which memories become one? Old notes without a time to live, and copies (rows N7, N8, P15, P16).

Notes are quoted whole, each with its source, so nothing they say is lost. Copies become their
newest; two texts that differ in anything but their first capital, their full stop and their
white space are no copies, nor are two of different projects, of different moments, or of different
standing: a fact neither loses trust nor gains any because another source repeats it. The originals
stay readable as history: what is made supersedes them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from skymem.errors import InvalidMemoryError
from skymem.model.identity import derived_id, digest
from skymem.model.kinds import KINDS, Kinds
from skymem.model.marks import SENSITIVE, inherited
from skymem.model.memory import Memory
from skymem.model.plan import Addition, Decision, Plan, Reason
from skymem.model.records import Statement, seconds
from skymem.model.rules import RetentionRules
from skymem.model.spelling import compose
from skymem.policy.alike import copy_key, is_of_its_moment
from skymem.policy.faithful import signature
from skymem.policy.importance import worth
from skymem.policy.living import places
from skymem.policy.standing import expires_us
from skymem.policy.trust import GATE as HELD_BACK
from skymem.policy.trust import is_held_back

DAY_US: Final = 86_400_000_000
SUMMARY: Final = "summary"
RULE: Final = "rule"
"""Readers ask for rules by their kind, and within a summary it would be one no more."""

BROUGHT_BACK: Final = ("merged", "duplicate")
"""The gates by which a merge had moved what was brought back of late."""

_PASSING: Final = frozenset({"pinned", "restored", "future"})
"""Gates that open while the line and the rules stay as they are."""

PERMANENT: Final = "permanent"
BYTES_MAX: Final = 256 * 1024
"""Of the notes that one summary quotes: a longer line serves nobody."""


@dataclass(frozen=True, slots=True)
class MergeItem:
    """An active memory of short-term or long-term that may be merged."""

    id: str
    memory: Memory
    tier: str
    start: int = 0
    end: int = 0
    line: int = -1
    """Its place in short-term; -1 in long-term."""

    pinned: bool = False
    restored: str = ""
    """The gate that moved it before it was brought back of late."""


class _Whose(NamedTuple):
    """What must be the same for memories to be one: whom they concern, and who may see them."""

    user_id: str
    tenant: str
    scope: str
    session: str
    sensitive: bool


def plan_merge(
    items: Iterable[MergeItem], agent: str, rules: RetentionRules, *, now_us: int
) -> Plan:
    """Decide which of these memories become one.

    Args:
        items: active memories, each once; the order does not matter.
        agent: whose.
        rules: the home's.
        now_us: the time, microseconds since the epoch.
    """
    plan = Plan("merge", agent, threshold=None)
    before_us = now_us - round(rules.merge.after_seconds * 1_000_000)
    notes: dict[_Whose, list[MergeItem]] = {}
    copies: dict[tuple[Any, ...], list[MergeItem]] = {}
    for item in sorted(items, key=_age):
        gate = _kept_by(item, rules.kinds, now_us, before_us) or _held_back(item, rules)
        if gate:
            plan.kept[gate] = plan.kept.get(gate, 0) + 1
        elif _is_unlimited(item.memory):
            notes.setdefault(_whose(item.memory), []).append(item)
        else:
            copies.setdefault(_said(item.memory), []).append(item)
    for whose in sorted(notes):
        for batch in _batches(notes[whose], rules.merge.batch):
            _make(plan, batch, merged_summary(batch, now_us=now_us, kinds=rules.kinds))
    for group in copies.values():
        # Copies in short-term alone are no reason to keep one for good: rotate has them.
        if len(group) > 1 and any(item.tier == "long" for item in group):
            _make(plan, group, merged_copies(group, now_us=now_us, kinds=rules.kinds))
    plan.decisions.sort(key=lambda decision: decision.start)
    plan.additions.sort(key=lambda made: made.evidence)
    return plan


def merged_summary(items: Sequence[MergeItem], *, now_us: int, kinds: Kinds = KINDS) -> Addition:
    """Make one stable summary of two notes or more, that quotes each whole (rows N7, N8).

    Raises:
        InvalidMemoryError: they are fewer than two, one has no text, or they concern different
            users, tenants or scopes; names which.
    """
    if len({item.id for item in items}) < 2:
        raise InvalidMemoryError("two notes or more can be merged; give their ids")
    ordered = sorted(items, key=_age)
    first = _whose(ordered[0].memory)
    for item in ordered:
        if _whose(item.memory) != first:
            raise InvalidMemoryError(
                f"{ordered[0].id} and {item.id} concern different users, tenants, scopes or "
                "sessions, or one is sensitive: they are not merged"
            )
        if not item.memory.content.strip():
            raise InvalidMemoryError(f"{item.id} has no text to merge")
    quotes = [_quote(item) for item in ordered]
    said = {quote.text: quote for quote in quotes}.values()
    fields = {
        "content": "\n".join("- " + quote.text.replace("\n", "\n  ") for quote in said),
        "kind": SUMMARY,
        "stability": "stable",
        "record_type": SUMMARY,
        "payload": {"statements": [quote.to_json() for quote in quotes]},
    }
    return _addition(ordered, fields, now_us, kinds)


def merged_copies(
    items: Sequence[MergeItem],
    *,
    now_us: int,
    kinds: Kinds = KINDS,
    stands: MergeItem | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Addition:
    """Make one memory of copies: it is the newest as it stands, and lasts as the most lasting.

    Where `stands` is one of them, it has the words of that.

    Fields that are in no table are the newest's, and those of `more`; labels and evidence are those
    of all.
    """
    ordered = sorted(items, key=_age)
    newest = ordered[-1].memory
    content = newest.content if stands is None else stands.memory.content
    fields: dict[str, Any] = {"content": content, **newest.others, **more}
    fields |= {"kind": newest.kind} if newest.kind else {}
    lasting = any(item.memory.stability == PERMANENT for item in ordered)
    stability = PERMANENT if lasting else newest.stability
    fields |= {"stability": stability} if stability else {}
    evidence = list(dict.fromkeys(one for item in ordered for one in item.memory.evidence))
    fields |= {"evidence": evidence} if evidence else {}
    return _addition(ordered, fields, now_us, kinds, time_us=newest.time_us)


def _addition(
    items: Sequence[MergeItem],
    fields: dict[str, Any],
    now_us: int,
    kinds: Kinds,
    *,
    time_us: int | None = None,
) -> Addition:
    memories = [item.memory for item in items]
    ids = [item.id for item in items]
    tags = list(dict.fromkeys(tag for memory in memories for tag in memory.tags))
    spelled: dict[str, Any] = {"ts": seconds(now_us if time_us is None else time_us)}
    spelled |= {"type": "long", **fields}
    spelled |= {"tags": tags} if tags else {}
    spelled["importance"] = max(worth(memory, kinds).importance for memory in memories)
    spelled |= memories[0].scope | inherited(memories)
    spelled |= {"evidence_ids": ids, "supersedes": ids, "promoted_at": now_us // 1_000_000}
    name = derived_id(digest(Memory(spelled)))
    line = compose({**spelled, "id": name})
    return Addition("merge", name, line, tuple(ids), tuple(ids))


def keeps_whole(item: MergeItem, rules: RetentionRules, now_us: int) -> str:
    """Name the gate that keeps a memory from becoming one with what says the same; "" when none.

    What has no kind may: most agents write none, and two that say the same are of no other kind.
    """
    if _is_unlimited(item.memory):
        return "no_ttl"
    kept = _kept_by(item, rules.kinds, now_us, now_us, kindless=True)
    return kept or _held_back(item, rules)


def waits(item: MergeItem, rules: RetentionRules, now_us: int) -> bool:
    """Whether what keeps a memory from becoming one with another passes by itself, or by a hand."""
    return _kept_by(item, rules.kinds, now_us, now_us, kindless=True) in _PASSING


def merged_from(memory: Memory, rules: RetentionRules) -> int | None:
    """From when on a note without a time to live is old enough; None for all that is no such note.

    It is merged then if there is another, and both are active.
    """
    if memory.time_us is None or not _is_unlimited(memory):
        return None
    opens_us = memory.time_us + round(rules.merge.after_seconds * 1_000_000)
    kept = _kept_by(MergeItem("", memory, ""), rules.kinds, opens_us, memory.time_us)
    return None if kept else opens_us


def _make(plan: Plan, items: Sequence[MergeItem], addition: Addition) -> None:
    """Add what is made; its originals in short-term go to the archive, where it cites them."""
    plan.additions.append(addition)
    reason = Reason("merged", note=addition.id)
    plan.decisions += [
        Decision("archive", item.id, item.line, item.start, item.end, reason)
        for item in items
        if item.tier == "short"
    ]


def _kept_by(
    item: MergeItem, kinds: Kinds, now_us: int, before_us: int, *, kindless: bool = False
) -> str:
    """Name the gate that keeps a memory from being merged; "" when none does."""
    memory = item.memory
    when = memory.time_us
    may = kinds.of(memory.kind).merge or (kindless and not memory.kind)
    gates = (
        ("pinned", item.pinned),
        ("restored", item.restored in BROUGHT_BACK),
        ("kind", not may or memory.record_type is not None),
        ("kind", memory.kind == RULE and _is_unlimited(memory)),
        ("too_young", when is None or not memory.content.strip()),  # nobody knows better
        ("future", when is not None and when > now_us),
        ("too_young", when is not None and _is_unlimited(memory) and when > before_us),
        ("expires", expires_us(memory) is not None),
    )
    return next((gate for gate, holds in gates if holds), "")


def _held_back(item: MergeItem, rules: RetentionRules) -> str:
    return HELD_BACK if is_held_back(item.memory, rules.trust) else ""


def _is_unlimited(memory: Memory) -> bool:
    """A volatile note without a time to live (row N8)."""
    return memory.stability == "volatile"


def _whose(memory: Memory) -> _Whose:
    scope = memory.scope
    return _Whose(
        scope.get("user_id", ""),
        scope.get("tenant", ""),
        scope.get("scope", ""),
        scope.get("session", ""),
        memory.sensitivity == SENSITIVE,
    )


def _said(memory: Memory) -> tuple[Any, ...]:
    """What copies have in common: text, kind, whom it concerns, and where compress would put it.

    "Due tomorrow" said on two days are two things, and so is one aim of two projects.
    """
    text = memory.content
    where = {(place.key, place.section) for place in places(memory)}
    moment = memory.time_us if is_of_its_moment(text) else None
    return (
        _whose(memory),
        memory.kind,
        signature(text),
        copy_key(text),
        frozenset(where),
        moment,
        memory.origin,
        memory.trust,
    )


def _batches(items: Sequence[MergeItem], size: int) -> Iterator[list[MergeItem]]:
    """Take notes oldest first, so many at a time and not too long; a single one waits."""
    ahead = iter(items)
    while batch := list(islice(ahead, size)):
        while sum(len(item.memory.content) for item in batch) > BYTES_MAX and len(batch) > 2:
            batch.pop()  # its turn comes when these are merged
        if len(batch) > 1:
            yield batch


def _quote(item: MergeItem) -> Statement:
    text = item.memory.content
    return Statement(text, item.id, (0, len(text)), item.memory.time_us)


def _age(item: MergeItem) -> tuple[int, str]:
    return item.memory.time_us or 0, item.id
