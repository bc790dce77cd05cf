"""The daemon's log on stderr, one line an event (structlog): logfmt, or JSON under systemd.

Values are numbers, names and errors, never memory text (promise 6). The journal puts its own time
before each line and takes a priority off its start, so there a line is `<6>{"level": …}` and has
no time of ours (hazard F7). Both spellings have the same keys and the same texts.
"""

import json
import logging
import math
import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import structlog
from structlog.typing import EventDict, WrappedLogger

KEY_ORDER: Final = ("timestamp", "level", "event")

PRIORITIES: Final = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""What sd-daemon(3) calls the levels."""

LINE_BYTES_MAX: Final = 4095
"""With its newline what a pipe takes in one piece: lines of ours and of a child's never mix."""

TEXT_CHARS_MAX: Final = (3000, 1000, 200, 20)
"""How long a value may be; each is tried until the line is short enough."""


class Journal:
    """Writes the lines. A stderr that can't be written to never stops the daemon."""

    def __init__(
        self, clock: Callable[[], float], *, level: str = "info", journald: bool | None = None
    ) -> None:
        """Open the log.

        Args:
            clock: epoch seconds.
            level: the least that is written: debug, info, warning or error.
            journald: whether systemd's journal reads it; None finds out.
        """

        def stamp(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
            return {"timestamp": iso_time(clock()), **event}

        if journald is None:
            journald = is_the_journal(2, os.environ)
        self._log = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr),
            processors=[
                structlog.processors.add_log_level,
                *([_as_json] if journald else [stamp, _as_logfmt]),
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

    def warning(self, event: str, **values: object) -> None:
        """Say what may become wrong, or was put right."""
        self._say(self._log.warning, event, values)

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


def is_the_journal(fd: int, environment: Mapping[str, str]) -> bool:
    """Whether `fd` is the stream that JOURNAL_STREAM names, and not one it was redirected to."""
    try:
        status = os.fstat(fd)
    except OSError:
        return False
    return environment.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def iso_time(seconds: float) -> str:
    """Epoch seconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_logfmt = structlog.processors.LogfmtRenderer(
    key_order=KEY_ORDER, drop_missing=True, bool_as_flag=False
)


def _as_logfmt(logger: WrappedLogger, method: str, event: EventDict) -> str:
    def render(values: EventDict) -> str:
        numbers = {key: _three_digits(value) for key, value in values.items()}
        return _logfmt(logger, method, numbers)

    return _shortened(render, event)


def _as_json(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    priority = PRIORITIES[event["level"]]

    def render(values: EventDict) -> str:
        ordered = {key: values.pop(key) for key in KEY_ORDER if key in values}
        ordered.update(values)
        return f"<{priority}>{json.dumps(ordered, ensure_ascii=False)}"

    return _shortened(render, event)


def _shortened(render: Callable[[EventDict], str], event: EventDict) -> str:
    """Render with as much of each value as the line has room for."""
    for chars in TEXT_CHARS_MAX:
        line = render({key: _spell(value, chars) for key, value in event.items()})
        if len(line.encode()) <= LINE_BYTES_MAX:
            return line
    return render({key: _spell(event[key], chars) for key in KEY_ORDER if key in event})


def _three_digits(value: object) -> object:
    return f"{value:.3f}" if isinstance(value, float) else value


def _spell(value: object, chars_max: int) -> object:
    """Spell a value so that a name can't forge a second line or move a terminal's cursor."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return round(value, 3)
    text = str(value)
    if len(text) > chars_max:  # a traceback says the most at its end
        begin = chars_max // 4
        text = f"{text[:begin]} […] {text[begin - chars_max :]}"
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def _escape(character: str) -> str:
    if character == "\n":
        return "\\n"
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
