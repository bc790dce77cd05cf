"""The daemon's log: one logfmt line an event, on stderr (structlog).

Values are numbers, names and errors, never memory text (promise 6). Under systemd the journal puts
its own time before each line, so ours is left out (hazard F7).
"""

import logging
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

KEY_ORDER: Final = ("timestamp", "level", "event")


class Journal:
    """Writes the lines. A stderr that can't be written to never stops the daemon."""

    def __init__(
        self, clock: Callable[[], float], *, level: str = "info", stamped: bool | None = None
    ) -> None:
        """Open the log.

        Args:
            clock: epoch seconds.
            level: the least that is written: debug, info, warning or error.
            stamped: whether a line starts with the time; None leaves it to where we run.
        """

        def stamp(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
            return {"timestamp": iso_time(clock()), **event}

        stamped = "JOURNAL_STREAM" not in os.environ if stamped is None else stamped
        self._log = structlog.wrap_logger(
            structlog.PrintLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                *([stamp] if stamped else []),
                _harmless,
                structlog.processors.LogfmtRenderer(
                    key_order=KEY_ORDER, drop_missing=True, bool_as_flag=False
                ),
            ],
            wrapper_class=structlog.make_filtering_bound_logger(
                logging.getLevelNamesMapping()[level.upper()]
            ),
        )

    def debug(self, event: str, **values: object) -> None:
        """Say what only somebody looking for a fault wants to know."""
        self._say(self._log.debug, event, values)

    def info(self, event: str, **values: object) -> None:
        """Say what happened."""
        self._say(self._log.info, event, values)

    def error(self, event: str, **values: object) -> None:
        """Say what went wrong."""
        self._say(self._log.error, event, values)

    def trace(self, event: str, traceback: str) -> None:
        """Say what went wrong that nobody foresaw, with all its lines."""
        self._say(self._log.error, event, {"traceback": traceback.rstrip("\n")})

    def _say(self, write: Callable[..., object], event: str, values: dict[str, object]) -> None:
        try:
            write(event, **{key: value for key, value in values.items() if value is not None})
        except (OSError, ValueError):
            pass  # nobody reads it any more; the status files say the same


def iso_time(seconds: float) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _harmless(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Spell values so that a name can't forge a second line or move a terminal's cursor."""
    return {key: _spell(value) for key, value in event.items()}


def _spell(value: object) -> object:
    if isinstance(value, bool | int):
        return value
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)
