"""`skymem status --follow`: on a terminal a picture that stays true, in a pipe what happens.

It ends with 0 on Ctrl-C or SIGTERM, its only end, and when nobody reads it any more.
"""

import contextlib
import json
import os
import select
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from skymem.cli.options import Globals, stop_flag
from skymem.cli.status_text import action_text, status_lines
from skymem.live_view.marks import mark_of
from skymem.model.harmless import plain
from skymem.overview import daemon_overview, status_overview
from skymem.stores.actions import ActionsTail
from skymem.stores.files import disk_errors

if TYPE_CHECKING:
    from skymem.app import Home

LOOK_MS: Final = 250
"""How often it looks for changes: some stat calls, and the lock's holder."""

REDRAW_LOOKS: Final = 4
"""A terminal is redrawn every second, for the ages it shows."""

WHOLE_LOOKS: Final = 40
"""At least every ten seconds everything is counted anew, whatever the files seem to say."""

CLEAR: Final = "\x1b[2J"
TOP: Final = "\x1b[H"
END_OF_LINE: Final = "\x1b[K"
REST: Final = "\x1b[J"


def follow_status(spoken: Globals, *, as_json: bool) -> None:
    """Show the home's state until a signal comes or the reader is gone."""
    stop_flag.listen()
    home = spoken.open(lenient=True)
    home.agents(spoken.agent)  # one that isn't there is told before anything is shown
    with contextlib.suppress(BrokenPipeError):
        if as_json:
            _follow_documents(home, spoken.agent)
        elif sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
            _follow_on_terminal(home, spoken.agent)
        else:
            _follow_actions(home, spoken.agent)
        return
    # What is left in the buffer has no reader; the interpreter must not try it at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _follow_actions(home: "Home", agent: str | None) -> None:
    """Print a line for each action from now on."""
    path = home.status_files().actions
    with contextlib.closing(ActionsTail(path)) as tail:
        for _ in _looks():
            with disk_errors(path):
                fresh = list(tail.fresh())
            for record in fresh:
                if agent is None or agent in (record["detail"].get("agents") or (agent,)):
                    _say(plain(action_text(record)) + "\n")


def _follow_documents(home: "Home", agent: str | None) -> None:
    """Print the whole state at the start and at each change, as one JSON document a line."""
    seen: object = None
    for _ in _looks():
        mark = mark_of(home.paths)
        if mark != seen:
            seen = mark
            _say(json.dumps(status_overview(home, agent), allow_nan=False) + "\n")


def _follow_on_terminal(home: "Home", agent: str | None) -> None:
    """Draw the state over and over in the same place."""
    found: dict[str, Any] = {}
    seen: object = None
    _say(CLEAR)
    for number in _looks():
        mark = mark_of(home.paths)
        changed = mark != seen or number % WHOLE_LOOKS == 0
        if changed:
            seen, found = mark, status_overview(home, agent)
        elif number % REDRAW_LOOKS == 0:
            found = {**found, "daemon": daemon_overview(home)}
        else:
            continue
        _say(_drawn(status_lines(found)))


def _drawn(lines: list[str]) -> str:
    """The lines as a terminal is to show them, cut to what fits on it."""
    width, height = shutil.get_terminal_size()
    shown = lines[: max(1, height - 1)]
    return TOP + "".join(f"{text[:width]}{END_OF_LINE}\n" for text in map(plain, shown)) + REST


def _looks() -> Iterator[int]:
    """Count the looks, with a pause between two, until a signal or the end of the reader."""
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)  # tells of nothing but a reader that is gone
    number = 0
    while not stop_flag.asked():
        yield number
        number += 1
        if reader.poll(LOOK_MS):
            return


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
