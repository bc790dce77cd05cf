"""The daemon's log: one line an event on stderr, words first, then `key=value`.

No logging library: two imports of one would cost a tenth of the memory an idle daemon may have
(design §7). Values are numbers, names and errors, never memory text (promise 6).
"""

import json
import os
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/+@%-]+")


class Journal:
    """Writes the lines. A stderr that can't be written to never stops the daemon."""

    def __init__(self, clock: Callable[[], float], *, stamped: bool | None = None) -> None:
        """`stamped` puts the time before each line; systemd's journal has its own (hazard F7)."""
        self._clock = clock
        self._stamped = "JOURNAL_STREAM" not in os.environ if stamped is None else stamped

    def info(self, event: str, **values: object) -> None:
        """Say what happened."""
        self._write("info", event, values)

    def error(self, event: str, **values: object) -> None:
        """Say what went wrong."""
        self._write("error", event, values)

    def trace(self, event: str, traceback: str) -> None:
        """Say what went wrong that nobody foresaw, with all its lines."""
        self._write("error", event, {})
        self._put(traceback.rstrip("\n") + "\n")

    def _write(self, level: str, event: str, values: dict[str, object]) -> None:
        stamp = iso_time(self._clock()) + " " if self._stamped else ""
        pairs = "".join(
            f" {key}={_shown(value)}" for key, value in values.items() if value is not None
        )
        self._put(f"{stamp}{level}: {event}{pairs}\n")

    def _put(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more; the status files say the same


def iso_time(seconds: float) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    text = str(value)
    # Quoted as JSON, in ASCII: a name can't forge a second line or move a terminal's cursor.
    return text if PLAIN.fullmatch(text) else json.dumps(text)
