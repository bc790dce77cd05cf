"""The verb that brings a home over to this release's format: upgrade."""

from pathlib import Path
from typing import Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of, stop_flag


def upgrade(
    context: typer.Context,
    backup: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The copy to make before; else one beside the home."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Bring the home over to this release's format, after a backup that is read back.

    For a home that an older release made; one that is in this format stays as it is. Stop the
    daemon and the API first. Cut short anywhere, it goes on where it was.

    Example: skymem upgrade --dry-run
    """
    from skymem.app import now
    from skymem.cli.progress import progress_of
    from skymem.upgrading.upgrade import upgrade as bring_over

    home = globals_of(context).open(lenient=True)
    stop_flag.listen()
    with progress_of(home):
        told = bring_over(home, now(), backup, dry_run=dry_run)
    if as_json:
        render.document(told)
        return
    if not told["steps"]:
        render.line(f"in format {told['to']} already: nothing to do")
        return
    would = "would make" if dry_run else "made"
    render.line(f"{would} a backup: {render.harmless(told['backup'])}")
    render.line(f"{'would go' if dry_run else 'went'} from format {told['from']} to {told['to']}")
