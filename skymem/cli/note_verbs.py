"""Verbs about notes and about what compress made of them: note, profile, project."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import AcceptClock, DryRun, Json, globals_of, stop_flag

if TYPE_CHECKING:
    from skymem.notes import NewNote, Written
    from skymem.profiles import Known

note_app = typer.Typer(no_args_is_help=True, help="Notes by kind: write, list, merge, prune.")
project_app = typer.Typer(no_args_is_help=True, help="What is known of each project.")

User = Annotated[str | None, typer.Option("--user", metavar="ID", help="Of this user.")]


@note_app.command("write")
def note_write(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(help="log, summary, rule, soul, agent, user or another.")],
    text: Annotated[str, typer.Argument(help="What to write down.")],
    user: User = None,
    scope: Annotated[str, typer.Option(help="Whom it concerns.")] = "user",
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A label; repeat it.")] = None,
    confidence: Annotated[float, typer.Option(help="How sure it is, 0 to 1.")] = 1.0,
    stability: Annotated[
        str | None,
        typer.Option(help="volatile, stable or permanent; with its ttl as usual for the kind."),
    ] = None,
    ttl_days: Annotated[float | None, typer.Option(help="Days it is good for.")] = None,
    sensitivity: Annotated[
        str, typer.Option(help="normal, or sensitive: kept out of contexts.")
    ] = "normal",
    evidence: Annotated[
        list[str] | None, typer.Option("--evidence", help="A path or URL; repeat it.")
    ] = None,
    job_id: Annotated[str | None, typer.Option(help="The job it came of.")] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write a note to short-term; returns once it is on disk.

    Left out, --stability and --ttl-days are as usual for the kind; with --stability said the ttl is
    as said. A soul, agent or user note takes the place of the user's present one.

    Example: skymem note write rule "Run the tests first" --confidence 0.9 --evidence docs/ci.md
    """
    from skymem.notes import NewNote, write_note

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    home = spoken.open_to_use(appending=True)
    new = NewNote(
        kind, text, scope, user, tag or (), confidence=confidence, stability=stability or "stable",
        ttl_days=ttl_days, sensitivity=sensitivity, evidence=evidence or (), job_id=job_id,
    )  # fmt: skip
    _utf8(new)
    if stability is None:
        new = new.as_usual(home.rules.kinds)
    done = write_note(home, agent, new, dry_run=dry_run)
    _tell(done, dry_run=dry_run, as_json=as_json)


@note_app.command("list")
def note_list(
    context: typer.Context,
    user: User = None,
    kind: Annotated[str | None, typer.Option(help="Only this kind.")] = None,
    scope: Annotated[str | None, typer.Option(help="Only this scope.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only with this label; repeated: with any.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, at most.")] = 50,
    as_json: Json = False,
) -> None:
    """List the notes that hold now, of every tier, newest first.

    Example: skymem note list --kind rule
    """
    from skymem.notes import get_notes

    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    found = get_notes(
        home, agent, user_id=user, kind=kind, scope=scope, tags=tag or (), limit=limit
    )
    if as_json:
        render.document({"notes": [note.as_json() for note in found]})
        return
    rows = [
        [
            render.moment(note.ts)[:16],
            render.harmless(note.kind),
            render.harmless(note.user_id or "–"),
            render.moment(note.expires_at)[:16],
            render.harmless(note.id[: render.ID_LETTERS]),
            render.harmless(" ".join(note.content.split())),
        ]
        for note in found
    ]
    if rows:
        headings = ["written (UTC)", "kind", "user", "until (UTC)", "id", "text"]
        render.table(headings, rows, cut_last=True)
    else:
        render.complain("no notes")


