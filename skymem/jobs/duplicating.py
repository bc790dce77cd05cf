"""What says the same in other words becomes one: in long-term, and on its way there (row P15).

What stands for it is written before anything moves, and names all it stands for; so a kill leaves
each where it was or twice, and undo takes it back. Superseded lines stay in long-term as history.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from skymem.jobs.nearness import PROMOTION_SECONDS, WAIT_SECONDS, Nearness
from skymem.jobs.sight import Sight
from skymem.jobs.standing_long import StandingLong
from skymem.jobs.taking import taken_from_short
from skymem.model.memory import Memory
from skymem.model.plan import Decision, Plan, Reason
from skymem.model.rules import RetentionRules
from skymem.policy.alike import is_of_its_moment
from skymem.policy.duplicates import DUPLICATE, TEXT_CHARACTERS_MAX
from skymem.policy.merge import MergeItem, keeps_whole, waits
from skymem.policy.uniting import Pair, United, decided_by, note_united, reason_of, united
from skymem.stores.cursors import IndexCursors, index_epoch
from skymem.stores.lifecycle import Lifecycle

SEARCH: Final = "duplicates"
"""What the catalog knows the search through long-term by."""

PROMOTED_MAX: Final = 2000
"""Asked about in one promote: what is beyond them is looked at by merge."""

READ_AT_ONCE: Final = 500
NEW_MAX: Final = 20_000
"""Of long-term in one merge, which goes on there with the next run."""

Read = Callable[[Sequence[str]], dict[str, MergeItem]]
"""Gives those of some memories of long-term that are active."""


def nearness_of(sight: Sight) -> Nearness | None:
    """Who is asked in this run; nobody where the rules want none."""
    work = sight.work
    least = work.rules.merge.duplicates.likeness
    if least is None:
        return None
    if work.nearness is None:
        work.nearness = Nearness(work.engine, least, work.degrade)
    return work.nearness


def can_be(memory: Memory) -> bool:
    """Whether a memory may have a duplicate at all: what is asked about costs."""
    text = memory.content
    return bool(text.strip()) and len(text) <= TEXT_CHARACTERS_MAX and not is_of_its_moment(text)


class InLongTerm:
    """The search through long-term: what is new in it, beside all of it.

    What was kept apart for a reason that passes (a pin, a grace, a clock, a line of short-term that
    supersedes it) is as good as new once that has passed.
    """

    def __init__(self, sight: Sight, life: Lifecycle, long: Callable[[], StandingLong]) -> None:
        """Look at long-term; `long` is called where anything is to be looked at, and not before."""
        self._sight = sight
        self._life = life
        self._long = long
        self._under = decided_by(sight.work.rules)

    def unite(self, plan: Plan) -> None:
        """Add to a plan of merge what becomes one, where its copies do not do so already."""
        nearness = nearness_of(self._sight)
        if nearness is None:
            return
        asked = self.ask()
        taken = {name for made in plan.additions for name in made.supersedes}
        names = {name for pair in asked for name in pair[:2]} - taken
        items = self._long().read(sorted(names)) if names else {}
        rules = self._sight.work.rules
        kept: dict[str, int] = {}
        groups = united(
            items, asked, rules, now_us=self._sight.now_us, undone=undone(self._life), kept=kept
        )
        note_united(plan, groups, rules)
        for gate, count in kept.items():
            plan.kept[gate] = plan.kept.get(gate, 0) + count
        if not groups and not taken:
            self._note_gone_through(nearness, names, items)

    def _note_gone_through(
        self, nearness: Nearness, names: set[str], items: Mapping[str, MergeItem]
    ) -> None:
        agent = self._sight.agent
        if end := nearness.ends[agent]:
            self._life.note_gone_through(SEARCH, self._under, end)
        self._life.set_waiting(SEARCH, nearness.waits[agent] | self._wait(names, items))

    def ask(self) -> list[Pair]:
        """What is near to what is new, asked once in a run."""
        nearness, agent = nearness_of(self._sight), self._sight.agent
        if nearness is None:
            return []
        if ("merge", agent) not in nearness.told:
            nearness.told["merge", agent], nearness.ends[agent] = self._ask(nearness)
        return nearness.told["merge", agent]

    def _ask(self, nearness: Nearness) -> tuple[list[Pair], int]:
        """Ask about what is new; gives the pairs, and up to where in long-term it was asked."""
        sight = self._sight
        waiting = self._life.waiting(SEARCH)
        nearness.waits[sight.agent] = waiting
        if not nearness.is_there:
            return [], 0
        named, still = self._looked_at(sorted(waiting))
        indexed = _cursors_of(sight).reaches(sight.shelf.paths.long_term.name)
        fresh = self._life.fresh(SEARCH, self._under, indexed, NEW_MAX)
        places = {one.id: one for one in fresh}
        new, held = self._looked_at([name for name in places if name not in named])
        named |= new
        pairs, asked = nearness.ask(sight.agent, [*named.items()], seconds=WAIT_SECONDS)
        left = [*named][asked:]
        nearness.waits[sight.agent] = frozenset(still | held | waiting.intersection(left))
        stands = [places[name].start for name in left if name in places]
        return pairs, min(stands) if stands else fresh[-1].end if fresh else 0

    def _looked_at(self, names: Sequence[str]) -> tuple[dict[str, str], set[str]]:
        """The texts of those that may have duplicates, and who waits until it may."""
        named: dict[str, str] = {}
        apart: set[str] = set()
        for start in range(0, len(names), READ_AT_ONCE):
            lot = names[start : start + READ_AT_ONCE]
            items = self._long().read(lot)
            apart |= self._wait(lot, items)
            named |= {
                name: items[name].memory.searchable
                for name in lot
                if name in items and self._may(items[name])
            }
        return named, apart

    def _wait(self, names: Iterable[str], items: Mapping[str, MergeItem]) -> set[str]:
        """Those of some ids that may have duplicates only once something has passed."""
        now_us, rules = self._sight.now_us, self._sight.work.rules
        held = {name for name, one in items.items() if waits(one, rules, now_us)}
        away = {name for name in names if name not in items}
        return held | (self._long().may_stand_again(away) if away else set())

    def _may(self, item: MergeItem) -> bool:
        rules, now_us = self._sight.work.rules, self._sight.now_us
        return can_be(item.memory) and not keeps_whole(item, rules, now_us)


def _cursors_of(sight: Sight) -> IndexCursors:
    epoch = index_epoch(sight.work.paths, sight.agent)
    return IndexCursors(sight.catalog, sight.agent, epoch)


def undone(life: Lifecycle) -> Callable[[str, str], bool]:
    """Tells whether two became one, and that lies in trash: then they are left apart."""
    removed = [frozenset(targets) for targets in life.removed().values()]
    return lambda one, other: any({one, other} <= targets for targets in removed)


class OnPromotion:
    """What promote is about to bring to long-term, beside what is there and beside each other."""

    def __init__(self, sight: Sight, life: Lifecycle, read: Read) -> None:
        self._sight = sight
        self._life = life
        self._read = read

    def unite(self, plan: Plan, superseded_by: Callable[[str], str | None]) -> None:
        """Have what says the same leave for the archive, where what stands for it cites it."""
        nearness = nearness_of(self._sight)
        if nearness is None:
            return
        chosen = {one.id: one for one in plan.decisions if self._is_here(one)}
        self._leave_behind(plan, chosen, superseded_by)
        pairs = nearness.told.get(("promote", self._sight.agent))
        if pairs is None:
            pairs = self._ask(nearness, list(chosen.values())[:PROMOTED_MAX])
            nearness.told["promote", self._sight.agent] = pairs
        if pairs:
            self._decide(plan, chosen, pairs)

    def _is_here(self, one: Decision) -> bool:
        """Whether it is promoted from short-term itself: what is still on its way comes later."""
        return one.action == "promote" and one.end <= self._sight.reading.consumed

    def _leave_behind(
        self,
        plan: Plan,
        chosen: dict[str, Decision],
        superseded_by: Callable[[str], str | None],
    ) -> None:
        """Archive what a run made something of, and was killed before it took it away."""
        above = {name: by for name in chosen if (by := superseded_by(name)) is not None}
        for by, kept in self._read(sorted({*above.values()})).items():
            cited = {*kept.memory.evidence_ids} & {*kept.memory.supersedes}
            for name in [one for one in above if above[one] == by and one in cited]:
                del chosen[name]
                _archive(plan, {name: Reason(DUPLICATE, note=by)})

    def _ask(self, nearness: Nearness, chosen: Sequence[Decision]) -> list[Pair]:
        if not nearness.is_there:
            return []
        named = [
            (decision.id, memory.searchable)
            for memory, decision in self._memories(chosen)
            if can_be(memory)
        ]
        pairs, _ = nearness.ask(self._sight.agent, named, seconds=PROMOTION_SECONDS)
        return pairs

    def _memories(self, chosen: Sequence[Decision]) -> list[tuple[Memory, Decision]]:
        """Read what is promoted, without its secrets."""
        shelf = self._sight.shelf
        taken = taken_from_short(shelf, self._sight.reading, chosen)
        return [(shelf.guard.clean(raw, memory), decision) for raw, memory, decision in taken]

    def _decide(self, plan: Plan, chosen: dict[str, Decision], pairs: Sequence[Pair]) -> None:
        rules = self._sight.work.rules
        names = {name for pair in pairs for name in pair[:2]}
        here = [chosen[name] for name in sorted(names & chosen.keys())]
        items = self._read(sorted(names - chosen.keys()))
        for memory, one in self._memories(here):
            items[one.id] = MergeItem(one.id, memory, "short", one.start, one.end, one.line)
        kept: dict[str, int] = {}
        now_us = self._sight.now_us
        found = united(items, pairs, rules, now_us=now_us, undone=undone(self._life), kept=kept)
        groups = [one for one in found if any(item.tier == "short" for item in one.items)]
        note_united(plan, groups, rules)
        _archive(plan, _reasons(groups, chosen, rules))


def _reasons(
    groups: Sequence[United], chosen: dict[str, Decision], rules: RetentionRules
) -> dict[str, Reason]:
    """Why each leaves short-term: where all of a group are new, its newest is what is promoted."""
    reasons: dict[str, Reason] = {}
    for group in groups:
        new = [item.id for item in group.items if item.tier == "short"]
        reasons |= {name: reason_of(group, name, rules) for name in new}
        if len(new) == len(group.items):
            own = chosen[group.stands.id].reason
            reasons[group.stands.id] = own._replace(note=reasons[group.stands.id].note)
    return reasons


def _archive(plan: Plan, reasons: dict[str, Reason]) -> None:
    plan.decisions = [
        one._replace(action="archive", reason=reasons[one.id])
        if one.action == "promote" and one.id in reasons
        else one
        for one in plan.decisions
    ]
