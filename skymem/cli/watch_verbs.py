"""Verbs for monitoring: check."""

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of


def check(context: typer.Context, as_json: Json = False) -> None:
    """Say whether all is well: 0 healthy, 23 degraded, with each reason.

    Looks at more than `status` does: at the schedule, and at failures that could not be put down.

    Example: skymem check || notify-send "skymem is degraded"
    """
    from skymem.cli.status_text import alarm_text
    from skymem.errors import DegradedError
    from skymem.health import health_of

    spoken = globals_of(context)
    found = health_of(spoken.open(lenient=True), spoken.agent)
    if as_json:
        render.document(found)
    else:
        render.line(found["health"])
        for one in found["alarms"]:
            render.line(f"reason  {render.harmless(alarm_text(one))}")
        for note in found["notes"]:
            render.line(f"note    {render.harmless(note)}")
    if found["reasons"]:
        raise DegradedError(len(found["reasons"]))
