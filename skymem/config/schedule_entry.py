"""One entry of `every:`: its name, its job and the one trigger it has. Row P2, hazard C8."""

from dataclasses import dataclass, field
from datetime import time
from typing import Final

from skymem.config import fields
from skymem.config.key import ENTRY, SCHEDULE_FILE, Key
from skymem.config.keys import INTERVAL_SECONDS_MAX, INTERVAL_UNITS, TRIGGERS, key_at, nearest
from skymem.config.problems import Complaints, shown
from skymem.config.units import parse_duration
from skymem.config.yaml_nodes import Node, Pair, Scalar, Table
from skymem.model.cron import fires_ever, parse_cron, shortest_gap_seconds
from skymem.model.regex import regex
from skymem.model.schedule import (
    KNOWN_JOBS,
    Cron,
    Daily,
    Every,
    ScheduleEntry,
    Trigger,
)

_NAME: Final = regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_TIME: Final = regex(r"([0-9]{1,2}):([0-9]{2})")
_DAY_SECONDS: Final = 86_400
_DEFAULT_TIMEOUT_SECONDS: Final = parse_duration(key_at(SCHEDULE_FILE, ENTRY, "timeout").default)


@dataclass(slots=True)
class EntryReading:
    """What was read of one entry; `entry` is None when something it needs is wrong."""

    complaints: Complaints
    table: Table | None = None
    name: Scalar | None = None
    entry: ScheduleEntry | None = None
    known: dict[str, tuple[Pair, Key]] = field(default_factory=dict)

    @property
    def lines(self) -> dict[str, int]:
        """The line of each key that was written."""
        return {name: pair.key.line for name, (pair, _) in self.known.items()}


def read_entry(node: Node, complaints: Complaints) -> EntryReading:
    """Read one item of the list, complaining about whatever is wrong with it."""
    reading = EntryReading(complaints)
    if not isinstance(node, Table):
        complaints.at(node, "an entry needs keys (such as - name: promote, then minutes: 10)")
        return reading
    reading.table = node
    for pair, key in fields.known_pairs(node, SCHEDULE_FILE, ENTRY, complaints):
        reading.known[key.name] = pair, key
    reading.name = _read_name(reading, node)
    enabled = _read_enabled(reading)
    job = _read_job(reading)
    trigger = _read_trigger(reading, node)
    jitter = _read_duration(reading, "jitter", 0.0)
    timeout = _read_duration(reading, "timeout", _DEFAULT_TIMEOUT_SECONDS)
    if trigger is not None:
        _check_jitter(reading, trigger, jitter)
    if reading.name is not None and job is not None and trigger is not None:
        name = reading.name.text
        reading.entry = ScheduleEntry(name, job, trigger, jitter, timeout, enabled=enabled)
    return reading


def _read_name(reading: EntryReading, entry: Table) -> Scalar | None:
    known = reading.known.get("name")
    if known is None:
        reading.complaints.at(entry, f"the entry has no name (such as {_row('name').example})")
        return None
    found = fields.scalar(*known, reading.complaints)
    if found is not None and not _NAME.fullmatch(found.text):
        remedy = "use 1 to 64 of A-Z, a-z, 0-9, _, . and -, starting with a letter or digit"
        reading.complaints.at(found, f"name: {shown(found.text)} is not allowed ({remedy})")
        return None
    return found


def _read_enabled(reading: EntryReading) -> bool:
    known = reading.known.get("enabled")
    return known is None or fields.truth(*known, reading.complaints) is not False


def _read_job(reading: EntryReading) -> str | None:
    """The job's name."""
    known = reading.known.get("job")
    found = fields.scalar(*known, reading.complaints) if known else reading.name
    if found is None:
        return None
    if found.text not in KNOWN_JOBS:
        near = nearest(found.text, KNOWN_JOBS)
        remedy = f'did you mean "{near}"?' if near else f"jobs: {', '.join(KNOWN_JOBS)}"
        message = f"job: {shown(found.text)} is no job ({remedy})"
        if not known:
            message = f"{shown(found.text)} is no job, so the entry needs job: as well ({remedy})"
        reading.complaints.at(found, message)
        return None
    return found.text


def _read_trigger(reading: EntryReading, entry: Table) -> Trigger | None:
    written = [reading.known[name] for name in TRIGGERS if name in reading.known]
    if not written:
        remedy = f"give it one of {', '.join(TRIGGERS)}"
        reading.complaints.at(entry, f"the entry does not say when it runs ({remedy})")
        return None
    first, *others = sorted(written, key=lambda known: known[0].key.line)
    for pair, key in others:
        message = f"{key.name}: the entry runs by {first[1].name} already (keep one of them)"
        reading.complaints.at(pair.key, message)
    pair, key = first
    if key.name == "daily":
        return _read_daily(pair, key, reading.complaints)
    if key.name == "cron":
        return _read_cron(pair, key, reading.complaints)
    return _read_interval(pair, key, reading.complaints)


def _read_interval(pair: Pair, key: Key, complaints: Complaints) -> Every | None:
    amount = fields.number(pair, key, complaints)
    if amount is None:
        return None
    seconds = amount * INTERVAL_UNITS[key.name]
    if seconds <= 0:
        complaints.at(pair.value, f"{key.name}: {amount} never fires (use a number above 0)")
    elif seconds < 1:
        complaints.at(pair.value, f"{key.name}: {amount} is less than a second")
    elif seconds > INTERVAL_SECONDS_MAX:
        complaints.at(pair.value, f"{key.name}: {amount} is more than 366 days")
    else:
        return Every(float(seconds))
    return None


def _read_daily(pair: Pair, key: Key, complaints: Complaints) -> Daily | None:
    found = fields.scalar(pair, key, complaints)
    if found is None:
        return None
    match = _TIME.fullmatch(found.text)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:
        message = f"daily: {shown(found.text)} is no time of day (00:00 to 23:59, such as 06:45)"
        complaints.at(found, message)
        return None
    return Daily(time(int(match[1]), int(match[2])))


def _read_cron(pair: Pair, key: Key, complaints: Complaints) -> Cron | None:
    found = fields.scalar(pair, key, complaints)
    if found is None:
        return None
    try:
        parsed = parse_cron(found.text)
    except ValueError as error:
        complaints.at(found, f"cron: {error}")
        return None
    if not fires_ever(parsed):
        complaints.at(found, f"cron: {shown(found.text)} never fires: no month has that day")
        return None
    return Cron(" ".join(found.text.split()))


def _read_duration(reading: EntryReading, name: str, default: float) -> float:
    known = reading.known.get(name)
    seconds = fields.duration(*known, reading.complaints) if known else None
    return default if seconds is None else seconds


def _check_jitter(reading: EntryReading, trigger: Trigger, jitter_seconds: float) -> None:
    """Refuse a jitter that could carry a run past the next one."""
    gap = _gap_seconds(trigger)
    if jitter_seconds >= gap:
        pair, key = reading.known["jitter"]
        message = f"jitter must be shorter than the {key.in_unit(gap)} between two runs"
        reading.complaints.at(pair.value, message)


def _gap_seconds(trigger: Trigger) -> float:
    match trigger:
        case Every(seconds):
            return seconds
        case Daily():
            return _DAY_SECONDS
        case Cron(expression):
            return shortest_gap_seconds(parse_cron(expression))


def _row(name: str) -> Key:
    return key_at(SCHEDULE_FILE, ENTRY, name)
