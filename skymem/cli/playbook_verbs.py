"""Verbs about flows that went well: playbook add, complete, continued, corrected, find, list."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Globals, Json, globals_of
from skymem.cli.pref_verbs import read_object, utf8

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.model.playbook import Flow
    from skymem.working.playbooks import Completed, Playbooks

playbook_app = typer.Typer(
    no_args_is_help=True, help="Flows that went well: kept once the user was satisfied, and found."
)

EXAMPLE: Final = '{"flow_dact": "report", "user_query": …, "tool_calls": [{…}], "outcome": …}'

Flows = Annotated[str | None, typer.Option("--flow", metavar="ID", help="The flow's id.")]
Query = Annotated[str | None, typer.Option("--query", help="What the user asked.")]
Calls = Annotated[
    list[str] | None,
    typer.Option("--call", metavar="JSON", help="A tool call, an object; repeat it, in order."),
]
Slots = Annotated[
    list[str] | None,
    typer.Option("--slot", metavar="NAME=VALUE", help="A slot, as JSON or text; repeat it."),
]
Outcome = Annotated[str | None, typer.Option("--outcome", help="What came of it.")]
Stdin = Annotated[bool, typer.Option("--stdin", help="Read all of it as a JSON object.")]
User = Annotated[
    str | None, typer.Option("--user", metavar="ID", help="Of this user; else everybody's.")
]
Session = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The conversation; else $SKYMEM_SESSION, else default."),
]


@playbook_app.command("add")
def playbook_add(
    context: typer.Context,
    flow: Flows = None,
    query: Query = None,
    call: Calls = None,
    slot: Slots = None,
    outcome: Outcome = None,
    stdin: Stdin = False,
    user: User = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Keep a completed flow that the user said was right.

    One that is equal but for its outcome counts one more.

    Example: skymem playbook add --stdin < flow.json
    """
    given = _flow(stdin=stdin, flow=flow, query=query, call=call, slot=slot, outcome=outcome)
    _, playbooks = _opened(globals_of(context), appending=True)
    done = playbooks.complete(given, satisfied=True, user_id=user, dry_run=dry_run)
    render.complain_of_secrets(done.redacted)
    if as_json:
        kept = None if done.playbook is None else done.playbook.as_json()
        render.document(_told(done) | {"playbook": kept} | _rehearsed(dry_run=dry_run))
    else:
        render.line(_would(dry_run=dry_run) + render.harmless(done.id))


