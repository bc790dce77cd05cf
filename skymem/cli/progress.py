"""Progress of long work: one line on a terminal, nothing in a pipe."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from skymem.model.harmless import harmless

if TYPE_CHECKING:
    from skymem.app import Home

INTERVAL_SECONDS: Final = 0.2


@contextlib.contextmanager
def progress_of(home: "Home") -> Iterator[None]:
    """Show how far the block's jobs are, by what they tell the home; then wipe it."""
    line = _ProgressLine()
    home.progress, home.tell = line.show, line.tell
    try:
        yield
    finally:
        line.wipe()


class _ProgressLine:
    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def show(self, what: str, done: int, whole: int) -> None:
        """Show how far it is; work that ends at once never shows."""
        if self._is_due():
            self._write(f"{what}: {100 * done // max(whole, 1)} % of {whole / 1e6:,.0f} MB")

    def tell(self, text: str) -> None:
        """Show what is said, now and then."""
        if self._is_due():
            self._write(text)

    def _is_due(self) -> bool:
        moment = time.monotonic()
        if not self._shown or moment - self._last < INTERVAL_SECONDS:
            return False
        self._last = moment
        return True

    def wipe(self) -> None:
        """Leave the terminal as it was."""
        if self._width:
            self._write("")

    def _write(self, text: str) -> None:
        text = harmless(text)
        sys.stderr.write("\r" + text.ljust(self._width) + ("" if text else "\r"))
        sys.stderr.flush()
        self._width = len(text)
