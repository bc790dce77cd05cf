"""Running jobs over agents: by hand, by schedule and from a saved plan alike (promise 3).

For each agent, under its job lock: finish what was left, take over drains, then plan and apply
until nothing is left to decide. One agent's failure is recorded and does not stop the next.
"""

import sqlite3
import time
import traceback
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from skymem.errors import SkymemError, StalePlanError
from skymem.jobs import index
from skymem.jobs.detail import Frame, Outcome, job_detail, together
from skymem.jobs.move import Carrying, run_id
from skymem.jobs.recover import recover
from skymem.jobs.rehearse import (
    check_fit,
    difference,
    open_reading,
    rehearse,
    same_decisions,
    surroundings,
)
from skymem.jobs.sight import Sight
from skymem.jobs.table import COMBINED, JOBS, steps_of
from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.model.plan import Plan
from skymem.stores.catalog import Catalog, tier_files
from skymem.stores.cursors import rag_pending
from skymem.stores.drains import Drained
from skymem.stores.files import disk_errors
from skymem.stores.ledger import in_batches
from skymem.stores.shelf import Shelf
from skymem.stores.swap import ShortTermChangedError

# A plain `echo` has the file open for microseconds; a busy machine makes that milliseconds.
SETTLE_ROUNDS: Final = 40

# Somebody editing short-term by hand between plan and swap makes us plan again, this often.
EDITED_TRIES: Final = 3


