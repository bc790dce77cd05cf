"""The gates that promote one memory, or keep it: each as its value against its threshold (X1)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from skymem.jobs.echoing import Echoing
from skymem.jobs.foretell_removal import decided
from skymem.jobs.knowing import known_of, now_of
from skymem.jobs.sight import Sight
from skymem.model.kinds import Kinds
from skymem.model.plan import Entry, Plan
from skymem.model.rules import AgentRules
from skymem.policy.earning import (
    DECIMALS,
    Known,
    Verdict,
    earned,
    fallen,
    opens_us,
    recall_reason,
    threshold_at,
    weigh,
)
from skymem.policy.promote import keeps
from skymem.policy.prospects import Gate

_JOB = "promote"


@dataclass(frozen=True, slots=True)
class Promotion:
    """How promote sees one memory of short-term."""

    entry: Entry
    rules: AgentRules
    kinds: Kinds
    known: Known
    now_us: int
    verdict: Verdict
    kept: str
    """The gate that keeps it, by itself; "" when none does."""

    @classmethod
    def of(cls, sight: Sight, entry: Entry) -> "Promotion":
        """Ask the policy about this one alone."""
        rules = sight.work.rules
        own, kinds = rules.for_agent(sight.agent), rules.kinds
        known, now_us = known_of(sight)(entry), now_of(sight.work, own)
        verdict = earned(entry.memory, own, kinds, known, now_us=now_us)
        kept = keeps(entry, verdict, kinds, rules.trust, Echoing(sight).of)
        return cls(entry, own, kinds, known, now_us, verdict, kept)

    def gates(self, plan: Plan, after_grace: Callable[[], int | None]) -> Iterator[Gate]:
        """The gate it goes by, if that is another, and how its importance and its recalls stand.

        Args:
            plan: what promote would do now.
            after_grace: from when on it is promoted that was brought back of late.
        """
        name, reason = self.entry.id, self.verdict.reason
        found = decided(plan, name)
        is_open = found is not None or (plan.unfinished and not self.kept)
        waits = plan.held.get(name)
        kept = waits.gate if waits is not None else self.kept
        by = "" if reason is None else reason.gate
        opens = after_grace() if kept == "restored" else None
        if by.startswith("always"):
            yield Gate(by, _JOB, None, None, is_open, opens, "", kept)
        if waits is not None:
            about = (waits.value, waits.threshold, False, None, waits.note)
            yield Gate(waits.gate, _JOB, *about)
        yield self._importance(kept, opens, is_open=is_open and by == "importance")
        if self.known.recalled.times and self.rules.promotion.recalled.times:
            told = recall_reason(self.rules, self.known.recalled)
            values = (told.value, told.threshold, is_open and by == "recalled")
            yield Gate("recalled", _JOB, *values, None, told.note, kept if by == "recalled" else "")

    def _importance(self, kept: str, opens: int | None, *, is_open: bool) -> Gate:
        memory = self.entry.memory
        importance, source = weigh(memory, self.kinds, self.known)
        threshold = threshold_at(self.rules, memory, self.now_us)
        if kept == "importance":
            opens, kept = opens_us(self.rules, memory, importance), ""
        elif not is_open and self.verdict.reason is not None:
            by_it = self.verdict.reason.gate == "importance"
            kept = kept if by_it else ""
            opens = opens if by_it else None
        note = source + fallen(self.rules, memory, threshold, self.now_us)
        values = (importance, round(threshold, DECIMALS), is_open, opens, note)
        return Gate("importance", _JOB, *values, kept)
