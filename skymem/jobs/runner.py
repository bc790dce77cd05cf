"""Running jobs over agents: by hand, by schedule and from a saved plan alike (promise 3).

For each agent, under its job lock: finish what was left, take over drains, then plan and apply
until nothing is left to decide. One agent's failure is recorded and does not stop the next.
"""

import sqlite3
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from skymem.errors import LossBudgetError, SkymemError, StalePlanError
from skymem.jobs import erase_end, index
from skymem.jobs.canary import WATCHED, Canaries, CanaryLostError
from skymem.jobs.clock import check_clock
from skymem.jobs.detail import Frame, Outcome, job_detail, together
from skymem.jobs.move import Carrying
from skymem.jobs.prepare import ready, recovered, settle
from skymem.jobs.rehearse import (
    check_fit,
    difference,
    foresee,
    open_reading,
    rehearse,
    same_decisions,
    surroundings,
)
from skymem.jobs.share import awaited
from skymem.jobs.sight import Sight
from skymem.jobs.table import COMBINED, JOBS, Job, Table, steps_of, threshold_of
from skymem.jobs.undo import undo
from skymem.jobs.words import keep_words
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import rag_pending
from skymem.stores.files import disk_errors
from skymem.stores.rewrite import TierChangedError
from skymem.stores.shelf import Shelf
from skymem.stores.swap import ShortTermChangedError
from skymem.stores.tiers import tier_names

Plans: TypeAlias = Mapping[tuple[str, str], Plan]

# Somebody editing short-term by hand between plan and swap makes us plan again, this often.
EDITED_TRIES: Final = 3


def run(
    work: Workplace,
    job: str,
    agents: Sequence[str],
    *,
    dry_run: bool = False,
    plans: Plans | None = None,
    table: Table = JOBS,
) -> tuple[dict[str, Any], list[Outcome]]:
    """Run a job, or `memory_rotate_check`, for each agent.

    Args:
        work: the home.
        job: one of `JOBS` or `memory_rotate_check`.
        agents: whom for.
        dry_run: plan only; in a workplace that rehearses nothing at all is written here.
        plans: saved plans by (job, agent), to apply instead of planning anew.
        table: the jobs by name; those that a person asks for about certain memories come with one
            of their own.

    Returns:
        The job's detail, and the outcomes it was made from.

    Raises:
        StalePlanError: what a saved plan was made from has changed; nothing was applied.

    A signal ends it between two agents: the rest are told as stopped, and `exit_code` is 130.
    """
    steps = steps_of(job)
    started, clock = work.now(), time.monotonic()
    outcomes: list[Outcome] = []
    with work.catalog() as catalog:
        if plans is not None:
            check_fit(work, catalog, steps, plans, asking=not dry_run)
        doing = partial(_run_agent, work, catalog, dry_run=dry_run, plans=plans, table=table)
        for agent in agents:
            outcomes.extend(doing(agent, steps))
        if not dry_run:
            erase_end.finish(work, catalog, agents)
            keep_words(work, catalog, agents)
            index.follow_up(work, catalog, agents)
        pending = sum(rag_pending(work.paths, catalog, agent) for agent in agents)
    seconds = (time.monotonic() - clock) / len(steps)
    frame = Frame(started, seconds, pending, tuple(work.degraded), dry_run=dry_run)
    details = {step: _detail(work, step, outcomes, frame) for step in steps}
    detail = together(COMBINED, details) if job == COMBINED else details[job]
    return detail, outcomes


def _detail(
    work: Workplace, step: str, outcomes: Sequence[Outcome], frame: Frame
) -> dict[str, Any]:
    own = [outcome for outcome in outcomes if outcome.job == step]
    told = replace(
        frame,
        threshold=threshold_of(step, work.rules.default),
        awaited=awaited(work) if step == "share" else (),
    )
    return job_detail(step, own, told)


def _run_agent(
    work: Workplace,
    catalog: Catalog,
    agent: str,
    steps: Sequence[str],
    *,
    dry_run: bool,
    plans: Plans | None,
    table: Table,
) -> list[Outcome]:
    rules = work.rules.for_agent(agent)
    outcomes = [Outcome(step, agent, threshold_of(step, rules)) for step in steps]
    try:
        work.check_stop()
        with disk_errors(work.agent_paths(agent).directory):
            check_clock(work, steps[0], dry_run=dry_run)
            if dry_run:
                rehearse(work, catalog, agent, outcomes, table)
            else:
                _perform(work, catalog, agent, outcomes, table=table, plans=plans)
    except SkymemError as error:
        for outcome in outcomes:
            outcome.fail(str(error), error.exit_code, error)
    except Exception as error:  # noqa: BLE001  (one agent's bug must not stop the others)
        # A bug: its traceback goes to the log; the result must not hold what the message may say.
        traceback.print_exc()
        for outcome in outcomes:
            outcome.fail(f"a bug ({type(error).__name__}); its traceback is on stderr", 1)
    return outcomes


