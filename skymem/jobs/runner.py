"""Running jobs over agents: by hand, by schedule and from a saved plan alike (promise 3).

For each agent, under its job lock: finish what was left, take over drains, then plan and apply
until nothing is left to decide. One agent's failure is recorded and does not stop the next.
"""

import sqlite3
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Protocol

from skymem.errors import InterruptedRunError, SkymemError, StalePlanError
from skymem.jobs import promote, rotate
from skymem.jobs.detail import Frame, Outcome, job_detail, together
from skymem.jobs.move import run_id
from skymem.jobs.recover import recover
from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.model.plan import Plan, Reason
from skymem.stores.catalog import Catalog, tier_files
from skymem.stores.drains import Drained
from skymem.stores.files import disk_errors
from skymem.stores.lines import ContentHash
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.swap import ShortTermChangedError

COMBINED: Final = "memory_rotate_check"

# A plain `echo` has the file open for microseconds; a busy machine makes that milliseconds.
SETTLE_ROUNDS: Final = 40

# Somebody editing short-term by hand between plan and swap makes us plan again, this often.
EDITED_TRIES: Final = 3


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
        InterruptedRunError: a signal came; what was done is whole.
        StalePlanError: what a saved plan was made from has changed; nothing was applied.
    """
    steps = steps_of(job)
    started, clock = work.now(), time.monotonic()
    outcomes: list[Outcome] = []
    pending = 0
    with work.catalog() as catalog:
        if plans is not None:
            _check_fit(work, catalog, steps, plans)
        for agent in agents:
            work.check_stop()
            outcomes.extend(_run_agent(work, catalog, agent, steps, dry_run=dry_run, plans=plans))
            pending += owed(catalog, agent)
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


def owed(catalog: Catalog, agent: str) -> int:
    """How many long-term memories the vector index does not have yet (row P11)."""
    return sum(count.memories for count in catalog.counts(agent) if count.tier == "long")


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
        with disk_errors(work.paths.agent(agent).directory):
            if dry_run:
                _rehearse(work, catalog, agent, outcomes)
            else:
                _perform(work, catalog, agent, outcomes, plans)
    except InterruptedRunError:
        raise
    except SkymemError as error:
        for outcome in outcomes:
            outcome.error, outcome.exit_code = str(error), error.exit_code
    return outcomes


def _check_fit(
    work: Workplace,
    catalog: Catalog,
    steps: Sequence[str],
    plans: Mapping[tuple[str, str], Plan],
) -> None:
    """Refuse all saved plans, before any is applied, if one would not be made again today."""
    for agent in sorted({name for _, name in plans}):
        outcomes = [Outcome(step, agent, 0) for step in steps if (step, agent) in plans]
        _rehearse(work, catalog, agent, outcomes)
        for outcome in outcomes:
            saved, fresh = plans[outcome.job, agent], outcome.plans[0]
            if saved.inputs != fresh.inputs:
                raise StalePlanError(_difference(saved, fresh))


def _rehearse(work: Workplace, catalog: Catalog, agent: str, outcomes: list[Outcome]) -> None:
    """Plan each step as if the one before had been carried out."""
    shelf = work.shelf(agent)
    catalog.catch_up(shelf.paths)
    gone: frozenset[int] = frozenset()
    for outcome in outcomes:
        plan = _planned(work, shelf, catalog, outcome.job, without=gone)
        gone = frozenset(decision.start for decision in plan.decisions)
        outcome.add(plan)
        outcome.plans.append(plan)


def _planned(
    work: Workplace, shelf: Shelf, catalog: Catalog, job: str, *, without: frozenset[int]
) -> Plan:
    reading = _open_reading(work, shelf, catalog, job)
    try:
        reading.pass_over = without
        plan = JOBS[job].plan(shelf, reading)
        plan.inputs = reading.inputs(surroundings(work, shelf))
    finally:
        reading.close()
    return plan


def _open_reading(work: Workplace, shelf: Shelf, catalog: Catalog, job: str) -> Reading:
    reading = Reading(shelf, catalog, torn_before=work.now() - work.rules.torn_after_seconds)
    reading.progress = partial(work.progress, f"{job} {shelf.paths.name}")
    return reading


def surroundings(work: Workplace, shelf: Shelf) -> str:
    """Hash what a plan depends on beside short-term: the rules and the other tiers' sizes."""
    content = ContentHash()
    content.update(repr(work.rules).encode())
    for name, path in tier_files(shelf.paths):
        content.update(f"{name} {path.stat().st_size}\n".encode())
    return content.hexdigest()


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
    _settle(work, shelf, outcomes[-1], own)


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
        return _do_without_file(work, shelf, catalog, error)
    return finished


def _do_without_file(
    work: Workplace, shelf: Shelf, catalog: Catalog, error: sqlite3.Error
) -> list[str]:
    """Go on with a catalog in memory: the file is damaged, or the disk has no room for it."""
    work.degrade(f"catalog: {error}")
    catalog.become_temporary(damaged=not isinstance(error, sqlite3.OperationalError))
    return _recover(work, shelf, catalog)


def _until_done(
    work: Workplace, shelf: Shelf, catalog: Catalog, outcome: Outcome, saved: Plan | None
) -> None:
    edited = 0
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
            _do_without_file(work, shelf, catalog, error)
            continue
        outcome.add(plan)
        outcome.runs.append(run)
        if plan.count("archive"):
            newest = [name for name, _ in tier_files(shelf.paths) if "_archive_" in name]
            outcome.archives.append(str(shelf.paths.directory / newest[-1]))
        if not plan.unfinished or saved is not None:
            return
        work.check_stop()


def _once(
    work: Workplace, shelf: Shelf, catalog: Catalog, job: str, saved: Plan | None
) -> tuple[Plan, str]:
    reading = _open_reading(work, shelf, catalog, job)
    try:
        plan = JOBS[job].plan(shelf, reading)
        plan.inputs = reading.inputs(surroundings(work, shelf))
        if saved is not None and not _same_decisions(saved, plan):
            raise StalePlanError(_difference(saved, plan))
        return plan, JOBS[job].apply(plan, work, shelf, catalog, reading=reading)
    finally:
        reading.close()


def _same_decisions(saved: Plan, plan: Plan) -> bool:
    """Whether what would be decided now is what was saved; an earlier step moved the places."""

    def told(one: Plan) -> list[tuple[str, str, Reason]]:
        return [(decision.action, decision.id, decision.reason) for decision in one.decisions]

    return told(saved) == told(plan)


def _difference(saved: Plan, found: Plan) -> str:
    old, new = saved.inputs, found.inputs
    if old is not None and new is not None and old[:5] == new[:5]:
        return f"the rules or the other tiers of {saved.agent} have changed"
    return f"short-term of {saved.agent} has changed"


def _settle(work: Workplace, shelf: Shelf, outcome: Outcome, own: Collection[str]) -> None:
    """Take over what still arrives in the old files; no lock is held between two looks."""
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
    outcome.late = sum(one is Drained.HELD for one in outcomes.values())


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """What the run ends with: 0, or what the first failure asks for."""
    return next((outcome.exit_code for outcome in outcomes if outcome.error), 0)
