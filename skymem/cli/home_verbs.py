"""Verbs about the home itself: init, demo, status, doctor."""

from pathlib import Path
from typing import Annotated, Any

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


def status(context: typer.Context, as_json: Json = False) -> None:
    """Show tiers, daemon, last action and alarms.

    Example: skymem status
    """
    from skymem.overview import status_overview

    found = status_overview(globals_of(context).open())
    if as_json:
        render.document(found)
        return
    render.line(f"home    {found['home']['path']}  ({found['home']['why']})")
    render.line(f"health  {found['health']}")
    render.line(f"daemon  {_daemon(found['daemon'])}")
    render.line(f"engine  not built yet; {found['engine']['rag_pending']} memories wait for it")
    render.line()
    _print_tiers(found["agents"])
    _print_last_action(found["last_action"])
    for alarm in found["alarms"]:
        render.line(f"alarm   {render.harmless(alarm)}")
    for note in found["notes"]:
        render.line(f"note    {note}")


def _daemon(found: dict[str, Any]) -> str:
    if not found["running"]:
        return "not running (start it: skymem run)"
    age = found["heartbeat_age_s"]
    return f"{found['holder']}" + ("" if age is None else f", last heartbeat {age:.0f} s ago")


def _print_tiers(agents: list[dict[str, Any]]) -> None:
    if not agents:
        render.line("no agent yet: append lines to memory/sky/short_term.jsonl")
        return
    rows = [
        [
            one["name"],
            tier,
            str(found["count"]),
            str(found["bytes"]),
            render.moment(found["oldest"]),
        ]
        for one in agents
        for tier, found in one["tiers"].items()
    ]
    render.table(["agent", "tier", "memories", "bytes", "oldest (UTC)"], rows)


def _print_last_action(record: dict[str, Any] | None) -> None:
    render.line()
    if record is None:
        render.line("last    nothing has run yet")
        return
    from skymem.cli.job_verbs import summary

    detail = record["detail"]
    told = summary(detail) if "remaining" in detail else detail.get("error", "no result")
    when = render.moment(record["ts"])
    render.line(f"last    {when}  {record['action']}: {render.harmless(str(told))}")


def doctor(context: typer.Context, as_json: Json = False) -> None:
    """Check everything that could be wrong here.

    Example: skymem doctor
    """
    from skymem.doctor import examine

    found = examine(globals_of(context).open())
    problems = [one for one in found if one["state"] == "problem"]
    if as_json:
        render.document({"problems": problems, "checks": found})
    else:
        for one in found:
            render.line(f"{one['state']:8}{one['check']}: {render.harmless(one['message'])}")
    if problems:
        raise typer.Exit(20)
