"""`schedule.yaml`: read whole, every complaint collected, then frozen values. Rows P2, D2."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from skymem.config import fields
from skymem.config.key import SCHEDULE_FILE, TOP, Key
from skymem.config.problems import Complaints, shown
from skymem.config.schedule_entry import EntryReading, read_entry
from skymem.config.time_zone import check_time_zone
from skymem.config.yaml_nodes import Pair
from skymem.config.yaml_text import read_yaml
from skymem.model.schedule import Schedule

_EXAMPLE: Final = 'every: [{name: "memory_rotate_check", minutes: 10}]'


@dataclass(slots=True)
class ScheduleReading:
    """What was read of the file, what is wrong with it, and the line each value stands on."""

    complaints: Complaints
    schedule: Schedule = field(default_factory=Schedule)
    lines: dict[str, int] = field(default_factory=dict)
    entries: list[EntryReading] = field(default_factory=list)


def read_schedule(path: Path) -> Schedule:
    """Read the schedule.

    Raises ConfigurationError with all problems of the file, one a line. Rows P2, D2.
    """
    reading = examine_schedule(path)
    reading.complaints.raise_if_any()
    return reading.schedule


def examine_schedule(path: Path) -> ScheduleReading:
    """Read the schedule without raising, for `skymem config check` and `config show`."""
    reading = ScheduleReading(Complaints(path.name))
    root = read_yaml(path, reading.complaints, _EXAMPLE)
    if root is None:
        return reading
    for pair, key in fields.known_pairs(root, SCHEDULE_FILE, TOP, reading.complaints):
        reading.lines[key.name] = pair.key.line
        if key.name == "timezone":
            _read_time_zone(pair, key, reading)
        else:
            _read_entries(pair, key, reading)
    if root.get("every") is None:
        reading.complaints.at(root, f'the list "every" is missing (such as {_EXAMPLE})')
    return reading


def _read_time_zone(pair: Pair, key: Key, reading: ScheduleReading) -> None:
    found = fields.scalar(pair, key, reading.complaints)
    if found is None:
        return
    fault = check_time_zone(found.text)
    if fault is not None:
        reading.complaints.at(found, f"timezone: {shown(found.text)} {fault}")
    else:
        reading.schedule = reading.schedule._replace(timezone=found.text)


def _read_entries(pair: Pair, key: Key, reading: ScheduleReading) -> None:
    found = fields.items(pair, key, reading.complaints)
    if found is None:
        return
    reading.entries = [read_entry(node, reading.complaints) for node in found.items]
    _check_names(reading.entries, reading.complaints)
    entries = tuple(each.entry for each in reading.entries if each.entry is not None)
    reading.schedule = reading.schedule._replace(entries=entries)


def _check_names(entries: Sequence[EntryReading], complaints: Complaints) -> None:
    """Refuse a name that stands twice: `trigger`, `pause` and the status go by it."""
    first_lines: dict[str, int] = {}
    for each in entries:
        name = each.name
        if name is None:
            continue
        if name.text in first_lines:
            first = first_lines[name.text]
            message = f"the name {shown(name.text)} stands twice (first on line {first})"
            complaints.at(name, message)
        first_lines.setdefault(name.text, name.line)
