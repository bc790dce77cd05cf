"""What the daemon's sign of life says to those who watch: `status` and `check`.

Light to import, and true of any heartbeat file: an older version's too, or a damaged one.
"""

from collections.abc import Mapping
from typing import Any, Final

from skymem.model.alarm import Alarm, alarm

BEATS_MISSED_MAX: Final = 3
BEAT_GRACE_SECONDS: Final = 10.0


def daemon_alarms(daemon: Mapping[str, Any]) -> list[Alarm]:
    """What is wrong with a daemon that holds its lock, or that held it last.

    Args:
        daemon: `overview.daemon_overview`.
    """
    beat, age = daemon["heartbeat"], daemon["heartbeat_age_s"]
    if not beat:
        return []
    if not daemon["running"]:
        return _killed(beat, age)
    return [*_silence(beat, age), *_configuration(beat), *_zone(beat)]


def _killed(beat: Mapping[str, Any], age: float | None) -> list[Alarm]:
    """Whether the last daemon ended without a word: it was killed, or the machine went down."""
    if beat.get("state") not in ("running", "stopping"):
        return []
    why = "it was killed, or the machine went down; start it again: skymem run"
    text = f"the daemon ended without a word, {age or 0.0:.0f} s ago or later: {why}"
    return [alarm("daemon_killed", text)]


def _silence(beat: Mapping[str, Any], age: float | None) -> list[Alarm]:
    interval = beat.get("interval_seconds")
    if interval is None or age is None or age <= BEATS_MISSED_MAX * interval + BEAT_GRACE_SECONDS:
        return []
    text = f"the daemon shows no sign of life for {age:.0f} s; it beats every {interval:g} s"
    return [alarm("daemon_silent", text, since=beat.get("ts"))]


def _configuration(beat: Mapping[str, Any]) -> list[Alarm]:
    """Each line of what kept the daemon from reading its files anew (hazard F4)."""
    problem = _part(beat, "configuration").get("problem")
    if not isinstance(problem, str) or not problem:
        return []
    before = "the daemon did not reload and goes by what it read before"
    return [alarm("not_reloaded", f"{before}: {line}") for line in problem.split("\n")]


def _zone(beat: Mapping[str, Any]) -> list[Alarm]:
    """A time zone this machine has not (hazard C15)."""
    missing = _part(beat, "clock").get("timezone_missing")
    if not missing:
        return []
    text = f"the machine knows no time zone {missing!r}: the daemon goes by UTC (install tzdata)"
    return [alarm("timezone_missing", text)]


def _part(beat: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = beat.get(name)
    return part if isinstance(part, dict) else {}