@playbook_app.command("complete")
def playbook_complete(
    context: typer.Context,
    flow: Flows = None,
    query: Query = None,
    call: Calls = None,
    slot: Slots = None,
    outcome: Outcome = None,
    stdin: Stdin = False,
    session: Session = None,
    user: User = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Say that a flow is completed; the user's next turn decides whether it is kept.

    Then say: skymem playbook continued, or corrected.

    Example: skymem playbook complete --stdin --session c1 < flow.json
    """
    given = _flow(stdin=stdin, flow=flow, query=query, call=call, slot=slot, outcome=outcome)
    _, playbooks = _opened(globals_of(context), appending=True)
    done = playbooks.complete(given, session=session, user_id=user, dry_run=dry_run)
    render.complain_of_secrets(done.redacted)
    if as_json:
        render.document(_told(done) | _rehearsed(dry_run=dry_run))
    else:
        render.line(f"{_would(dry_run=dry_run)}{render.harmless(done.id)}  ({done.state})")


@playbook_app.command("continued")
def playbook_continued(
    context: typer.Context, session: Session = None, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Say that the user went on and corrected nothing: what waits becomes a playbook.

    Example: skymem playbook continued --session c1
    """
    _, playbooks = _opened(globals_of(context))
    made = playbooks.continued(session=session, dry_run=dry_run)
    if as_json:
        told = {"playbooks": [one.as_json() for one in made]}
        render.document(told | _rehearsed(dry_run=dry_run))
        return
    for one in made:
        text = f"{one.id[: render.ID_LETTERS]}  {one.flow.flow_dact}: {one.flow.user_query}"
        render.cut_line(_would(dry_run=dry_run) + render.harmless(text))
    if not made:
        render.complain("no completed flow waits in this conversation")


@playbook_app.command("corrected")
def playbook_corrected(
    context: typer.Context, session: Session = None, dry_run: DryRun = False, as_json: Json = False
) -> None:
    """Say that the user corrected what was done: what waits is dropped.

    Example: skymem playbook corrected --session c1
    """
    _, playbooks = _opened(globals_of(context))
    dropped = playbooks.corrected(session=session, dry_run=dry_run)
    if as_json:
        render.document({"dropped": dropped} | _rehearsed(dry_run=dry_run))
        return
    render.line(f"{'would be: ' if dry_run else ''}{len(dropped)} dropped")


@playbook_app.command("find")
def playbook_find(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What is asked.")] = "",
    flow: Flows = None,
    limit: Annotated[int, typer.Option(help="How many, at most.")] = 1,
    session: Session = None,
    user: User = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Find the playbook that fits, and write it to the conversation's scratchpad, once.

    By the flow's id, else by likeness of what is asked, by words where there is no engine. A dry
    run finds it and writes nothing.

    Example: skymem playbook find "revenue by region for May" --session c1
    """
    home, playbooks = _opened(globals_of(context))
    hits = playbooks.find(
        utf8(query),
        flow=utf8(flow or ""),
        limit=limit,
        session=session,
        user_id=user,
        dry_run=dry_run,
    )
    for reason in hits.degraded:
        render.complain(reason)
    if as_json:
        degraded = {"degraded": [*hits.degraded, *home.faults]}
        render.document(hits.as_json() | degraded | _rehearsed(dry_run=dry_run))
        return
    for one in hits:
        book = one.playbook
        head = f"{one.score:.3f}  {book.id[: render.ID_LETTERS]}  {one.by}  {book.flow.flow_dact}"
        calls = f"({len(book.flow.tool_calls)} calls, went well {book.count}×)"
        text = " ".join(book.flow.user_query.split())
        render.cut_line(render.harmless(f"{head}  {text}  {calls}"))
    if not hits:
        render.complain("no playbook fits; see: skymem playbook list")


@playbook_app.command("list")
def playbook_list(context: typer.Context, user: User = None, as_json: Json = False) -> None:
    """List the playbooks there are, newest first.

    Example: skymem playbook list --user ann
    """
    _, playbooks = _opened(globals_of(context))
    found = playbooks.all(user_id=user)
    if as_json:
        render.document({"playbooks": [one.as_json() for one in found]})
        return
    rows = [
        [
            render.moment(one.ts)[:16],
            render.harmless(one.flow.flow_dact),
            render.harmless(one.user_id or "–"),
            str(one.count),
            str(len(one.flow.tool_calls)),
            render.harmless(one.id[: render.ID_LETTERS]),
            render.harmless(" ".join(one.flow.user_query.split())),
        ]
        for one in found
    ]
    if rows:
        headings = ["last (UTC)", "flow", "user", "times", "calls", "id", "asked"]
        render.table(headings, rows, cut_last=True)
    else:
        render.complain("no playbooks yet; a flow that went well becomes one: playbook complete")


def _opened(spoken: Globals, *, appending: bool = False) -> "tuple[Home, Playbooks]":
    from skymem.working.playbooks import Playbooks

    agent = spoken.bound_agent()
    home = spoken.open_to_use(appending=appending)
    if not appending:
        (agent,) = home.agents(agent)
    return home, Playbooks(home, agent)


def _flow(
    *,
    stdin: bool,
    flow: str | None,
    query: str | None,
    call: list[str] | None,
    slot: list[str] | None,
    outcome: str | None,
) -> "Flow":
    """Read a flow from options, or whole from stdin.

    Raises:
        UsageError: it is spelled wrong.
    """
    from skymem.errors import UsageError
    from skymem.model.playbook import Flow

    said = [flow, query, call, slot, outcome]
    if stdin:
        if any(one is not None for one in said):
            raise UsageError("--stdin reads all of it; leave the other options out")
        return _from_stdin()
    slots = dict(map(_slot, slot or ()))
    calls = [read_object(one, "--call") or {} for one in call or ()]
    return Flow(utf8(flow or ""), calls, utf8(outcome or ""), utf8(query or ""), slots)


def _from_stdin() -> "Flow":
    from skymem.errors import UsageError
    from skymem.model.playbook import FIELDS, Flow
    from skymem.model.preference import meant, shown
    from skymem.model.strict_json import LineDamage, parse_object

    try:
        given = parse_object(sys.stdin.buffer.read().strip())
    except LineDamage as damage:
        raise UsageError(f"stdin: {damage}; give a JSON object such as {EXAMPLE}") from None
    for name in given:
        if name not in FIELDS:
            near = meant(name, FIELDS) or f" (there are {', '.join(FIELDS)})"
            raise UsageError(f"stdin: unknown field {shown(name)}{near}")
    fields: dict[str, Any] = {name: given.get(name) for name in FIELDS}
    return Flow(**{**fields, "slots": given.get("slots", {})})


def _slot(given: str) -> tuple[str, Any]:
    import json

    from skymem.errors import UsageError

    name, equals, value = utf8(given).partition("=")
    if not name or not equals:
        raise UsageError(f"slot {given!r:.60} is no pair; give NAME=VALUE")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _told(done: "Completed") -> dict[str, Any]:
    told: dict[str, Any] = {"id": done.id, "state": done.state}
    return told | ({"redacted": dict(done.redacted)} if done.redacted else {})


def _rehearsed(*, dry_run: bool) -> dict[str, bool]:
    return {"dry_run": True} if dry_run else {}


def _would(*, dry_run: bool) -> str:
    return "would write " if dry_run else ""
