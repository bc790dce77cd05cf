"""When is something forgotten? When its time is over, or rules say so of what is old or too much.

Rows P18, N6, M9, promise 5. Gates in order: `expired`, `superseded` (asked for), then by judgement
`old_and_unimportant`, `archive_age`, `archive_size`. What can't be known for certain, a time above
all, removes nothing; each line is judged as it is read, not as the catalog remembers it.

What supersedes something never goes before it: else what it had replaced would be back.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from skymem.model.kinds import KINDS, Kinds
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Decision, Entry, Plan, Reason, Stored
from skymem.model.rules import PruneRules
from skymem.policy.archives import ArchiveFile, ended_us, oldest_first
from skymem.policy.due import (
    JUDGEMENTS,
    Due,
    archive_age,
    asked_for,
    due,
    is_history,
    is_lasting,
    microseconds,
)
from skymem.policy.promote import DECISIONS_MAX, leave, quarantine, repeat

READ_AT_ONCE: Final = 500
"""Lines read together: bounds memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneView:
    """What a prune of one agent sees."""

    read: Callable[[Sequence[Stored]], Mapping[str, Memory]]
    """Reads lines where they stand, by id; one that is not there as known is left out: it stays."""

    short: Iterable[Entry | Damage] = ()
    stored: Iterable[Stored] = ()
    """Of long-term and archives: all that is expired, superseded or, by the rules, old. What is
    superseded and left out here would be back once its superseder goes."""

    superseded: Mapping[str, tuple[str, int | None]] = field(default_factory=dict)
    """What took the place of which, and when; what is in no tier any more does no harm."""

    rings: AbstractSet[str] = frozenset()
    """What supersedes itself by way of others (`Chains.rings`): without one of a ring another would
    be taken for its head, so a person has to sort it out."""

    pinned: AbstractSet[str] = frozenset()
    """Pinned by an operator."""

    unpinned: AbstractSet[str] = frozenset()
    """Not pinned whatever their lines say, by an operator."""

    evidence: AbstractSet[str] = frozenset()
    """What active summaries rest on."""

    restored: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """What was brought back: the gate that had removed it, and when it came."""

    recalled: AbstractSet[str] = frozenset()
    """Those recalled most: not removed by judgement."""

    archives: Sequence[ArchiveFile] = ()
    archive_lines: Callable[[str], Iterable[Stored]] = lambda _name: ()
    kinds: Kinds = KINDS


def plan_prune(
    view: PruneView, agent: str, rules: PruneRules, *, now_us: int, grace_us: int
) -> Plan:
    """Decide every line of short-term, and what is due of the other tiers, each once.

    Args:
        view: what there is.
        agent: whose.
        rules: what is pruned; without any nothing is removed by judgement.
        now_us: the time, microseconds since the epoch.
        grace_us: how long what was restored is left alone.

    `Plan.judged` counts what goes by judgement, by tier, and `judged_later` what later rounds take.
    """
    pruning = _Pruning(view, agent, rules, now_us=now_us, grace_us=grace_us)
    pruning.short()
    pruning.stored()
    pruning.archives_by_age()
    pruning.settle()
    pruning.archives_by_size()
    return pruning.finished()


def judged(decision: Decision) -> bool:
    """Whether a decision counts against the loss budget."""
    return decision.action == "trash" and decision.reason.gate in JUDGEMENTS


class _Leaving(NamedTuple):
    tier: str
    decision: Decision


