"""Verbs that a coding agent calls, and those that tell it to: hook."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skymem.cli import render
from skymem.cli.options import DryRun, Globals, globals_of

if TYPE_CHECKING:
    from skymem.hooks.install import Change

hook_app = typer.Typer(
    no_args_is_help=True, help="Hooks for coding agents: install, remove; and what they call."
)

Settings = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The agent's settings; else ~/.claude/settings.json."),
]


@hook_app.command("session-start")
def session_start(context: typer.Context) -> None:
    """Give a coding agent what holds in every session; the event comes on stdin.

    Example: skymem hook session-start < event.json
    """
    _run(context, "session-start")


@hook_app.command("prompt")
def prompt(context: typer.Context) -> None:
    """Recall for a prompt, in time or not at all; the event comes on stdin.

    By meaning where an engine runs and answers at once, else by words. Whatever is wrong, it ends
    with 0, in 300 ms where recall is kept at hand and in two seconds where not, and says why.

    Example: skymem hook prompt < event.json
    """
    _run(context, "prompt")


@hook_app.command("tool-use")
def tool_use(context: typer.Context) -> None:
    """Append what a tool did, cut and without secrets; the event comes on stdin.

    Example: skymem hook tool-use < event.json
    """
    _run(context, "tool-use")


@hook_app.command("stop")
def stop(context: typer.Context) -> None:
    """Append the reply, where SKYMEM_STORE_RESPONSES is true; the event comes on stdin.

    Example: skymem hook stop < event.json
    """
    _run(context, "stop")


@hook_app.command("install")
def install(context: typer.Context, settings: Settings = None, dry_run: DryRun = False) -> None:
    """Put the hooks of this home and agent into a coding agent's settings.

    All else in the settings stays as it is, byte for byte; what they were is kept beside them.

    Example: skymem hook install
    """
    from skymem.hooks.install import plan_install

    home, agent = _whose(globals_of(context))
    change = plan_install(_settings(settings), home, agent)
    _carry_out(change, dry_run=dry_run, done=f"hooks of agent {agent} are in", nothing="already in")


@hook_app.command("remove")
def remove(context: typer.Context, settings: Settings = None, dry_run: DryRun = False) -> None:
    """Take the hooks out of a coding agent's settings again, of whatever home and agent.

    Example: skymem hook remove
    """
    from skymem.hooks.install import plan_remove

    _only_operator()
    del context
    change = plan_remove(_settings(settings))
    _carry_out(change, dry_run=dry_run, done="hooks are out of", nothing="no hooks of skymem in")


@hook_app.command("plugin")
def plugin(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where; its own, or new.")],
    dry_run: DryRun = False,
) -> None:
    """Write the hooks of this home and agent as a plugin's folder, and touch no settings.

    Example: skymem hook plugin skymem-plugin
    """
    from skymem.hooks.install import plugin_files, write_plugin
    from skymem.stores.files import Files

    home, agent = _whose(globals_of(context))
    made = plugin_files(home, agent)
    if dry_run:
        for name, data in made.items():
            render.line(f"would write {render.harmless(str(directory / name))}")
            render.line(data.decode().rstrip())
        return
    for path in write_plugin(directory, made, Files()):
        render.line(render.harmless(str(path)))


def _run(context: typer.Context, verb: str) -> None:
    from skymem.hooks.run import run_hook

    spoken = globals_of(context)
    run_hook(verb, spoken.home, spoken.agent)


def _whose(spoken: Globals) -> tuple[Path, str]:
    """The home, by its absolute path, and the agent."""
    from skymem.app import agent_from_environment, locate_home
    from skymem.policy.admit import check_agent_name

    _only_operator()
    agent = agent_from_environment() if spoken.agent is None else spoken.agent
    return locate_home(spoken.home).path.absolute(), check_agent_name(agent)


def _only_operator() -> None:
    """Keep a process that is bound to an agent from changing what runs on a person's prompts."""
    from skymem.app import binding
    from skymem.errors import NotAllowedError

    if binding() is not None:
        raise NotAllowedError("hooks are the operator's; this process is bound to an agent")


def _settings(given: Path | None) -> Path:
    from skymem.hooks.install import usual_settings

    return usual_settings(os.environ) if given is None else given


def _carry_out(change: "Change", *, dry_run: bool, done: str, nothing: str) -> None:
    from skymem.hooks.install import carry_out
    from skymem.stores.files import Files

    path = render.harmless(str(change.path))
    if not dry_run:
        carry_out(change, Files())  # also what an interrupted one left
        render.line(f"{done if change.changes else nothing} {path}")
    elif change.changes:
        render.line(f"would be: {done} {path}")
        for line in (change.after or b"").decode().splitlines():
            render.line(render.harmless(line))
    else:
        render.line(f"{nothing} {path}")
