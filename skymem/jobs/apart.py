"""Jobs that move no memory from tier to tier, and so make no plan: compact and train."""

from collections.abc import Collection, Sequence
from typing import Any

from skymem.jobs.detail import Ended
from skymem.jobs.workplace import Workplace


def run_apart(
    work: Workplace, job: str, agents: Collection[str], *, dry_run: bool
) -> tuple[dict[str, Any], Sequence[Ended]]:
    """Run one of them for some agents; gives its detail, and what it came to for each."""
    if job == "train":
        from skymem.jobs.train import train

        return train(work, agents, dry_run=dry_run)
    from skymem.jobs.compact import compact

    return compact(work, agents, dry_run=dry_run)
