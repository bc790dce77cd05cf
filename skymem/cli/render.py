"""Printing: one JSON document, or lines for a person, with memory text made harmless."""

import json
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from skymem.model.harmless import harmless as harmless  # noqa: PLC0414  (verbs take it from here)
from skymem.model.harmless import plain

ID_LETTERS = 12
FIRST_WORDS: Final = 60
"""Letters of a memory's text that tell which it is; `skymem show` has all of it."""

NO_TERMINAL: Final = 0
COLUMNS = 100
"""How wide a paragraph is where there is no terminal."""

HANGING = 4
"""By how much its further lines are indented."""


def document(value: Mapping[str, Any]) -> None:
    """Print one JSON document."""
    line(json.dumps(value, ensure_ascii=True, allow_nan=False))


def line(text: str = "") -> None:
    """Print a line; a reader who closed the pipe has had enough: what was done stays done."""
    try:
        sys.stdout.write(plain(text) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def paragraph(text: str, indent: int = 0) -> None:
    """Print a text, made harmless, on as many lines as it needs: as wide as the terminal is."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else COLUMNS
    for each in folded(text, max(columns, COLUMNS // 2), indent):
        line(each)


def folded(text: str, columns: int, indent: int = 0) -> Iterator[str]:
    """Fold a text, made harmless, at its spaces; a longer word than a line where that ends."""
    text = harmless(text)
    hanging = " " * (indent + HANGING)
    folded, used = " " * indent, indent
    for number, word in enumerate(text.split(" ")):
        blank = " " if number else ""
        if used > len(hanging) and used + len(blank) + width_of(word) > columns:
            yield folded.rstrip()
            folded, used, blank = hanging, len(hanging), ""
        for letter in blank + word:
            width = width_of(letter)
            if used + width > columns:
                yield folded
                folded, used = hanging, len(hanging)
            folded, used = folded + letter, used + width
    yield folded


def width_of(text: str) -> int:
    """How many columns a text takes: an ideograph takes two."""
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def complain(text: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(f"skymem: {harmless(text)}\n")


def complain_of_secrets(redacted: Mapping[str, int]) -> None:
    """Say what was taken out before anything was written, given by kind (row X11)."""
    if redacted:
        each = ", ".join(f"{count} {kind}" for kind, count in sorted(redacted.items()))
        complain(f"taken out before it was written: {each}")


def first_words(text: str) -> str:
    """The beginning of a memory's text in one line, harmless."""
    return cut(harmless(" ".join(text[: 2 * FIRST_WORDS].split())), FIRST_WORDS)


def columns() -> int:
    """How wide the terminal is; a pipe gets whole lines (`NO_TERMINAL`)."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else NO_TERMINAL


def cut(text: str, width: int) -> str:
    """Cut a line to what a terminal shows on one; an ideograph takes two columns."""
    if width <= NO_TERMINAL:
        return text
    used = 0
    for at, letter in enumerate(text):
        used += width_of(letter)
        if used > width:
            return text[: max(0, at - 1)] + "…"
    return text


def cut_line(text: str) -> None:
    """Print a line that ends with a memory's text: on a terminal what fits, in a pipe all of it."""
    line(cut(text, columns()))


def wrapped(text: str, indent: int) -> list[str]:
    """A long line as a terminal shows it best, at spaces and indented; in a pipe it stays whole."""
    width = columns()
    if width <= 2 * indent or len(text) <= width:
        return [text]
    import textwrap

    return textwrap.wrap(
        text,
        width,
        subsequent_indent=" " * indent,
        expand_tabs=False,
        break_on_hyphens=False,
    )


def moment(seconds: float | None) -> str:
    """A time for a person, in UTC."""
    if seconds is None:
        return "–"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, cut_last: bool = False
) -> None:
    """Print columns, as wide as they need; `cut_last` is for one of memory text (`cut_line`)."""
    for text in table_lines(headings, rows):
        (cut_line if cut_last else line)(text)


def table_lines(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns, as wide as they need."""
    lines = [list(headings), *(list(row) for row in rows)]
    widths = [max(len(row[at]) for row in lines) for at in range(len(headings))]
    padded = ((cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in lines)
    return ["  ".join(cells).rstrip() for cells in padded]


def amount(number: int | None) -> str:
    """A number, or that it could not be had."""
    return "?" if number is None else str(number)
