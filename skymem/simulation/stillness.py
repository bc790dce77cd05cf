"""Runs at which provably nothing can change need not be run: most of ninety days are such.

A run that decided nothing decides nothing again while nothing came, nothing moved and nothing was
recalled, unless time itself opens a gate. Of the gates that kept something, these do not go by
time; the threshold that falls with age tells when it will have fallen far enough.
"""

import math
from dataclasses import dataclass, field
from typing import Final

from skymem.jobs.detail import Outcome
from skymem.jobs.table import COMBINED
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Entry
from skymem.policy.earning import opens_us, weigh
from skymem.stores.importance_models import models_of
from skymem.stores.meanings import BEGAN_SECONDS, told_at

QUIET_JOBS: Final = ("promote", "rotate", COMBINED)
"""Jobs that look at short-term alone."""

TIMELESS: Final = frozenset(
    {"importance", "pinned", "kind", "never_tag", "never_kind", "instruction", "echo", "line_limit"}
)
"""Gates that keep what they keep, whatever the time."""


@dataclass(slots=True)
class Stillness:
    """Of each agent, whether anything has changed since a job found nothing to do."""

    _changes: dict[str, int] = field(default_factory=dict)
    _quiet: dict[tuple[str, str], tuple[int, float]] = field(default_factory=dict)
    """By agent and job: at which change, and until when, epoch seconds."""

    def changed(self, agent: str) -> None:
        """Something is not as it was."""
        self._changes[agent] = self._changes.get(agent, 0) + 1

    def holds(self, agent: str, job: str, at: float) -> bool:
        """Whether a job would find nothing to do for sure."""
        changes, until = self._quiet.get((agent, job), (-1, 0.0))
        return changes == self._changes.get(agent, 0) and at < until

    def ran(self, work: Workplace, agent: str, job: str, outcomes: list[Outcome]) -> None:
        """Take in what a job did."""
        if any(one.actions or one.additions or one.recovered for one in outcomes):
            self.changed(agent)
            return
        if job not in QUIET_JOBS or any(one.error for one in outcomes):
            return
        gates = {gate for one in outcomes for gate in one.skipped}
        limit = work.rules.for_agent(agent).short_term_max_lines
        if not gates <= TIMELESS or any((one.remaining or 0) > limit for one in outcomes):
            return
        until = math.inf if job == "rotate" else _opens(work, agent)
        self._quiet[agent, job] = (self._changes.get(agent, 0), until)


def _opens(work: Workplace, agent: str) -> float:
    """When a model comes, or the threshold will have fallen to the first memory of short-term.

    Or when a model will have been told something about a memory by the engine.
    """
    rules = work.rules.for_agent(agent)
    models = models_of(work.paths, agent)
    if not rules.promotion.decay.per_day:
        comes = [one.trained_at for one in models]
        for one in models:
            if one.meaning is not None:
                comes += [at - BEGAN_SECONDS for at in told_at(work.paths, one)]
        return min((at for at in comes if at > work.now()), default=math.inf)
    if models:
        return 0.0
    now_us = round(work.now() * 1_000_000)
    opens = math.inf
    for entry in work.shelf(agent).short_entries():
        if isinstance(entry, Entry):
            importance = weigh(entry.memory, work.rules.kinds).importance
            at_us = opens_us(rules, entry.memory, importance)
            if at_us is not None and at_us > now_us:
                opens = min(opens, at_us / 1_000_000)
    return opens
