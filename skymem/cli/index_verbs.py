"""The verb about the vector index: index."""

from typing import Annotated, Any, NamedTuple

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Globals, Json, globals_of, stop_flag
from skymem.cli.progress import progress_of
from skymem.jobs.summary import summary

Migrate = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Go over to another model: a name, or where it lies."),
]
MinParity = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="With --migrate: how much of what the old model finds the new one must find, or "
        "nothing is switched (0.5).",
    ),
]
Rollback = Annotated[
    bool, typer.Option("--rollback", help="Go back to the model before the last switch.")
]


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
    migrate: Migrate = None,
    min_parity: MinParity = None,
    rollback: Rollback = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Embed what the vector index does not have yet.

    Example: skymem index --stats
    """
    from skymem.errors import UsageError

    if sum((force, stats, export_onnx, rollback, migrate is not None)) > 1:
        raise UsageError("give one of --force, --stats, --export-onnx, --migrate and --rollback")
    if min_parity is not None and migrate is None:
        raise UsageError("--min-parity belongs to --migrate")
    stop_flag.listen()
    spoken = globals_of(context)
    if migrate is not None or rollback:
        _change(spoken, migrate, _Ways(min_parity, batch_size), dry_run=dry_run, as_json=as_json)
    elif export_onnx:
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
        render.line(f"model in use: {detail['in_use']['model']} ({detail['in_use']['why']})")
        for name, one in detail["agents"].items():
            for text in _compared(one):
                render.line(f"{name}: {text}")
    raise typer.Exit(exit_code(results))


def _compared(one: dict[str, Any]) -> list[str]:
    from skymem.jobs.summary import building_words

    told = [
        f"{collection}: {found['lines']:,} in the lines, {found['indexed']:,} in the index, "
        f"{found['missing']:,} missing, {found['stale']:,} stale"
        for collection, found in one.get("compared", {}).items()
    ]
    if "words" in one:
        found = one["words"]
        told.append(
            f"words: {found['lines']:,} in long-term and archives, {found['indexed']:,} in the "
            f"word index, {found['missing']:,} missing (found in the lines), "
            f"{found['stale']:,} stale"
        )
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


class _Ways(NamedTuple):
    """How a change of model is made."""

    min_parity: float | None
    batch: int | None


def _change(
    spoken: Globals, model: str | None, ways: _Ways, *, dry_run: bool, as_json: bool
) -> None:
    """Go over to `model`, or back where it is None; what came of it is recorded as the job's."""
    from skymem.errors import UsageError
    from skymem.jobs import migrate

    if spoken.agent is not None:
        raise UsageError("all agents of a home have one model; leave --agent out")
    home = spoken.open()
    named = None if model is None else migrate.asked_for(model)
    with progress_of(home):
        work, agents = home.workplace(dry_run=dry_run), home.agents()
        if dry_run:
            changed = migrate.rehearse(work, agents, named or "")
        elif named is None:
            changed = migrate.rollback(work, agents)
        else:
            given = {name: value for name, value in ways._asdict().items() if value is not None}
            changed = migrate.migrate(work, agents, migrate.Wanted(named, **given))
    if not dry_run and not changed.exit_code:  # the index in use has not failed otherwise
        home.record("index", changed.detail)
    _tell(changed.detail, as_json=as_json)
    if not as_json:
        for text in _changed(changed.detail):
            render.line(text)
    raise typer.Exit(changed.exit_code)


def _changed(detail: dict[str, Any]) -> list[str]:
    """What a change of model came to, for a person."""
    told = []
    if parity := detail.get("parity"):
        shares = [
            f"{parity[name]:.0%} {what}"
            for name, what in (
                ("overlap", "of the old model's answers are the new one's too"),
                ("recalled", "of what the old one finds by its own words is found"),
            )
            if parity[name] is not None
        ]
        told.append(f"{'; '.join(shares) or 'nothing to compare'} ({parity['queries']} queries)")
    if detail.get("migrated"):
        told.append(f"in use: {detail['to']}; back to {detail['from']}: skymem index --rollback")
    elif detail.get("rolled_back"):
        told.append(f"in use: {detail['to']}; again to {detail['from']}: skymem index --rollback")
    return told


def _tell(detail: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.document(detail)
        return
    render.line(summary(detail))
    for reason in detail["degraded"]:
        render.complain(f"degraded: {reason}")
    if "error" in detail:
        render.complain(detail["error"])
