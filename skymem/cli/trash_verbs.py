"""Verbs that remove and bring back: forget, restore, undo, trash list; pin, unpin, correct."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Json, globals_of, stop_flag

trash_app = typer.Typer(no_args_is_help=True, help="What was removed, until it is compacted.")

Id = Annotated[str, typer.Argument(metavar="ID", help="An id, or its first letters.")]


def forget(
    context: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID…", help="Ids, or their first letters.")
    ] = None,
    match: Annotated[
        str | None,
        typer.Option(metavar="PATTERN", help="All whose text has it: a regular expression."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move memories to trash, whatever tier they are in; `restore` brings them back.

    Example: skymem forget --match "draft of the newsletter" --dry-run
    """
    from skymem.errors import UsageError
    from skymem.jobs.detail import exit_code
    from skymem.upkeep import forget_memories, glances

    if bool(ids) == (match is not None):
        raise UsageError("give either ids or --match PATTERN")
    spoken = globals_of(context)
    agent = spoken.bound_agent()
    stop_flag.listen()
    home = spoken.open()
    detail, outcomes = forget_memories(home, agent, ids or [], match, dry_run=dry_run)
    for plan in () if as_json else (plan for outcome in outcomes for plan in outcome.plans):
        for name, tier, text in glances(home, plan):
            told = f"{render.harmless(name[: render.ID_LETTERS]):<{render.ID_LETTERS}}  {tier:<7}"
            render.cut_line(f"{told}  {render.first_words(text)}")
    told = f"{detail['forgotten']} forgotten"
    if detail["forgotten"] and (pinned := detail["skipped"].get("pinned")):
        told += f"; {pinned} pinned and left (first: skymem unpin ID)"
    if quoted_by := detail.get("quoted_by"):
        told += (
            f"; its words still stand in {', '.join(quoted_by)}: compress takes them out of "
            "profiles and projects, forget takes the others away"
        )
    _told(detail, told, as_json=as_json)
    raise typer.Exit(exit_code(outcomes))


