"""The `skymem` command line: its verbs."""

from typing import Annotated

import typer

from skymem.cli import (
    agents_verbs,
    alarm_verbs,
    audit_verbs,
    config_verbs,
    context_verbs,
    conversation_verbs,
    daemon_verbs,
    docs_verbs,
    erase_verbs,
    exchange_verbs,
    explain_verbs,
    home_verbs,
    hook_verbs,
    importance_verbs,
    index_verbs,
    job_verbs,
    listing_verbs,
    mcp_verbs,
    memory_verbs,
    metrics_verbs,
    note_verbs,
    patterns_verbs,
    playbook_verbs,
    pref_verbs,
    recall_verbs,
    report_verbs,
    schedule_verbs,
    scratchpad_verbs,
    serve_verbs,
    simulate_verbs,
    top_verbs,
    trash_verbs,
    upgrade_verbs,
    watch_verbs,
)
from skymem.cli.options import Globals

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


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"skymem {version('skymem')}")
        raise typer.Exit


@app.callback()
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


for verb in (
    home_verbs.init,
    home_verbs.demo,
    daemon_verbs.run,
    job_verbs.promote,
    job_verbs.rotate,
    job_verbs.compress,
    job_verbs.merge,
    job_verbs.prune,
    job_verbs.share,
    job_verbs.compact,
    job_verbs.train,
    index_verbs.index,
    job_verbs.trigger,
    job_verbs.apply,
    schedule_verbs.jobs,
    schedule_verbs.pause,
    schedule_verbs.resume,
    home_verbs.status,
    top_verbs.top,
    watch_verbs.check,
    alarm_verbs.alarms,
    metrics_verbs.metrics,
    memory_verbs.remember,
    recall_verbs.recall,
    listing_verbs.recent,
    context_verbs.context,
    memory_verbs.show,
    explain_verbs.explain,
    importance_verbs.importance,
    simulate_verbs.simulate,
    report_verbs.report,
    trash_verbs.forget,
    erase_verbs.erase,
    trash_verbs.restore,
    trash_verbs.undo,
    trash_verbs.pin,
    trash_verbs.unpin,
    trash_verbs.correct,
    note_verbs.profile,
    serve_verbs.serve,
    mcp_verbs.mcp,
    upgrade_verbs.upgrade,
    audit_verbs.fsck,
    home_verbs.doctor,
):
    app.command(verb.__name__)(verb)
app.command("import")(exchange_verbs.import_)
app.command("export")(exchange_verbs.export)
app.command("backup")(exchange_verbs.backup)
app.command("restore-backup")(exchange_verbs.restore_backup)
app.add_typer(agents_verbs.agents_app, name="agents")
app.add_typer(listing_verbs.archive_app, name="archive")
app.add_typer(audit_verbs.audit_app, name="audit")
app.add_typer(docs_verbs.docs_app, name="docs")
app.add_typer(conversation_verbs.conversation_app, name="conversation")
app.add_typer(hook_verbs.hook_app, name="hook")
app.add_typer(note_verbs.note_app, name="note")
app.add_typer(patterns_verbs.patterns_app, name="patterns")
app.add_typer(note_verbs.project_app, name="project")
app.add_typer(playbook_verbs.playbook_app, name="playbook")
app.add_typer(pref_verbs.pref_app, name="pref")
app.add_typer(scratchpad_verbs.scratchpad_app, name="scratchpad")
app.add_typer(trash_verbs.trash_app, name="trash")
app.add_typer(config_verbs.config_app, name="config")
