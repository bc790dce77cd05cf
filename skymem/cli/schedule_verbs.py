"""Verbs about the schedule: jobs, pause, resume."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.daemon.pauses import Pauses

JobName = Annotated[
    str, typer.Argument(metavar="JOB", help="An entry of schedule.yaml, or a job: all its entries.")
]


def jobs(context: typer.Context, as_json: Json = False) -> None:
    """Show the schedule: last and next runs.

    Example: skymem jobs
    """
    home, pauses = _opened(context)
    _print(_jobs(home, pauses.read()), as_json=as_json)


def pause(
    context: typer.Context, job: JobName, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Pause a scheduled job until it is resumed; `skymem trigger` still runs it.

    A run in hand goes on. A pause survives restarts; `jobs` and `status` show it.

    Example: skymem pause promote
    """
    from skymem.app import now

    home, pauses = _opened(context)
    names = _meant(home, job)
    if dry_run:
        after = {**dict.fromkeys(names, now()), **pauses.read()}
        _print(_jobs(home, after), as_json=as_json, dry_run=True)
        return
    changed = pauses.pause(names, now())
    _print(_jobs(home, pauses.read()), as_json=as_json)
    if not as_json:
        _say("paused until resumed", changed)
        _say("was paused already", [name for name in names if name not in changed])


def resume(
    context: typer.Context, job: JobName, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Let a paused job run again, at its next regular time.

    Example: skymem resume promote
    """
    home, pauses = _opened(context)
    names = _meant(home, job, resuming=True)
    if dry_run:
        after = {name: at for name, at in pauses.read().items() if name not in names}
        _print(_jobs(home, after), as_json=as_json, dry_run=True)
        return
    changed = pauses.resume(names)
    _print(_jobs(home, pauses.read()), as_json=as_json)
    if not as_json:
        _say("resumed", changed)
        _say("was not paused", [name for name in names if name not in changed])


def _say(what: str, names: list[str]) -> None:
    if names:
        render.line(f"{what}: {', '.join(names)}")


def _opened(context: typer.Context) -> "tuple[Home, Pauses]":
    """The home and its pauses; what reads them is loaded before root becomes the owner."""
    import skymem.config.schedule_file
    import skymem.daemon.timing
    import skymem.jobs.table
    import skymem.overview  # noqa: F401
    from skymem.daemon.pauses import Pauses

    home = globals_of(context).open()
    return home, Pauses(home.paths, home.files)


def _meant(home: "Home", job: str, *, resuming: bool = False) -> list[str]:
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.pauses import entries_meant, read_pauses

    paused = read_pauses(home.paths) if resuming else {}
    return entries_meant(job, read_schedule(home.paths.schedule).entries, paused)


def _jobs(home: "Home", pauses: dict[str, float]) -> list[dict[str, Any]]:
    from skymem.app import now
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.runs import read_runs
    from skymem.daemon.timing import next_runs
    from skymem.overview import daemon_overview, jobs_overview

    schedule = read_schedule(home.paths.schedule)
    runs = read_runs(home.paths)
    due = next_runs(schedule, runs, now())
    return jobs_overview(schedule, runs, due, daemon_overview(home), pauses)


def _print(found: list[dict[str, Any]], *, as_json: bool, dry_run: bool = False) -> None:
    if as_json:
        render.document({"jobs": found, **({"dry_run": True} if dry_run else {})})
        return
    rows = [
        [
            one["name"],
            one["job"],
            render.moment(one["last_run"]),
            "running" if one["running"] else one["result"],
            _next(one, dry_run=dry_run),
            str(one["missed"]),
            str(one["failures"]),
        ]
        for one in found
    ]
    headings = ["name", "job", "last run (UTC)", "result", "next run (UTC)", "missed", "failures"]
    render.table(headings, rows)


def _next(one: dict[str, Any], *, dry_run: bool) -> str:
    if not one["enabled"]:
        return "disabled"
    if one["paused"] is not None:
        return "would be paused" if dry_run else "paused"
    return render.moment(one["next_run"])
