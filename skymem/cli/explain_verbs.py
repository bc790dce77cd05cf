"""The verb that explains one memory."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of

if TYPE_CHECKING:
    from skymem.explain import Explanation
    from skymem.policy.prospects import Exemption, Gate
    from skymem.stores.history import Event

TEXT_LETTERS: Final = 200
"""Of a memory's text; `skymem show` has all of it."""

SOURCES_NAMED: Final = 5
"""Of those that a memory was made of, or that one memory superseded."""

_TOLD: Final = {
    "came in": "came in",
    "was there": "was there when skymem first looked",
    "promote": "promoted to long-term",
    "archive": "moved to an archive",
    "repeat": "a repeat of it was dropped",
    "trash": "moved to trash",
    "restore": "restored from trash",
    "undo": "brought back",
    "lift": "no longer left alone: the undo that had brought it back was undone",
    "compact": "gone for good: trash was compacted",
    "erase": "erased for good",
    "rewrite": "said again without what was erased",
    "made": "made",
    "cited": "became evidence",
    "superseded": "superseded",
    "likened": "found to say the same",
    "superseder removed": "what superseded it was moved to trash",
    "superseder back": "what superseded it was brought back",
    "edited outside": "edited or removed by hand",
    "pinned": "pinned",
    "unpinned": "unpinned",
}

_KEPT: Final = {
    "kind": "its kind is not promoted",
    "never_tag": "it has a tag that is never promoted",
    "never_kind": "it is of a kind that is never promoted",
    "calibration": "it waits, as more than is usual of this agent would be promoted",
    "restored": "left alone for now, as it was brought back",
    "evidence": "a living summary rests on it",
    "ring": "it supersedes itself by way of others",
    "permanent": "it is to stay for good",
    "recalled": "it is among those that are recalled most",
    "supersedes": "what it supersedes goes first, or together with it",
    "loss_budget": "the run stops at its loss budget",
    "instruction": "it tells its reader what to do, and where it came from is not trusted",
    "echo": "it says again what was recalled",
    "alone": "there is no other to merge it with",
    "superseded": "it stands between what it replaced and what replaced it",
}
"""What keeps a memory at a gate whose time has come."""

_APART: Final = {
    **dict.fromkeys(
        ("numbers", "dates", "ids", "names", "negation", "quantifiers", "modality", "direction"),
        "second look: they differ in {}",
    ),
    "wording": "second look: one says what the other does not",
    "order": "second look: the same words in another order",
    "question": "second look: one of them asks",
    "moment": "second look: one is true at its moment alone",
    "length": "one is too long to be compared",
    "likeness": "not near enough",
    "whose": "they are of different users, tenants, scopes or sessions",
    "sensitivity": "one of them is sensitive",
    "another_kind": "they are of different kinds",
    "another_origin": "they come from different places, or are not trusted alike",
    "another_place": "they are of different projects or sections",
    "pinned": "one of them is pinned",
    "restored": "they were one before, and that was taken back",
    "future": "one of them is of later than now",
    "expires": "one of them expires",
    "no_ttl": "one of them is a volatile note",
    "kind": "one of them is of a kind that is not merged",
    "too_young": "one of them has no time",
    "instruction": "one of them tells its reader what to do, and is not trusted",
    "like_another": "it says the same, but not as all of those that become one",
    "compared": "they were compared before",
}
"""What keeps two memories apart that are near in meaning."""


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
    for text, indent in explanation(found):
        render.paragraph(text, indent)


def explanation(found: "Explanation") -> Iterator[tuple[str, int]]:
    """Everything there is to say of one memory for a person: paragraphs, and how far indented."""
    yield from _what(found)
    yield "how it came here", 0
    for event in found.history:
        yield f"{render.moment(event.ts)}  {_event(event)}", 2
    if not found.history:
        yield "no run has seen it yet: the next one records it", 2
    if found.kept is not None:
        yield from _gates(found)
        yield from _alike(found)
        yield from _next(found)


def _what(found: "Explanation") -> Iterator[tuple[str, int]]:
    kept = found.kept
    if kept is None:
        yield f"{found.id}  gone", 0
        return
    standing = "" if found.standing == "superseded" else found.standing
    by = f"superseded by {found.superseded_by}" if found.superseded_by else ""
    states = ", ".join(one for one in (kept.tier, standing, by) if one)
    yield f"{found.id}  {states}  (memory/{found.agent}/{kept.file})", 0
    text = " ".join(kept.memory.searchable.split())
    cut = text if len(text) <= TEXT_LETTERS else text[: TEXT_LETTERS - 1] + "…"
    yield f"“{cut}”", 2
    importance, source = found.importance
    second = "" if found.predicted in (None, importance) else f"; predicted {found.predicted:g}"
    about = [f"importance {importance:g} ({source}{second})"]
    about += [f"kind {kept.memory.kind}"] if kept.memory.kind else []
    if kept.memory.time_us is not None:
        about.append(f"of {render.moment(kept.memory.time_us / 1_000_000)} UTC")
    yield ", ".join(about), 2
    if found.source is not None:
        whence = f"a copy of {found.source.id} of agent {found.source.agent}, shared by rule"
        yield render.harmless(whence), 2
    if found.chain:
        yield f"its chain, oldest first: {_chain(found)}", 2


