"""Verbs about what users prefer: pref set, get, unset, list, history, rule, apply, find…"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Globals, Json, globals_of, stop_flag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skymem.app import Home
    from skymem.model.preference import Preference
    from skymem.working.preferences import Preferences, Updated

pref_app = typer.Typer(
    no_args_is_help=True, help="What users prefer, across conversations: set, get, apply, find."
)

User = Annotated[
    str | None, typer.Option("--user", metavar="ID", help="Of this user; else everybody's.")
]
Whose = Annotated[
    str | None, typer.Option("--user", metavar="ID", help="Of this user and everybody's.")
]
When = Annotated[
    str | None,
    typer.Option("--when", metavar="JSON", help='Only where this fits: {"persona": "analyst"}.'),
]
EffectOption = Annotated[
    str | None,
    typer.Option("--effect", metavar="JSON", help="What it changes, by name, as a JSON object."),
]
Tag = Annotated[list[str] | None, typer.Option("--tag", help="A label; repeat it.")]


@pref_app.command("set")
def pref_set(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="Which preference.")],
    value: Annotated[str, typer.Argument(help="Its value; of a list, items between commas.")],
    user: User = None,
    when: When = None,
    effect: EffectOption = None,
    tag: Tag = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write what somebody prefers; it takes the place of what was there.

    With preferences declared in retention_rules.yaml, others are refused.

    Example: skymem pref set verbosity terse --user ann
    """
    from skymem.working.preference_form import Wanted

    preferences = _opened(globals_of(context), appending=True)[1]
    declared = preferences.declared.get(key)
    wanted = Wanted(
        key=utf8(key),
        value=utf8(value) if declared is None else declared.read(utf8(value)),
        user_id=user,
        condition=read_object(when, "--when"),
        effect=read_object(effect, "--effect"),
        tags=tag,
    )
    _tell([preferences.write(wanted, dry_run=dry_run)], dry_run=dry_run, as_json=as_json)


@pref_app.command("rule")
def pref_rule(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call the rule.")],
    when: Annotated[str, typer.Option("--when", metavar="JSON", help="Where it applies.")],
    effect: Annotated[str, typer.Option("--effect", metavar="JSON", help="What it changes.")],
    user: User = None,
    tag: Tag = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write a rule: what holds in situations that fit a condition.

    A test is a value, or an object of equals, in, not, at_least and at_most; any, all and not join
    conditions.

    Example: skymem pref rule cfo --when '{"persona": "cfo"}' --effect '{"verbosity": "terse"}'
    """
    from skymem.working.preference_form import Wanted

    preferences = _opened(globals_of(context), appending=True)[1]
    wanted = Wanted(
        rule=utf8(name),
        condition=read_object(when, "--when"),
        effect=read_object(effect, "--effect"),
        user_id=user,
        tags=tag,
    )
    _tell([preferences.write(wanted, dry_run=dry_run)], dry_run=dry_run, as_json=as_json)


@pref_app.command("get")
def pref_get(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="Which preference.")],
    user: User = None,
    as_json: Json = False,
) -> None:
    """Print what is preferred: the user's own, else everybody's, else what is declared.

    Ends with 24 where nobody said and nothing is declared.

    Example: skymem pref get verbosity --user ann
    """
    from skymem.errors import UnknownMemoryError
    from skymem.model.preference import spoken

    _, preferences = _opened(globals_of(context))
    found = preferences.lookup(utf8(key), user_id=user)
    if found is None or found.value is None:
        raise UnknownMemoryError(f"preference {key}: nobody said; see: skymem pref list")
    if as_json:
        render.document(found.as_json())
    else:
        render.line(render.harmless(spoken(found.value)))


@pref_app.command("unset")
def pref_unset(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="Which preference, or the name of a rule.")],
    user: User = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move all that was ever said under a key to trash; `restore` brings it back.

    Of this very user, or of everybody. To have the one before again, forget the last alone.

    Example: skymem pref unset verbosity --user ann
    """
    from skymem.errors import UnknownMemoryError

    stop_flag.listen()
    _, preferences = _opened(globals_of(context))
    gone = preferences.unset(utf8(key), user_id=user, dry_run=dry_run)
    if not gone:
        raise UnknownMemoryError(f"preference {key}: there is nothing to take away")
    if as_json:
        render.document({"forgotten": gone} | ({"dry_run": True} if dry_run else {}))
    else:
        render.line(f"{'would be: ' if dry_run else ''}{len(gone)} forgotten")


@pref_app.command("list")
def pref_list(context: typer.Context, user: Whose = None, as_json: Json = False) -> None:
    """List the preferences that hold, newest first, and those that are only declared.

    Example: skymem pref list --user ann
    """
    _, preferences = _opened(globals_of(context))
    found = preferences.all(user_id=user)
    if as_json:
        render.document({"preferences": [one.as_json() for one in found]})
        return
    rows = [_row(one) for one in found]
    if rows:
        headings = ["written (UTC)", "user", "how", "id", "preference"]
        render.table(headings, rows, cut_last=True)
    else:
        render.complain("no preferences yet; begin with: skymem pref set KEY VALUE")


@pref_app.command("history")
def pref_history(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="Which preference, or the name of a rule.")],
    user: Whose = None,
    as_json: Json = False,
) -> None:
    """List all that was ever preferred under a key, oldest first.

    Example: skymem pref history verbosity
    """
    from skymem.errors import UnknownMemoryError

    _, preferences = _opened(globals_of(context))
    found = preferences.history(utf8(key), user_id=user)
    if not found:
        raise UnknownMemoryError(f"preference {key}: nobody ever said; see: skymem pref list")
    if as_json:
        render.document({"history": [one.as_json() for one in found]})
        return
    rows = [[*_row(one.preference)[:-1], one.state, _row(one.preference)[-1]] for one in found]
    headings = ["written (UTC)", "user", "how", "id", "state", "preference"]
    render.table(headings, rows, cut_last=True)


