"""What the daemon's sign of life says to those who watch: `status` and `check`.

Light to import, and true of any heartbeat file: an older version's too, or a damaged one.
"""

from collections.abc import Mapping
from typing import Any, Final

BEATS_MISSED_MAX: Final = 3
BEAT_GRACE_SECONDS: Final = 10.0


def daemon_alarms(daemon: Mapping[str, Any]) -> list[str]:
    """What is wrong with a daemon that holds its lock.

    Args:
        daemon: `overview.daemon_overview`.
    """
    if not daemon["running"] or not daemon["heartbeat"]:
        return []
    beat = daemon["heartbeat"]
    return [*_silence(beat, daemon["heartbeat_age_s"]), *_configuration(beat), *_zone(beat)]


def _silence(beat: Mapping[str, Any], age: float | None) -> list[str]:
    interval = beat.get("interval_seconds")
    if interval is None or age is None or age <= BEATS_MISSED_MAX * interval + BEAT_GRACE_SECONDS:
        return []
    return [f"the daemon shows no sign of life for {age:.0f} s; it beats every {interval:g} s"]


def _configuration(beat: Mapping[str, Any]) -> list[str]:
    """Each line of what kept the daemon from reading its files anew (hazard F4)."""
    problem = _part(beat, "configuration").get("problem")
    if not isinstance(problem, str) or not problem:
        return []
    return [
        f"the daemon did not reload and goes by what it read before: {line}"
        for line in problem.split("\n")
    ]


def _zone(beat: Mapping[str, Any]) -> list[str]:
    """A time zone this machine has not (hazard C15)."""
    missing = _part(beat, "clock").get("timezone_missing")
    if not missing:
        return []
    return [f"the machine knows no time zone {missing!r}: the daemon goes by UTC (install tzdata)"]


def _part(beat: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = beat.get(name)
    return part if isinstance(part, dict) else {}
