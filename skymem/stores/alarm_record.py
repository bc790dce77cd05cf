"""What was told of alarms, and to whom: `state/alarms.json`, so that a restart tells nothing twice.

Written whole, by the one process that tells (`skymem.notifying`), under its lock. What can't be
read is as if nothing had been told.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from skymem.model.alarm import Alarm, AlarmRules
from skymem.policy.news import Seen
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Failing:
    """One who can't be told."""

    times: int
    since: float
    retry_at: float
    why: str
    """Fit for a status."""


@dataclass(slots=True)
class Told:
    """The record of one who is told: the command, or the webhook."""

    seen: dict[str, Seen] = field(default_factory=dict)
    failing: Failing | None = None


@dataclass(slots=True)
class AlarmRecord:
    """The whole file."""

    channels: dict[str, Told] = field(default_factory=dict)
    rules: AlarmRules | None = None
    """By which it was told last: they hold while `retention_rules.yaml` can't be read."""


def read_record(paths: HomePaths) -> AlarmRecord:
    """Read the record; never writes, never fails."""
    document = read_json(paths.alarms) or {}
    try:
        channels = {str(name): _told(one) for name, one in document.get("channels", {}).items()}
        rules = _rules(document["rules"]) if document.get("rules") else None
    except (AttributeError, KeyError, TypeError, ValueError):
        return AlarmRecord()
    return AlarmRecord(channels, rules)


def write_record(paths: HomePaths, files: Files, record: AlarmRecord) -> None:
    """Write it; the lock of who tells is held.

    Raises:
        DiskError: it can't be written, and reads as before.
    """
    document = {
        "schema_version": SCHEMA_VERSION,
        "channels": {name: _spelled(told) for name, told in record.channels.items()},
        "rules": None if record.rules is None else record.rules._asdict(),
    }
    paths.must_be_there()
    files.make_directory(paths.state)
    files.remove_left(paths.state, paths.alarms.name)
    files.replace(paths.alarms, json.dumps(document, allow_nan=False).encode() + b"\n")


def _spelled(told: Told) -> dict[str, Any]:
    return {
        "seen": {
            key: {**one._asdict(), "alarm": one.alarm.to_json() if one.alarm else None}
            for key, one in told.seen.items()
        },
        "failing": None if told.failing is None else asdict(told.failing),
    }


def _told(value: Mapping[str, Any]) -> Told:
    failing = value.get("failing")
    return Told(
        {str(key): _seen(one) for key, one in value["seen"].items()},
        None if failing is None else Failing(**failing),
    )


def _seen(value: Mapping[str, Any]) -> Seen:
    alarm = value.get("alarm")
    return Seen(**{**value, "alarm": None if alarm is None else Alarm(**alarm)})


def _rules(value: Mapping[str, Any]) -> AlarmRules:
    lists = {name: tuple(value[name]) for name in ("off", "command")}
    return AlarmRules(**{**value, **lists})
