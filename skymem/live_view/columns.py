"""Rows as lines of a terminal: each column as wide as it needs, and all of them within the width.

An ideograph takes two columns, a joiner none; what does not fit ends with an ellipsis.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len, set_cell_size

ELLIPSIS: Final = "…"
GAP: Final = "  "


class Cell(NamedTuple):
    """A text of one line, harmless already, and what it says beyond its words."""

    text: str
    tone: str = ""
    """"" as any text; `dim`, `good`, `warn`, `bad` or `strong`."""


class Row(NamedTuple):
    """One row of a pane."""

    key: str
    """By this it is found again when the pane is filled anew."""

    cells: tuple[Cell, ...]
    """One for each column, or a single one that stands across all of them."""


class Column(NamedTuple):
    """What stands under one heading."""

    heading: str
    right: bool = False
    """Numbers end where the column ends."""

    gives: int = 0
    """Who is cut when it gets narrow: the highest first, down to `least`; 0 is never cut."""

    least: int = 8
    fills: bool = False
    """Takes what the others leave."""


def widths_of(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[int]:
    """How wide each column is to be, so that all of them and the gaps are within `width`."""
    whole = [row for row in rows if len(row.cells) == len(columns)]
    needs = [
        max([cell_len(one.heading), *(cell_len(row.cells[at].text) for row in whole)])
        for at, one in enumerate(columns)
    ]
    over = sum(needs) + len(GAP) * (len(columns) - 1) - width
    givers = [at for at, one in enumerate(columns) if one.gives]
    for at in sorted(givers, key=lambda at: -columns[at].gives):
        if over <= 0:
            break
        taken = min(over, max(0, needs[at] - columns[at].least))
        needs[at] -= taken
        over -= taken
    for at in (at for at, one in enumerate(columns) if one.fills):
        needs[at] += max(0, -over)
    return needs


def laid(column: Column, text: str, width: int) -> str:
    """A text in a column, cut or padded to exactly `width`."""
    text = cut(text, width)
    if column.right:
        return " " * (width - cell_len(text)) + text
    return set_cell_size(text, width)


def cut(text: str, width: int) -> str:
    """A text within `width`; one that is longer ends with an ellipsis."""
    if cell_len(text) <= width:
        return text
    return text[: _fitting(text, width - 1)].rstrip() + ELLIPSIS if width > 0 else ""


def folded(text: str, width: int) -> list[str]:
    """A text on as many lines as it needs: folded at spaces, a longer word where a line ends."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while cell_len(line) > width:
            at = max(1, _fitting(line, width))
            lines.append(line[:at])
            line = line[at:]
    return [*lines, line]


def _fitting(text: str, width: int) -> int:
    """How many of its letters fit."""
    used = 0
    for at, letter in enumerate(text):
        used += cell_len(letter)
        if used > width:
            return at
    return len(text)
