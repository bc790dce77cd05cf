"""Verbs that run a job: promote, rotate and the others by name; trigger and apply for any."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import (
    AcceptClock,
    DryRun,
    Globals,
    Json,
    MaxLoss,
    PlanFile,
    Uncalibrated,
    globals_of,
    share_of,
    stop_flag,
)
from skymem.cli.progress import progress_of
from skymem.jobs.summary import summary

if TYPE_CHECKING:
    from skymem.jobs.detail import Ended
    from skymem.model.plan import Plan
    from skymem.stores.home import HomePaths

SHOWN_DECISIONS = 20


def promote(
    context: typer.Context,
    uncalibrated: Uncalibrated = False,
    dry_run: DryRun = False,
    plan: PlanFile = None,
    as_json: Json = False,
) -> None:
    """Move what is worth it to long-term.

    Example: skymem promote --dry-run
    """
    spoken, options = globals_of(context), {"uncalibrated": uncalibrated}
    _run(spoken, "promote", dry_run=dry_run, plan=plan, as_json=as_json, options=options)


def rotate(
    context: typer.Context, dry_run: DryRun = False, plan: PlanFile = None, as_json: Json = False
) -> None:
    """Move the oldest lines to an archive.

    Example: skymem rotate --dry-run
    """
    _run(globals_of(context), "rotate", dry_run=dry_run, plan=plan, as_json=as_json)


def compress(
    context: typer.Context,
    accept_clock: AcceptClock = False,
    dry_run: DryRun = False,
    plan: PlanFile = None,
    as_json: Json = False,
) -> None:
    """Move what is old to an archive, quoted in the profile or in its project's record.

    What fits neither, such as a crumb, is archived without a quote.

    Example: skymem compress --dry-run
    """
    spoken = globals_of(context)
    options = {"accept_clock": accept_clock}
    _run(spoken, "compress", dry_run=dry_run, plan=plan, as_json=as_json, options=options)


def merge(
    context: typer.Context,
    accept_clock: AcceptClock = False,
    dry_run: DryRun = False,
    plan: PlanFile = None,
    as_json: Json = False,
    audit: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000,
            metavar="N",
            help="Merge nothing; judge N past merges of an agent.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --audit: what was judged elsewhere, JSON lines."),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="With --audit: which sample is drawn.")
    ] = 0,
) -> None:
    """Unite copies, what says the same, and volatile notes without a time to live, with evidence.

    Copies that all stand in short-term are left to rotate.

    Example: skymem merge --dry-run
    """
    spoken = globals_of(context)
    if audit is not None:
        from skymem.cli.merge_audit import audit as judge

        judge(spoken, audit, labels, seed=seed, as_json=as_json)
        return
    if labels is not None:
        from skymem.errors import UsageError

        raise UsageError("--labels says what was judged: it goes with --audit N")
    options = {"accept_clock": accept_clock}
    _run(spoken, "merge", dry_run=dry_run, plan=plan, as_json=as_json, options=options)


def prune(
    context: typer.Context,
    max_loss: MaxLoss = None,
    accept_clock: AcceptClock = False,
    dry_run: DryRun = False,
    plan: PlanFile = None,
    as_json: Json = False,
) -> None:
    """Move to trash what has expired or was superseded, and what the rules say of old things.

    Rules about age and importance are for long-term and archives; rotate and compress have
    short-term.

    Example: skymem prune --dry-run
    """
    spoken = globals_of(context)
    options = {"accept_clock": accept_clock, "max_loss": share_of(max_loss)}
    _run(spoken, "prune", dry_run=dry_run, plan=plan, as_json=as_json, options=options)


def share(
    context: typer.Context, dry_run: DryRun = False, plan: PlanFile = None, as_json: Json = False
) -> None:
    """Copy to each agent what the rules of `share:` let it read, and withdraw what they do not.

    With --agent: to that agent alone.

    Example: skymem share --dry-run
    """
    _run(globals_of(context), "share", dry_run=dry_run, plan=plan, as_json=as_json)


def compact(
    context: typer.Context,
    accept_clock: AcceptClock = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Empty trash of what has lain in it for its grace; what is gone then is gone.

    Example: skymem compact --dry-run
    """
    spoken = globals_of(context)
    options = {"accept_clock": accept_clock}
    _run(spoken, "compact", dry_run=dry_run, plan=None, as_json=as_json, options=options)


