"""Verbs about what goes to another place and comes from one: backup, restore-backup."""

from pathlib import Path
from typing import Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of, stop_flag


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To make; must not be there.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Copy the home into one file while everything goes on: of one moment, and read back.

    The home's key is in it, and every text: keep it as you keep the home. What is derived (vectors,
    catalog, words) is not.

    Example: skymem backup /backups/sky-2026-11-29.tar
    """
    from skymem.app import now
    from skymem.cli.progress import progress_of
    from skymem.exchange.backup import backup as make

    home = globals_of(context).open()
    stop_flag.listen()
    with progress_of(home):
        told = make(home, file, now(), dry_run=dry_run)
    if as_json:
        render.document(told)
        return
    would = "would go into" if dry_run else "in"
    render.line(f"{told['files']:,} files, {told['bytes']:,} bytes {would} {told['file']}")
    for name in told["passed_over"]:
        render.complain(render.harmless(f"left out, no regular file: {name}"))


def restore_backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `skymem backup` made.")],
    home: Annotated[
        str | None, typer.Option("--home", metavar="PATH", help="Where to; as before the verb.")
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Make a home of a backup, in a place where there is nothing yet.

    It is read whole and checked against its hashes before anything of it is to be seen.

    Example: skymem restore-backup /backups/sky-2026-11-29.tar --home ~/restored
    """
    from skymem.app import binding, home_to_make
    from skymem.errors import NotAllowedError
    from skymem.exchange.backup import restore_backup as make

    if binding() is not None:
        raise NotAllowedError("this is bound to an agent; a home is restored by its operator")
    explicit = home if home is not None else globals_of(context).home
    told = make(file, home_to_make(explicit), dry_run=dry_run)
    if as_json:
        render.document(told)
        return
    would = "whole; would be restored to" if dry_run else "restored to"
    render.line(f"{told['files']:,} files, {told['bytes']:,} bytes {would} {told['home']}")
