"""The verb that sums a conversation up: conversation summarize."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of

if TYPE_CHECKING:
    from skymem.working.conversation import Summarized

conversation_app = typer.Typer(no_args_is_help=True, help="Conversations, summed up as they grow.")


@conversation_app.command("summarize")
def conversation_summarize(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="JSON lines or a JSON array of turns; - is stdin.")
    ] = Path("-"),
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The conversation; else $SKYMEM_SESSION, else default."),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The last summary, of who keeps what --json prints."),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="ID", help="Whom it is with.")] = (
        None
    ),
    force: Annotated[bool, typer.Option("--force", help="Now, however short it is.")] = False,
    store: Annotated[
        bool, typer.Option("--store", help="Write it down, in place of the session's last one.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Sum a conversation up once it has grown long, for its older turns to be replaced.

    What is said is quoted with its turn: decisions, promises, numbers, dates and names first; the
    conversation's scratchpad and its last summary go in too. A turn is {"role": …, "content": …},
    with "ts" and "id" where there are such. When it is time, and how long a summary may be, stands
    under `conversation:` in retention_rules.yaml.

    Example: skymem conversation summarize turns.jsonl --session s1 --store
    """
    from skymem.working.conversation import Conversations
    from skymem.working.turns import turns_in

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    home = spoken.open_to_use(appending=True)
    data, name = _read(file)
    done = Conversations(home, agent).summarize(
        turns_in(data, name),
        session=session,
        previous=None if previous is None else _previous(previous),
        user_id=user,
        force=force,
        store=store,
    )
    if as_json:
        render.document(done.as_json())
    else:
        _tell(done, forced=force)


def _tell(done: "Summarized", *, forced: bool) -> None:
    for line in done.text.split("\n") if done.text else ():
        render.line(render.harmless(line))
    if done.reason:
        way_out = "" if forced else "; --force makes one now"
        render.complain(f"no new summary: {done.reason}{way_out}")
    if done.left_out:
        render.complain(
            f"{len(done.left_out)} facts did not fit; raise summary_chars (conversation: in "
            "retention_rules.yaml)"
        )


def _read(file: Path) -> tuple[bytes, str]:
    from skymem.errors import UsageError

    if str(file) == "-":
        return sys.stdin.buffer.read(), "stdin"
    try:
        return file.read_bytes(), str(file)
    except OSError as error:
        raise UsageError(f"{file} can't be read: {error.strerror}") from None


def _previous(file: Path) -> dict[str, Any]:
    """Read the last summary: what `--json` printed, or its line."""
    from skymem.errors import InvalidMemoryError
    from skymem.model.strict_json import LineDamage, parse_object

    data, name = _read(file)
    try:
        found = parse_object(data.strip())
    except LineDamage as damage:
        raise InvalidMemoryError(f"{name}: {damage}") from None
    line = found.get("line", found)
    if not isinstance(line, dict):
        raise InvalidMemoryError(f'{name}: field "line": there is no summary in it')
    return line
