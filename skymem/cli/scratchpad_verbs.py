"""Verbs about a conversation's scratchpad: scratchpad write, read, promote, report-saved, end."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Globals, Json, globals_of

if TYPE_CHECKING:
    from skymem.working.scratchpad import Scratchpad

scratchpad_app = typer.Typer(
    no_args_is_help=True,
    help="What the flows of one conversation found out: write, read, promote, end.",
)

Session = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The conversation; else $SKYMEM_SESSION, else default."),
]
PLACES = {"context": "business context", "preference": "preferences"}


@scratchpad_app.command("write")
def scratchpad_write(
    context: typer.Context,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT…", help="A snippet each.")],
    session: Session = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="Somebody asked for it to be remembered.")
    ] = False,
    user: Annotated[
        str | None, typer.Option("--user", metavar="ID", help="Whom it concerns.")
    ] = None,
    origin: Annotated[
        str, typer.Option(help="Where it is from: user, agent, tool, document or import.")
    ] = "agent",
    trust: Annotated[float | None, typer.Option(help="How far it is believed, 0 to 1.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write what a flow found out, at its end: a sentence or a few each.

    Written again, a snippet is the newest again; of a full scratchpad the one that was not written
    for longest leaves. A power cut may take what was written in the last seconds; a kill does not.

    Example: skymem scratchpad write "Refunds need a manager's approval." --session c-42
    """
    from skymem import doors
    from skymem.working.scratchpad import Marks

    _utf8(*texts, user or "", session or "")
    pad = _opened(globals_of(context), session, appending=True)
    marks = Marks(remember, user, origin, trust)
    lines = pad.lines(texts, marks, dry_run=True) if dry_run else pad.put(texts, marks)
    ids, secrets = [line.id for line in lines], doors.redacted(lines)
    render.complain_of_secrets(secrets)
    if as_json:
        told = {"redacted": secrets} if secrets else {}
        render.document({"session": pad.session, "ids": ids, **told, **_dry(dry_run=dry_run)})
        return
    would = "would write " if dry_run else ""
    for one in ids:
        render.line(f"{would}{one}")


@scratchpad_app.command("read")
def scratchpad_read(context: typer.Context, session: Session = None, as_json: Json = False) -> None:
    """Print every snippet of a conversation, the one written last at the end.

    Example: skymem scratchpad read --session c-42
    """
    pad = _opened(globals_of(context), session)
    found = pad.read()
    if as_json:
        render.document({"session": pad.session, "snippets": [one.as_json() for one in found]})
        return
    for one in found:
        render.line(render.harmless(" ".join(one.text.split())))
    if not found:
        render.complain(f"nothing in the scratchpad of {pad.session}")


@scratchpad_app.command("promote")
def scratchpad_promote(
    context: typer.Context,
    session: Session = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Promote what outlives its conversation, to business context or to preferences.

    What somebody asked to be remembered goes; else what is a general principle, and is new or was
    found in several conversations. Each gate is shown with its value against its threshold; the
    thresholds are under scratchpad: in retention_rules.yaml.

    Example: skymem scratchpad promote --session c-42 --dry-run
    """
    pad = _opened(globals_of(context), session)
    _tell(pad.promote(dry_run=dry_run), as_json=as_json)


@scratchpad_app.command("report-saved")
def scratchpad_report_saved(
    context: typer.Context,
    session: Session = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Say that a report was saved in a conversation: that promotes its scratchpad.

    Example: skymem scratchpad report-saved --session c-42
    """
    pad = _opened(globals_of(context), session)
    _tell(pad.report_saved(dry_run=dry_run), as_json=as_json)


@scratchpad_app.command("end")
def scratchpad_end(
    context: typer.Context,
    session: Session = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move a conversation's snippets to trash, before their time; what was promoted stays.

    Example: skymem scratchpad end --session c-42
    """
    pad = _opened(globals_of(context), session)
    gone = pad.end(dry_run=dry_run)
    if as_json:
        render.document({"session": pad.session, "forgotten": gone, **_dry(dry_run=dry_run)})
        return
    would = "would be " if dry_run else ""
    render.line(f"{len(gone)} snippet(s) {would}in trash; back with: skymem restore ID")


def _opened(spoken: Globals, session: str | None, *, appending: bool = False) -> "Scratchpad":
    from skymem.working.scratchpad import Scratchpad

    agent = spoken.bound_agent()
    return Scratchpad(spoken.open_to_use(appending=appending), agent, session)


def _utf8(*words: str) -> None:
    """Refuse bytes of the command line that are no text: kept as they are they can't be told."""
    from skymem.errors import InvalidMemoryError

    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise InvalidMemoryError("the command line holds bytes that are not UTF-8") from None


def _dry(*, dry_run: bool) -> dict[str, Any]:
    return {"dry_run": True} if dry_run else {}


def _tell(detail: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.document(detail)
        return
    would = "would go" if detail.get("dry_run") else "went"
    for one in detail["decisions"]:
        name = render.harmless(one["id"][: render.ID_LETTERS])
        made = f" as {render.harmless(one['made'][: render.ID_LETTERS])}" if one["made"] else ""
        where = f"{would} to {PLACES[one['to']]}{made}" if one["to"] else "stays"
        render.line(f"{name}  {where}: {one['by']}")
        for gate in one["gates"]:
            render.line(f"    {_gate(gate)}")
    for reason in detail["degraded"]:
        render.complain(reason)
    if "why" in detail:
        render.line(detail["why"])


def _gate(gate: Mapping[str, Any]) -> str:
    from skymem.model.plan import Reason

    return render.harmless(
        Reason(gate["gate"], gate["value"], gate["threshold"], gate["note"]).words()
    )
