"""What is wrong with a home, of what `skymem status` looks at: each thing with its id (row X3).

Cheap by design, as the status is: it goes by what was counted and written down already. An alarm
clears by itself, since nothing of it is kept: what is not found any more is none.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skymem.alarm_facts import (
    alarms_of_disk,
    alarms_of_indexes,
    alarms_of_runs,
    alarms_of_schedule,
    alarms_of_time,
    alarms_of_writing,
)
from skymem.app import Home, now
from skymem.daemon.pauses import read_pauses
from skymem.daemon.signs import daemon_alarms
from skymem.engine.room import explained_bytes, index_bytes
from skymem.errors import ClockMovedError, SkymemError
from skymem.home_files import look_at_files
from skymem.jobs.clock import clock_alarm
from skymem.jobs.summary import building_words
from skymem.model.alarm import Alarm, alarm
from skymem.policy.news import key_of
from skymem.stores.alarm_record import AlarmRecord, read_record
from skymem.stores.damages import NAMED_MAX
from skymem.stores.erasures import Erasures
from skymem.stores.violations import read_violations

UNENDED_SECONDS: Final = 600.0
"""An erasure at work may take as long: an index is made anew."""


def alarms_of(
    home: Home,
    daemon: Mapping[str, Any],
    engine: Mapping[str, Any],
    agents: list[dict[str, Any]],
    *,
    agent: str | None = None,
) -> list[Alarm]:
    """Each thing that is wrong, of the home as a whole and of the agents looked at.

    Args:
        home: whose.
        daemon: what `daemon_overview` found.
        engine: what `engine_overview` found.
        agents: what `agents_overview` found.
        agent: the one that was asked about: what is wrong with others only is left out.
    """
    whom = [one["name"] for one in agents]
    status, at = home.status_files(), now()
    jobs = status.read_jobs()
    found = [
        *(alarm("rules_faulty", fault) for fault in home.faults),
        *(alarm("unwritable", text) for text in unwritable(home, whom)),
        *(alarm("file_damaged", one.text) for one in look_at_files(home, whom) if one.problem),
        *_clock(home),
        *alarms_of_time(status.read_last_action(), daemon["heartbeat"], at),
        *daemon_alarms(daemon),
        *alarms_of_schedule(home, daemon, at, read_pauses(home.paths)),
        *alarms_of_disk(home),
        *_engine_alarms(home, engine),
        *alarms_of_indexes(home, engine, agents, at),
        *(each for one in agents for each in _agent_alarms(one)),
        *alarms_of_writing(home, jobs, agents, at),
        *(each for name in whom for each in _unended(home, name)),
        *([] if agent else _left_alone(home)),
        *_crossings(home, agent),
        *_failures(home, jobs, agent),
        *alarms_of_runs(home, jobs, agents, at),
    ]
    record = read_record(home.paths)
    found += _untold(home, record)
    return not_off(home, [_dated(one, record) for one in found])


def _untold(home: Home, record: AlarmRecord) -> Iterator[Alarm]:
    """Who is to be told of alarms and can't be."""
    rules = home.rules.alarms
    for name, wanted in (("command", bool(rules.command)), ("webhook", rules.webhook is not None)):
        told = record.channels.get(name)
        if wanted and told is not None and told.failing is not None:
            times = f"{told.failing.times:,} time(s)"
            text = f"{name} could not be told of alarms, {times}: {told.failing.why}"
            yield alarm("notify_failed", text, since=told.failing.since)


def _dated(one: Alarm, record: AlarmRecord) -> Alarm:
    """With since when it holds, where nobody but the daemon's lookout has seen it begin."""
    if one.since is not None:
        return one
    key = key_of(one)
    seen = (told.seen.get(key) for told in record.channels.values())
    begun = [each.here for each in seen if each is not None and each.gone is None]
    return one._replace(since=min(begun)) if begun else one


def not_off(home: Home, alarms: Sequence[Alarm]) -> list[Alarm]:
    """Those that the rules do not switch off, each once."""
    off = home.rules.alarms.off
    return list(dict.fromkeys(one for one in alarms if one.id not in off))


def unwritable(home: Home, agents: Sequence[str]) -> list[str]:
    """Say what of a home its owner, as whom this process runs, can't write to."""
    paths = home.paths
    if _mounted_read_only(paths.root):
        what = f"the home is read-only: nothing can be remembered or moved in {paths.root}"
        return [f"{what}; {_way_to_write(paths.root)}"]
    places = [path for path in paths.own if path.exists()]
    for agent in map(home.workplace().agent_paths, agents):
        places += [agent.directory, agent.short_term, agent.long_term]
    refused: list[Path] = []
    for place in places:
        covered = any(parent in refused for parent in place.parents)
        if not covered and place.exists() and not os.access(place, os.W_OK):
            refused.append(place)
    return [f"{place} is read-only; {_way_to_write(place)}" for place in refused]


def _way_to_write(place: Path) -> str:
    if _mounted_read_only(place):
        return "mount what it lies on for writing"
    return f"let its owner write: chmod u+w {place}"


def _mounted_read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _clock(home: Home) -> list[Alarm]:
    try:
        text = clock_alarm(home.workplace())
    except SkymemError:  # what is known of it can't be read, and is a file that was named
        return []
    return [alarm("clock_suspect", text)] if text else []