@pref_app.command("apply")
def pref_apply(
    context: typer.Context,
    situation: Annotated[str, typer.Argument(metavar="JSON", help="The situation, an object.")],
    user: Whose = None,
    as_json: Json = False,
) -> None:
    """Say what holds in a situation, and which preference makes it so.

    A user's own goes before everybody's, what makes more tests before fewer, then the newer.

    Example: skymem pref apply '{"persona": "analyst", "flow": "report"}'
    """
    from skymem.model.preference import spoken

    _, preferences = _opened(globals_of(context))
    applied = preferences.apply(read_object(situation, "the situation") or {}, user_id=user)
    if as_json:
        render.document(applied.as_json())
        return
    for name, one in applied.effects.items():
        by = f"{one.by.name} {one.by.id[: render.ID_LETTERS] or one.by.how}"
        render.cut_line(render.harmless(f"{name}: {spoken(one.value)}  (by {by}: {one.by.text})"))
    for one in applied.overruled:
        render.cut_line(render.harmless(f"  not {one.name}: {spoken(one.value)}  ({one.by.text})"))
    if not applied.effects:
        render.complain("nothing holds there")


@pref_app.command("find")
def pref_find(
    context: typer.Context,
    situation: Annotated[str, typer.Argument(help="The situation, in your own words.")],
    user: Whose = None,
    limit: Annotated[int, typer.Option(help="How many, at most.")] = 5,
    as_json: Json = False,
) -> None:
    """Find the preferences nearest to a situation, and those that go with them.

    By meaning; by words where there is no engine.

    Example: skymem pref find "a short summary for the board"
    """
    home, preferences = _opened(globals_of(context))
    found = preferences.find(utf8(situation), limit, user_id=user)
    for reason in found.degraded:
        render.complain(reason)
    if as_json:
        render.document(found.as_json() | {"degraded": [*found.degraded, *home.faults]})
        return
    for one in found:
        head = f"{one.score:.3f}  {one.preference.id[: render.ID_LETTERS]}  "
        via = "" if one.source is None else f"  (with {one.source.name}: {one.by})"
        render.cut_line(render.harmless(head + one.preference.text + via))
    if not found:
        render.complain("no preference is near that; see: skymem pref list")


@pref_app.command("onboard")
def pref_onboard(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The answers, in YAML or JSON.")],
    user: User = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Write what an answer sheet says, all of it or nothing.

    A sheet has user, preferences (a mapping of answers) and rules (each with name, when, effect).

    Example: skymem pref onboard answers.yaml --user ann
    """
    preferences = _opened(globals_of(context), appending=True)[1]
    done = preferences.onboard(file, user_id=user, dry_run=dry_run)
    _tell(done, dry_run=dry_run, as_json=as_json, many=True)


def read_object(text: str | None, what: str) -> dict[str, Any] | None:
    """Read a JSON object from the command line.

    Raises:
        UsageError: it is none.
    """
    from skymem.errors import UsageError
    from skymem.model.strict_json import LineDamage, parse_object

    if text is None:
        return None
    try:
        return parse_object(utf8(text).encode())
    except LineDamage as damage:
        example = json.dumps({"persona": "analyst"})
        raise UsageError(f"{what}: {damage}; give a JSON object such as {example}") from None


def _opened(spoken: Globals, *, appending: bool = False) -> "tuple[Home, Preferences]":
    from skymem.working.preferences import Preferences

    agent = spoken.bound_agent()
    home = spoken.open_to_use(appending=appending)
    if not appending:
        (agent,) = home.agents(agent)
    return home, Preferences(home, agent)


def _tell(done: "Sequence[Updated]", *, dry_run: bool, as_json: bool, many: bool = False) -> None:
    for one in done:
        render.complain_of_secrets(one.redacted)
    if as_json:
        told = [_told(one) for one in done]
        rehearsed = {"dry_run": True} if dry_run else {}
        document = {"written": sum(one.new for one in done), "preferences": told}
        render.document((document if many else told[0]) | rehearsed)
        return
    for one in done:
        would = "would write " if dry_run and one.new else ""
        same = "" if one.new else "  (as it was)"
        name = one.preference.id[: render.ID_LETTERS] if many else one.preference.id
        text = f"  {one.preference.text}" if many else ""
        render.cut_line(render.harmless(f"{would}{name}{text}{same}"))


def _told(one: "Updated") -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": one.preference.id,
        "written": one.new,
        "preference": one.preference.as_json(),
    }
    told |= {"redacted": dict(one.redacted)} if one.redacted else {}
    return {**told, "was": None if one.was is None else one.was.as_json()}


def _row(one: "Preference") -> list[str]:
    return [
        render.moment(one.ts)[:16],
        render.harmless(one.user_id or "–"),
        render.harmless(one.how),
        render.harmless(one.id[: render.ID_LETTERS]) or "–",
        render.harmless(one.text),
    ]


def utf8(text: str) -> str:
    """Refuse bytes of the command line that are no text: kept as they are they can't be told."""
    from skymem.errors import InvalidMemoryError

    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidMemoryError("the command line holds bytes that are not UTF-8") from None
    return text
