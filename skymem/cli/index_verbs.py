"""The verb about the vector index: index."""

from typing import Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Globals, Json, globals_of, stop_flag
from skymem.cli.progress import progress_of
from skymem.jobs.summary import summary


def index(
    context: typer.Context,
    batch_size: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="Memories handed to the engine at once, at most."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Make the index anew; the cache saves the encoding.")
    ] = False,
    stats: Annotated[
        bool, typer.Option("--stats", help="Only look: compare the index with the lines.")
    ] = False,
    export_onnx: Annotated[
        bool,
        typer.Option(
            "--export-onnx", help="Write the model's fp32 ONNX file, preferred from then on."
        ),
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Embed what the vector index does not have yet.

    Example: skymem index --stats
    """
    from skymem.errors import UsageError

    if sum((force, stats, export_onnx)) > 1:
        raise UsageError("give one of --force, --stats and --export-onnx")
    stop_flag.listen()
    spoken = globals_of(context)
    if export_onnx:
        _export(spoken, dry_run=dry_run, as_json=as_json)
    elif stats:
        _look(spoken, as_json=as_json)
    else:
        options = {} if batch_size is None else {"batch": batch_size}
        _index(spoken, dry_run=dry_run, as_json=as_json, force=force, **options)


def _index(spoken: Globals, *, dry_run: bool, as_json: bool, **options: Any) -> None:
    from skymem.jobs.detail import exit_code

    home = spoken.open()
    with progress_of(home):
        detail, results = home.run_job("index", agent=spoken.agent, dry_run=dry_run, **options)
    _tell(detail, as_json=as_json)
    raise typer.Exit(exit_code(results))


def _look(spoken: Globals, *, as_json: bool) -> None:
    from skymem.jobs.detail import exit_code
    from skymem.jobs.index_run import examine

    home = spoken.open()
    detail, results = examine(home.workplace(), home.agents(spoken.agent))
    _tell(detail, as_json=as_json)
    if not as_json:
        for name, one in detail["agents"].items():
            for text in _compared(one):
                render.line(f"{name}: {text}")
    raise typer.Exit(exit_code(results))


def _compared(one: dict[str, Any]) -> list[str]:
    from skymem.jobs.detail import building_words

    told = [
        f"{collection}: {found['lines']:,} in the lines, {found['indexed']:,} in the index, "
        f"{found['missing']:,} missing, {found['stale']:,} stale"
        for collection, found in one.get("compared", {}).items()
    ]
    if "stats" in one:
        stats = one["stats"]
        told.append(
            f"vectors: {stats['vectors']:,} in the cache, {stats['missing']:,} missing in Chroma, "
            f"{stats['extra']:,} too many; {stats['sample']['found']} of "
            f"{stats['sample']['asked']} sampled find themselves"
        )
        if stats["building"]:
            told.append(building_words(stats["building"]))
        told += stats["problems"]
    return told


def _export(spoken: Globals, *, dry_run: bool, as_json: bool) -> None:
    """Write the model's fp32 ONNX file in a process of its own: torch stays out of this one."""
    from skymem.jobs.index_run import export_onnx

    home = spoken.open()
    found = export_onnx(home.workplace(), dry_run=dry_run)
    if as_json:
        render.document(found)
    else:
        word = "would write" if dry_run else "wrote"
        render.line(f"{word} {found['path']}")
        if not dry_run:
            render.line("it is used from now on: the next index run embeds everything with it")


def _tell(detail: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.document(detail)
        return
    render.line(summary(detail))
    for reason in detail["degraded"]:
        render.complain(f"degraded: {reason}")
    if "error" in detail:
        render.complain(detail["error"])
