"""What says the same as one memory, told before the job that makes one of them (rows P15, X1).

By the job's own policy, over what the engine that runs already tells; none is started for it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from skymem.jobs.duplicating import SEARCH, can_be, undone
from skymem.jobs.nearness import Nearness
from skymem.jobs.sight import Sight
from skymem.jobs.standing_long import StandingLong
from skymem.policy.duplicates import DUPLICATE
from skymem.policy.merge import MergeItem
from skymem.policy.prospects import Alike, Looked
from skymem.policy.uniting import Pair, decided_by, gate_between, united
from skymem.stores.cursors import IndexCursors, index_epoch

if TYPE_CHECKING:
    from skymem.engine.client import Engine

SECONDS: Final = 5.0
"""Somebody waits."""

MATES_MAX: Final = 63
"""Others that are about to be promoted with it, and are compared with it."""

LIKE_ANOTHER: Final = "like_another"
"""The gate of two that say the same, where one of those the other becomes one with does not."""

COMPARED: Final = "compared"
"""The gate of two that were held beside each other before: no job comes back to them."""


class Foreseeing:
    """One memory, before what is near to it."""

    def __init__(
        self,
        sight: Sight,
        long: StandingLong,
        own: MergeItem,
        mates: Collection[MergeItem],
        taken: Collection[str],
    ) -> None:
        """Look at it as merge sees it.

        Args:
            sight: of merge.
            long: what is active in long-term.
            own: the memory; of short-term as it stands there.
            mates: what is promoted together with it.
            taken: ids of what merge makes one of without asking anybody.
        """
        self._sight = sight
        self._own = own
        self._mates = [*mates][:MATES_MAX]
        self._taken = taken
        self._long = long
        self._rules = sight.work.rules

    def look(self, engine: "Callable[[], Engine] | None", why: str, *, now: bool) -> Looked:
        """Ask about it.

        Args:
            engine: connects to the one that runs; None where there is none.
            why: there is none.
            now: whether the next promote takes it; else merge finds what says the same.
        """
        found = self._rules.merge.duplicates
        job = "promote" if self._own.tier == "short" and found.on_promotion else "merge"
        once = self._once(job, now=now)
        if found.likeness is None:
            return Looked(job, once, why="merge: duplicates: likeness: none has nobody look")
        if self._own.id in self._taken:
            return Looked(job, once, why="it becomes one with its copies first")
        if not can_be(self._own.memory):
            return Looked(job, once, why="what it says is blank, too long, or of its moment alone")
        if engine is None:
            return Looked(job, once, why=why)
        failed: list[str] = []
        nearness = Nearness(engine, found.likeness, failed.append)
        near = tuple(self._near(self._pairs(nearness), found.likeness))
        return Looked(job, once, near, found.likeness, failed[0] if failed else "")

    def _once(self, job: str, *, now: bool) -> str:
        if self._own.tier == "short":
            return "" if job == "promote" and now else "promoted"
        sight, name = self._sight, self._own.id
        epoch = index_epoch(sight.work.paths, sight.agent)
        cursors = IndexCursors(sight.catalog, sight.agent, epoch)
        place = sight.catalog.find(sight.agent, [name]).get(name)
        reaches = cursors.reaches(sight.shelf.paths.long_term.name)
        return "" if place is None or place.end <= reaches else "indexed"

    def _pairs(self, nearness: Nearness) -> list[Pair]:
        """What is near to it, and what is near to that."""
        first = self._ask(nearness, [self._own, *self._mates])
        names = {name for pair in first for name in pair[:2]} - {self._own.id}
        beside = self._long.read(sorted(names))
        return first + self._ask(nearness, [*beside.values()])

    def _ask(self, nearness: Nearness, items: Sequence[MergeItem]) -> list[Pair]:
        named = [(one.id, one.memory.searchable) for one in items if can_be(one.memory)]
        return nearness.ask(self._sight.agent, named, seconds=SECONDS)[0] if named else []

    def _items(self, pairs: Sequence[Pair]) -> dict[str, MergeItem]:
        items = {one.id: one for one in (self._own, *self._mates)}
        names = {name for pair in pairs for name in pair[:2]} - items.keys()
        items |= self._long.read(sorted(names))
        return {name: one for name, one in items.items() if name not in self._taken}

    def _near(self, pairs: Sequence[Pair], least: float) -> Iterator[Alike]:
        items, own = self._items(pairs), self._own.id
        best: dict[str, float] = {}
        for one, other, cosine in pairs:
            if own in {one, other} and one != other:
                name = other if one == own else one
                best[name] = max(cosine, best.get(name, -1.0))
        gates = self._gates(items, pairs, best)
        for name in sorted(gates, key=lambda name: (-best[name], name)):
            yield Alike(name, round(best[name], 4), least, gates[name])

    def _gates(
        self, items: Mapping[str, MergeItem], pairs: Sequence[Pair], best: Mapping[str, float]
    ) -> dict[str, str]:
        """Of each that is near, what becomes of the two."""
        own, rules = self._own, self._rules
        now_us, left = self._sight.now_us, undone(self._long.life)
        groups = united(items, pairs, rules, now_us=now_us, undone=left, kept={})
        ids = [{item.id for item in group.items} for group in groups]
        mine = next((one for one in ids if own.id in one), set[str]())
        gates: dict[str, str] = {}
        for name in best.keys() & items.keys():
            gate = gate_between(
                own, items[name], best[name], self._rules, now_us=now_us, undone=left
            )
            if gate == DUPLICATE and name not in mine:
                gate = LIKE_ANOTHER
            gates[name] = gate if gate != DUPLICATE or self._is_asked(name) else COMPARED
        return gates

    def _is_asked(self, other: str) -> bool:
        """Whether a job asks about one of the two."""
        if self._own.tier == "short":
            return True
        life, under = self._long.life, decided_by(self._rules)
        waiting = life.waiting(SEARCH)
        names = (self._own.id, other)
        return any(name in waiting or life.is_fresh(SEARCH, under, name) for name in names)