class _Pruning:
    """One plan in the making."""

    def __init__(
        self, view: PruneView, agent: str, rules: PruneRules, *, now_us: int, grace_us: int
    ) -> None:
        self.view = view
        self.rules = rules
        self.now_us = now_us
        self.grace_us = grace_us
        self.plan = Plan("prune", agent)
        self.staying: Counter[str] = Counter()
        """How many of those a memory supersedes directly are there, and still to go."""

        self.met: set[str] = set()
        """What is superseded and there."""

        self.wanted: dict[str, _Leaving] = {}
        """Due, but for what they supersede."""

        self.going: dict[str, _Leaving] = {}
        """In an order in which nothing goes before what it supersedes."""

        self.twins: dict[str, list[Decision]] = {}
        """Further lines in short-term of what is due there."""

        self.kept_short: Counter[str] = Counter()
        self.kept: dict[str, str] = {}
        """Of the other tiers: the gate that kept each."""

        self.archived_bytes = sum(file.bytes for file in view.archives)

    # -- what is due ----------------------------------------------------------------------------

    def short(self) -> None:
        """Look at each line of short-term; nothing of it goes by judgement."""
        for entry in self.view.short:
            if isinstance(entry, Damage):
                self.plan.decisions.append(quarantine(entry))
                continue
            self.plan.lines += 1
            if entry.elsewhere:
                self.plan.decisions.append(repeat(entry, entry.elsewhere))
                continue
            self._meet(entry.id)
            if entry.id in self.wanted:
                self.twins.setdefault(entry.id, []).append(repeat(entry, "this run"))
            else:
                self._short(entry)

    def _short(self, entry: Entry) -> None:
        dues = asked_for(entry.memory, self.view.superseded.get(entry.id), self.rules)
        found = self._decide(entry.id, entry.memory, dues, pinned=entry.pinned)
        if isinstance(found, Reason):
            self.wanted[entry.id] = _Leaving("short", leave("trash", entry, found))
        else:
            self.kept_short[found] += 1

    def stored(self) -> None:
        """Look at what may be due of long-term and archives."""
        for one, memory in self._read(self.view.stored):
            self._stored(one, memory, None)

    def archives_by_age(self) -> None:
        """Look at each line of archives that ended long enough ago."""
        older = self.rules.archive_older_than_seconds
        if older is None or not older > 0:
            return
        after = microseconds(older)
        for file in oldest_first(self.view.archives, self.now_us):
            ended = ended_us(file, self.now_us)
            if ended is None or ended + after > self.now_us:
                continue
            for one, memory in self._read(self.view.archive_lines(file.name)):
                self._stored(one, memory, archive_age(ended, memory, older))

    def _stored(self, one: Stored, memory: Memory, gate: Due | None) -> None:
        superseded = self.view.superseded.get(one.id)
        dues = due(memory, superseded, self.rules, self.view.kinds)
        found = self._decide(one.id, memory, [*dues, gate] if gate else dues)
        if isinstance(found, Reason):
            self._want(one, found)
        else:
            self.kept[one.id] = found

    def _want(self, one: Stored, reason: Reason) -> None:
        place = (-1, one.start, one.end)
        decision = Decision("trash", one.id, *place, reason, one.file)
        self.wanted[one.id] = _Leaving(one.tier, decision)
        self.kept.pop(one.id, None)

    def _read(self, lines: Iterable[Stored]) -> Iterator[tuple[Stored, Memory]]:
        """Read those that nothing is decided about yet."""
        rest = iter(lines)
        while lot := [*islice(rest, READ_AT_ONCE)]:
            for one in lot:
                self._meet(one.id)
            new = [one for one in lot if one.id not in self.wanted and one.id not in self.going]
            memories = self.view.read(new) if new else {}
            for one in new:
                memory = memories.get(one.id)
                if memory is None:
                    self.kept[one.id] = "unreadable"
                elif one.id not in self.wanted and one.id not in self.going:
                    yield one, memory

    def _meet(self, name: str) -> None:
        """Let what supersedes this one wait for it."""
        if name in self.view.superseded and name not in self.met:
            self.met.add(name)
            self.staying[self.view.superseded[name][0]] += 1

    def _decide(
        self, name: str, memory: Memory, dues: Iterable[Due], *, pinned: bool | None = None
    ) -> Reason | str:
        """Say why a memory goes, or the gate that keeps it."""
        coming = [*dues]
        now = next((one for one in coming if one.at_us <= self.now_us), None)
        if now is None:
            if name in self.view.superseded and not coming:
                return "history" if is_history(memory) else "no_time"
            return "too_young" if coming else "no_ttl"
        held = self._held(name, memory, pinned=pinned) or self._spared(name, memory, now.gate)
        return held or now.reason(self.now_us)

    def _held(self, name: str, memory: Memory, *, pinned: bool | None = None) -> str:
        """The gate that keeps a memory from every removal, or ""."""
        view = self.view
        if pinned is None:
            pinned = name in view.pinned or (memory.pinned and name not in view.unpinned)
        if pinned:
            return "pinned"
        if name in view.evidence:
            return "evidence"
        if name in view.rings:
            return "ring"
        if name in view.restored and self.now_us - view.restored[name][1] < self.grace_us:
            return "restored"
        return "future" if (memory.time_us or 0) > self.now_us else ""

    def _spared(self, name: str, memory: Memory, gate: str) -> str:
        """The gate that keeps a memory from being removed by judgement, or ""."""
        if gate not in JUDGEMENTS:
            return ""
        if is_lasting(memory, self.view.kinds):
            return "permanent"
        return "recalled" if name in self.view.recalled else ""

    # -- what goes ------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let go what is due and supersedes nothing that stays."""
        for name in [*self.wanted]:
            if name in self.wanted and not self.staying[name]:
                self._go(name)

    def _go(self, first: str) -> None:
        """Let one go, and with it each that is due and waited for it."""
        free = [first]
        while free:
            name = free.pop()
            one = self.going[name] = self.wanted.pop(name)
            if one.tier == "archive":
                self.archived_bytes -= one.decision.end - one.decision.start
            above = self.view.superseded.get(name)
            if above is None:
                continue
            self.staying[above[0]] -= 1
            if above[0] in self.wanted and not self.staying[above[0]]:
                free.append(above[0])

    def archives_by_size(self) -> None:
        """Let lines of archives go, the oldest archive's first, until all fit."""
        limit = self.rules.archive_bytes_max
        if limit is None or limit <= 0:
            return
        reason = Reason("archive_size", self.archived_bytes, limit, "oldest first")
        while self.archived_bytes > limit:
            gone = len(self.going)
            self._shrink(reason, limit)
            if len(self.going) == gone:
                return  # what is left is held, or waits for what is held

    def _shrink(self, reason: Reason, limit: int) -> None:
        for file in oldest_first(self.view.archives, self.now_us):
            if self.archived_bytes <= limit:
                return
            for one, memory in self._read(self.view.archive_lines(file.name)):
                if self.archived_bytes <= limit:
                    return
                held = self._held(one.id, memory)
                held = held or self._spared(one.id, memory, reason.gate)
                if held or self.staying[one.id]:
                    self.kept[one.id] = held or "supersedes"
                    continue
                self._want(one, reason)
                self._go(one.id)

    # -- the plan -------------------------------------------------------------------------------

    def finished(self) -> Plan:
        """Write down a round of what goes, and what keeps the rest."""
        plan = self.plan
        taken: Counter[str] = Counter()
        later: Counter[str] = Counter()
        for name, (tier, decision) in self.going.items():
            room = len(plan.decisions) < DECISIONS_MAX
            if room:
                plan.decisions += [decision, *self.twins.get(name, ())]
            if judged(decision):
                (taken if room else later)[tier] += 1
            plan.unfinished |= not room
        plan.decisions.sort(key=lambda one: (one.file, one.start))
        plan.judged, plan.judged_later = dict(taken), dict(later)
        waiting = sum(1 + len(self.twins.get(name, ())) for name in self.wanted)
        kept = self.kept_short + Counter(self.kept.values()) + Counter(supersedes=waiting)
        plan.kept = {gate: count for gate, count in kept.items() if count}
        return plan