def run(
    work: Workplace,
    job: str,
    agents: Sequence[str],
    *,
    dry_run: bool = False,
    plans: Mapping[tuple[str, str], Plan] | None = None,
) -> tuple[dict[str, Any], list[Outcome]]:
    """Run a job, or `memory_rotate_check`, for each agent.

    Args:
        work: the home.
        job: one of `JOBS` or `memory_rotate_check`.
        agents: whom for.
        dry_run: plan only; nothing but derived state is written.
        plans: saved plans by (job, agent), to apply instead of planning anew.

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
            check_fit(work, catalog, steps, plans)
        for agent in agents:
            outcomes.extend(_run_agent(work, catalog, agent, steps, dry_run=dry_run, plans=plans))
        if not dry_run:
            index.follow_up(work, catalog, agents)
        pending = sum(rag_pending(work.paths, catalog, agent) for agent in agents)
    took = time.monotonic() - clock
    details = {}
    for step in steps:
        rules = work.rules.default
        threshold = rules.promote_threshold if step == "promote" else rules.short_term_max_lines
        frame = Frame(
            started, took / len(steps), pending, tuple(work.degraded), threshold, dry_run=dry_run
        )
        own = [outcome for outcome in outcomes if outcome.job == step]
        details[step] = job_detail(step, own, frame)
    detail = together(COMBINED, details) if job == COMBINED else details[job]
    return detail, outcomes


def _run_agent(
    work: Workplace,
    catalog: Catalog,
    agent: str,
    steps: Sequence[str],
    *,
    dry_run: bool,
    plans: Mapping[tuple[str, str], Plan] | None,
) -> list[Outcome]:
    rules = work.rules.for_agent(agent)
    limits = {"promote": rules.promote_threshold, "rotate": rules.short_term_max_lines}
    outcomes = [Outcome(step, agent, limits[step]) for step in steps]
    try:
        work.check_stop()
        with disk_errors(work.paths.agent(agent).directory):
            if dry_run:
                rehearse(work, catalog, agent, outcomes)
            else:
                _perform(work, catalog, agent, outcomes, plans)
    except SkymemError as error:
        for outcome in outcomes:
            outcome.fail(str(error), error.exit_code)
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
    plans: Mapping[tuple[str, str], Plan] | None,
) -> None:
    shelf = work.shelf(agent)
    run = run_id(outcomes[0].job, work.now())
    with work.job_lock(agent, outcomes[0].job):
        shelf.ensure()
        _prepare(work, shelf, catalog, outcomes[0], run)
        for outcome in outcomes:
            if plans is None:
                _until_done(work, shelf, catalog, outcome, None)
            elif (outcome.job, agent) in plans:
                _until_done(work, shelf, catalog, outcome, plans[outcome.job, agent])
    own = {run}.union(*(outcome.runs for outcome in outcomes))
    outcomes[0].late = _settle(work, shelf, own)
    _tell_set_aside(work, shelf, outcomes[0])


def _tell_set_aside(work: Workplace, shelf: Shelf, outcome: Outcome) -> None:
    """Count and record what recovery and drains put into quarantine."""
    found = [
        [file, damage.start, damage.end, damage.reason] for file, damage in shelf.drains.set_aside
    ]
    outcome.quarantined += len(found)
    batches = in_batches("pieces", found, op="quarantine", agent=shelf.paths.name)
    work.ledger().append(batches, work.now())


def _prepare(work: Workplace, shelf: Shelf, catalog: Catalog, outcome: Outcome, run: str) -> None:
    outcome.recovered = _recover(work, shelf, catalog)
    flat = work.paths.flat_short_term
    if shelf.paths.name == DEFAULT_AGENT and flat.exists():
        shelf.swap.adopt(flat, run, work.now())
    for drain in shelf.drains.names():
        shelf.drains.look(drain, {run}, work.now())


def _recover(work: Workplace, shelf: Shelf, catalog: Catalog) -> list[str]:
    """Finish what was left, and know what every tier has: else it would be moved again."""
    try:
        finished = recover(work, shelf, catalog)
        catalog.catch_up(shelf.paths)
    except sqlite3.Error as error:
        if catalog.temporary:
            raise
        work.do_without_file(catalog, error)
        return _recover(work, shelf, catalog)
    return finished


def _until_done(
    work: Workplace, shelf: Shelf, catalog: Catalog, outcome: Outcome, saved: Plan | None
) -> None:
    edited = 0
    before = {name for name, _ in tier_files(shelf.paths)}
    while True:
        try:
            plan, run = _once(work, shelf, catalog, outcome.job, saved)
        except ShortTermChangedError:
            edited += 1
            if edited == EDITED_TRIES or saved is not None:
                raise
            _recover(work, shelf, catalog)
            continue
        except sqlite3.Error as error:
            if catalog.temporary:
                raise
            work.do_without_file(catalog, error)
            _recover(work, shelf, catalog)
            continue
        outcome.add(plan)
        outcome.runs.append(run)
        made = [path for name, path in tier_files(shelf.paths) if name not in before]
        before.update(path.name for path in made)
        outcome.archives += [str(path) for path in made if path != shelf.paths.long_term]
        if not plan.unfinished or saved is not None:
            return
        work.check_stop()


def _once(
    work: Workplace, shelf: Shelf, catalog: Catalog, job: str, saved: Plan | None
) -> tuple[Plan, str]:
    reading = open_reading(work, shelf, catalog, job)
    try:
        plan = JOBS[job].plan(Sight(work, shelf, catalog, reading))
        plan.inputs = reading.inputs(surroundings(work, shelf))
        if saved is not None and not same_decisions(saved, plan):
            raise StalePlanError(difference(saved, plan))
        return plan, JOBS[job].apply(Carrying(plan, work, shelf, catalog, reading=reading))
    finally:
        reading.close()


def _settle(work: Workplace, shelf: Shelf, own: Collection[str]) -> int:
    """Take over what still arrives in the old files; no lock is held between two looks.

    Returns how many of them a process still has open for writing.
    """
    outcomes: dict[str, Drained] = {}
    for number in range(SETTLE_ROUNDS):
        if number:
            work.pause()
        with work.job_lock(shelf.paths.name, "late lines"):
            for drain in shelf.drains.names():
                if outcomes.get(drain.name) is not Drained.CLEAN:
                    outcomes[drain.name] = shelf.drains.look(drain, own, work.now())
        if all(one is Drained.CLEAN for one in outcomes.values()) or work.stop():
            break
        if number >= 1 and all(one is Drained.UNLEASED for one in outcomes.values()):
            break
    return sum(one is Drained.HELD for one in outcomes.values())
