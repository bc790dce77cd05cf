"""The live view itself: four panes that follow a home, and the keys by which it is acted on."""

import asyncio
import contextlib
import signal
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.filter import LineFilter
from textual.strip import Strip
from textual.widget import Widget

from skymem.errors import SkymemError
from skymem.live_view.acting import Run, pause_or_resume
from skymem.live_view.columns import Cell, cut
from skymem.live_view.dialogs import Dialog, Lines
from skymem.live_view.panes import AsTheTerminal, Pane, cells_in
from skymem.live_view.rows import (
    AGENT_COLUMNS,
    ALARM_COLUMNS,
    JOB_COLUMNS,
    agent_rows,
    alarm_rows,
    clock_of,
    decision_columns,
    decision_rows,
    head_lines,
    heights,
    job_rows,
)
from skymem.live_view.snapshot import Snapshot
from skymem.live_view.telling import KEYS, help_lines, more_of_alarm, more_of_job
from skymem.live_view.terminal import Terminal
from skymem.live_view.watch import Watch
from skymem.model.harmless import harmless

LOOK_SECONDS: Final = 1.0
RUN_LOOK_SECONDS: Final = 0.2
"""How soon the end of a run that was started here is seen."""

WIDTH_MIN: Final = 60
HEIGHT_MIN: Final = 15
LINES_AROUND: Final = 5
"""Three above the panes, and below them what was said last and the keys."""

PANES: Final = ("agents", "jobs", "alarms", "decisions")

Explained = Callable[[str, str], Lines]
"""Explains a memory of an agent, by its id; raises a SkymemError where that can't be."""


