"""The verb for those who watch many machines: metrics."""

from pathlib import Path
from typing import Annotated

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of


def metrics(
    context: typer.Context,
    textfile: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write them there, at once and whole; ends in .prom."),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What each has besides; may be given often."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Count what there is, for Prometheus: what the API's /metrics tells, without an API.

    With --textfile for node_exporter's textfile collector; a timer is in systemd/. Of two homes on
    one machine each needs a label of its own. No name, label or value is of a memory's text.

    Example: skymem metrics --textfile /run/skymem-metrics/skymem.prom
    """
    from skymem.metrics import constant_labels, look, write_textfile

    spoken = globals_of(context)
    constant = constant_labels(label or [])
    home = spoken.open(lenient=True)
    samples = look(home, spoken.agent, constant)
    if textfile is None:
        if as_json:
            render.document({"metrics": samples.to_json()})
        else:
            render.line(samples.text().removesuffix("\n"))
        return
    size = write_textfile(textfile, samples)
    if as_json:
        render.document({"textfile": str(textfile), "bytes": size})
