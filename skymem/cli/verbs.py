"""The verbs of the `skymem` command line, each built and loaded when it is called.

Typer builds each command and each of its parameters anew whenever it is called, and that, with the
modules of all verbs, costs more than most verbs' own work: so no more is built than the verb.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, Final

import typer

from skymem.cli.conversion import spare_conversion
from skymem.cli.options import Globals

VERBS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "init": "home_verbs",
        "demo": "home_verbs",
        "run": "daemon_verbs",
        "promote": "job_verbs",
        "rotate": "job_verbs",
        "compress": "job_verbs",
        "merge": "job_verbs",
        "prune": "job_verbs",
        "share": "job_verbs",
        "compact": "job_verbs",
        "train": "job_verbs",
        "index": "index_verbs",
        "trigger": "job_verbs",
        "apply": "job_verbs",
        "jobs": "schedule_verbs",
        "pause": "schedule_verbs",
        "resume": "schedule_verbs",
        "status": "home_verbs",
        "top": "top_verbs",
        "check": "watch_verbs",
        "alarms": "alarm_verbs",
        "metrics": "metrics_verbs",
        "remember": "memory_verbs",
        "recall": "recall_verbs",
        "recent": "listing_verbs",
        "context": "context_verbs",
        "show": "memory_verbs",
        "explain": "explain_verbs",
        "importance": "importance_verbs",
        "simulate": "simulate_verbs",
        "report": "report_verbs",
        "forget": "trash_verbs",
        "erase": "erase_verbs",
        "restore": "trash_verbs",
        "undo": "trash_verbs",
        "pin": "trash_verbs",
        "unpin": "trash_verbs",
        "correct": "trash_verbs",
        "profile": "note_verbs",
        "serve": "serve_verbs",
        "mcp": "mcp_verbs",
        "upgrade": "upgrade_verbs",
        "fsck": "audit_verbs",
        "doctor": "home_verbs",
        "import": "exchange_verbs",
        "export": "exchange_verbs",
        "backup": "exchange_verbs",
        "restore-backup": "exchange_verbs",
    }
)
"""Which module has it, in the order of the help; there it is a function of its own name."""

_FUNCTIONS: Final = MappingProxyType({"import": "import_", "restore-backup": "restore_backup"})
"""Where a verb's name is none for a function: what it is called instead."""

GROUPS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agents": "agents_verbs",
        "archive": "listing_verbs",
        "audit": "audit_verbs",
        "docs": "docs_verbs",
        "conversation": "conversation_verbs",
        "hook": "hook_verbs",
        "note": "note_verbs",
        "patterns": "patterns_verbs",
        "project": "note_verbs",
        "playbook": "playbook_verbs",
        "pref": "pref_verbs",
        "scratchpad": "scratchpad_verbs",
        "trash": "trash_verbs",
        "config": "config_verbs",
    }
)
"""The same for groups of verbs: there it is the app of its name."""


def command_line(verb: str = "") -> typer.Typer:
    """The command line with `verb` alone; with all there are, where it has no such verb."""
    app = typer.Typer(
        name="skymem",
        help="The keeper of AI agents' memory: promotes what matters, archives what is old.",
        epilog=(
            "Exit codes: 0 done, 2 usage, 10 no home, 11 busy, 12 daemon running, 20 damage found, "
            "21 loss budget, 22 stale plan, 23 degraded, 24 no such memory, 25 clock moved, "
            "30 not allowed, 40 no engine, 74 disk, 78 configuration, 130 interrupted."
        ),
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(choose)
    alone = {verb} & {*VERBS, *GROUPS}
    for name, module in VERBS.items():
        if name in (alone or VERBS):
            app.command(name)(_part(module, _FUNCTIONS.get(name, name)))
    for name, module in GROUPS.items():
        if name in (alone or GROUPS):
            app.add_typer(_part(module, f"{name}_app"), name=name)
    return app


def run_command_line(verb: str) -> None:
    """Run what was typed, with as little of the command line as `command_line(verb)` is."""
    spare_conversion(typer.main.get_command(command_line(verb)))()


def _part(module: str, name: str) -> Any:
    return getattr(import_module(f"skymem.cli.{module}"), name)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"skymem {version('skymem')}")
        raise typer.Exit


def choose(
    context: typer.Context,
    home: Annotated[
        str | None, typer.Option(metavar="PATH", help="The home; else $SKYMEM_HOME, else found.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="One agent; else $SKYMEM_AGENT, else sky.")
    ] = None,
    log_level: Annotated[
        str,
        typer.Option(metavar="LEVEL", help="Of the daemon's log: debug, info, warning or error."),
    ] = "info",
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Hold on to what was said before the verb."""
    del version
    if log_level not in ("debug", "info", "warning", "error"):
        raise typer.BadParameter("debug, info, warning or error", param_hint="--log-level")
    context.obj = Globals(home, agent, log_level)
