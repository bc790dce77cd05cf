"""When does a memory leave short-term for a record? When it is old enough (rows R9, R10, X7).

What is compressed goes to the archive, where it stays resolvable, and a statement that quotes it
goes to the profile or to its project's record. Nothing is said twice, and nothing that may cease to
hold: what has expired, is superseded or will expire is archived without a statement.
"""

from collections.abc import Collection, Iterable
from heapq import nsmallest
from typing import Final

from skymem.model.plan import Damage, Decision, Entry, Plan, Reason
from skymem.model.records import statements
from skymem.model.rules import RetentionRules
from skymem.policy.draft import Draft, Item, Likeness
from skymem.policy.likeness import by_words
from skymem.policy.living import Living, Part, Place, RecordKey, places
from skymem.policy.promote import DECISIONS_MAX, leave, quarantine, repeat
from skymem.policy.sentences import lead
from skymem.policy.standing import expires_us
from skymem.policy.summary import LEAD_CHARACTERS, Summarize, extractive
from skymem.policy.trust import is_held_back

MICROSECONDS_PER_DAY: Final = 86_400_000_000

COMPRESSED: Final = "compressed"
NO_SUMMARY: Final = "no_summary"
GATES: Final = (COMPRESSED, NO_SUMMARY)
"""By which a memory leaves: one that was brought back is left alone by both."""


def plan_compress(
    entries: Iterable[Entry | Damage],
    agent: str,
    rules: RetentionRules,
    *,
    now_us: int,
    records: Living,
    lapsed: Collection[str] = frozenset(),
    summarize: Summarize = extractive,
    likeness: Likeness = by_words,
) -> Plan:
    """Decide every line of an agent's short-term, each once, and write what is made of them.

    Args:
        entries: the lines of short-term, in file order.
        agent: whose they are.
        rules: the home's.
        now_us: the time, microseconds since the epoch.
        records: the active profiles and project records.
        lapsed: ids, in any tier, of memories that hold no more: expired, superseded, forgotten.
            They give no statement, and one that a record has of them is taken out of it.
        summarize: makes statements of a group; whatever it gives is checked (row X7).
        likeness: pairs of texts that are alike, by their places; alike ones stand together.
    """
    plan = Plan("compress", agent, threshold=_days(_older_than_us(rules)))
    chosen = _choose(plan, entries, rules, now_us)
    drafts = _Drafts(records, lapsed, rules)
    decided: dict[str, Reason] = {}
    for entry in chosen:
        if entry.id not in decided:
            age = _days(now_us - (entry.memory.time_us or 0))
            gate, note = _take(entry, drafts, lapsed, rules)
            decided[entry.id] = Reason(gate, age, plan.threshold, note)
            plan.decisions.append(leave("archive", entry, decided[entry.id]))
        else:
            plan.decisions.append(repeat(entry, "this run"))
    withheld: dict[str, int] = {}
    for draft in drafts.all():
        addition = draft.finish(now_us, summarize, likeness, withheld)
        if addition is not None:
            plan.additions.append(addition)
    plan.withheld = withheld
    plan.decisions.sort(key=_start)
    return plan


class _Drafts:
    """The records that change: one that nothing happens to is not even read."""

    def __init__(self, records: Living, lapsed: Collection[str], rules: RetentionRules) -> None:
        self._records = records
        self._lapsed = lapsed
        self._rules = rules
        self._drafts: dict[RecordKey, Draft] = {}
        for key, parts in records.parts.items():
            said = (one.source for part in parts for one in statements(part.record))
            if len(parts) > 1 or any(source in lapsed for source in said):
                self._draft(key)

    def add(self, entry: Entry, place: Place) -> bool:
        """Put a memory into its draft; False when it has no room."""
        parts = self._records.parts.get(place.key, ())
        if place.key not in self._drafts and any(_rests_on(part, entry.id) for part in parts):
            return True
        return self._draft(place.key).add(Item(entry.id, entry.memory, place))

    def all(self) -> list[Draft]:
        """Every draft, in the order of whose it is."""
        return [self._drafts[key] for key in sorted(self._drafts)]

    def _draft(self, key: RecordKey) -> Draft:
        draft = self._drafts.get(key)
        if draft is None:
            parts = self._records.parts.get(key, ())
            draft = self._drafts[key] = Draft(key, parts, self._lapsed, rules=self._rules)
        return draft


def _rests_on(part: Part, name: str) -> bool:
    return name in part.memory.evidence_ids


def _choose(
    plan: Plan, entries: Iterable[Entry | Damage], rules: RetentionRules, now_us: int
) -> list[Entry]:
    """Find the lines that leave: the oldest, and of two of the same time the one of lesser id."""
    found: list[Entry] = []
    room = min(rules.compress.items_max, DECISIONS_MAX)
    for entry in entries:
        if isinstance(entry, Damage):
            plan.decisions.append(quarantine(entry))
            continue
        plan.lines += 1
        if entry.elsewhere:
            if len(plan.decisions) < DECISIONS_MAX:
                plan.decisions.append(repeat(entry, entry.elsewhere))
            else:
                plan.unfinished = True
            continue
        gate = _kept_by(entry, rules, now_us)
        if gate:
            plan.kept[gate] = plan.kept.get(gate, 0) + 1
            continue
        found.append(entry)
        if len(found) > 2 * room:
            found = nsmallest(room, found, key=_age)
            plan.unfinished = True
    if len(found) > room:
        plan.unfinished = True
    return nsmallest(room, found, key=_age)


def _kept_by(entry: Entry, rules: RetentionRules, now_us: int) -> str:
    """Name the gate that keeps a memory in short-term; "" when none does."""
    memory = entry.memory
    if entry.pinned:
        return "pinned"
    if entry.restored in GATES:
        return "restored"
    if not rules.kinds.of(memory.kind).compress:
        return "kind"
    if memory.time_us is None:
        return "too_young"  # nobody knows better
    if memory.time_us > now_us:
        return "future"
    return "too_young" if now_us - memory.time_us < _older_than_us(rules) else ""


def _take(
    entry: Entry, drafts: _Drafts, lapsed: Collection[str], rules: RetentionRules
) -> tuple[str, str]:
    """Put a memory into the drafts it belongs to; gives the gate, and where, or why nowhere."""
    memory = entry.memory
    if entry.id in lapsed:
        return NO_SUMMARY, "expired or superseded"
    if expires_us(memory) is not None:
        return NO_SUMMARY, "it expires"
    found = places(memory)
    if not found or is_held_back(memory, rules.trust):
        return NO_SUMMARY, "a command from where none is trusted" if found else "fits no record"
    if lead(memory.content, LEAD_CHARACTERS) is None:
        return NO_SUMMARY, "no text, or no sentence that is short enough"
    taken = [place for place in found if drafts.add(entry, place)]
    if not taken:
        return NO_SUMMARY, "the record is full"
    # Whose record, but not a project's name: a reason goes to the ledger, which holds no text.
    return COMPRESSED, ", ".join(dict.fromkeys(place.key.what for place in taken))


def _older_than_us(rules: RetentionRules) -> int:
    return round(rules.compress.older_than_seconds * 1_000_000)


def _age(entry: Entry) -> tuple[int, str, int]:
    return entry.memory.time_us or 0, entry.id, entry.line


def _start(decision: Decision) -> int:
    return decision.start


def _days(span_us: int) -> float:
    return round(span_us / MICROSECONDS_PER_DAY, 3)
