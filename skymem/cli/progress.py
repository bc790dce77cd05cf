"""Progress of long work: one line on a terminal, nothing in a pipe."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

INTERVAL_SECONDS: Final = 0.2


@contextlib.contextmanager
def progress_line() -> Iterator[Callable[[str, int, int], None]]:
    """Show how far the block's work is, by what the yielded function is told; then wipe it."""
    line = _ProgressLine()
    try:
        yield line.show
    finally:
        line.wipe()


class _ProgressLine:
    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def show(self, what: str, done: int, whole: int) -> None:
        """Show how far it is; work that ends at once never shows."""
        moment = time.monotonic()
        if not self._shown or moment - self._last < INTERVAL_SECONDS:
            return
        self._last = moment
        self._write(f"{what}: {100 * done // max(whole, 1)} % of {whole / 1e6:,.0f} MB")

    def wipe(self) -> None:
        """Leave the terminal as it was."""
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        sys.stderr.flush()
        self._width = len(text)