def _chain(found: "Explanation") -> str:
    """Spell what superseded what: "A → B → C", and "A, B → C" where C superseded both."""
    below: dict[str | None, list[str]] = {}
    for name, by in found.chain.items():
        below.setdefault(by, []).append(name)

    def spell(name: str) -> str:
        line = [name]
        while len(under := below.get(name, [])) == 1:
            name = under[0]
            line.append(name)
        if under:
            under.sort(key=lambda one: one != found.id)  # whatever is left out, it is not this one
            told = [f"({spell(one)})" if one in below else one for one in under[:SOURCES_NAMED]]
            more = len(under) - SOURCES_NAMED
            line.append(", ".join(told) + (f" and {more:,} more" if more > 0 else ""))
        return " → ".join(reversed(line))

    return spell(below[None][0])


def _event(event: "Event") -> str:
    what = _TOLD.get(event.what, event.what)
    if event.sources:
        what += f" of {len(event.sources)} memories: {', '.join(event.sources[:SOURCES_NAMED])}"
        what += " …" if len(event.sources) > SOURCES_NAMED else ""
    if event.by:
        joined = {"cited": "of", "superseded": "by", "likened": "as"}.get(event.what)
        what += f" {joined} {event.by}" if joined else f" ({event.by})"
    run = f"   [{event.run}]" if event.run else ""
    return f"{what}{_why(event)}{run}"


def _why(event: "Event") -> str:
    """Say why, where that is not said yet; what a person did has no gate."""
    reason = event.reason
    if reason is None or event.sources or event.what == "lift":
        return ""
    if event.what == "undo":
        return f", as its run was undone: {reason.note}"
    if reason.gate == "undone":
        return f", as the run that had made it was undone: {reason.note}"
    if reason.gate == "merged":
        return f", as it was merged into {reason.note}"
    if reason.gate == "by_hand":
        return ", where it was put by hand" if event.what == "restore" else ", by hand"
    return f": {reason.words()}"


def _gates(found: "Explanation") -> Iterator[tuple[str, int]]:
    if found.kept_by == "pinned":
        yield "why it stays", 0
        yield "it is pinned: every job leaves it where it is (skymem unpin ID)", 2
        return
    yield "the gates before it", 0
    for gate in found.gates:
        yield f"{gate.job:<8} {_gate(gate)}", 2
    if not found.gates:
        yield "none: no rule in force moves it or removes it", 2
    if found.kept_by == "evidence" and all(gate.kept != "evidence" for gate in found.gates):
        yield "a living summary rests on it: no job removes it", 2


def _gate(gate: "Gate") -> str:
    from skymem.policy.prospects import JOBS

    against = "" if gate.threshold is None else f" against {gate.threshold:g}"
    value = "" if gate.value is None else f" {gate.value:g}"
    note = f" ({gate.note})" if gate.note else ""
    opens = "open" if gate.open else "closed"
    why = ""
    if gate.kept:
        by_another = gate.job == "prune" and gate.kept in JOBS
        why = f"it goes by {gate.kept} before" if by_another else _KEPT.get(gate.kept, gate.kept)
    return f"{gate.gate}{value}{against}{note}: {opens}{why and ': ' + why}"


def _alike(found: "Explanation") -> Iterator[tuple[str, int]]:
    """Say what is near to it in meaning, and what becomes of them."""
    looked = found.alike
    if looked is None:
        return
    yield "what says the same", 0
    if looked.why:
        yield f"not looked for: {looked.why}", 2
    once = f", once it is {looked.once}" if looked.once else ""
    for one in looked.near:
        how = f"likeness {one.likeness:.2f} against {one.threshold:g}"
        if one.merges:
            told = f"the next {looked.job} will merge it with {one.id}{once} ({how}; "
            yield f"{told}second look agrees)", 2
        else:
            why = _APART.get(one.gate, one.gate).format(one.gate)
            yield f"apart from {one.id} ({how}): {why}", 2
    if not looked.near and not looked.why:
        yield f"nothing in long-term is as near as {looked.threshold:g}", 2


def _next(found: "Explanation") -> Iterator[tuple[str, int]]:
    yield "what comes next", 0
    steps = found.next()
    if found.exemption is not None and found.kept_by != "pinned":
        job = found.exemption.job
        then = next((one for one in steps if one["job"] == job), None)
        steps = [one for one in steps if one is not then]
        yield _left_alone(found.exemption, then, last=not steps), 2
    elif not steps:
        yield "nothing: it stays where it is under the rules in force", 2
    for step in steps:
        when = "with the next run of " + step["job"]
        if step["at"] is not None:
            when = f"{render.moment(step['at'])} UTC or soon after, by {step['job']}"
        yield f"{step['what']}: {when}", 2


def _left_alone(why: "Exemption", then: dict[str, Any] | None, *, last: bool) -> str:
    until = f"until {render.moment(why.until)} UTC"
    if not why.job:  # of an older version: who removes by hand is no rule
        return f"left alone by prune {until}, as it was brought back"
    told = f"left alone by the rule that had moved it ({why.gate}) {until}"
    if then is not None:
        return f"{told}; then: {then['what']}, by {then['job']}"
    return f"{told}; then: nothing, under the rules in force" if last else told
