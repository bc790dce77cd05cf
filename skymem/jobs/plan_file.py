"""A saved plan: what a dry run decided, on disk, for `skymem apply` (promise 3)."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from skymem.errors import StalePlanError, UsageError
from skymem.jobs.detail import Ended
from skymem.jobs.table import JOBS, steps_of
from skymem.model.plan import Plan
from skymem.policy.admit import check_agent_name
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths

_BEGINS = b'{"skymem_plan"'
"""How a plan's file begins, of any version."""


def save_plans(
    path: Path, outcomes: Iterable[Ended], job: str, now: float, *, home: HomePaths
) -> bool:
    """Save what a dry run decided; ids, places and numbers, never text (promise 6).

    Returns whether it decided anything: of a run that failed for all agents there is no plan, nor
    is one that must not be carried out.

    Raises:
        UsageError: something that is no plan is there, or the place is none for a plan.
        DiskError: it can't be written.
    """
    _check_target(path, home)
    ended = (outcome for outcome in outcomes if not outcome.error)
    plans = [plan.to_json() for outcome in ended for plan in outcome.plans]
    if not plans:
        return False
    document = {"skymem_plan": 1, "job": job, "made": now, "plans": plans}
    Files().replace(path, json.dumps(document).encode() + b"\n")
    return True


def _check_target(path: Path, home: HomePaths) -> None:
    """Refuse to write over anything but a plan: a slip must not cost a file of memories.

    Nor among the home's own files, where it would be taken for one of them.
    """
    if not path.parent.is_dir():
        raise UsageError(f"--plan {path}: there is no directory {path.parent}")
    place = path.parent.resolve()
    for own in home.own:
        if place.is_relative_to(own.resolve()):
            raise UsageError(
                f"--plan {path}: {own} is for the home's own files; name another place"
            )
    if not os.path.lexists(path):
        return
    try:
        begins = path.read_bytes()[: len(_BEGINS)] if path.is_file() else b""
    except OSError as error:
        raise UsageError(f"--plan {path}: {error.strerror}") from None
    if path.is_symlink() or begins != _BEGINS:
        raise UsageError(f"--plan {path}: what is there is no plan; name a new file")


def load_plans(path: Path) -> tuple[str, dict[tuple[str, str], Plan]]:
    """Read a saved plan: the job and its plans by (job, agent).

    Raises:
        UsageError: there is no file of that name.
        StalePlanError: the file is not a plan of this version.
        DiskError: it can't be read.
    """
    if path.is_dir() or not os.path.lexists(path):
        what = "that is a directory" if path.is_dir() else "there is no such plan"
        raise UsageError(f"{path}: {what}; save one with: skymem promote --plan FILE")
    with disk_errors(path):
        data = path.read_bytes()
    try:
        document = json.loads(data)
        plans = [Plan.from_json(value) for value in document["plans"]]
        job = str(document["job"])
        steps = {*steps_of(job)} & {*JOBS}
        if document["skymem_plan"] != 1 or not plans or {plan.job for plan in plans} - steps:
            raise ValueError
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise StalePlanError(f"{path} is not a plan this version wrote") from None
    return job, {(plan.job, check_agent_name(plan.agent)): plan for plan in plans}
