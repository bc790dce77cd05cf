"""What `skymem check` tells a monitor: whether the home is well, and if not, each reason.

Every alarm of `skymem status` is a reason, and what it costs more to find out: a schedule that is
not usable, failures that could not be put down where the status looks, and an engine that hangs.
That no daemon runs is a note: a home may be kept by hand or by cron.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from skymem.alarms import not_off
from skymem.app import Home, engine_allowed
from skymem.config.schedule_file import read_schedule
from skymem.daemon.runs import read_runs
from skymem.errors import EngineUnavailableError, SkymemError
from skymem.model.alarm import Alarm, alarm
from skymem.model.schedule import Schedule
from skymem.overview import status_overview
from skymem.stores.lock import holder_of

ENGINE_SECONDS: Final = 5.0
"""Within which an engine, however busy, says a word."""


def health_of(home: Home, agent: str | None = None) -> dict[str, Any]:
    """Look at everything that should raise an alarm somewhere, of one agent or of everyone.

    Raises:
        AgentNameError, UsageError: there is no such agent.

    Returns:
        `health` (`healthy` or `degraded`), `alarms`, their `reasons` in words (none when healthy)
        and `notes`.
    """
    return judged(home, status_overview(home, agent))


def judged(home: Home, found: Mapping[str, Any]) -> dict[str, Any]:
    """The same, of what `status_overview` found a moment ago."""
    alarms = [Alarm(**one) for one in found["alarms"]]
    alarms += _engine(home)
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


def _engine(home: Home) -> list[Alarm]:
    """Whether an engine runs and hangs: what it wrote last would not tell."""
    if not engine_allowed() or not home.owned:
        return []
    try:
        hangs = home.engine().hangs(deadline_seconds=ENGINE_SECONDS)
    except EngineUnavailableError:  # somebody else sits on its socket: who asks it is told
        return []
    if not hangs:
        return []
    holder = holder_of(home.paths.engine_lock) or "what has its socket"
    text = f"the engine does not answer ({holder}): recall is by words alone; end that process"
    return [alarm("engine", text, remedy="end that process: the next question starts another")]


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
