"""Verbs that list memories: recent, and archive search."""

from typing import Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of
from skymem.cli.recall_verbs import At, moment_of, pair_of

archive_app = typer.Typer(no_args_is_help=True, help="What left short-term for an archive.")

Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this label; repeated: with any.")
]
Limit = Annotated[int, typer.Option(min=1, max=10_000, help="How many, at most.")]


def recent(
    context: typer.Context,
    hours: Annotated[
        float | None,
        typer.Option(help="Not older than so many hours; all when left out."),
    ] = None,
    tag: Tags = None,
    kind: Annotated[str | None, typer.Option(help="Only this sort of thing.")] = None,
    meta: Annotated[
        list[str] | None,
        typer.Option("--meta", metavar="KEY=VALUE", help="Only with this metadata; repeat it."),
    ] = None,
    limit: Limit = 20,
    at: At = None,
    as_json: Json = False,
) -> None:
    """List the newest memories of every tier, newest first.

    Example: skymem recent --hours 24 --tag preference
    """
    from skymem.recall.listing import recent as newest
    from skymem.recall.request import filters_of, hours_before

    moment, at_us = moment_of(at)
    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    wanted = [pair_of(one) for one in meta or ()]
    filters = filters_of(kind=kind, tags=tag or (), meta=wanted)
    since_us = hours_before(round(moment * 1_000_000), hours)
    found = newest(home.workplace(), agent, filters, limit, since_us=since_us, at_us=at_us)
    _tell(found, as_json=as_json)


@archive_app.command("search")
def archive_search(
    context: typer.Context,
    pattern: Annotated[str, typer.Argument(help="A regular expression, in either case.")],
    tag: Tags = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not older: a time, or an age: 7d, 12h.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="Older than: a time, or an age: 7d, 12h.")
    ] = None,
    limit: Limit = 100,
    as_json: Json = False,
) -> None:
    """Find in archives by text, label and time, newest first.

    Example: skymem archive search "report(s|ing)" --since 30d
    """
    from skymem.app import now
    from skymem.recall.listing import pattern_of, search_archives
    from skymem.recall.request import filters_of
    from skymem.recall.request import since as read_since

    spoken = globals_of(context)
    home = spoken.open_to_use()
    filters = filters_of(
        tags=tag or (),
        since_us=None if since is None else read_since(since, now()),
        until_us=None if until is None else read_since(until, now(), "until"),
    )
    agents = home.agents(spoken.agent)
    found = search_archives(home.workplace(), agents, pattern_of(pattern), filters, limit)
    _tell(found, as_json=as_json)


def _tell(found: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        render.document({"results": found})
        return
    for one in found:
        date = render.moment(one["ts"])[:16]
        text = render.harmless(" ".join(one["content"].split()))
        if "shared_from" in one:
            text = f"(of {render.harmless(one['shared_from']['agent'])}) {text}"
        if one.get("standing", "active") != "active":
            text = f"({one['standing']}) {text}"
        name = render.harmless(one["id"][: render.ID_LETTERS])
        render.cut_line(f"{date:<16}  {one['tier']:<7}  {name:<{render.ID_LETTERS}}  {text}")
    if not found:
        render.complain("nothing found")
