"""The verb that removes for good: erase."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of, stop_flag

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID…", help="Ids, or their first letters.")
]
All = Annotated[bool, typer.Option("--agent-all", help="Everything there is of the agent.")]
Match = Annotated[
    str | None,
    typer.Option(metavar="PATTERN", help="All whose text has it: a regular expression."),
]
Source = Annotated[
    str | None,
    typer.Option(
        metavar="ORIGIN/FILE", help="All that came from there: an origin, a document, a URL."
    ),
]
KeepCopies = Annotated[
    bool, typer.Option("--keep-copies", help="Leave other memories that say the very same.")
]


def erase(
    context: typer.Context,
    ids: Ids = None,
    agent_all: All = False,
    match: Match = None,
    source: Source = None,
    keep_copies: KeepCopies = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Erase memories for good, everywhere in the home, with a receipt; nothing brings them back.

    Memories that say the very same go as well, and what was made of them is said again without
    them. Look first, with --dry-run; to be able to go back, forget them instead.

    Example: skymem erase c1dbbfd1 --dry-run
    """
    from skymem.cli.progress import progress_of
    from skymem.erasure import erase_memories

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    stop_flag.listen()
    home = spoken.open()
    with progress_of(home):
        receipt = erase_memories(
            home,
            agent,
            ids or [],
            match=match,
            source=source,
            everything=agent_all,
            copies=not keep_copies,
            dry_run=dry_run,
        )
    if as_json:
        render.document({"receipt": receipt.as_json()})
    else:
        for text in _told(receipt.as_json()):
            render.line(render.harmless(text))
    for one in receipt.left:
        render.complain(f"{one['place']}: {one['why']}")
    raise typer.Exit(receipt.exit_code)


def _told(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Tell a receipt to a person."""
    planned = receipt.get("dry_run", False)
    would = "would erase" if planned else "erased"
    yield f"{would} {len(receipt['erased'])} of {receipt['agent']}{_whys(receipt['why'])}"
    if receipt["rewritten"]:
        yield f"{'would rewrite' if planned else 'rewrote'} {_named(receipt['rewritten'])}"
    yield from _copies(receipt["shared"], would)
    for name, at in receipt["already"].items():
        yield f"{name} was erased already, {render.moment(at)} UTC"
    for one in receipt["places"]:
        after = "" if one["after"] is None else f" → {one['after']}"
        if one["before"] or one["after"]:
            yield f"  {one['place']:<24} {one['before']}{after}  {one['action']}"
    if receipt["still_said_by"]:
        yield f"its words stand among those of {_named(receipt['still_said_by'])}, which stay"
    yield from _proven(receipt["proof"] or {})
    if receipt["run"]:
        yield "out of reach:"
        for one in receipt["unreachable"]:
            yield f"  {one['what']}: {one['why']}"


def _copies(shared: list[Mapping[str, str]], would: str) -> Iterator[str]:
    for agent in dict.fromkeys(one["agent"] for one in shared):
        copies = [one["id"] for one in shared if one["agent"] == agent]
        yield f"{would} what {agent} had of it: {_named(copies)}"


def _proven(proof: Mapping[str, Any]) -> Iterator[str]:
    if proof.get("texts"):
        where = ", ".join(proof["found_in"])
        yield (
            f"looked for {proof['texts']} text(s) in {proof['files']:,} files of the home, "
            f"{proof['bytes']:,} bytes: {f'still in {where}' if where else 'in none of them'}"
        )


def _whys(why: Mapping[str, list[str]]) -> str:
    each = ", ".join(f"{len(names)} {reason.replace('_', ' ')}" for reason, names in why.items())
    return f": {each}" if each else ""


def _named(ids: list[str]) -> str:
    shown = ", ".join(ids[:5])
    return shown if len(ids) <= 5 else f"{shown} and {len(ids) - 5} more"
