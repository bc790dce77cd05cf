"""What the rules about runs look at, gathered for them: results, times and sizes of a home's files.

Cheap, as the status is: what the results say was read already, of files it is asked when they were
written, and the schedule is read only where the daemon's own word makes it worth a look.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skymem.app import READER_BUSY_MS, Home
from skymem.errors import SkymemError
from skymem.model.alarm import Alarm, alarm
from skymem.policy import alarming
from skymem.policy.alarming import PROMOTING, READING, Source
from skymem.stores.files import disk_errors
from skymem.stores.home import AgentPaths
from skymem.stores.home_key import key_path
from skymem.stores.status import part_of
from skymem.stores.vectorless import vectors_due

if TYPE_CHECKING:
    from skymem.daemon.runs import RunRecord
    from skymem.model.schedule import ScheduleEntry

FREE_BYTES_MIN: Final = 100 * 1024 * 1024
FREE_SHARE_MIN: Final = 0.01
"""The least of the disk, or of its inodes, that should be free; of a tiny disk, a tenth."""

OVERDUE_SECONDS: Final = 60.0
"""A busy machine, and a clock that was just changed, may make a run this late."""

AHEAD_SECONDS_MAX: Final = 60.0
"""A record that is of later than this from now was not written by this clock."""

SETTLED_SECONDS: Final = 60.0
"""What the engine said of itself this long ago is what it means."""

OWN_NAMES: Final = ("short_term.jsonl", "long_term.jsonl")
ARCHIVE: Final = "short_term_archive_"


def alarms_of_runs(
    home: Home, jobs: Mapping[str, Any], agents: list[dict[str, Any]], at: float
) -> Iterator[Alarm]:
    """What the results of jobs say, one after the other, of the agents looked at."""
    rules = home.rules.alarms
    written = {one["name"]: _written(home, one["name"]) for one in agents}
    for name, record in jobs.items():
        for source in _sources(name, record, written):
            yield from alarming.idle(source, rules, at)
            yield from alarming.same(source, rules, at, written=written[source.agent])
    for agent in written:
        yield from _last_words(agent, jobs)
    pending = sum(one["rag_pending"] for one in agents)
    growing = (
        found
        for name, record in jobs.items()
        for found in alarming.backlog(name, part_of(record, "lately"), rules, pending=pending)
    )
    yield from list(growing)[:1]  # each job that indexes tells of the same backlog


def alarms_of_writing(
    home: Home, jobs: Mapping[str, Any], agents: list[dict[str, Any]], at: float
) -> Iterator[Alarm]:
    """What is written that no job reads: in short-term, or beside it."""
    for one in agents:
        own = home.workplace().agent_paths(one["name"])
        written, read = _written(home, one["name"]), _last_read(home, one["name"], jobs)
        if written is not None and read is not None:
            yield from alarming.unread(one["name"], written, read, home.rules.alarms, at)
        yield from _strays(own)


def alarms_of_indexes(
    home: Home, engine: Mapping[str, Any], agents: list[dict[str, Any]], at: float
) -> Iterator[Alarm]:
    """Indexes that are smaller than what they index, once the engine has told of it for a while."""
    told = engine.get("told")
    for one in agents:
        index = engine["indexes"].get(one["name"]) or {}
        indexed, stored = index.get("memory"), one["tiers"]["long"]["count"]
        if not isinstance(indexed, int) or stored is None or index.get("building"):
            continue
        changed = _changed(home.workplace().agent_paths(one["name"]).long_term)
        if told is not None and changed is not None and changed <= told <= at - SETTLED_SECONDS:
            owed = one["rag_pending"]
            if any(alarming.index_small(one["name"], indexed, owed, stored)):
                due = _due(home, one["name"])
                yield from alarming.index_small(one["name"], indexed, owed, due)


def _due(home: Home, agent: str) -> int:
    """How many memories of long-term should have a vector: not those that are superseded."""
    work, shelf = home.workplace(), home.shelf(agent)
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog:
        return work.ask(catalog, shelf, lambda: vectors_due(catalog, agent, "long"))


def alarms_of_disk(home: Home) -> Iterator[Alarm]:
    """Whether what the home lies on is nearly full, in bytes or in inodes."""
    try:
        with disk_errors(home.paths.root):
            disk = os.statvfs(home.paths.root)
    except SkymemError as error:
        yield alarm("disk_low", str(error))
        return
    yield from disk_alarms(home, disk)


def disk_alarms(home: Home, disk: os.statvfs_result) -> Iterator[Alarm]:
    """The same of what the disk says of itself."""
    whole, free = disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize
    usual = max(FREE_BYTES_MIN, round(whole * FREE_SHARE_MIN))
    yield from alarming.disk_low(free, whole, home.rules.alarms, usual)
    if disk.f_favail < disk.f_files * FREE_SHARE_MIN:
        text = f"the disk is nearly full: only {disk.f_favail:,} more files fit on it"
        yield alarm("disk_low", text)


def alarms_of_time(last: Mapping[str, Any] | None, beat: Any, at: float) -> Iterator[Alarm]:
    """Whether something was written at a time that is yet to come: the clock was set back."""
    for what, record in (("the last action", last), ("the last heartbeat", beat)):
        ts = record.get("ts") if isinstance(record, Mapping) else None
        if isinstance(ts, int | float) and ts - at > AHEAD_SECONDS_MAX:
            text = (
                f"the clock went back, or was wrong before: {what} is of {ts - at:.0f} s from now"
            )
            yield alarm("clock_suspect", text)


def alarms_of_schedule(
    home: Home, daemon: Mapping[str, Any], at: float, paused: Mapping[str, float]
) -> Iterator[Alarm]:
    """Entries that the daemon should have run by now, by the record and by what it says itself.

    A daemon that isn't there says that, and not ten times that nothing runs.
    """
    beat = daemon["heartbeat"] or {}
    if not daemon["running"] or beat.get("state") != "running" or not _worth_a_look(home, beat, at):
        return
    from skymem.config.schedule_file import read_schedule
    from skymem.daemon.runs import read_runs
    from skymem.daemon.timing import next_runs

    try:
        schedule = read_schedule(home.paths.schedule)
    except SkymemError:  # which is told by who looks at the file
        return
    runs = read_runs(home.paths)
    resting = {one["name"] for one in beat.get("running", [])} | paused.keys()
    due, armed = next_runs(schedule, runs, at), part_of(beat, "next_runs")
    for entry in schedule.entries:
        latest = max(armed.get(entry.name, 0.0), (due[entry.name] or at) + entry.jitter_seconds)
        if entry.name not in resting and latest + OVERDUE_SECONDS < at:
            yield _late(entry, runs.get(entry.name), latest, at)


def _worth_a_look(home: Home, beat: Mapping[str, Any], at: float) -> bool:
    """Whether the daemon has a run in arrears by its own word, or may not know the schedule."""
    armed = [one for one in part_of(beat, "next_runs").values() if isinstance(one, int | float)]
    if not armed or min(armed) + OVERDUE_SECONDS < at:
        return True
    changed, read = _changed(home.paths.schedule), part_of(beat, "configuration").get("read")
    return changed is not None and (not isinstance(read, int | float) or changed > read)


def _late(entry: "ScheduleEntry", record: "RunRecord | None", latest: float, at: float) -> Alarm:
    ever = record is not None and record.last_start is not None
    text = (
        f"{entry.name} was due {at - latest:.0f} s ago and has {'not' if ever else 'never'} run, "
        "though a daemon runs"
    )
    return alarm("job_overdue" if ever else "job_never_run", text, since=latest)


def _sources(name: str, record: Mapping[str, Any], whom: Mapping[str, object]) -> Iterator[Source]:
    """Each agent's part of the last result of a job that goes by what stands in short-term."""
    detail = part_of(record, "detail")
    job = detail.get("job")
    if job not in READING:
        return
    recorded = part_of(part_of(record, "lately"), "agents")
    for agent, own in part_of(detail, "agents").items():
        if agent in whom and isinstance(own, Mapping):
            told = {**own, "job": job}
            told.setdefault("threshold", detail.get("threshold"))
            yield Source(name, agent, told, part_of(recorded, agent))


