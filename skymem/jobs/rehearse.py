"""Planning without doing: dry runs, and saved plans held against what would be planned now.

A rehearsal reads what the run itself would have in hand: short-term, and what drains and the flat
file still hold for it (promise 3).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from skymem.errors import InterruptedRunError, LossBudgetError, SkymemError, StalePlanError
from skymem.jobs.detail import Outcome
from skymem.jobs.sight import Sight
from skymem.jobs.table import JOBS, Job, Table
from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.model.plan import Plan
from skymem.stores.catalog import Catalog
from skymem.stores.lines import ContentHash
from skymem.stores.protection import read_protection
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.tiers import tier_states


def check_fit(
    work: Workplace,
    catalog: Catalog,
    steps: Sequence[str],
    plans: Mapping[tuple[str, str], Plan],
    *,
    asking: bool,
) -> None:
    """Refuse all saved plans, before any is applied, if one would not be made again today.

    Those that fit are about to be applied when `asking`: then the engine is asked what it told
    their rehearsal, the summariser is asked for all, and they are held against the files again,
    where what was appended meanwhile may change no decision.
    """
    _foresee(work, catalog, plans, "promote" if asking and "promote" in steps else "")
    for saved, fresh in _again(work, catalog, steps, plans):
        if saved.inputs != fresh.inputs or not same_decisions(saved, fresh):
            raise StalePlanError(difference(saved, fresh))
    if not asking or "compress" not in steps or work.rules.compress.summarizer is None:
        return
    _foresee(work, catalog, plans, "compress")
    for saved, fresh in _again(work, catalog, steps, plans):
        if not same_decisions(saved, fresh):
            raise StalePlanError(difference(saved, fresh))


def _foresee(
    work: Workplace, catalog: Catalog, plans: Mapping[tuple[str, str], Plan], job: str
) -> None:
    for agent in _agents(plans) if job else ():
        foresee(work, catalog, agent, {job: JOBS[job]})


def _again(
    work: Workplace,
    catalog: Catalog,
    steps: Sequence[str],
    plans: Mapping[tuple[str, str], Plan],
) -> Iterator[tuple[Plan, Plan]]:
    """Give each saved plan with the one that would be made now."""
    for agent in _agents(plans):
        outcomes = [Outcome(step, agent, 0) for step in steps if (step, agent) in plans]
        rehearse(work, catalog, agent, outcomes)
        for outcome in outcomes:
            yield plans[outcome.job, agent], outcome.plans[0]


def _agents(plans: Mapping[tuple[str, str], Plan]) -> list[str]:
    return sorted({name for _, name in plans})


def rehearse(
    work: Workplace, catalog: Catalog, agent: str, outcomes: list[Outcome], table: Table = JOBS
) -> None:
    """Plan each step as if the one before had been carried out."""
    shelf = work.shelf(agent)
    jobs = {outcome.job: table[outcome.job] for outcome in outcomes}
    plans = work.ask(catalog, shelf, lambda: _plan_steps(work, shelf, catalog, jobs))
    for outcome, plan in zip(outcomes, plans, strict=True):
        outcome.add(plan)
        outcome.plans.append(plan)
        if plan.over:  # without the hint, which is to rehearse it
            outcome.fail(plan.over, LossBudgetError.exit_code, LossBudgetError(plan.over))


def _plan_steps(
    work: Workplace, shelf: Shelf, catalog: Catalog, jobs: Mapping[str, Job]
) -> list[Plan]:
    gone: frozenset[int] = frozenset()
    plans: list[Plan] = []
    waiting = _waiting(work, shelf)
    for name, job in jobs.items():
        with _opened(work, shelf, catalog, name) as reading:
            reading.pass_over = gone
            reading.waiting = waiting
            plan = job.plan(Sight(work, shelf, catalog, reading))
            plan.inputs = reading.inputs(surroundings(work, shelf, waiting))
        plans.append(plan)
        gone |= {decision.start for decision in plan.decisions if not decision.file}
    return plans


def foresee(work: Workplace, catalog: Catalog, agent: str, jobs: Mapping[str, Job]) -> None:
    """Let jobs ask others about what they will find, while no lock is held (design §4).

    Whatever is wrong with the files is left to the run itself, which may mend it.

    Raises:
        InterruptedRunError: a signal came while waiting.
    """
    if work.engine is None and work.rules.compress.summarizer is None:
        return
    shelf = work.shelf(agent)
    for name, job in jobs.items():
        if job.foresee is None:
            continue
        looking = partial(_look_ahead, work, shelf, catalog, name, job.foresee)
        try:
            work.ask(catalog, shelf, looking)
        except InterruptedRunError:
            raise
        except SkymemError:
            continue


def _look_ahead(
    work: Workplace, shelf: Shelf, catalog: Catalog, name: str, look: Callable[[Sight], None]
) -> None:
    with sighted(work, shelf, catalog, name) as sight:
        look(sight)


@contextmanager
def sighted(work: Workplace, shelf: Shelf, catalog: Catalog, job: str) -> Iterator[Sight]:
    """See what a run of a job would see, with what waits for short-term; nothing is changed."""
    with _opened(work, shelf, catalog, job) as reading:
        reading.waiting = _waiting(work, shelf)
        yield Sight(work, shelf, catalog, reading)


def _waiting(work: Workplace, shelf: Shelf) -> list[tuple[Path, int]]:
    """What drains and the flat file still hold for short-term, each from where."""
    waiting = shelf.drains.tails()
    flat = work.paths.flat_short_term
    if shelf.paths.name == DEFAULT_AGENT and flat.exists():
        waiting.append((flat, 0))
    return waiting


def _opened(work: Workplace, shelf: Shelf, catalog: Catalog, job: str) -> "closing[Reading]":
    return closing(open_reading(work, shelf, catalog, job))


BY_NUMBERS: Final = ("promote", "rotate", "fsck", "undo")
"""Jobs that look at no text; what they move has its secrets taken out as it moves."""


def open_reading(work: Workplace, shelf: Shelf, catalog: Catalog, job: str) -> Reading:
    """Open short-term for one pass of a job."""
    reading = Reading(shelf, catalog, torn_before=work.now() - work.rules.torn_after_seconds)
    reading.protection = read_protection(shelf.paths.protected)
    reading.protection.forget((), work.now() - work.rules.restore_grace_seconds)
    reading.texts = job not in BY_NUMBERS
    reading.progress = partial(work.progress, f"{job} {shelf.paths.name}")
    return reading


def surroundings(work: Workplace, shelf: Shelf, waiting: Sequence[tuple[Path, int]] = ()) -> str:
    """Hash what a plan depends on beside short-term: the rules and the other tiers' sizes."""
    content = ContentHash()
    content.update(repr(work.rules).encode())
    for name, status in tier_states(shelf.paths).items():
        content.update(f"{name} {status.st_size}\n".encode())
    for path, start in waiting:
        content.update(f"{path.name} {path.stat().st_size - start}\n".encode())
    return content.hexdigest()


def same_decisions(saved: Plan, plan: Plan) -> bool:
    """Whether what would be decided now is what was saved; an earlier step moved the places.

    By what happens to which memory and by which gate: an age grows, and a new memory's id is its
    own each time. The thresholds are in the rules, and those in the plan's inputs.
    """

    def told(one: Plan) -> list[Any]:
        decided = [
            (decision.action, decision.id, decision.reason.gate) for decision in one.decisions
        ]
        return [*decided, *sorted(added.basis() for added in one.additions)]

    return told(saved) == told(plan)


def difference(saved: Plan, found: Plan) -> str:
    """Say what a saved plan no longer fits."""
    old, new = saved.inputs, found.inputs
    if old == new:
        return f"what of {saved.agent} is due has changed"
    if old is not None and new is not None and old[:5] == new[:5]:
        return f"the rules or the other tiers of {saved.agent} have changed"
    return f"short-term of {saved.agent} has changed"
