"""What the live view asks and tells in front of the rest: a question, a choice, a text to read."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from skymem.live_view.columns import cut
from skymem.live_view.panes import MARK, TONES

WIDTH_MAX: Final = 100
FRAME: Final = 2
"""Rows that the frame takes; of columns it takes one more on each side."""

Lines = Callable[[int], Sequence[str]]
"""A text in lines that are at most so wide."""


class _Text(Widget):
    """Lines as far as they fit, from one of them on."""

    DEFAULT_CSS = "_Text { border: round ansi_cyan; padding: 0 1; }"

    def __init__(self, lines: Lines, *, choosing: bool) -> None:
        super().__init__()
        self._of_width = lines
        self._choosing = choosing
        self._lines: Sequence[str] = ()
        self._first = 0
        self.cursor = 0

    def fit(self, width: int, height: int) -> None:
        """Take the room it needs within a terminal of this size."""
        wide = min(WIDTH_MAX, width)
        self._lines = self._of_width(max(1, wide - 2 * FRAME))
        self.styles.width = wide
        self.styles.height = min(len(self._lines) + FRAME, height)
        self._visible = max(1, min(len(self._lines), height - FRAME))
        self.move(0)

    def move(self, by: int) -> None:
        """Go up or down by so many lines."""
        last = max(0, len(self._lines) - 1)
        if self._choosing:
            self.cursor = max(0, min(last, self.cursor + by))
            lowest = self.cursor - self._visible + 1
            self._first = max(lowest, min(self.cursor, self._first))
        else:
            self._first = max(0, min(last + 1 - self._visible, self._first + by))
        below = len(self._lines) - self._visible - self._first
        self.border_subtitle = f"{below} more below" if below > 0 else ""
        self.refresh()

    def page(self, by: int) -> None:
        """Go up or down by what is seen at once."""
        self.move(by * max(1, self._visible - 1))

    def render_line(self, y: int) -> Strip:
        """Draw one line of it."""
        width, at = self.size.width, self._first + y
        text = self._lines[at] if at < len(self._lines) else ""
        chosen = self._choosing and at == self.cursor
        mark = "" if not self._choosing else MARK if chosen else "  "
        style = TONES["cursor"] if chosen else Style()
        return Strip([Segment(cut(mark + text, width), style)]).adjust_cell_length(width, style)


class Dialog(ModalScreen[int | None]):
    """Lines in a frame; gives the number of the one that was chosen, or None."""

    CSS = "Dialog { align: center middle; background: transparent; }"

    BINDINGS: ClassVar = [
        Binding("escape,q,n", "leave", show=False),
        Binding("enter", "take", show=False),
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "move(-1_000_000)", show=False),
        Binding("end,G", "move(1_000_000)", show=False),
    ]

    def __init__(self, lines: Lines, *, choosing: bool = False) -> None:
        """Show lines; `choosing` says that one of them is to be chosen."""
        super().__init__()
        self._text = _Text(lines, choosing=choosing)

    def compose(self) -> ComposeResult:
        """Hold the text alone."""
        yield self._text

    def on_resize(self) -> None:
        """Fit it into the terminal as it is now."""
        self._text.fit(*self.app.size)

    def action_leave(self) -> None:
        """Go back with nothing chosen."""
        self.dismiss(None)

    def action_take(self) -> None:
        """Go back with what is chosen."""
        self.dismiss(self._text.cursor)

    def action_move(self, by: int) -> None:
        """Go up or down."""
        self._text.move(by)

    def action_page(self, by: int) -> None:
        """Go up or down by what is seen at once."""
        self._text.page(by)
