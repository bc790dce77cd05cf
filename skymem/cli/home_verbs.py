"""Verbs about the home itself: init, demo, status, doctor."""

from pathlib import Path
from typing import Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of


def init(
    context: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="Where; else the XDG data directory.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Make a home; never overwrites.

    Example: skymem init ~/agents
    """
    from skymem.app import home_to_make, init_home

    home = path.absolute() if path else home_to_make(globals_of(context).home)
    created = init_home(home, dry_run=dry_run)
    if as_json:
        render.document({"home": str(home), "created": created})
        return
    render.line(f"home: {home}")
    render.line(f"{'would make' if dry_run else 'made'}: {', '.join(created) or 'nothing new'}")


def demo(context: typer.Context, as_json: Json = False) -> None:
    """See it at work in a throw-away home.

    Example: skymem demo
    """
    from skymem.demo import run_demo

    del context
    story = run_demo()
    if as_json:
        render.document({"home": story["home"], "jobs": story["jobs"]})
        return
    for text in story["lines"]:
        render.line(render.harmless(text))


def status(
    context: typer.Context,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on showing it, until Ctrl-C; ends with 0.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show tiers, daemon, last action and alarms.

    With --agent it is about that agent alone. With --follow a terminal shows it live, a pipe gets
    a line for each action from now on, and with --json the whole document, on a line of its own,
    at each change.

    Example: skymem status
    """
    from skymem.cli.status_text import print_status

    spoken = globals_of(context)
    if follow:
        from skymem.cli.follow import follow_status

        follow_status(spoken, as_json=as_json)
    else:
        print_status(spoken.home, spoken.agent, as_json=as_json)


def doctor(
    context: typer.Context,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Look for secrets in every line there is, only.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check everything that could be wrong here.

    Example: skymem doctor
    """
    if secrets:
        _look_for_secrets(context, as_json=as_json)
        return
    from skymem.cli.progress import progress_of
    from skymem.doctor import examine
    from skymem.errors import DamageFoundError

    spoken = globals_of(context)
    home = spoken.open(lenient=True)
    with progress_of(home):
        found = examine(home, spoken.agent)
    problems = [one for one in found if one["state"] == "problem"]
    if as_json:
        render.document({"problems": problems, "checks": found})
    else:
        for one in found:
            render.line(f"{one['state']:8}{one['check']}: {render.harmless(one['message'])}")
    if problems:
        raise DamageFoundError(len(problems))


def _look_for_secrets(context: typer.Context, *, as_json: bool) -> None:
    from skymem.doctor_secrets import REMEDY, look_for_secrets
    from skymem.errors import DamageFoundError

    spoken = globals_of(context)
    found = look_for_secrets(spoken.open(), spoken.agent)
    if as_json:
        render.document(found.as_json())
    else:
        for one in found.places or ():
            kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(one.kinds.items()))
            where = f"line {one.line}" if one.line else f"byte {one.offset:,}"
            whose = f"  {render.harmless(one.id)}" if one.id else ""
            render.line(f"{render.harmless(one.file)}: {where}: {kinds}{whose}")
        render.line(f"{found.files:,} file(s) looked at, {found.count:,} secret(s) found")
        if found.count:
            render.paragraph(REMEDY)
    if found.count:
        raise DamageFoundError(found.count)