def train(context: typer.Context, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Learn from the home's own history what its memories are worth; needs skymem[train].

    A model that is not surely better than the scoring guide, or worse than the one in force, is
    not taken. What it says and why: skymem importance.

    Example: skymem train --dry-run
    """
    _run(globals_of(context), "train", dry_run=dry_run, plan=None, as_json=as_json)


def trigger(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="An entry of schedule.yaml.")],
    dry_run: DryRun = False,
    plan: PlanFile = None,
    as_json: Json = False,
    scheduled: Annotated[
        str, typer.Option("--scheduled", metavar="JOB", hidden=True, help="The daemon's own run.")
    ] = "",
) -> None:
    """Run a scheduled entry now, by its name.

    While a daemon runs it is the daemon that runs it, and this waits for the result. A rehearsal,
    or a run for one agent by --agent, is always this process's own.

    Example: skymem trigger memory_rotate_check
    """
    from skymem.daemon.ask import ask_daemon

    spoken = globals_of(context)
    home = spoken.open()
    if scheduled:
        spoken.program = "daemon"
    if not (scheduled or dry_run or plan or spoken.agent):
        stop_flag.listen()
        tell = render.complain if sys.stderr.isatty() else lambda _text: None
        answer = ask_daemon(home.paths, home.files, name, stop=stop_flag.asked, tell=tell)
        if answer is not None:
            _tell(answer.detail, (), as_json=as_json)
            raise typer.Exit(answer.exit_code)
    # Not before: the daemon goes by the schedule it has, whatever somebody is making of the file.
    job = scheduled or _job_of(home.paths, name)
    as_json = as_json or bool(scheduled)  # the daemon reads the result from stdout
    _run(spoken, job, action=name, dry_run=dry_run, plan=plan, as_json=as_json)


def _job_of(paths: "HomePaths", name: str) -> str:
    """What an entry of the schedule runs."""
    from skymem.config.schedule_file import read_schedule
    from skymem.errors import UsageError
    from skymem.model.schedule import by_hand

    entries = {entry.name: entry for entry in read_schedule(paths.schedule).entries}
    if name not in entries:
        known = ", ".join(one.name for one in entries.values() if one.job != "heartbeat")
        which = f"schedule.yaml has no entry {name!r}{by_hand(name)}"
        raise UsageError(f"{which}; it has: {known or 'none'}")
    job = entries[name].job
    if job == "heartbeat":
        raise UsageError(f"{job!r} can't be triggered: a daemon does that by itself (skymem run)")
    return job


def apply(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A plan that --plan saved.")],
    max_loss: MaxLoss = None,
    accept_clock: AcceptClock = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Carry out a saved plan, if it still fits.

    Example: skymem promote --plan p.json && skymem apply p.json
    """
    from skymem.jobs.detail import exit_code
    from skymem.jobs.plan_file import load_plans

    stop_flag.listen()
    options: dict[str, Any] = {"accept_clock": accept_clock, "max_loss": share_of(max_loss)}
    job, plans = load_plans(file)
    home = globals_of(context).open()
    with progress_of(home):
        detail, outcomes = home.run_job(job, plans=plans, dry_run=dry_run, **options)
    _tell(detail, outcomes, as_json=as_json)
    raise typer.Exit(exit_code(outcomes))


def _run(
    spoken: Globals,
    job: str,
    *,
    dry_run: bool,
    plan: Path | None,
    as_json: bool,
    action: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    from skymem.app import now
    from skymem.errors import UsageError
    from skymem.jobs.detail import exit_code
    from skymem.jobs.plan_file import save_plans

    stop_flag.listen()
    if plan is not None and job in ("index", "compact", "train"):
        raise UsageError(f"{job} makes no plan to save: leave --plan out")
    dry_run = dry_run or plan is not None
    home = spoken.open()
    # A person who says `skymem index` wants it looked at; the schedule only what is owed.
    more = {"only_if_owed": True} if job == "index" else dict(options or {})
    with progress_of(home):
        detail, outcomes = home.run_job(
            job, action=action, agent=spoken.agent, dry_run=dry_run, **more
        )
    saved = plan is not None and save_plans(plan, outcomes, job, now(), home=home.paths)
    if saved:
        detail["plan"] = str(plan)
    _tell(detail, outcomes, as_json=as_json)
    if plan is not None and not saved:
        render.complain(f"no plan was saved to {plan}")
    raise typer.Exit(exit_code(outcomes))


def _tell(detail: dict[str, Any], outcomes: "Sequence[Ended]", *, as_json: bool) -> None:
    if as_json:
        render.document(detail)
        return
    for outcome in outcomes:
        for plan in outcome.plans:
            _decisions(plan)
    if "degraded" in detail:  # a run that ended in the middle has no sums to tell
        render.line(summary(detail))
    for reason in detail.get("degraded", ()):
        render.complain(f"degraded: {reason}")
    if "error" in detail:
        render.complain(detail["error"])
    if "plan" in detail:
        render.line(f"plan saved: {detail['plan']}")


def _decisions(plan: "Plan") -> None:
    for decision in plan.decisions[:SHOWN_DECISIONS]:
        name = decision.id[: render.ID_LETTERS] or f"bytes {decision.start}–{decision.end}"
        why = decision.reason.words()
        render.line(render.harmless(f"{plan.agent}: {decision.action} {name}  {why}"))
    for made in plan.additions[:SHOWN_DECISIONS]:
        basis = len({*made.evidence, *made.supersedes})
        render.line(f"{plan.agent}: write a {made.what}  of {basis:,} memories")
    more = len(plan.decisions[SHOWN_DECISIONS:]) + len(plan.additions[SHOWN_DECISIONS:])
    if more:
        render.line(f"{plan.agent}: … and {more:,} more (all of them: --dry-run --json)")
