"""The verb that makes a prompt's block of memory: context."""

from typing import TYPE_CHECKING, Annotated

import typer

from skymem.cli import render
from skymem.cli.options import Json, globals_of
from skymem.cli.recall_verbs import At, moment_of

if TYPE_CHECKING:
    from skymem.recall.context import Context


Message = Annotated[str, typer.Argument(metavar="MESSAGE", help="What the prompt is about.")]
Session = Annotated[
    str | None,
    typer.Option(metavar="ID", help="The conversation; else $SKYMEM_SESSION, else default."),
]
Situation = Annotated[
    str | None,
    typer.Option("--when", metavar="JSON", help="The situation that preferences apply in."),
]
Documents = Annotated[
    int, typer.Option(min=0, max=100, help="Passages of documents that fit, at most.")
]


def context(
    context: typer.Context,
    message: Message = "",
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="ID", help="For this user; another's is left out."),
    ] = None,
    max_chars: Annotated[
        int | None,
        typer.Option(help="How long it may be; else $SKYMEM_CONTEXT_MAX_CHARS, else 8000."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(help="How many memories, at most; else $SKYMEM_CONTEXT_LIMIT, else any."),
    ] = None,
    at: At = None,
    session: Session = None,
    situation: Situation = None,
    documents: Documents = 3,
    as_json: Json = False,
) -> None:
    """Make the block to put into a prompt: notes by layer, and what is recalled for the message.

    Who the agent is, how it thinks, the machine, the user, 10 rules, 5 summaries, and working
    memory: preferences, business, documents, playbooks, the conversation; quoted as data, with
    origin and trust, without what is sensitive. No memory is cut in half.

    Example: skymem context "when are reports due?" --user ann --max-chars 4000
    """
    from skymem.cli.pref_verbs import read_object
    from skymem.prompting import Beside
    from skymem.prompting import context as make

    _, at_us = moment_of(at)
    spoken = globals_of(context)
    home = spoken.open_to_use()
    (agent,) = home.agents(spoken.bound_agent())
    beside = Beside(session, read_object(situation, "the situation") or {}, documents)
    made = make(
        home, agent, message, user_id=user, max_chars=max_chars, limit=limit, at_us=at_us,
        beside=beside,
    )  # fmt: skip
    for reason in made.degraded:
        if reason not in home.faults:  # told already
            render.complain(reason)
    if as_json:
        render.document(made.as_json())
    else:
        _print(made)


def _print(made: "Context") -> None:
    """Print it: in a pipe as it is, on a terminal made harmless."""
    on_terminal = render.columns() != render.NO_TERMINAL
    for line in made.text.split("\n") if made.text else ():
        render.line(render.harmless(line) if on_terminal else line)
    if made.left_out:
        render.complain(f"{made.left_out} did not fit; raise --max-chars or --limit")
