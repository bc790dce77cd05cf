"""Verbs about what comes from elsewhere and goes there: import, export, backup, restore-backup."""

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
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, help="What `skymem backup` made.")
    ],
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


def import_(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="FILE|DIR", help="What to take in.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="F",
            help="skymem, jsonl, mcp, mem0, markdown or transcript; else told by what is there.",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="For whom; as before the verb.")
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take in what another program keeps, or what `skymem export` wrote.

    What comes from elsewhere goes to short-term with origin import, trusted as the rules say of
    imports and never more than it says itself. What skymem wrote goes back to where it was. What is
    known already is passed over: importing again adds nothing. What was erased does not come back.

    Example: skymem import ~/.claude/projects/home --format transcript --dry-run
    """
    from skymem.app import now
    from skymem.cli.progress import progress_of
    from skymem.exchange.importing import import_from

    spoken = globals_of(context)
    spoken.agent = agent if agent is not None else spoken.agent
    named = spoken.agent
    whose = spoken.bound_agent()
    home = spoken.open()
    stop_flag.listen()
    with progress_of(home):
        told = import_from(home, path, form, whose, now(), named=named, dry_run=dry_run)
    if as_json:
        render.document({**told, **({"dry_run": True} if dry_run else {})})
        return
    would = "would be imported" if dry_run else "imported"
    render.line(f"{told['imported']:,} {would} ({told['format']})")
    for why, count in told["skipped"].items():
        render.line(f"{count:,} passed over: {why}")
    for kind, count in told["redacted"].items():
        render.line(f"{count:,} redacted: {kind}")
    for example in told["unreadable"]:
        render.complain(render.harmless(example))
    if told["kept"]:
        render.line(f"what could not be read is in {told['kept']}")


def export(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="To make, must not be there; - is stdout.")
    ] = "-",
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="F", help="skymem (lossless), jsonl, markdown, mcp or mem0."
        ),
    ] = "skymem",
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="NAME|all", help="Of whom; as before the verb."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write an agent's memories out: every tier byte for byte, or what is active in other words.

    A tar of JSON lines with the hashes of each file in MANIFEST.json; `skymem import` checks them
    and puts each line back in its tier. The other formats hold what a reader would return.

    Example: skymem export /backups/sky.tar
    """
    import sys

    from skymem.app import now
    from skymem.cli.progress import progress_of
    from skymem.errors import UsageError
    from skymem.exchange.giving import give

    if file == "-" and (as_json or sys.stdout.isatty()):
        raise UsageError("stdout is not the place for it here; name a file")
    spoken = globals_of(context)
    everyone = agent == "all"
    spoken.agent = agent if agent is not None and not everyone else spoken.agent
    whose = None if everyone else spoken.bound_agent()
    home = spoken.open()
    stop_flag.listen()
    with progress_of(home):
        target = sys.stdout.buffer if file == "-" else Path(file)
        told = give(home, home.agents(whose), target, now(), form=form)
    if as_json:
        render.document(told)
        return
    what = f"{told['memories']:,} memories" if "memories" in told else f"{told['bytes']:,} bytes"
    text = f"{what} of {', '.join(told['agents'])} in {told['file']} ({told['format']})"
    (render.complain if file == "-" else render.line)(text)
