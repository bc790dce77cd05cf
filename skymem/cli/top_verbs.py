"""The verb that shows a home as it lives: top."""

import os
from typing import TYPE_CHECKING

import typer

from skymem.cli import render
from skymem.cli.options import Globals, globals_of

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.live_view.dialogs import Lines
    from skymem.live_view.view import View

EXTRA = "pip install 'skymem[top]'"


def top(context: typer.Context) -> None:
    """Show a home as it lives: tiers, jobs, alarms, and each decision as it is taken.

    By keys a job is run or paused, a decision explained, an agent chosen; ? tells them, q quits.
    Needs a terminal of 60x15 or more; without colour where NO_COLOR is set or the terminal has
    none.

    Example: skymem top
    """
    spoken = globals_of(context)
    view = _view(spoken)
    view.leave_on_signals()
    view.run(mouse=False)  # so that the terminal's own marking and copying works, of ids above all
    for name in view.under_way:
        render.complain(f"{name} goes on; how it went: skymem jobs")
    raise typer.Exit(view.return_code or 0)


def _view(spoken: Globals) -> "View":
    """Make it; all that it needs is loaded before root becomes the home's owner."""
    from skymem.errors import UsageError
    from skymem.live_view.terminal import terminal_of

    terminal = terminal_of(os.environ)
    try:
        from skymem.live_view.view import View
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package == "skymem":
            raise
        raise UsageError(f"skymem top needs {package}: {EXTRA}") from None
    import skymem.config.schedule_file
    import skymem.daemon.timing
    import skymem.explain
    import skymem.jobs.table  # noqa: F401
    from skymem.live_view.watch import Watch

    watch = Watch(lambda: spoken.open(lenient=True))
    watch.home.agents(spoken.agent)  # one that isn't there is told before anything is shown
    return View(
        watch, spoken.agent, terminal, lambda agent, name: _explained(watch.home, agent, name)
    )


def _explained(home: "Home", agent: str, name: str) -> "Lines":
    """What `skymem explain` says, for a frame of any width."""
    from skymem.cli.explain_verbs import explanation
    from skymem.explain import explain

    told = [*explanation(explain(home, agent, name))]
    return lambda width: [line for text, by in told for line in render.folded(text, width, by)]
