"""The verb that explains one memory."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of

if TYPE_CHECKING:
    from skymem.explain import Explanation
    from skymem.policy.prospects import Gate
    from skymem.stores.history import Event

TEXT_LETTERS: Final = 200
"""Of a memory's text; `skymem show` has all of it."""

_TOLD: Final = {
    "came in": "came in",
    "was there": "was there when skymem first looked",
    "promote": "promoted to long-term",
    "archive": "moved to an archive",
    "repeat": "a repeat of it was dropped",
    "trash": "moved to trash",
    "restore": "restored from trash",
    "undo": "brought back: its run was undone",
    "compact": "gone for good: trash was compacted",
    "made": "made",
    "cited": "became evidence",
    "superseded": "superseded",
    "edited outside": "edited or removed by hand",
    "pinned": "pinned",
    "unpinned": "unpinned",
}

_HELD: Final = {
    "pinned": "it is pinned: every job leaves it where it is (skymem unpin ID)",
    "evidence": "a living summary rests on it: no job removes it",
}


def explain(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="ID", help="An id, or its first letters.")],
    as_json: Json = False,
) -> None:
    """Say what a memory is, how it came where it is, and what comes next; also of one that is gone.

    Example: skymem explain c1dbbfd1
    """
    from skymem.explain import explain as explained

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    found = explained(spoken.open(), agent, name)
    if as_json:
        render.document(found.as_json())
        return
    _what(found)
    render.line("how it came here")
    for event in found.history:
        render.line(f"  {render.moment(event.ts)}  {render.harmless(_event(event))}")
    if not found.history:
        render.line("  no run has seen it yet: the next one records it")
    if found.kept is not None:
        _gates(found)
        _next(found)


def _what(found: "Explanation") -> None:
    kept = found.kept
    if kept is None:
        render.line(f"{render.harmless(found.id)}  gone")
        return
    where = f"memory/{found.agent}/{kept.file}"
    standing = f", {found.standing}" if found.standing else ""
    by = f" by {found.superseded_by}" if found.superseded_by else ""
    render.line(render.harmless(f"{found.id}  {kept.tier}{standing}{by}  ({where})"))
    text = " ".join(kept.memory.searchable.split())
    cut = text if len(text) <= TEXT_LETTERS else text[: TEXT_LETTERS - 1] + "…"
    render.line(f"  “{render.harmless(cut)}”")
    importance, source = found.importance
    about = [f"importance {importance:g} ({source})"]
    about += [f"kind {kept.memory.kind}"] if kept.memory.kind else []
    if kept.memory.time_us is not None:
        about.append(f"of {render.moment(kept.memory.time_us / 1_000_000)} UTC")
    render.line(render.harmless("  " + ", ".join(about)))
    if found.chain:
        render.line(render.harmless(f"  its chain, oldest first: {' → '.join(found.chain)}"))


def _event(event: "Event") -> str:
    what = _TOLD.get(event.what, event.what)
    if event.sources:
        what += f" of {len(event.sources)} memories: {', '.join(event.sources[:5])}"
        what += " …" if len(event.sources) > 5 else ""
    if event.by:
        what += f" {'of' if event.what == 'cited' else 'by'} {event.by}"
    why = f": {event.reason.words()}" if event.reason is not None and not event.sources else ""
    run = f"   [{event.run}]" if event.run else ""
    return f"{what}{why}{run}"


def _gates(found: "Explanation") -> None:
    if found.kept_by:
        render.line("why it stays")
        render.line(f"  {_HELD[found.kept_by]}")
        return
    render.line("the gates before it")
    for gate in found.gates:
        render.line(render.harmless(f"  {gate.job:<8} {_gate(gate)}"))
    if found.restored:
        render.line(f"  it was brought back of late: {found.restored} leaves it alone for now")
    if not found.gates:
        render.line("  none: nothing in the rules moves or removes it")


def _gate(gate: "Gate") -> str:
    against = "" if gate.threshold is None else f" against {gate.threshold:g}"
    value = "" if gate.value is None else f" {gate.value:g}"
    note = f" ({gate.note})" if gate.note else ""
    opens = "open" if gate.open else "closed"
    return f"{gate.gate}{value}{against}{note}: {opens}"


def _next(found: "Explanation") -> None:
    render.line("what comes next")
    steps = found.next()
    for step in steps:
        when = "with the next run of " + step["job"]
        if step["at"] is not None:
            when = f"{render.moment(step['at'])} UTC or soon after, by {step['job']}"
        render.line(f"  {step['what']}: {when}")
    if not steps:
        render.line("  nothing: it stays where it is under the rules in force")
