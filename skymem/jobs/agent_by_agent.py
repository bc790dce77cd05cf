"""What jobs that make no plan have in common: an agent's failure is its own, and told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from skymem.errors import SkymemError
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors


@dataclass(slots=True)
class AgentResult:
    """What one run of such a job did about one agent."""

    agent: str
    job: str = ""
    error: str = ""
    exit_code: int = 0
    plans: list[Plan] = field(default_factory=list)
    """None, ever: what such a job does is counted, not listed."""

    def to_json(self) -> dict[str, Any]:
        """The detail of this agent alone."""
        detail: dict[str, Any] = {"ok": not self.error, **self.counts()}
        if self.error:
            detail |= {"error": self.error, "exit_code": self.exit_code}
        return detail

    def counts(self) -> dict[str, Any]:
        """The keys of that detail that are the job's own."""
        raise NotImplementedError


Result = TypeVar("Result", bound=AgentResult)


def agent_by_agent(
    work: Workplace, each: Sequence[Result], act: Callable[[Catalog, Result], None]
) -> None:
    """Do something about each agent; one's failure is recorded and does not stop the next."""
    with work.catalog() as catalog:
        for one in each:
            try:
                work.check_stop()
                with disk_errors(work.agent_paths(one.agent).directory):
                    act(catalog, one)
            except SkymemError as error:
                one.error, one.exit_code = str(error), error.exit_code


def detail_of(
    work: Workplace,
    job: str,
    each: Sequence[AgentResult],
    numbers: Mapping[str, Any],
    *,
    started: float,
    why: str,
    dry_run: bool,
) -> dict[str, Any]:
    """The detail of such a job: what every job's has, around its own `numbers`.

    Args:
        work: the home.
        job: its name.
        each: what it came to for each agent.
        numbers: what it counts, `acted` and `skipped` among them.
        started: when it began, epoch seconds.
        why: why nothing was done; told where nothing was.
        dry_run: whether it was only asked.
    """
    detail: dict[str, Any] = {
        "ok": not any(one.error for one in each),
        "job": job,
        "started": started,
        "duration_s": round(work.now() - started, 6),
        **numbers,
        "degraded": list(work.degraded),
        "agents": {one.agent: one.to_json() for one in each},
    }
    if dry_run:
        detail["dry_run"] = True
    if not numbers["acted"]:
        detail["why"] = why
    if errors := [f"{one.agent}: {one.error}" for one in each if one.error]:
        detail["error"] = "; ".join(errors)
    return detail
