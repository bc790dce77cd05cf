"""What the jobs decide about one memory: now, and later if nothing else happens (row X1).

Nothing is guessed. Whether a gate is open is read off the plan that its job makes now; from when on
it is, off the same policy, asked about that moment.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from skymem.jobs import compact, compress, prune
from skymem.jobs.foretell_duplicate import Foreseeing
from skymem.jobs.foretell_promotion import Promotion
from skymem.jobs.foretell_removal import Answer, Chain, Removal, below, decided
from skymem.jobs.rehearse import sighted
from skymem.jobs.sight import Sight
from skymem.jobs.standing_long import StandingLong
from skymem.jobs.summarizer import Asked, Extractive
from skymem.jobs.table import JOBS
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry, Plan, Reason
from skymem.policy.due import DAY_US, microseconds
from skymem.policy.merge import MergeItem, merged_from
from skymem.policy.prospects import Exemption, Gate, Looked
from skymem.stores.catalog import Catalog
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection
from skymem.stores.shelf import Kept, Shelf

if TYPE_CHECKING:  # what needs no vectors must not pay for them
    from skymem.engine.client import Engine

MOMENT: Final = 0.001
"""Seconds: a grace is over after its last moment, and not at it."""

DAY_SECONDS: Final = 86_400
NAMED: Final = 5
"""Of what it is merged with, so many are named."""


class Foretelling:
    """One memory, before the jobs. The catalog is caught up; nothing is changed."""

    def __init__(self, work: Workplace, shelf: Shelf, catalog: Catalog, kept: Kept) -> None:
        """Look at what the jobs go by.

        Raises:
            ProtectionDamagedError, DiskError: what is to be read can't be.
        """
        # What leaves is decided without the engine and the summariser: they see to what is said.
        self._work = replace(
            work, engine=None, grouping=None, nearness=None, asked=Asked(Extractive())
        )
        self._shelf, self._catalog, self._kept = shelf, catalog, kept
        self._rules, self._agent = work.rules, shelf.paths.name
        self._now = work.now()
        self._now_us = round(self._now * 1_000_000)
        grace = work.rules.restore_grace_seconds
        self._protection = read_protection(shelf.paths.protected)
        self.pinned = self._protection.is_pinned(kept.id, kept.memory)
        self._protection.forget((), self._now - grace)
        back = self._protection.restored.get(kept.id)
        self.exemption = Exemption(back.gate, back.at, back.at + grace) if back else None
        self._entries: dict[str, Entry] = {}
        """Of the memory and what it supersedes: those in short-term."""

        self._line, self._lines = -1, 0
        with sighted(self._work, shelf, catalog, "explain") as sight:
            self._view = prune.view(sight)
            names = below(kept.id, self._view.superseded)
            self._look(sight, names)
            life = Lifecycle(catalog, self._agent, self._rules.kinds)
            self._stored = {one.id: one for one in life.named(names)}

    @property
    def cited(self) -> bool:
        """Whether a living summary rests on it: then no job removes it."""
        return self._kept.id in self._view.evidence

    def gates(self) -> list[Gate]:
        """The gates before it, in the order jobs ask; none before what is pinned."""
        if self.pinned:
            return []
        if self._kept.tier == "trash":
            return [self._compact()]
        memories = self._view.read([*self._stored.values()])
        chain = Chain(self._kept.id, self._entries, self._stored, memories)
        removal = Removal(self._view, self._rules, self._agent, chain, now_us=self._now_us)
        return [*self._of_short(), *self._merge(), *removal.gates(self._asked("prune"))]

    def alike(self, engine: "Callable[[], Engine] | None", why: str) -> Looked | None:
        """What says the same; None of what is not active, and of another agent's (row P15).

        Args:
            engine: connects to the one that runs; None where there is none.
            why: there is none.
        """
        name, entry = self._kept.id, self._entries.get(self._kept.id)
        taken = {one for made in self._plan("merge").additions for one in made.supersedes}
        going = self._promoted() if entry is not None else []
        mates = [MergeItem(one, found, "short") for one, found in self._read({*going} - {name})]
        with sighted(self._work, self._shelf, self._catalog, "merge") as sight:
            long = StandingLong(sight)
            own = long.read([name]).get(name)
            if entry is not None and long.standings.let(name, self._kept.memory):
                own = MergeItem(name, self._kept.memory, "short", pinned=entry.pinned)
                own = replace(own, restored=entry.restored)
            if own is None:
                return None
            return Foreseeing(sight, long, own, mates, taken).look(engine, why, now=name in going)

    def _promoted(self) -> list[str]:
        return [one.id for one in self._plan("promote").decisions if one.action == "promote"]

    # -- asking the jobs -------------------------------------------------------------------------

    def _look(self, sight: Sight, names: Collection[str]) -> None:
        """Go through short-term once: for its lines, and for those of some memories."""
        for entry in sight.reading.entries():
            if isinstance(entry, Damage) or entry.elsewhere:
                continue
            if entry.id in names and entry.id not in self._entries:
                self._entries[entry.id] = entry
                if entry.id == self._kept.id:
                    self._line = self._lines
            self._lines += 1

    def _plan(self, job: str, at: float | None = None) -> Plan:
        """Have a job plan, now or as if it were later."""
        work = self._work if at is None else replace(self._work, now=lambda: at)
        with sighted(work, self._shelf, self._catalog, job) as sight:
            return JOBS[job].plan(sight)

    def _asked(self, job: str, at: float | None = None) -> Answer:
        plan = self._plan(job, at)
        if plan.over:
            return Answer(None, stopped=True)
        return Answer(decided(plan, self._kept.id), plan.unfinished)

    def _merged_with(self, at: float | None = None) -> list[str]:
        """The others that merge makes one with it; long-term has its originals stay there."""
        for made in self._plan("merge", at).additions:
            if self._kept.id in made.supersedes:
                return [one for one in made.supersedes if one != self._kept.id]
        return []

    def _until(self, job: str) -> int | None:
        """Until when a job leaves it alone, as it was this one's rule that had moved it."""
        if self.exemption is None or self.exemption.job != job:
            return None
        return round(self.exemption.until * 1_000_000)

    def _after_grace(self, job: str) -> int | None:
        """From when on the rule that had moved it would do so again; None when it would not."""
        until_us = self._until(job)
        if until_us is None:
            return None
        at = until_us / 1_000_000 + MOMENT
        again = self._merged_with(at) if job == "merge" else self._asked(job, at).reason
        return until_us if again else None

    # -- short-term ------------------------------------------------------------------------------

    def _of_short(self) -> Iterator[Gate]:
        entry = self._entries.get(self._kept.id)
        if entry is not None:
            yield from self._promote(entry)
            yield self._rotate()
            yield from self._compress(entry)

    def _promote(self, entry: Entry) -> Iterator[Gate]:
        plan = self._plan("promote")
        with sighted(self._work, self._shelf, self._catalog, "promote") as sight:
            promotion = Promotion.of(sight, entry)
        return promotion.gates(plan, lambda: self._after_grace("promote"))

    def _rotate(self) -> Gate:
        answer = self._asked("rotate")
        limit, behind = self._rules.for_agent(self._agent).short_term_max_lines, self._behind
        if answer.reason is not None:
            over = (answer.reason.value, answer.reason.threshold, True, None, answer.reason.note)
            return Gate("line_limit", "rotate", *over)
        until = self._until("rotate")
        kept = "" if until is None or behind <= limit else "restored"
        is_open = answer.unfinished and behind > limit and not kept
        note = "it is the newest line" if behind == 1 else f"{behind:,} lines from the newest on"
        opens = self._after_grace("rotate")
        return Gate("line_limit", "rotate", behind, limit, is_open, opens, note, kept)

    @property
    def _behind(self) -> int:
        return self._lines - self._line

    def _compress(self, entry: Entry) -> Iterator[Gate]:
        memory, rules = entry.memory, self._rules
        if not rules.kinds.of(memory.kind).compress or memory.time_us is None:
            return
        natural = memory.time_us + microseconds(rules.compress.older_than_seconds)
        until = self._until("compress") or 0
        opens = max(natural, until)
        answer = self._asked("compress")
        found = answer.reason or self._compressed(entry, max(opens, self._now_us))
        if found is not None:
            is_open = answer.reason is not None or (answer.unfinished and opens <= self._now_us)
            kept = "restored" if natural <= self._now_us < until else ""
            values = (self._days(memory.time_us), found.threshold, is_open, opens)
            yield Gate(found.gate, "compress", *values, found.note, kept)

    def _compressed(self, entry: Entry, at_us: int) -> Reason | None:
        """What compress does with it, by itself, at a moment at which nothing exempts it."""
        work = replace(self._work, now=lambda: at_us / 1_000_000 + MOMENT)
        exempt, entry.restored = entry.restored, ""
        with sighted(work, self._shelf, self._catalog, "compress") as sight:
            plan = compress.plan_one(sight, entry)
        entry.restored = exempt
        return decided(plan, entry.id)

    # -- merge -----------------------------------------------------------------------------------

    def _merge(self) -> Iterator[Gate]:
        if self._kept.tier not in ("short", "long"):
            return
        memory, others, until = self._kept.memory, self._merged_with(), self._until("merge")
        # Only what is active is merged.
        is_over = self._kept.id in self._view.superseded
        natural = None if is_over else merged_from(memory, self._rules)
        if not others and natural is None and until is None:
            return
        opens, kept = natural, ""
        if not others and until is not None:
            opens, kept = self._after_grace("merge"), "restored"
        elif not others and natural is not None:
            opens = self._with_another(natural)
            kept = "alone" if opens is None or opens > natural else ""
        value = threshold = None
        if natural is not None and memory.time_us is not None:
            value, threshold = self._days(memory.time_us), _days(natural - memory.time_us)
        note = _with(others) if others else "" if value is None else "days"
        yield Gate("merged", "merge", value, threshold, bool(others), opens, note, kept)

    def _with_another(self, opens_us: int) -> int | None:
        """From when on a note that is old enough then has another to be merged with."""
        at_us = max(opens_us, self._now_us)
        if self._merged_with(at_us / 1_000_000 + MOMENT):
            return at_us
        longest = max(self._rules.merge.after_seconds, self._rules.restore_grace_seconds)
        others = self._merged_with(self._now + longest + MOMENT)
        return max(at_us, min(self._mergeable(others))) if others else None

    def _mergeable(self, names: Collection[str]) -> Iterator[int]:
        """From when on each of these notes may be merged: when it is old enough, and not exempt."""
        for name, memory in self._read(names):
            back = self._protection.restored.get(name)
            is_exempt = back is not None and back.gate == "merged"
            until = back.at + self._rules.restore_grace_seconds if back and is_exempt else 0.0
            yield max(merged_from(memory, self._rules) or 0, round(until * 1_000_000))

    def _read(self, names: Collection[str]) -> Iterator[tuple[str, Memory]]:
        """Read active memories of short-term and long-term."""
        places = self._catalog.find(self._agent, [*names])
        yield from ((kept.id, kept.memory) for kept in self._shelf.read(places))
        with sighted(self._work, self._shelf, self._catalog, "merge") as sight:
            for entry in sight.reading.entries():
                if isinstance(entry, Entry) and entry.id in names:
                    yield entry.id, entry.memory

    # -- trash -----------------------------------------------------------------------------------

    def _compact(self) -> Gate:
        name, keep = self._kept.id, self._rules.trash.keep_seconds
        lying = [held.trashed_at for held in self._shelf.trash.all() if held.id == name]
        since = max(lying, default=self._now)
        ends = since + keep
        kept = self._compacted(max(ends + MOMENT, self._now))
        is_open = not kept and ends <= self._now
        opens = None if kept else round(ends * 1_000_000)
        values = (self._days(round(since * 1_000_000)), round(keep / DAY_SECONDS, 3))
        return Gate("trash_age", "compact", *values, is_open, opens, "days", kept)

    def _compacted(self, at: float) -> str:
        """The gate that keeps it in trash at a moment; "" when none does."""
        work = replace(self._work, now=lambda: at)
        _, kept = compact.judged(work, self._shelf, self._catalog)
        return dict(kept).get(self._kept.id, "")

    def _days(self, since_us: int) -> float:
        return _days(self._now_us - since_us)


def _with(others: Sequence[str]) -> str:
    more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
    return f"with {', '.join(others[:NAMED])}{more}"


def _days(span_us: int) -> float:
    return round(span_us / DAY_US, 3)
