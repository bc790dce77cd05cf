"""Verbs about documents: what a tenant's agents share, and its agent.md."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of, stop_flag

if TYPE_CHECKING:
    from skymem.working.documents import Documents
    from skymem.working.ingesting import Ingested

docs_app = typer.Typer(no_args_is_help=True, help="Documents: take in, search, list, remove.")

PASSAGE_LETTERS = 300
"""Of a passage, what a terminal is shown."""


@docs_app.command("add")
def docs_add(
    context: typer.Context,
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="Files and directories.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take in documents: Markdown, text, HTML, PDF, DOCX, mail, a Slack export, transcripts.

    The same again costs little: what changed takes the place of what it said before, and what is
    gone from a directory goes to trash. A file that can't be read is told; the others are taken.

    Example: skymem docs add handbook/ contracts/acme.pdf
    """
    documents = _documents(context)
    stop_flag.listen()
    done = documents.add(*paths, dry_run=dry_run)
    _tell(done, as_json=as_json)
    if done.failed:
        from skymem.errors import DamageFoundError

        raise typer.Exit(DamageFoundError.exit_code)


@docs_app.command("search")
def docs_search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, at most.")] = 10,
    user: Annotated[
        str | None, typer.Option("--user", metavar="ID", help="Whom it is for.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find what documents say to a question, each passage with where it stands.

    Example: skymem docs search "when are invoices due"
    """
    found = _documents(context).search(query, limit=limit, user_id=user)
    if as_json:
        render.document(found.as_json())
        return
    for reason in found.degraded:
        render.complain(reason)
    for one in found:
        render.line(f"{one.score:.2f}  {render.harmless(one.cite)}  {render.moment(one.ts)[:16]}")
        said = " ".join(one.content.split())
        cut = said if len(said) <= PASSAGE_LETTERS else said[:PASSAGE_LETTERS] + "…"
        render.line(f"      {render.harmless(cut)}")
    if not found:
        render.complain("nothing found")


@docs_app.command("list")
def docs_list(context: typer.Context, as_json: Json = False) -> None:
    """List the documents that were taken in.

    Example: skymem docs list
    """
    found = _documents(context).list()
    if as_json:
        render.document({"documents": [one.as_json() for one in found]})
    elif found:
        rows = [[str(one.chunks), render.harmless(one.path)] for one in found]
        render.table(["chunks", "document"], rows)
    else:
        render.complain("no documents; take some in with: skymem docs add PATH")


@docs_app.command("remove")
def docs_remove(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE…", help="As listed, or a directory for all of it.")
    ],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move all chunks of documents to trash; undo brings them back.

    Example: skymem docs remove handbook/old.md
    """
    documents = _documents(context)
    stop_flag.listen()
    _tell(documents.remove(*files, dry_run=dry_run), as_json=as_json)


@docs_app.command("agent-md")
def docs_agent_md(
    context: typer.Context,
    upload: Annotated[
        str | None, typer.Argument(metavar="[upload", help='"upload", to put a file there.')
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE]", help="What to put there; - is stdin.")
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Print the tenant's agent.md, or put a file in its place.

    What was promoted into it is taken along, unless the file has a block of its own; the version
    before is kept beside it as agent.md.previous.

    Example: skymem docs agent-md upload agent.md
    """
    from skymem.errors import UsageError

    if (upload, file is None) not in ((None, True), ("upload", False)):
        raise UsageError("give nothing, to print it, or: upload FILE")
    if file is not None:
        _upload(context, file, dry_run=dry_run, as_json=as_json)
        return
    text = _documents(context).agent_md
    if as_json:
        render.document({"agent_md": text})
    elif text:
        for line in text.rstrip("\n").expandtabs().split("\n"):
            render.line(render.harmless(line))
    else:
        render.complain("no agent.md yet; put one there with: skymem docs agent-md upload FILE")


def _upload(context: typer.Context, file: Path, *, dry_run: bool, as_json: bool) -> None:
    import sys

    from skymem.errors import InvalidMemoryError, UsageError
    from skymem.stores.files import disk_errors
    from skymem.working.agent_md import BYTES_MAX

    if str(file) != "-" and not file.exists():
        raise UsageError(f"{file}: there is no such file")
    documents = _documents(context)
    with disk_errors(file):
        if str(file) == "-":
            data = sys.stdin.buffer.read(BYTES_MAX + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(BYTES_MAX + 1)
    try:
        _, secrets = documents.without_secrets(data.decode())
        changed = documents.upload_agent_md(data.decode(), dry_run=dry_run)
    except UnicodeDecodeError:
        raise InvalidMemoryError(f"{file} is no UTF-8") from None
    render.complain_of_secrets(secrets)
    if as_json:
        told = {"redacted": secrets} if secrets else {}
        render.document({"changed": changed, **told, **({"dry_run": True} if dry_run else {})})
    else:
        would = "would be: " if dry_run else ""
        render.line(f"{would}{'written' if changed else 'nothing new'}")


def _documents(context: typer.Context) -> "Documents":
    from skymem.working.documents import Documents

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    return Documents(spoken.open_to_use(), agent)


def _tell(done: "Ingested", *, as_json: bool) -> None:
    if as_json:
        render.document(done.as_json())
        return
    for what in ("added", "changed", "removed"):
        for path in getattr(done, what):
            render.line(f"{what:<8} {render.harmless(path)}")
    for path, note in done.notes.items():
        render.complain(f"note: {render.harmless(path)}: {render.harmless(note)}")
    for path, reason in done.failed.items():
        render.complain(f"not read: {render.harmless(path)}: {render.harmless(reason)}")
    for reason in done.degraded:
        render.complain(reason)
    would = "would be: " if done.dry_run else ""
    counts = [f"{len(getattr(done, what))} {what}" for what in ("added", "changed", "removed")]
    chunks = f"{done.chunks} chunks new, {done.trashed} to trash"
    render.line(f"{would}{', '.join(counts)}, {done.unchanged} as they were; {chunks}")
