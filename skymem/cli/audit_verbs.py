"""Verbs that prove: audit verify, audit log, fsck."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of, stop_flag

if TYPE_CHECKING:
    from skymem.jobs.findings import Findings

audit_app = typer.Typer(no_args_is_help=True, help="The record of everything that was done.")

COLUMNS = (
    "came_in", "short", "long", "archive", "trash", "compacted", "edited outside", "erased",
    "lost", "doubled",
)  # fmt: skip
NAMED_FOR_A_PERSON = 50


@audit_app.command("verify")
def audit_verify(context: typer.Context, as_json: Json = False) -> None:
    """Check that no entry of the record was changed, removed, inserted or reordered.

    Example: skymem audit verify
    """
    from skymem.cli.progress import progress_of
    from skymem.errors import DamageFoundError
    from skymem.jobs.findings import REMEDIES

    home = globals_of(context).open()
    with progress_of(home):
        work = home.workplace()
        entries, problems = work.ledger().verify(
            lambda done, whole: work.progress("ledger", done, whole)
        )
    if as_json:
        render.document({"entries": entries, "valid": not problems, "problems": problems})
    else:
        for problem in problems:
            render.line(render.harmless(problem))
        render.line(
            f"what to do: {REMEDIES['ledger']}"
            if problems
            else f"{entries:,} entries, each chained to the one before"
        )
    if problems:
        raise DamageFoundError(len(problems))


@audit_app.command("log")
def audit_log(
    context: typer.Context,
    run: Annotated[
        str | None, typer.Option(metavar="RUN", help="Only of one run, by its name.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Only what concerns one memory.")
    ] = None,
    op: Annotated[
        str | None,
        typer.Option(metavar="OP", help="Only this: begin, end, remember, violation, share …"),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Not older: a time, or an age: 7d, 12h.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="The newest so many.")] = 50,
    as_json: Json = False,
) -> None:
    """List what was done, newest last: ids, gates and numbers, never text.

    Example: skymem audit log --since 1d
    """
    from skymem.app import now
    from skymem.policy.admit import check_agent_name, check_beginning
    from skymem.recall.request import since as read_since
    from skymem.stores.audit_log import Wanted, log

    spoken = globals_of(context)
    home = spoken.open()
    wanted = Wanted(
        agent=None if spoken.agent is None else check_agent_name(spoken.agent),
        run=run,
        id=None if name is None else check_beginning(name),
        op=op,
        since=0.0 if since is None else read_since(since, now()) / 1_000_000,
    )
    found = log(home.workplace().ledger(), wanted, limit)
    if as_json:
        render.document({"entries": found})
        return
    for entry in found:
        for text in render.wrapped(render.harmless(entry_line(entry)), 4):
            render.line(text)
    if not found:
        asked = (
            *(("run", run), ("memory", name), ("agent", spoken.agent)),
            *(("operation", op), ("time since", since)),
        )
        about = ", ".join(f"{what} {value}" for what, value in asked if value is not None)
        render.complain(f"nothing in the ledger{about and ' about '}{about}")


def fsck(context: typer.Context, as_json: Json = False) -> None:
    """Prove from the record and the files that every memory is in exactly one state.

    Example: skymem fsck
    """
    from skymem.cli.progress import progress_of
    from skymem.errors import DamageFoundError
    from skymem.jobs.fsck import fsck as look

    spoken = globals_of(context)
    home = spoken.open()
    agents = home.agents(spoken.agent)
    stop_flag.listen()
    with progress_of(home):
        findings = look(home.workplace(), agents, all_agents=spoken.agent is None)
    if as_json:
        render.document(findings.as_json())
    else:
        _tell(findings)
    if not findings.valid:
        raise DamageFoundError(len(findings.problems))


def _tell(findings: "Findings") -> None:
    from skymem.jobs.findings import REMEDIES

    rows = [
        [agent, *(f"{states[column]:,}" for column in COLUMNS)]
        for agent, states in findings.memories.items()
    ]
    render.table(["agent", *(column.replace("_", " ") for column in COLUMNS)], rows)
    for word, found in (("problem", findings.problems), ("note", findings.notes)):
        for what in dict.fromkeys(one["what"] for one in found):
            _name(f"{word}: {what}:", [one for one in found if one["what"] == what])
            if what in REMEDIES:
                render.line(f"    what to do: {REMEDIES[what]}")
    if findings.valid:
        came = sum(states["came_in"] for states in findings.memories.values())
        render.line(f"each of {came:,} memories that came in is in exactly one state")


def _name(heading: str, found: Sequence[Mapping[str, Any]]) -> None:
    """Name what was found of one sort, a line each."""
    for one in found[:NAMED_FOR_A_PERSON]:
        whose = f" {one['agent']}:" if one["agent"] else ""
        render.line(render.harmless(f"{heading}{whose} {one['message']}"))
    if len(found) > NAMED_FOR_A_PERSON:
        render.line(f"{heading} {len(found) - NAMED_FOR_A_PERSON:,} more; see them with --json")


def entry_line(entry: Mapping[str, Any]) -> str:
    """An entry of the record, for a person."""
    words = [
        render.moment(entry.get("ts")),
        str(entry.get("agent", "")),
        str(entry["op"]),
        str(entry.get("run", "")),
        ", ".join(_details(entry)),
        f"by {entry['by']}" if "by" in entry else "",
    ]
    return "  ".join(word for word in words if word)


def _details(entry: Mapping[str, Any]) -> Iterator[str]:
    for key in ("ids", "moved", "pieces"):
        if key in entry:
            yield _some([one if key == "ids" else one[0] for one in entry[key]])
    if "decided" in entry:
        yield from _decided(entry["decided"])
    for what, name, *_ in entry.get("added", ()):
        yield f"{what} {name}"
    for key in ("decisions", "additions", "of", "lost", "whose", "door", "with"):
        if entry.get(key):
            yield f"{key} {entry[key]}"
    yield from _places(entry.get("places", {}))
    if entry.get("recovered"):
        yield "recovered"


def _places(places: Mapping[str, list[int]]) -> Iterator[str]:
    """What an erasure found, and left, where."""
    for place, (before, after) in places.items():
        if before or after:
            yield f"{place} {before} → {after}"


def _decided(decided: list[list[Any]]) -> Iterator[str]:
    if len(decided) <= 3:
        for action, name, gate, *numbers in decided:
            value, threshold = [*numbers, None, None][:2]
            against = "" if value is None else f" {value:g} against {threshold}"
            yield f"{action} {name} ({gate}{against})"
        return
    for (action, gate), count in sorted(Counter((one[0], one[2]) for one in decided).items()):
        yield f"{count} {action} ({gate})"


def _some(ids: list[Any]) -> str:
    named = " ".join(str(one) for one in ids[:3])
    return f"{len(ids)}: {named}{' …' if len(ids) > 3 else ''}"
