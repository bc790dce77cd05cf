"""The verb about alarms: what is wrong, since when, and what to do."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of, stop_flag

if TYPE_CHECKING:
    from skymem.app import Home


def alarms(
    context: typer.Context,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="ID", help="What an id means; or all.")
    ] = None,
    tell: Annotated[bool, typer.Option("--tell", hidden=True)] = False,
    already: Annotated[list[str] | None, typer.Option("--already", hidden=True)] = None,
    as_json: Json = False,
) -> None:
    """Show what is wrong, since when, and what to do about each.

    An alarm clears by itself once its cause is gone; `alarms.off` in retention_rules.yaml switches
    kinds off. The daemon tells a command or a webhook of changes, where one is configured there.

    Example: skymem alarms --explain idle_promote
    """
    if explain is not None:
        _explain(explain, as_json=as_json)
        return
    spoken = globals_of(context)
    stop_flag.listen()
    home = spoken.open(lenient=True)
    if tell:
        _tell(home, already or [])
        return
    from skymem.health import health_of

    found = health_of(home, spoken.agent)
    if as_json:
        render.document({"health": found["health"], "alarms": found["alarms"]})
        return
    for one in found["alarms"]:
        _show(one)
    if not found["alarms"]:
        render.line("healthy")


def _show(one: Mapping[str, Any]) -> None:
    from skymem.cli.status_text import alarm_text

    since = "" if one["since"] is None else f"since {render.moment(one['since'])}; "
    for text in (alarm_text(one), f"        {since}{one['remedy']}"):
        for part in render.wrapped(render.harmless(text), 8):
            render.line(part)


def _explain(name: str, *, as_json: bool) -> None:
    from skymem.config.keys import nearest
    from skymem.errors import UsageError
    from skymem.model.alarm import ALARMS

    if name != "all" and name not in ALARMS:
        near = nearest(name, tuple(ALARMS))
        raise UsageError(
            f"no alarm has the id {name[:64]!r}"
            + (f'; did you mean "{near}"?' if near else f"; there are: {', '.join(ALARMS)}")
        )
    found = {each: kind for each, kind in ALARMS.items() if name in ("all", each)}
    if as_json:
        each_id = [{"id": one, **kind._asdict()} for one, kind in found.items()]
        render.document({"alarms": each_id})
        return
    for one, kind in found.items():
        render.line(one)
        for text in (kind.meaning, f"To do: {kind.remedy}"):
            for part in render.wrapped(f"  {text}", 2):
                render.line(part)


def _tell(home: "Home", already: list[str]) -> None:
    """What the daemon has a child do; a person gains nothing by it."""
    from skymem.errors import InterruptedRunError
    from skymem.notifying import tell

    render.document(tell(home, already))
    if home.stop():
        raise typer.Exit(InterruptedRunError.exit_code)
