"""Verbs about memories: remember, show."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of

if TYPE_CHECKING:
    from skymem.policy.form import Admitted


def remember(
    context: typer.Context,
    text: Annotated[str | None, typer.Argument(help="What to remember.")] = None,
    importance: Annotated[float | None, typer.Option(help="What it is worth, 0 to 1.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A label; repeat it.")] = None,
    kind: Annotated[str | None, typer.Option(help="What sort of thing it is: fact, log, …")] = None,
    ttl_days: Annotated[float | None, typer.Option(help="Days it is good for.")] = None,
    meta: Annotated[
        list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata; repeat it.")
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(help="Where it comes from: user, agent, tool, document or import."),
    ] = None,
    trust: Annotated[float | None, typer.Option(help="How far it is believed, 0 to 1.")] = None,
    from_stdin: Annotated[
        bool, typer.Option("--stdin", help="Read JSON lines from stdin, all or none.")
    ] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write to short-term; returns once it is on disk.

    Example: skymem remember "User wants reports at 7am" --importance 0.9
    """
    from skymem import doors
    from skymem.app import now
    from skymem.errors import UsageError

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    home = spoken.open_to_use(appending=True)
    if from_stdin == (text is not None):
        raise UsageError("give either TEXT or --stdin")
    given_options = (importance, tag, kind, ttl_days, meta, origin, trust)
    if from_stdin and any(option is not None for option in given_options):
        raise UsageError("the lines of --stdin carry their own fields: leave the other options out")
    if text is None:
        admitted = doors.new_lines(home, sys.stdin.buffer.read(), now=now())
    else:
        _utf8([text, kind or "", *(tag or []), *(meta or [])])
        extra = {"kind": kind, "ttl_days": ttl_days, "metadata": _pairs(meta or []) or None}
        line = doors.new_memory(
            home, text, now=now(), tags=tag or [], importance=importance, origin=origin,
            trust=trust, extra={key: one for key, one in extra.items() if one is not None},
        )  # fmt: skip
        admitted = [line]
    if not dry_run and admitted:
        doors.take_in(home, agent, admitted)
    _tell(admitted, dry_run=dry_run, as_json=as_json)


def _tell(admitted: "list[Admitted]", *, dry_run: bool, as_json: bool) -> None:
    from skymem import doors

    ids, secrets = [line.id for line in admitted], doors.redacted(admitted)
    if as_json:
        told: dict[str, Any] = {"id": ids[0] if len(ids) == 1 else None, "ids": ids}
        told |= {"redacted": secrets} if secrets else {}
        render.document({**told, **({"dry_run": True} if dry_run else {})})
        return
    render.complain_of_secrets(secrets)
    for name in ids:
        render.line(f"would remember {name}" if dry_run else name)
    if not ids:
        render.complain("nothing came on stdin, so nothing was remembered")


def _pairs(given: list[str]) -> dict[str, str]:
    from skymem.errors import UsageError

    pairs = dict(one.partition("=")[::2] for one in given)
    if "" in pairs or any("=" not in one for one in given):
        raise UsageError("--meta takes KEY=VALUE")
    return pairs


def _utf8(words: list[str]) -> None:
    """Refuse bytes of the command line that are no text: kept as they are they can't be told."""
    from skymem.errors import InvalidMemoryError

    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise InvalidMemoryError("the command line holds bytes that are not UTF-8") from None


def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="An id, or its first letters.")],
    as_json: Json = False,
) -> None:
    """Show the whole of one memory, and where it is.

    Example: skymem show c1dbbfd1
    """
    import json

    from skymem.jobs.finding import standing_of

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    home = spoken.open_to_use()
    kept = home.find(agent, name)
    stands = standing_of(home.workplace(), agent, kept)
    document = {
        "id": kept.id,
        "agent": agent,
        "tier": kept.tier,
        "file": f"memory/{agent}/{kept.file}",
        **stands.as_json(),
        "memory": kept.memory.fields,
    }
    if as_json:
        render.document(document)
        return
    by = "" if stands.survivor is None else f", superseded: {stands.survivor} holds now"
    render.line(f"{kept.id}  {kept.tier}{render.harmless(by)}  {document['file']}")
    for key, value in kept.memory.fields.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        render.line(f"  {render.harmless(key)}: {render.harmless(shown)}")
