"""Verbs about the schedule: run, jobs."""

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of


def run(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Run every scheduled job once, in order, and end.")
    ] = False,
    no_catch_up: Annotated[
        bool, typer.Option("--no-catch-up", help="Leave out what was missed while it was down.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Keep this home until SIGTERM or Ctrl-C.

    Example: skymem run
    """
    from skymem.daemon.service import exit_code_of, serve, serve_once

    spoken = globals_of(context)
    setting = _setting(spoken.open(), spoken.log_level)
    if dry_run:
        for entry in setting.schedule.entries:
            render.line(f"{entry.name}: {'would run' if entry.enabled else 'is disabled'}")
        return
    if not once:
        raise typer.Exit(serve(setting, catch_up=not no_catch_up))
    results = serve_once(setting)
    if as_json:
        render.document({"jobs": [asdict(result) for result in results]})
    else:
        for result in results:
            render.line(f"{result.name}: {'ok' if result.ok else f'failed ({result.exit_code})'}")
    raise typer.Exit(exit_code_of(results))


def _setting(home: Any, log_level: str) -> Any:
    from importlib.metadata import version

    from skymem.app import now
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.service import Setting

    home.shelf("sky").ensure()  # so that a first `echo >>` finds the directory
    command = [sys.executable, "-m", "skymem", "--home", str(home.paths.root)]
    return Setting(
        paths=home.paths,
        files=home.files,
        schedule=read_schedule(home.paths.schedule),
        clock=now,
        command=[*command, "--log-level", log_level],
        version=version("skymem"),
    )


def jobs(context: typer.Context, as_json: Json = False) -> None:
    """Show the schedule: last and next runs.

    Example: skymem jobs
    """
    from skymem.app import now
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.runs import read_runs
    from skymem.daemon.timing import next_runs
    from skymem.overview import daemon_overview, jobs_overview

    home = globals_of(context).open()
    schedule = read_schedule(home.paths.schedule)
    runs = read_runs(home.paths)
    due = next_runs(schedule, runs, now())
    found = jobs_overview(schedule, runs, due, daemon_overview(home))
    if as_json:
        render.document({"jobs": found})
        return
    rows = [
        [
            one["name"],
            one["job"],
            render.moment(one["last_run"]),
            "running" if one["running"] else one["result"],
            render.moment(one["next_run"]) if one["enabled"] else "disabled",
            str(one["missed"]),
        ]
        for one in found
    ]
    render.table(["name", "job", "last run (UTC)", "result", "next run (UTC)", "missed"], rows)