def restore(
    context: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids, or their first letters.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Bring memories back from trash to their tier, byte for byte.

    Example: skymem restore c1dbbfd1
    """
    from skymem.upkeep import restore_memories

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    stop_flag.listen()
    detail = restore_memories(spoken.open(), agent, ids, dry_run=dry_run)
    back = ", ".join(f"{one['id']} to {one['tier']}" for one in detail["restored"])
    _told(detail, f"restored {back}", as_json=as_json)
    for one in detail["restored"] if not as_json else ():
        if one["standing"] != "active":
            render.paragraph(_why_unseen(one["id"], one.get("superseded_by")))


def _why_unseen(name: str, superseded_by: str | None) -> str:
    """Say why no reader returns a memory that is back, and what would make it visible."""
    if superseded_by is not None:
        was, pin = f"superseded by {superseded_by}", ""
    else:
        was, pin = "expired", f"pin it (skymem pin {name}), or "
    return f"{name} is {was}, so readers don't return it; to make it visible: {pin}remember it anew"


def undo(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run's name; all that was done last when left out."),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take a whole run back: promote, rotate, compress, merge, prune, forget or correct.

    Of an undo: what it had brought back is no longer left alone by the rule that had moved it.

    Example: skymem undo --dry-run
    """
    from skymem.upkeep import undo_run

    spoken = globals_of(context)
    home = spoken.open()
    agents = home.agents(spoken.agent)
    stop_flag.listen()
    detail = undo_run(home, run, agents, dry_run=dry_run)
    if "lifted" in detail:
        told = f"undone {detail['of']}: {len(detail['lifted'])} left alone no longer"
        told += f"; next: skymem {detail['again']}" if detail["lifted"] else ""
    else:
        told = f"undone {detail['of']}: {len(detail['restored'])} back where they were"
    if detail["removed"]:
        told += f", {len(detail['removed'])} of its own to trash"
    for why, count in detail["left"].items():
        told += f", {count} {why}"
    _told(detail, told, as_json=as_json)
    if "left_alone" in detail and not as_json:
        _left_alone(detail)


def _left_alone(detail: Mapping[str, Any]) -> None:
    """Say what does not happen again at once, and how to have that all the same."""
    from skymem.policy.prospects import JOBS

    rules, until = detail["left_alone"]["by"], render.moment(detail["left_alone"]["until"])
    leaves = f"{', '.join(rules)} {'leaves' if len(rules) == 1 else 'leave'} them alone"
    jobs = dict.fromkeys(f"skymem {JOBS[rule]}" for rule in rules if rule in JOBS)
    commands = [*(f"skymem undo {run}" for run in detail.get("runs", ())), *jobs]
    if detail.get("dry_run") or not jobs:
        render.line(f"{leaves} until {until} UTC")
        return
    render.line(f"{leaves} until {until} UTC; to have it done all the same:")
    render.line(f"  {' && '.join(commands)}")


def pin(context: typer.Context, name: Id, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Protect a memory from every job: it stays where it is, and does not expire.

    Example: skymem pin c1dbbfd1
    """
    _pin(context, name, pinned=True, dry_run=dry_run, as_json=as_json)


def unpin(context: typer.Context, name: Id, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Let jobs have a pinned memory again.

    Example: skymem unpin c1dbbfd1
    """
    _pin(context, name, pinned=False, dry_run=dry_run, as_json=as_json)


def correct(
    context: typer.Context,
    name: Id,
    text: Annotated[str, typer.Argument(help="What is right.")],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Put a correction in the place of a memory and its copies; the old one stays as history.

    Example: skymem correct c1dbbfd1 "User wants reports at 8am"
    """
    from skymem.jobs.detail import exit_code
    from skymem.upkeep import correct_memory

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    stop_flag.listen()
    detail, outcomes = correct_memory(spoken.open(), agent, name, text, dry_run=dry_run)
    by = f" by {detail['id']}" if detail["id"] else ""
    _told(detail, f"{detail['corrected']} corrected{by}", as_json=as_json)
    raise typer.Exit(exit_code(outcomes))


@trash_app.command("list")
def trash_list(context: typer.Context, as_json: Json = False) -> None:
    """List what is in trash, why, and until when it can be restored.

    Example: skymem trash list
    """
    from skymem.alarms import unreadable
    from skymem.upkeep import trash_listing, unreadable_trash

    spoken = globals_of(context)
    home = spoken.open()
    agents = home.agents(spoken.agent)
    found, damaged = trash_listing(home, agents, texts=not as_json), unreadable_trash(home, agents)
    for file, lines in damaged.items():
        render.complain(unreadable(file, lines))
    if as_json:
        render.document({"trash": found, "unreadable": damaged})
        return
    # On a terminal an id's first letters will do, and the day, so that the text has room.
    letters, day, zone = (render.ID_LETTERS, 10, "") if render.columns() else (None, None, " (UTC)")
    rows = [
        [
            one["agent"],
            render.harmless(one["id"][:letters]),
            one["tier"],
            render.moment(one["trashed_at"])[:day],
            render.moment(one["until"])[:day],
            render.harmless(one["reason"]),
            render.first_words(one["text"]),
        ]
        for one in found
    ]
    headings = ["agent", "id", "was in", f"removed{zone}", f"kept until{zone}", "why", "text"]
    render.table(headings, rows, cut_last=True)


def _pin(context: typer.Context, name: str, *, pinned: bool, dry_run: bool, as_json: bool) -> None:
    from skymem.upkeep import pin_memory

    spoken = globals_of(context)
    agent = spoken.bound_agent()
    found = pin_memory(spoken.open(), agent, name, pinned=pinned, dry_run=dry_run)
    if as_json:
        told = {"id": found, "agent": agent, "pinned": pinned}
        render.document({**told, **({"dry_run": True} if dry_run else {})})
    else:
        verb = "pin" if pinned else "unpin"
        render.line(f"would {verb} {found}" if dry_run else found)


def _told(detail: dict[str, Any], told: str, *, as_json: bool) -> None:
    if as_json:
        render.document(detail)
        return
    would = "would be: " if detail.get("dry_run") else ""
    why = f" ({detail['why']})" if "why" in detail else ""
    render.line(f"{would}{told}{why}")
    if "error" in detail:
        render.complain(detail["error"])