def _engine_alarms(home: Home, engine: Mapping[str, Any]) -> list[Alarm]:
    alarms = [alarm("engine", f"engine: {engine['problem']}")] if engine["problem"] else []
    for agent, index in engine["indexes"].items():
        problems = [problem.removeprefix(f"{agent}: ") for problem in index.get("problems", ())]
        if index.get("building") and problems:
            problems.append(building_words(index["building"]))
        alarms += [alarm("index_trouble", f"{agent}: {problem}", agent) for problem in problems]
        taken = index_bytes(home.paths, agent)
        explained = explained_bytes(index.get("chunks", 0), engine["dimension"] or 0)
        if taken > explained:
            text = (
                f"{agent}: its index takes {taken:,} bytes, and its vectors explain {explained:,}; "
                "make it anew with: skymem index --force"
            )
            alarms.append(alarm("index_bloated", text, agent))
    return alarms


def _unended(home: Home, agent: str) -> list[Alarm]:
    """Erasures that have begun long ago and are not ended: somebody relies on that they are."""
    try:
        begun = Erasures(home.paths, home.files, agent).open()
    except SkymemError as error:
        return [alarm("file_damaged", f"{agent}: {error}", agent)]
    before = now() - UNENDED_SECONDS
    go_on = f"go on with: skymem --agent {agent} index"
    return [
        alarm(
            "erasure_unfinished",
            f"{agent}: {one.run} is not ended; {go_on}",
            agent,
            remedy=go_on,
            since=one.begun,
        )
        for one in begun
        if one.begun < before
    ]


def _left_alone(home: Home) -> list[Alarm]:
    return [
        alarm("left_alone", f"memory/{name!r} is left alone: {problem}")
        for name, problem in home.workplace().agent_directories()
        if problem
    ]


def _crossings(home: Home, agent: str | None) -> Iterator[Alarm]:
    """Violations nobody has acknowledged: they stay an alarm until somebody has (row M7)."""
    for name, one in read_violations(home.paths).items():
        if not one.open or agent not in (None, name):
            continue
        last = one.last or {}
        text = (
            f"{name}: {one.open} time(s) its handle reached for what is not its own, last for "
            f"{last.get('whose')} by {last.get('door')}; it was refused "
            "(see: skymem agents violations; seen: the same with --acknowledge)"
        )
        yield alarm("violations", text, name)


def _failures(home: Home, jobs: Mapping[str, Any], agent: str | None) -> list[Alarm]:
    """The last results that are failures nothing has made good since."""
    failed = {name: told_of(one, agent) for name, one in jobs.items()}
    failed = {name: one for name, one in failed.items() if not detail_of(one).get("ok", True)}
    if not failed:
        return []
    known = _names(home)
    return [
        alarm(
            "job_failed",
            f"{name} failed: {detail_of(record).get('error', 'no reason given')}",
            remedy=f"do what the reason says, then run it again: skymem trigger {name}",
            since=record.get("ts"),
        )
        for name, record in failed.items()
        if (known is None or name in known)
        and not _about_the_clock(record)
        and not any(makes_good(other, record) for other in jobs.values())
    ]


def _about_the_clock(record: Mapping[str, Any]) -> bool:
    """Whether a run failed by the clock alone, which is an alarm itself while it is out of order.

    So accepting it once, or setting it right, lifts them all.
    """
    agents = detail_of(record).get("agents", {}).values()
    codes = {one.get("exit_code") for one in agents if not one.get("ok")}
    return codes == {ClockMovedError.exit_code}


def told_of(record: Mapping[str, Any], agent: str | None) -> Mapping[str, Any]:
    """A result as far as it is about an agent; one that is about none is about everyone."""
    each = detail_of(record).get("agents")
    if agent is None or not each:
        return record
    own = each.get(agent, {"ok": True})
    return {**record, "detail": {**detail_of(record), **own, "agents": {agent: own}}}


def _names(home: Home) -> set[str] | None:
    """What can run here: verbs and entries; None where the schedule can't be read."""
    from skymem.config.schedule_file import read_schedule
    from skymem.model.schedule import KNOWN_JOBS

    try:
        entries = read_schedule(home.paths.schedule).entries
    except SkymemError:
        return None
    return {*KNOWN_JOBS, *(entry.name for entry in entries)}


def makes_good(later: Mapping[str, Any], failed: Mapping[str, Any]) -> bool:
    """Whether a later success did all that had failed, for every agent it had failed for."""
    before, after = detail_of(failed), detail_of(later)
    if not after.get("ok") or later.get("seq", 0) <= failed.get("seq", 0):
        return False
    agents = {agent for agent, one in before.get("agents", {}).items() if not one.get("ok")}
    return _steps(failed) <= _steps(later) and agents <= {*after.get("agents", {})}


def _steps(record: Mapping[str, Any]) -> set[str]:
    from skymem.jobs.table import steps_of

    return {*steps_of(detail_of(record).get("job", record.get("action", "")))}


def detail_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a result says of itself; nothing where it is damaged."""
    detail = record.get("detail")
    return detail if isinstance(detail, dict) else {}


def _agent_alarms(one: dict[str, Any]) -> Iterator[Alarm]:
    name = one["name"]
    for problem in one["problems"]:
        yield alarm("agent_unreadable", f"{name}: {problem}", name)
    if one["quarantined"]:
        where = f"memory/{name}/quarantine"
        text = f"{name}: {one['quarantined']} unreadable piece(s) in {where}, with why beside"
        mend = "append what you mended anew, and remove its two files there"
        yield alarm("quarantine", f"{text}; {mend}", name)
    for file, lines in one["damaged_lines"].items():
        text = f"{name}: {unreadable(f'memory/{name}/{file}', lines)}"
        yield alarm("damaged_lines", text, name)


def unreadable(path: str, lines: Sequence[int]) -> str:
    """Say which lines of a tier's file can't be read, and how to go on."""
    more = " and more" if len(lines) >= NAMED_MAX else ""
    return (
        f"{path}: line(s) {', '.join(map(str, lines))}{more} can't be read (why: skymem fsck); "
        "mend or remove them with an editor while no job runs"
    )
