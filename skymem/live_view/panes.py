"""A pane of the live view: a bar with its headings, rows under it, and which of them is meant."""

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.color import Color
from textual.filter import LineFilter
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from skymem.live_view.columns import GAP, Cell, Column, Row, cut, laid, widths_of
from skymem.live_view.terminal import Terminal

TONES: Final = {
    "": Style(),
    "dim": Style(dim=True),
    "good": Style(color="green"),
    "warn": Style(color="yellow"),
    "bad": Style(color="red", bold=True),
    "strong": Style(bold=True),
    "bar": Style(color="cyan", bold=True, underline=True),
    "bar in use": Style(color="cyan", bold=True, reverse=True),
    "cursor": Style(reverse=True),
}
"""The terminal's own sixteen colours, so that it is read on a light one as well as a dark one; each
says something that stands there in words too."""

MARK: Final = "› "


class AsTheTerminal(LineFilter):
    """The last look at what is drawn: no colour and no letter that the terminal has not."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self._terminal = terminal

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Draw it with what there is."""
        del background
        spelled, colours = self._terminal.spelled, self._terminal.colours
        return [
            Segment(spelled(one.text), one.style if colours else _without(one.style), one.control)
            for one in segments
        ]


def _without(style: Style | None) -> Style | None:
    return None if style is None else style.without_color


class Pane(Widget, can_focus=True):
    """Rows that are gone through with the arrow keys."""

    DEFAULT_CSS = "Pane { width: 100%; height: 1; }"

    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "move(-1_000_000)", show=False),
        Binding("end,G", "move(1_000_000)", show=False),
        Binding("enter", "more", show=False),
    ]

    class More(Message):
        """Somebody wants to see more of a row."""

        def __init__(self, pane: "Pane", row: Row) -> None:
            super().__init__()
            self.pane = pane
            self.row = row

    def __init__(self, columns: Sequence[Column], *, name: str) -> None:
        super().__init__(id=name)
        self._columns = tuple(columns)
        self._rows: tuple[Row, ...] = ()
        self._widths: list[int] = []
        self._cursor = self._first = 0

    @property
    def wanted(self) -> int:
        """How many rows it has."""
        return len(self._rows)

    @property
    def chosen(self) -> Row | None:
        """The row that is meant, where there is one."""
        return self._rows[self._cursor] if self._cursor < len(self._rows) else None

    def fill(self, rows: Sequence[Row], columns: Sequence[Column] | None = None) -> None:
        """Show these rows; what was meant is still meant, wherever it stands now."""
        now = (tuple(columns or self._columns), tuple(rows))
        if now == (self._columns, self._rows):
            return
        meant = self.chosen
        self._columns, self._rows = now
        at_rest = self._cursor == 0 and not self.has_focus
        if meant is not None and meant.key and not at_rest:
            places = (at for at, row in enumerate(rows) if row.key == meant.key)
            self._cursor = next(places, self._cursor)
        self.action_move(0)

    def action_move(self, by: int) -> None:
        """Go up or down by so many rows, as far as there are any."""
        self._cursor = max(0, min(len(self._rows) - 1, self._cursor + by))
        visible = max(1, self.size.height - 1)
        last_first = max(0, len(self._rows) - visible)
        lowest = max(0, self._cursor - visible + 1)
        self._first = min(last_first, max(lowest, min(self._first, self._cursor)))
        self.refresh()

    def action_page(self, by: int) -> None:
        """Go up or down by what is seen at once."""
        self.action_move(by * max(1, self.size.height - 2))

    def action_more(self) -> None:
        """Ask for more of the row that is meant."""
        if self.chosen is not None:
            self.post_message(self.More(self, self.chosen))

    def on_resize(self) -> None:
        """What is meant stays in sight."""
        self.action_move(0)

    def render_line(self, y: int) -> Strip:
        """Draw one line of it."""
        width = self.size.width
        if y == 0:
            self._widths = widths_of(self._columns, self._rows, width - len(MARK))
            return self._bar(width)
        at = self._first + y - 1
        return self._row(at, width) if at < len(self._rows) else Strip.blank(width)

    def _bar(self, width: int) -> Strip:
        tone = TONES["bar in use" if self.has_focus else "bar"]
        each = zip(self._columns, self._widths, strict=True)
        text = GAP.join(laid(one, one.heading, wide) for one, wide in each)
        hidden = len(self._rows) - max(0, self.size.height - 1)
        more = f" {self._cursor + 1}/{len(self._rows)} ↓↑" if hidden > 0 else ""
        room = width - len(MARK) - len(more)
        if len(text := text.rstrip()) > room:  # whole headings, or none
            text = text[: room + 1].rpartition(" ")[0]
        return Strip([Segment("  " + text.ljust(room) + more, tone)], width)

    def _row(self, at: int, width: int) -> Strip:
        row, chosen = self._rows[at], at == self._cursor
        over = TONES["cursor"] if chosen and self.has_focus else Style()
        parts = [Segment(MARK if chosen else "  ", over)]
        if len(row.cells) == len(self._columns):
            for number, cell in enumerate(row.cells):
                text = laid(self._columns[number], cell.text, self._widths[number])
                gap = GAP if number < len(row.cells) - 1 else ""
                parts.append(Segment(text + gap, TONES[cell.tone] + over))
        else:
            parts += cells_in(row.cells, width - len(MARK), over)
        return Strip(parts).adjust_cell_length(width, over)


def cells_in(cells: Sequence[Cell], width: int, over: Style) -> list[Segment]:
    """Texts one after the other, within a width."""
    found: list[Segment] = []
    for cell in cells:
        text = cut(cell.text, width - sum(part.cell_length for part in found))
        if text:
            found.append(Segment(text, TONES[cell.tone] + over))
    return found
