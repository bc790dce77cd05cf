"""What was done by hand, as a job: the same memories leave, the same ones are made."""

from collections.abc import Iterator

from skymem.jobs import forget, removal
from skymem.jobs.forget import Wanted
from skymem.jobs.sight import Sight
from skymem.jobs.table import Job
from skymem.model.plan import Addition, Plan, Reason
from skymem.simulation.steps import ByHand


def job_of(done: ByHand, lines: dict[str, bytes]) -> Job:
    """The job that does it again; `lines` has, by id, what was made."""
    return Job(lambda sight: _plan(sight, done, lines), removal.apply)


def _plan(sight: Sight, done: ByHand, lines: dict[str, bytes]) -> Plan:
    reasons = {str(name): Reason(*why) for _, name, *why in (one[:6] for one in done.trashed)}
    found = forget.plan(sight, Wanted(ids=frozenset(reasons)))
    found.job = done.job
    found.decisions = [
        one._replace(reason=reasons[one.id]) if one.action == "trash" else one
        for one in found.decisions
    ]
    found.additions += _additions(done, lines)
    return found


def _additions(done: ByHand, lines: dict[str, bytes]) -> Iterator[Addition]:
    for what, name, evidence, supersedes in done.added:
        if name in lines:
            yield Addition(what, name, lines[name], tuple(evidence), tuple(supersedes))
