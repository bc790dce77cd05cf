"""What `skymem check` tells a monitor: whether the home is well, and if not, each reason.

Every alarm of `skymem status` is a reason, and what it costs more to find out: a schedule that is
not usable, and failures that could not be put down where the status looks. That no daemon runs is a
note: a home may be kept by hand or by cron.
"""

from collections.abc import Iterator
from typing import Any

from skymem.alarms import not_off
from skymem.app import Home
from skymem.config.schedule_file import read_schedule
from skymem.daemon.runs import read_runs
from skymem.errors import SkymemError
from skymem.model.alarm import Alarm, alarm
from skymem.model.schedule import Schedule
from skymem.overview import status_overview


def health_of(home: Home, agent: str | None = None) -> dict[str, Any]:
    """Look at everything that should raise an alarm somewhere, of one agent or of everyone.

    Raises:
        AgentNameError, UsageError: there is no such agent.

    Returns:
        `health` (`healthy` or `degraded`), `alarms`, their `reasons` in words (none when healthy)
        and `notes`.
    """
    found = status_overview(home, agent)
    alarms = [Alarm(**one) for one in found["alarms"]]
    notes = list(found["notes"])
    if not found["daemon"]["running"]:
        notes.append("no daemon runs: the schedule waits for one (skymem run)")
    try:
        alarms += _untold_failures(home, read_schedule(home.paths.schedule))
        notes += _unscheduled(home)
    except SkymemError as error:
        alarms += [alarm("schedule_faulty", line) for line in str(error).split("\n")]
    alarms = not_off(home, alarms)
    return {
        "health": "degraded" if alarms else "healthy",
        "reasons": list(dict.fromkeys(one.text for one in alarms)),
        "alarms": [one.to_json() for one in alarms],
        "notes": notes,
    }


def _unscheduled(home: Home) -> list[str]:
    """Rules that nothing carries out by itself."""
    entries = read_schedule(home.paths.schedule).entries
    if not home.rules.share or any(one.job == "share" and one.enabled for one in entries):
        return []
    return ['nothing shares by the rules of "share:" (an entry in schedule.yaml, or: skymem share)']


def _untold_failures(home: Home, schedule: Schedule) -> Iterator[Alarm]:
    """Failed runs that the status files don't tell of: they could not be written."""
    told, runs = home.status_files().read_jobs(), read_runs(home.paths)
    for entry in schedule.entries:
        record = runs.get(entry.name)
        if record is None or not record.consecutive_failures or record.last_end is None:
            continue
        written = told.get(entry.name, {}).get("ts", 0.0)
        if isinstance(written, int | float) and written < (record.last_start or 0.0):
            text = f"{entry.name} failed: {record.last_error or 'no reason given'}"
            yield alarm("job_failed", text, since=record.last_end)
