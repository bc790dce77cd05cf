"""The jobs by name, each as its two halves: `plan` reads, `apply` writes (promise 3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from skymem.jobs import compress, merge, promote, prune, rotate, share
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.model.plan import Plan
from skymem.model.rules import AgentRules

COMBINED: Final = "memory_rotate_check"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its two halves."""

    plan: Callable[[Sight], Plan]
    """Reads and decides."""

    apply: Callable[[Carrying], str]
    """Carries a plan out and returns the run's name."""

    foresee: Callable[[Sight], None] | None = None
    """Asks, before the job lock is taken, for what must not be waited for under it."""


Table: TypeAlias = Mapping[str, Job]

JOBS: Final[Table] = MappingProxyType(
    {
        "promote": Job(promote.plan, promote.apply, promote.foresee),
        "rotate": Job(rotate.plan, rotate.apply),
        "compress": Job(compress.plan, compress.apply, compress.foresee),
        "merge": Job(merge.plan, merge.apply, merge.foresee),
        "prune": Job(prune.plan, prune.apply),
        "share": Job(share.plan, share.apply),
    }
)


def steps_of(job: str) -> tuple[str, ...]:
    """The jobs a name stands for: `memory_rotate_check` is promote, then rotate (row P3)."""
    return ("promote", "rotate") if job == COMBINED else (job,)


def threshold_of(job: str, rules: AgentRules) -> float | None:
    """The number a job goes by, where it goes by one."""
    if job == "promote":
        return rules.promote_threshold
    return rules.short_term_max_lines if job == "rotate" else None
