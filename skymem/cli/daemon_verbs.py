"""The verb that keeps a home: run."""

import os
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
    from importlib.metadata import version

    from skymem.app import now
    from skymem.daemon.service import exit_code_of, serve, serve_once
    from skymem.upgrading.upgrade import adopt

    spoken = globals_of(context)
    release = version("skymem")  # read before root becomes the owner, who may see less
    home = spoken.open()
    setting = _setting(home, spoken.log_level, release)
    if dry_run:
        _print_entries(setting.schedule.entries, as_json=as_json)
        return
    adopt(home, now())
    home.make_ready("sky")  # so that a first `echo >>` finds the directory
    if not once:
        raise typer.Exit(serve(setting, catch_up=not no_catch_up))
    results = serve_once(setting)
    if as_json:
        render.document({"jobs": [asdict(result) for result in results]})
    else:
        for result in results:
            render.line(f"{result.name}: {'ok' if result.ok else f'failed ({result.exit_code})'}")
    raise typer.Exit(exit_code_of(results))


def _print_entries(entries: Any, *, as_json: bool) -> None:
    if as_json:
        found = [{"name": one.name, "job": one.job, "enabled": one.enabled} for one in entries]
        render.document({"jobs": found, "dry_run": True})
        return
    for one in entries:
        render.line(f"{one.name}: {'would run' if one.enabled else 'is disabled'}")


def _setting(home: Any, log_level: str, release: str) -> Any:
    from skymem.app import now
    from skymem.config.rules_file import read_rules
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.setting import Setting
    from skymem.errors import NotAllowedError

    if not os.access(sys.executable, os.X_OK):  # root has become the owner, who may see less
        raise NotAllowedError(
            f"the home's owner (uid {os.geteuid()}) can't start {sys.executable}; "
            "install skymem where that user can reach it"
        )
    command = [sys.executable, "-m", "skymem", "--home", str(home.paths.root)]

    def reread() -> Any:
        """Both files: every run reads the rules, and a reload is the time to hear of a fault."""
        read_rules(home.paths.rules)
        return read_schedule(home.paths.schedule)

    return Setting(
        paths=home.paths,
        files=home.files,
        schedule=read_schedule(home.paths.schedule),
        reread=reread,
        alarms=lambda: read_rules(home.paths.rules).alarms,
        environment=os.environ,
        clock=now,
        command=command,
        log_level=log_level,
        version=release,
    )
