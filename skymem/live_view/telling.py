"""What is said at length: the keys, and what of a job or an alarm does not fit on its line.

Pure: values in, lines out; every text is made harmless.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from skymem.alarms import detail_of
from skymem.live_view.columns import Cell, folded
from skymem.live_view.rows import clock_of, job_rows
from skymem.live_view.snapshot import Snapshot
from skymem.model.harmless import harmless

_KEY: Final = (
    ("q", "quit"), ("?", "help"), ("Tab", "pane"), ("Enter", "more"),
    ("r", "run"), ("p", "pause"), ("e", "explain"), ("a", "agent"),
)  # fmt: skip

KEYS: Final = tuple(
    cell for key, does in _KEY for cell in (Cell(key, "strong"), Cell(f" {does}  ", "dim"))
)
"""The line at the foot."""

_HELP: Final = (
    ("", "skymem top shows a home as it lives. It looks once a second."),
    ("", "What is counted is at most half a minute old."),
    ("", ""),
    ("Tab, Shift+Tab", "go from pane to pane"),
    ("↑ ↓  PgUp PgDn", "go from row to row (also j and k)"),
    ("Home, End", "the first row, the last one"),
    ("Enter", "more of it: a job's last result, an alarm's remedy, why a memory is where it is"),
    ("r", "run the chosen job now (it asks first)"),
    ("p", "pause the chosen job, or resume it"),
    ("e", "explain the memory of the chosen decision"),
    ("a", "choose whom to look at: an agent, or all (also Enter on an agent)"),
    ("Ctrl+L", "draw and count anew"),
    ("q", "quit; a run that was started goes on"),
    ("", ""),
    ("", "Esc closes this."),
)
KEY_WIDTH: Final = 16


def help_lines(width: int) -> list[str]:
    """What the keys do, in lines of this width."""
    lines = []
    for key, does in _HELP:
        beside = KEY_WIDTH if key else 0
        for number, text in enumerate(folded(does, width - beside)):
            lines.append(("" if number else key).ljust(beside) + text)
    return lines


def more_of_job(found: Snapshot, name: str) -> Callable[[int], list[str]]:
    """Everything that is known of an entry of the schedule and of its last run."""
    return _lines([*_of_job(found, name)])


def _of_job(found: Snapshot, name: str) -> Iterator[str]:
    one = next((one for one in found.jobs if one["name"] == name), None)
    row = next((row for row in job_rows(found) if row.key == name), None)
    if one is None or row is None:
        yield f"{name} is in the schedule no more"
        return
    job = "" if one["job"] == name else f" ({one['job']})"
    yield f"{name}{job}"
    yield ""
    yield f"next run   {row.cells[1].text}{_at(one['next_run'], found.at)}"
    yield f"last run   {row.cells[2].text}{_at(one['last_run'], found.at)}"
    for label, key in (("went well", "last_success"), ("did something", "last_effective")):
        if one[key] is not None:
            yield f"last time it {label}: {clock_of(one[key], found.at)} UTC"
    for label, key in (("missed", "missed"), ("failures in a row", "failures")):
        if one[key]:
            yield f"{label}: {one[key]:,}"
    detail = detail_of(found.results.get(name, {}))
    if row.cells[3].text:
        yield ""
        yield row.cells[3].text
    reasons = detail.get("degraded")
    for reason in reasons if isinstance(reasons, list) else ():
        yield f"degraded: {reason}"
    yield from _skipped(detail)


def _skipped(detail: Mapping[str, Any]) -> Iterator[str]:
    skipped = detail.get("skipped")
    if isinstance(skipped, dict) and skipped:
        each = ", ".join(f"{count} by {gate}" for gate, count in skipped.items())
        yield f"kept where they were: {each}"


def _at(ts: float | None, at: float) -> str:
    return "" if ts is None else f" ({clock_of(ts, at)} UTC)"


def more_of_alarm(found: Snapshot, key: str) -> Callable[[int], list[str]]:
    """The whole sentence, and what to do."""
    sort, _, text = key.partition(" ")
    told = [text or key]
    for one in found.status.get("alarms", ()) if sort == "alarm" else ():
        if one["text"] == text:
            told += ["", f"to do: {one['remedy']}", f"its id: {one['id']}"]
    return _lines(told)


def _lines(texts: list[str]) -> Callable[[int], list[str]]:
    return lambda width: [part for text in texts for part in folded(harmless(text), width)]