def _last_words(agent: str, jobs: Mapping[str, Any]) -> Iterator[Alarm]:
    """What the agent's last promote and last prune say, under whatever name they ran."""
    for doing, rule in ((PROMOTING, alarming.flood), (("prune",), alarming.spent)):
        found = [
            (record.get("seq", 0), name, record)
            for name, record in jobs.items()
            if part_of(record, "detail").get("job") in doing
            and agent in part_of(part_of(record, "detail"), "agents")
        ]
        if not found:
            continue
        _, name, record = max(found, key=lambda one: one[0])
        detail = part_of(record, "detail")
        shared = {key: detail[key] for key in ("calibration",) if key in detail}
        own = {**shared, **part_of(part_of(detail, "agents"), agent)}
        lately = part_of(part_of(part_of(record, "lately"), "agents"), agent)
        yield from rule(Source(name, agent, own, lately), record.get("ts"))


def _last_read(home: Home, agent: str, jobs: Mapping[str, Any]) -> float | None:
    """When a job read the agent's short-term last; where none ever did, when the home was begun."""
    times = [
        record["ts"]
        for record in jobs.values()
        if part_of(record, "detail").get("job") in READING
        and part_of(part_of(part_of(record, "detail"), "agents"), agent).get("ok")
        and isinstance(record.get("ts"), int | float)
    ]
    return max(times) if times else _changed(key_path(home.paths))


def _written(home: Home, agent: str) -> float | None:
    """When the agent's short-term was written to last, an old one in `drains/` as well."""
    own = home.workplace().agent_paths(agent)
    found = [_changed(path) for path in (own.short_term, *own.drains.glob("[!.]*.jsonl"))]
    return max((each for each in found if each is not None), default=None)


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _strays(own: AgentPaths) -> Iterator[Alarm]:
    """Files of lines beside the agent's own that are none of ours: nobody reads them."""
    try:
        names = sorted(os.listdir(own.directory))
    except OSError:
        return
    for name in names:
        known = name in OWN_NAMES or name.startswith((ARCHIVE, "."))
        if name.endswith(".jsonl") and not known:
            text = f"memory/{own.name}/{name!r} is read by nobody: it is none of an agent's files"
            yield alarm("unread_growth", text, own.name)
