"""What `skymem check` tells a monitor: whether the home is well, and if not, each reason.

Every alarm of `skymem status` is a reason, and what it costs more to find out: a schedule that is
not usable, and failures that could not be put down where the status looks. That no daemon runs is a
note: a home may be kept by hand or by cron.
"""

from collections.abc import Iterator
from typing import Any

from skymem.alarms import not_off
from skymem.app import Home, engine_allowed, now
from skymem.config.schedule_file import read_schedule
from skymem.daemon.runs import read_runs
from skymem.doctor import FREE_BYTES_MIN, FUTURE_SECONDS_MAX
from skymem.errors import EngineUnavailableError, SkymemError
from skymem.model.alarm import Alarm, alarm
from skymem.model.schedule import Schedule
from skymem.overview import status_overview
from skymem.stores.files import disk_errors
from skymem.stores.lock import holder_of

OVERDUE_SECONDS: Final = 60.0
"""A busy machine, and a clock that was just changed, may make a run this late."""

ENGINE_SECONDS: Final = 5.0
"""Within which an engine, however busy, says a word."""

FREE_SHARE_MIN: Final = 0.01
"""The least of the disk, or of its inodes, that should be free; of a tiny disk, a tenth."""


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
    at = now()
    reasons = [*found["alarms"], *_killed(found["daemon"]), *_disk(home), *_clock(found, at)]
    reasons += _engine(home)
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


def _killed(daemon: Mapping[str, Any]) -> list[str]:
    """Whether the last daemon ended without a word: it was killed, or the machine went down."""
    state = (daemon["heartbeat"] or {}).get("state")
    if daemon["running"] or state not in ("running", "stopping"):
        return []
    age = daemon["heartbeat_age_s"] or 0.0
    why = "it was killed, or the machine went down; start it again: skymem run"
    return [f"the daemon ended without a word, {age:.0f} s ago or later: {why}"]


def _engine(home: Home) -> list[str]:
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
    return [f"the engine does not answer ({holder}): recall is by words alone; end that process"]


def _disk(home: Home) -> list[str]:
    try:
        with disk_errors(home.paths.root):
            return disk_reasons(os.statvfs(home.paths.root))
    except SkymemError as error:
        return [str(error)]


def disk_reasons(disk: os.statvfs_result) -> list[str]:
    """Whether what the home lies on is nearly full, in bytes or in inodes."""
    whole, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    least = min(max(FREE_BYTES_MIN, round(whole * FREE_SHARE_MIN)), whole // 10)
    reasons = []
    if free < least:
        reasons.append(f"the disk is nearly full: {free:,} bytes are free, {least:,} should be")
    if disk.f_favail < disk.f_files * FREE_SHARE_MIN:
        reasons.append(f"the disk is nearly full: only {disk.f_favail:,} more files fit on it")
    return reasons


def _clock(found: Mapping[str, Any], at: float) -> list[str]:
    """Whether something was written at a time that is yet to come: the clock was set back."""
    records = {
        "the last action": found["last_action"],
        "the last heartbeat": found["daemon"]["heartbeat"],
    }
    ahead = {
        what: float(record["ts"]) - at
        for what, record in records.items()
        if record and isinstance(record.get("ts"), int | float)
    }
    return [
        f"the clock went back, or was wrong before: {what} is of {seconds:.0f} s from now"
        for what, seconds in ahead.items()
        if seconds > FUTURE_SECONDS_MAX
    ]


def _schedule(home: Home, found: Mapping[str, Any], at: float) -> list[str]:
    """What the record of runs says against the schedule.

    Raises:
        ConfigurationError: `schedule.yaml` is not usable.
    """
    schedule, runs = read_schedule(home.paths.schedule), read_runs(home.paths)
    overdue = _overdue(home, schedule, runs, found["daemon"], at)
    return [*overdue, *_untold_failures(home, schedule, runs)]


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