def _perform(
    work: Workplace,
    catalog: Catalog,
    agent: str,
    outcomes: list[Outcome],
    *,
    table: Table,
    plans: Plans | None,
) -> None:
    if plans is None:  # for saved ones others were asked when they were held against the files
        foresee(work, catalog, agent, {outcome.job: table[outcome.job] for outcome in outcomes})
    doing = partial(_under_lock, work, catalog, agent, outcomes, table=table, plans=plans)
    try:
        shelf = doing()
    except _UnwatchedError as error:  # nothing is done yet, and the lock is free meanwhile
        outcomes[0].quarantined += len(error.shelf.quarantine.taken)
        error.canaries.before(agent)
        shelf = doing()
    _heed_canaries(work, agent, outcomes)
    outcomes[0].late = settle(work, shelf, {run for one in outcomes for run in one.runs})
    outcomes[0].quarantined += len(shelf.quarantine.taken)


def _under_lock(
    work: Workplace,
    catalog: Catalog,
    agent: str,
    outcomes: list[Outcome],
    *,
    table: Table,
    plans: Plans | None,
) -> Shelf:
    with ready(work, catalog, agent, outcomes[0].job) as (shelf, finished):
        outcomes[0].recovered += finished
        for outcome in outcomes:
            job = table[outcome.job]
            if plans is None:
                _until_done(work, shelf, catalog, outcome, job)
            elif (outcome.job, agent) in plans:
                _until_done(work, shelf, catalog, outcome, job, plans[outcome.job, agent])
    return shelf


class _UnwatchedError(Exception):
    """A job is about to act, and nobody has looked yet which memories are recalled."""

    def __init__(self, canaries: Canaries, shelf: Shelf) -> None:
        super().__init__(shelf.paths.name)
        self.canaries, self.shelf = canaries, shelf


def _heed_canaries(work: Workplace, agent: str, outcomes: Sequence[Outcome]) -> None:
    """Undo what made a memory unfindable that was found before (row X4).

    Raises:
        CanaryLostError: that happened, and was undone.
    """
    if work.canaries is None or not any(one.job in WATCHED and one.acted for one in outcomes):
        return
    lost, unknown = work.canaries.missed(agent)
    if unknown:
        work.degrade(f"canaries of {agent}: not all could be looked for: {unknown}")
    if not lost:
        return
    for run in reversed([run for outcome in outcomes for run in outcome.runs]):
        undo(work, run, [agent])
    raise CanaryLostError(len(lost), ", ".join(lost[:5]))


def _until_done(  # noqa: PLR0917  (one agent's files, and what is to be done with them)
    work: Workplace,
    shelf: Shelf,
    catalog: Catalog,
    outcome: Outcome,
    job: Job,
    saved: Plan | None = None,
) -> None:
    edited = 0
    before = {*tier_names(shelf.paths)}
    while True:
        try:
            plan, run = _once(work, shelf, catalog, outcome.job, job, saved)
        except (ShortTermChangedError, TierChangedError):
            edited += 1
            if edited == EDITED_TRIES or saved is not None:
                raise
            recovered(work, shelf, catalog)
            continue
        except sqlite3.Error as error:
            if catalog.temporary:
                raise
            work.do_without_file(catalog, error)
            recovered(work, shelf, catalog)
            continue
        outcome.add(plan)
        outcome.runs.append(run)
        made = [name for name in tier_names(shelf.paths) if name not in before]
        before.update(made)
        archives = (shelf.paths.directory / name for name in made)
        outcome.archives += [str(path) for path in archives if path != shelf.paths.long_term]
        if not plan.unfinished or saved is not None:
            return
        work.check_stop()


def _once(  # noqa: PLR0917  (as above)
    work: Workplace, shelf: Shelf, catalog: Catalog, name: str, job: Job, saved: Plan | None
) -> tuple[Plan, str]:
    reading = open_reading(work, shelf, catalog, name)
    try:
        plan = job.plan(Sight(work, shelf, catalog, reading))
        plan.inputs = reading.inputs(surroundings(work, shelf))
        if saved is not None and not same_decisions(saved, plan):
            raise StalePlanError(difference(saved, plan))
        if plan.over:
            raise LossBudgetError(plan.over)
        canaries = work.canaries if name in WATCHED and _acts(plan) else None
        if canaries is not None and not canaries.noted(shelf.paths.name):
            raise _UnwatchedError(canaries, shelf)
        return plan, job.apply(Carrying(plan, work, shelf, catalog, reading=reading))
    finally:
        reading.close()


def _acts(plan: Plan) -> bool:
    return bool(plan.decisions or plan.additions)
