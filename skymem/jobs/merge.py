"""Merge: old notes without a time to live, and copies, become one memory (N7, N8, P15, P16)."""

from collections.abc import Iterator
from functools import cache

from skymem.jobs.duplicating import InLongTerm
from skymem.jobs.move import Carrying
from skymem.jobs.rotate import archived, new_archive
from skymem.jobs.sight import Sight
from skymem.jobs.standing_long import StandingLong
from skymem.model.plan import Damage, Decision, Entry, Plan, Reason, Stored
from skymem.policy.alike import word_key
from skymem.policy.merge import MergeItem, plan_merge, waits
from skymem.policy.promote import leave, quarantine, repeat
from skymem.stores.lifecycle import Lifecycle

SECOND_US = 1_000_000


def plan(sight: Sight) -> Plan:
    """Find what may be merged in short-term and long-term, and decide; changes nothing."""
    candidates = Candidates(sight)
    found = plan_merge(candidates.items(), sight.agent, sight.work.rules, now_us=sight.now_us)
    candidates.unite(found)
    candidates.complete(found)
    return found


def foresee(sight: Sight) -> None:
    """Have the engine tell, before the lock is taken, what in long-term is near to what is new.

    Raises:
        InterruptedRunError: a signal came while waiting.
    """
    sight.reading.close()  # it may take a minute, and no file is to be held open so long
    life = Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds)
    # Where nothing is new, nobody asks.
    InLongTerm(sight, life, cache(lambda: StandingLong(sight))).ask()


def apply(carrying: Carrying) -> str:
    """Append what is made, write a new archive, then take the originals out of short-term."""
    return carrying.carry_out(
        archived, lambda lines: new_archive(carrying.shelf, lines, carrying.now)
    )


class Candidates:
    """The memories of one agent that may be merged: few, of however many there are."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._long = StandingLong(sight)
        self._life, self._standings = self._long.life, self._long.standings
        self._leaving: list[Entry | Damage] = []
        """Damage, and repeats: every job takes them out of short-term."""

        self._merged: list[Entry] = []
        """Superseded lines of short-term: a merge that was killed may have left them there."""

        self._once: set[str] = set()
        self._twins: list[Entry] = []
        """Exact repeats of candidates: each leaves with its twin (design §3)."""

        self._waits: set[str] = set()
        """Copies in long-term that are kept apart for a reason that passes."""

        self._lines = 0

    def items(self) -> list[MergeItem]:
        """Each once, in no order."""
        short = list(self._short())
        stored = {one.id: one for one in self._stored()}
        for item in short:
            stored |= {one.id: one for one in self._in_long(item)}
        found = self._long.read([*stored])
        self._waits |= self._long.may_stand_again(stored.keys() - found.keys())
        self._waits |= {item.id for item in found.values() if self._has_to_wait(item)}
        return [*short, *found.values()]

    def unite(self, plan: Plan) -> None:
        """Add what becomes one by its meaning, as far as the engine tells it."""
        InLongTerm(self._sight, self._life, lambda: self._long).unite(plan)

    def complete(self, plan: Plan) -> None:
        """Add what leaves short-term whatever is merged, and note a search that found nothing."""
        plan.lines = self._lines
        plan.decisions += [
            quarantine(one) if isinstance(one, Damage) else repeat(one, one.elsewhere)
            for one in self._leaving
        ]
        plan.decisions += self._left_behind()
        leaving = {decision.id for decision in plan.decisions if decision.action == "archive"}
        plan.decisions += [repeat(one, "this run") for one in self._twins if one.id in leaving]
        plan.decisions.sort(key=lambda decision: decision.start)
        if not plan.additions:
            self._life.note_searched("merge")
            self._life.set_waiting("merge", frozenset(self._waits))

    def _short(self) -> Iterator[MergeItem]:
        for entry in self._sight.reading.entries():
            if isinstance(entry, Damage):
                self._leaving.append(entry)
                continue
            self._lines += 1
            if entry.elsewhere:
                self._leaving.append(entry)
            elif entry.id in self._once:
                self._twins.append(entry)
            elif self._standings.of_memory(entry.id, entry.memory) == "superseded":
                self._once.add(entry.id)
                self._merged.append(entry)
            elif self._standings.let(entry.id, entry.memory):
                place = (entry.start, entry.end, entry.line)
                item = MergeItem(
                    entry.id, entry.memory, "short", *place, entry.pinned, entry.restored
                )
                if self._is_candidate(item):
                    self._once.add(entry.id)
                    yield item

    def _left_behind(self) -> Iterator[Decision]:
        """Archive what an earlier merge made something of and was killed before it took it away."""
        chains = self._standings.chains
        above = {entry.id: chains.superseded_by(entry.id) or "" for entry in self._merged}
        places = self._sight.catalog.find(self._sight.agent, sorted({*above.values()}))
        cites = {
            kept.id: {*kept.memory.evidence_ids} & {*kept.memory.supersedes}
            for kept in self._sight.shelf.read(places)
            if kept.tier == "long"
        }
        for entry in self._merged:
            by = above[entry.id]
            if entry.id in cites.get(by, ()) and not entry.pinned and entry.restored != "merged":
                yield leave("archive", entry, Reason("merged", note=by))

    def _is_candidate(self, item: MergeItem) -> bool:
        """Whether a line of short-term is a volatile note, or says what long-term has."""
        memory = item.memory
        if not memory.content or not self._sight.work.rules.kinds.of(memory.kind).merge:
            return False
        return memory.stability == "volatile" or bool(self._in_long(item))

    def _in_long(self, item: MergeItem) -> list[Stored]:
        same = self._life.same_words(word_key(item.memory.content))
        return [one for one in same if one.tier == "long"]

    def _stored(self) -> Iterator[Stored]:
        """Of long-term: old notes without a time to live, and texts that stand there twice."""
        after = self._sight.work.rules.merge.after_seconds
        before = self._sight.now_us - round(after * SECOND_US)
        yield from (one for one in self._life.unlimited(before) if one.tier == "long")
        if not self._life.is_searched("merge"):
            yield from self._life.repeated()
        elif waiting := self._life.waiting("merge"):
            found = self._long.read(sorted(waiting))
            self._waits |= self._long.may_stand_again(waiting - found.keys())
            for item in found.values():
                yield from self._in_long(item)

    def _has_to_wait(self, item: MergeItem) -> bool:
        return waits(item, self._sight.work.rules, self._sight.now_us)