class Words(Widget):
    """Lines of words, each cut to the width."""

    DEFAULT_CSS = "Words { width: 100%; height: 1; }"

    def __init__(self, *lines: Sequence[Cell], name: str) -> None:
        super().__init__(id=name)
        self._lines: Sequence[Sequence[Cell]] = lines

    def say(self, *lines: Sequence[Cell]) -> None:
        """Show these lines."""
        if lines != self._lines:
            self._lines = lines
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one of them."""
        cells = self._lines[y] if y < len(self._lines) else ()
        parts = cells_in(cells, self.size.width - 1, Style())
        return Strip([Segment(" ", Style()), *parts]).adjust_cell_length(self.size.width, Style())


class View(App[None]):
    """`skymem top`."""

    ENABLE_COMMAND_PALETTE = False
    CSS = """
    Screen { layout: vertical; background: ansi_default; color: ansi_default; }
    #head { height: 3; }
    #small { display: none; height: 100%; }
    .small Pane, .small Words { display: none; }
    .small #small { display: block; }
    """
    BINDINGS: ClassVar = [
        Binding("q,ctrl+c,ctrl+q", "quit", show=False),
        Binding("r", "run", show=False),
        Binding("p", "pause", show=False),
        Binding("e", "explain", show=False),
        Binding("a", "agent", show=False),
        Binding("question_mark,h,f1", "keys", show=False),
        Binding("ctrl+l", "draw", show=False),
    ]

    def __init__(
        self, watch: Watch, agent: str | None, terminal: Terminal, explained: Explained
    ) -> None:
        """Show what `watch` sees, of one agent or of all."""
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self._watch, self._agent = watch, agent
        self._as_terminal = AsTheTerminal(terminal)
        self._explained = explained
        self._found = Snapshot(0.0)
        self._wake = asyncio.Event()
        self._whole = self._leaving = False
        self._runs: list[Run] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        columns = {"agents": AGENT_COLUMNS, "jobs": JOB_COLUMNS, "alarms": ALARM_COLUMNS}
        self._panes = {
            name: Pane(columns.get(name) or decision_columns(self._found), name=name)
            for name in PANES
        }
        self._head, self._said = Words(name="head"), Words(name="said")
        self._small = Words(name="small")

    @property
    def under_way(self) -> list[str]:
        """Runs that were started here and are not over."""
        return [run.name for run in self._runs]

    def get_line_filters(self) -> Sequence[LineFilter]:
        """All that is drawn goes by what the terminal can show."""
        return [self._as_terminal]

    def compose(self) -> ComposeResult:
        """Stack everything."""
        yield self._head
        yield from self._panes.values()
        yield self._said
        yield Words(KEYS, name="keys")
        yield self._small

    def on_mount(self) -> None:
        """Begin to follow."""
        self._loop = asyncio.get_running_loop()
        if self._leaving:
            self.exit()
        self._show(Snapshot(0.0))
        self._panes["jobs"].focus()
        self.run_worker(self._follow())

    def leave_on_signals(self) -> None:
        """Have SIGTERM and SIGINT end it as `q` does; a second one ends the process at once."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)

    def _signalled(self, number: int, _frame: types.FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        self._leaving = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.exit)

    async def _follow(self) -> None:
        """Look once a second, and at once when there is a reason to."""
        while True:
            whole, self._whole = self._whole, False
            self._show(await asyncio.to_thread(self._watch.look, self._agent, whole=whole))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), LOOK_SECONDS)
            self._wake.clear()

    def _look_now(self) -> None:
        self._whole = True
        self._wake.set()

    def _show(self, found: Snapshot) -> None:
        before, self._found = self._found, found
        counted = found.status is not before.status
        self._head.say(*head_lines(found))
        self._panes["jobs"].fill(job_rows(found))
        self._panes["alarms"].fill(alarm_rows(found))
        if counted:
            self._panes["agents"].fill(agent_rows(found))
        if counted or found.decided is not before.decided:
            self._panes["decisions"].fill(decision_rows(found), decision_columns(found))
        self._arrange()

    def on_resize(self) -> None:
        """Arrange everything anew."""
        self._arrange()

    def _arrange(self) -> None:
        width, height = self.size
        small = width < WIDTH_MIN or height < HEIGHT_MIN
        base = self.screen_stack[0] if self.screen_stack else None
        if base is None:
            return
        base.set_class(small, "small")
        if small:
            told = f"{width}x{height} is too small: skymem top needs {WIDTH_MIN}x{HEIGHT_MIN}"
            self._small.say((Cell(told),), (Cell("make it larger, or q"),))
            return
        panes = [*self._panes.values()]
        space = height - LINES_AROUND - len(panes)
        each = heights(space, [pane.wanted for pane in panes])
        for pane, rows in zip(panes, each, strict=True):
            pane.styles.height = rows + 1

    def _say(self, text: str, tone: str = "") -> None:
        at = clock_of(self._found.at, self._found.at)
        self._said.say((Cell(f"{at} ", "dim"), Cell(harmless(text), tone)))

    def _chosen(self, pane: str, what: str) -> str:
        """What is meant in a pane that is in use; "" where nothing is, which is said."""
        row = self._panes[pane].chosen
        if self.focused is self._panes[pane] and row is not None and row.key:
            return row.key
        self._say(f"choose {what} first: Tab goes from pane to pane", "warn")
        return ""

    def action_draw(self) -> None:
        """Draw everything again, and count anew."""
        self._look_now()
        self.refresh(repaint=True, layout=True)

    def action_keys(self) -> None:
        """Say what the keys do."""
        self.push_screen(Dialog(help_lines))

    def action_run(self) -> None:
        """Run the job that is meant, once that was confirmed."""
        if not (name := self._chosen("jobs", "a job")):
            return
        told = (f"Run {harmless(name)} now, for every agent?", "", "Enter runs it, Esc does not.")

        def answered(answer: int | None) -> None:
            if answer is not None:
                self.run_worker(self._run(name))

        self.push_screen(Dialog(lambda width: [cut(line, width) for line in told]), answered)

    async def _run(self, name: str) -> None:
        try:
            run = Run(self._watch.home.paths.root, name)
        except OSError as error:
            self._say(f"{name} can't be started: {error.strerror or error}", "bad")
            return
        self._runs.append(run)
        self._say(f"{name} is running …")
        while not run.ended():
            await asyncio.sleep(RUN_LOOK_SECONDS)
        self._runs.remove(run)
        words, well = run.words()
        self._say(words, "good" if well else "bad")
        self._look_now()

    def action_pause(self) -> None:
        """Pause the job that is meant, or end its pause."""
        if name := self._chosen("jobs", "a job"):
            self.run_worker(self._pause(name))

    async def _pause(self, name: str) -> None:
        try:
            told = await asyncio.to_thread(pause_or_resume, self._watch.home, name, self._found.at)
        except SkymemError as error:
            self._say(str(error), "bad")
        else:
            self._say(told)
        self._look_now()

    def action_explain(self) -> None:
        """Explain the memory that is meant."""
        if key := self._chosen("decisions", "a decision"):
            self.run_worker(self._explain(key))

    async def _explain(self, key: str) -> None:
        one = next((one for one in self._found.decided if f"{one.seq} {one.at}" == key), None)
        if one is None or not one.id:
            self._say("that is about no memory alone", "warn")
            return
        self._say(f"asking about {one.id} …")
        try:
            lines = await asyncio.to_thread(self._explained, one.agent, one.id)
        except SkymemError as error:
            self._say(str(error), "bad")
            return
        self._said.say(())
        self.push_screen(Dialog(lines))

    def action_agent(self) -> None:
        """Choose whom to look at."""
        names: list[str | None] = [None, *self._everyone]

        def chosen(at: int | None) -> None:
            if at is not None:
                self._look_at(names[at])

        told = ["all agents", *(harmless(name) for name in names if name is not None)]
        self.push_screen(Dialog(lambda _width: told, choosing=True), chosen)

    @property
    def _everyone(self) -> list[str]:
        with contextlib.suppress(SkymemError, OSError):
            return self._watch.home.agents()
        return self._found.agents

    def _look_at(self, agent: str | None) -> None:
        self._agent = agent
        self._wake.set()

    def on_pane_more(self, message: Pane.More) -> None:
        """Show more of a row: of an agent itself, of all else what does not fit on a line."""
        key, found = message.row.key, self._found
        if message.pane is self._panes["agents"]:
            self._look_at(key or None)
        elif message.pane is self._panes["decisions"]:
            self.action_explain()
        else:
            tell: Any = more_of_job if message.pane is self._panes["jobs"] else more_of_alarm
            if key:
                self.push_screen(Dialog(tell(found, key)))
