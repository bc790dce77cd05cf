"""Verbs about the agents of a home: who is here, and who reached for what is not theirs."""

from typing import Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of

agents_app = typer.Typer(no_args_is_help=True, help="The agents of this home.")


@agents_app.command("list")
def agents_list(context: typer.Context, as_json: Json = False) -> None:
    """List who is here, how much they keep, and since when.

    Example: skymem agents list
    """
    from skymem.overview import agents_overview

    spoken = globals_of(context)
    found = agents_overview(spoken.open_to_use(), spoken.agent)
    if as_json:
        render.document({"agents": found})
        return
    rows = []
    for one in found:
        tiers = ("short", "long", "archive")
        counts = [render.amount(one["tiers"][tier]["count"]) for tier in tiers]
        rows.append([one["name"], *counts, render.moment(one["since"])])
    render.table(["agent", "short", "long", "archive", "oldest (UTC)"], rows)
    for one in found:
        for problem in one["problems"]:
            for text in render.wrapped(f"alarm   {one['name']}: {render.harmless(problem)}", 8):
                render.line(text)


@agents_app.command("violations")
def agents_violations(
    context: typer.Context,
    acknowledge: Annotated[
        bool, typer.Option("--acknowledge", help="They were looked at: take the alarm back.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="The newest so many.")] = 50,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """List whose handle reached for what is not its own, and was refused.

    Example: skymem agents violations --acknowledge
    """
    from skymem.overview import violations_overview

    spoken = globals_of(context)
    home = spoken.open(lenient=True)
    work = home.workplace()
    record = work.violations()
    found = [one for one in record.listed() if spoken.agent in (None, one["agent"])]
    told = [{key: one[key] for key in ("ts", "agent", "whose", "door")} for one in found[-limit:]]
    seen = violations_overview(home, spoken.agent)["open"] if acknowledge else 0
    if acknowledge and not dry_run:
        seen = record.acknowledge(work.now(), spoken.agent)
    if as_json:
        render.document({"violations": told, "count": len(found), "acknowledged": seen})
        return
    rows = [
        [render.moment(one["ts"]), one["agent"], one["whose"], render.harmless(one["door"])]
        for one in told
    ]
    if rows:
        render.table(["when (UTC)", "agent", "reached for", "by"], rows)
    else:
        render.complain("no violations")
    if acknowledge:
        render.line(f"{'would acknowledge' if dry_run else 'acknowledged'} {seen}")
