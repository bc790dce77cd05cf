"""The jobs by name, each as its two halves: `plan` reads, `apply` writes (promise 3)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from skymem.jobs import promote, rotate
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.stores.catalog import Catalog
from skymem.stores.shelf import Reading, Shelf

COMBINED: Final = "memory_rotate_check"


class Apply(Protocol):
    """The second half of a job."""

    def __call__(
        self, plan: Plan, work: Workplace, shelf: Shelf, catalog: Catalog, *, reading: Reading
    ) -> str:
        """Carry the plan out and return the run's id."""
        ...


class PlanShort(Protocol):
    """The first half of a job."""

    def __call__(self, shelf: Shelf, reading: Reading) -> Plan:
        """Read and decide."""
        ...


@dataclass(frozen=True, slots=True)
class Job:
    """A job as its two halves."""

    plan: PlanShort
    apply: Apply


JOBS: Final[Mapping[str, Job]] = MappingProxyType(
    {
        "promote": Job(promote.plan, promote.apply),
        "rotate": Job(rotate.plan, rotate.apply),
    }
)


def steps_of(job: str) -> tuple[str, ...]:
    """The jobs a name stands for: `memory_rotate_check` is promote, then rotate (row P3)."""
    return ("promote", "rotate") if job == COMBINED else (job,)
