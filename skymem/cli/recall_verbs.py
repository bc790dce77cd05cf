"""Verbs that find memories: recall."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of
from skymem.policy.rank import LIMIT, RECENCY_BIAS, SEMANTIC_WEIGHT

if TYPE_CHECKING:  # other verbs must not pay for it
    from skymem.app import Home
    from skymem.recall.request import Request
    from skymem.recall.result import Recall, Recalled


Limit = Annotated[int, typer.Option(help="How many, at most.")]
Mode = Annotated[
    str,
    typer.Option(
        metavar="MODE", help="auto (as fusion), fusion, hybrid, deterministic or semantic."
    ),
]
Tiers = Annotated[
    list[str] | None,
    typer.Option("--tier", metavar="TIER", help="Only short, long or archive; repeat it."),
]
Kind = Annotated[str | None, typer.Option(help="Only this sort of thing.")]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this label; repeated: with any.")
]
Meta = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="KEY=VALUE", help="Only with this metadata; repeat it."),
]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Not older: ISO 8601, epoch seconds, or an age: 7d, 12h."),
]
At = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="As it was then, without what came later; what was forgotten since is not back.",
    ),
]
Bias = Annotated[float, typer.Option(help="Of deterministic and hybrid: share of recency, 0 to 1.")]
Weight = Annotated[float, typer.Option(help="Of hybrid: share of meaning, 0 to 1.")]


def recall(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for, in your own words.")],
    limit: Limit = LIMIT,
    mode: Mode = "auto",
    tier: Tiers = None,
    kind: Kind = None,
    tag: Tags = None,
    meta: Meta = None,
    since: Since = None,
    recency_bias: Bias = RECENCY_BIAS,
    semantic_weight: Weight = SEMANTIC_WEIGHT,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Find memories of every tier by words and meaning, best first; without an engine by words.

    Example: skymem recall "when does the user want reports?" --since 30d
    """
    from skymem.recall import request
    from skymem.recalling import recall_and_note

    moment, at_us = moment_of(at)
    filters = request.filters_of(
        tiers=tier or (),
        kind=kind,
        tags=tag or (),
        meta=[pair_of(one) for one in meta or ()],
        since_us=None if since is None else request.since(since, moment),
    )
    asked = request.ask(
        query, limit, mode, recency_bias, semantic_weight, filters=filters, at_us=at_us
    )
    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    found = recall_and_note(home, agent, asked)
    for reason in found.degraded:
        render.complain(reason)
    found.degraded += home.faults  # told already
    if as_json:
        render.document(found.as_json())
    else:
        _print(found)
        if not found:
            render.complain(f"nothing found: {_why_nothing(home, agent, asked)}")


def moment_of(at: str | None) -> tuple[float, int | None]:
    """The moment ages are reckoned from, epoch seconds, and in microseconds when it was said."""
    from skymem.app import now
    from skymem.recall.request import since as read_time

    if at is None:
        return now(), None
    at_us = read_time(at, now(), "at")
    return at_us / 1_000_000, at_us


def pair_of(given: str) -> tuple[str, str]:
    """Read KEY=VALUE.

    Raises:
        UsageError: it is none.
    """
    from skymem.errors import UsageError

    key, equals, value = given.partition("=")
    if not key or not equals:
        raise UsageError(f"meta {given!r:.60} is no pair; give KEY=VALUE")
    return key, value


def _print(found: "Recall") -> None:
    for one in found:
        date = render.moment(one.ts)[:10]
        name = render.harmless(one.id[: render.ID_LETTERS])
        head = f"{one.score:.3f}  {one.tier:<7}  {name:<{render.ID_LETTERS}}  {date:<10}  "
        whose = f"(of {one.source.agent}) " if one.source is not None else ""
        render.cut_line(head + render.harmless(whose + _text(one)))


def _text(one: "Recalled") -> str:
    """The text in one line; of a structured record what it holds."""
    if one.content or one.record_type is None:
        return " ".join(one.content.split())
    return f"{one.record_type} {json.dumps(one.payload, ensure_ascii=False)}"


def _why_nothing(home: "Home", agent: str, asked: "Request") -> str:
    from skymem.overview import who_remembers
    from skymem.policy.rank import tokens

    if not tokens(asked.query):
        return "the query holds no word to look for"
    if asked.filters.narrow:
        return "no memory passes the filters; leave some out"
    if asked.mode == "semantic":
        return "nothing is indexed yet; see: skymem index --stats"
    remembering = who_remembers(home)
    if agent in remembering:
        return f"no memory of agent {agent} is active: all have expired or are superseded"
    if others := [name for name in remembering if name != agent]:
        some = f"{', '.join(others)} (name one: skymem --agent {others[0]} recall)"
        return f"agent {agent} has no memory; there are some of {some}"
    return "nothing is remembered yet; begin with: skymem remember TEXT"