@note_app.command("merge")
def note_merge(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids, or their first letters.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Merge two notes or more into one summary, which quotes each and takes their place.

    Example: skymem note merge c1dbbfd1 77a90b2e
    """
    from skymem.notes import merge_notes

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    stop_flag.listen()
    done = merge_notes(spoken.open(), agent, ids, dry_run=dry_run)
    if as_json:
        render.document({**done.detail, "id": done.note.id, "note": done.note.as_json()})
        return
    would = "would be: " if dry_run else ""
    render.line(f"{would}{len(done.note.supersedes)} merged into {done.note.id}")


@note_app.command("prune-expired")
def note_prune_expired(
    context: typer.Context,
    accept_clock: AcceptClock = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move what has expired to trash, and nothing else; `restore` brings it back.

    Example: skymem note prune-expired --dry-run
    """
    from skymem.notes import prune_expired

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    stop_flag.listen()
    detail = prune_expired(spoken.open(), agent, dry_run=dry_run, accept_clock=accept_clock)
    if as_json:
        render.document(detail)
    else:
        would = "would be: " if dry_run else ""
        render.line(f"{would}{detail['pruned']} expired, moved to trash")


def profile(context: typer.Context, user: User = None, as_json: Json = False) -> None:
    """Show what is known of each user: preferences, facts, and what not to assume.

    Example: skymem profile --user ann
    """
    from skymem.profiles import profiles

    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    found = profiles(home, agent, user)
    if as_json:
        render.document({"profiles": [one.as_json() for one in found]})
        return
    for one in found:
        _show(one, f"User {one.user_id}" if one.user_id else "Profile")
    if not found:
        render.complain("no profile yet; compress makes one of facts, preferences and decisions")


@project_app.command("list")
def project_list(context: typer.Context, as_json: Json = False) -> None:
    """List the projects there are records of.

    Example: skymem project list
    """
    from skymem.profiles import projects

    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    found = projects(home, agent)
    if as_json:
        render.document({"projects": [one.as_json() for one in found]})
        return
    rows = [
        [
            render.harmless(one.name),
            render.harmless(one.user_id or "–"),
            *(str(len(statements)) for statements in one.lists.values()),
            render.moment(one.ts)[:16],
        ]
        for one in found
    ]
    if rows:
        headings = ["project", "user", "goals", "blockers", "next steps", "as of (UTC)"]
        render.table(headings, rows)
    else:
        render.complain("no projects yet; compress makes them of memories tagged project:NAME")


@project_app.command("show")
def project_show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The project's name, in either case.")],
    as_json: Json = False,
) -> None:
    """Show a project's goals, blockers and next steps, each with its source.

    Example: skymem project show apollo
    """
    from skymem.errors import UnknownMemoryError
    from skymem.profiles import projects

    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    found = projects(home, agent, name)
    if not found:
        raise UnknownMemoryError(f"project {name} (agent {agent}); see: skymem project list")
    if as_json:
        render.document({"projects": [one.as_json() for one in found]})
        return
    for one in found:
        _show(one, f"Project {one.name}" + (f" of {one.user_id}" if one.user_id else ""))


def _tell(done: "Written", *, dry_run: bool, as_json: bool) -> None:
    if done.warning:
        render.complain(f"warning: {done.warning}")
    render.complain_of_secrets(done.redacted)
    if as_json:
        warnings = [done.warning] if done.warning else []
        told: dict[str, Any] = {"id": done.note.id, "written": done.new, "warnings": warnings}
        told |= {"redacted": dict(done.redacted)} if done.redacted else {}
        rehearsed = {"dry_run": True} if dry_run else {}
        render.document({**told, **rehearsed, "note": done.note.as_json()})
    else:
        would = "would write " if dry_run and done.new else ""
        render.line(would + render.harmless(done.note.id))


def _show(record: "Known", title: str) -> None:
    """Print a record: a list a paragraph, each statement with the memory it was drawn from."""
    flag = "  (sensitive)" if record.sensitive else ""
    render.line(f"{render.harmless(title)}{flag}  as of {render.moment(record.ts)}")
    for section, statements in record.lists.items():
        if statements:
            render.line(f"  {section.replace('_', ' ')}")
        for one in statements:
            source = render.harmless(one.source[: render.ID_LETTERS])
            render.line(f"    {render.harmless(one.text)}  [{source}]")


def _utf8(new: "NewNote") -> None:
    """Refuse bytes of the command line that are no text: kept as they are they can't be told."""
    from skymem.errors import InvalidMemoryError

    words = [new.kind, new.content, new.scope, new.user_id, new.job_id, *new.tags, *new.evidence]
    try:
        "".join(filter(None, words)).encode()
    except UnicodeEncodeError:
        raise InvalidMemoryError("the command line holds bytes that are not UTF-8") from None
