"""What there is: tiers, daemon, jobs and alarms of a home, as plain values for CLI and checks.

Cheap by design: it counts, and reads whole only what is bounded.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skymem.alarms import alarms_of, detail_of, makes_good, told_of
from skymem.app import READER_BUSY_MS, Home, now
from skymem.daemon.pauses import read_pauses
from skymem.errors import SkymemError
from skymem.jobs.summary import building_words
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Entry
from skymem.stores import home_format
from skymem.stores.catalog import Catalog, TierCount
from skymem.stores.counts import redacted_of
from skymem.stores.cursors import rag_pending
from skymem.stores.damages import damaged_lines
from skymem.stores.files import disk_errors
from skymem.stores.home import AgentPaths
from skymem.stores.home_format import read_format
from skymem.stores.lines import CHUNK_BYTES, count_lines, last_newline_end, read_entries
from skymem.stores.lock import holder_of
from skymem.stores.model_record import model_in_use, read_record
from skymem.stores.shelf import Shelf, open_or_none
from skymem.stores.status import is_time, part_of, read_json
from skymem.stores.violations import read_violations

if TYPE_CHECKING:  # `skymem jobs` brings them; `skymem status` answers without
    from skymem.daemon.runs import RunRecord
    from skymem.model.schedule import Schedule

FIRST_LINES: Final = 20
TIERS: Final = ("short", "long", "archive", "trash")


def status_overview(home: Home, agent: str | None = None) -> dict[str, Any]:
    """Everything `skymem status` tells: of the home, and of one agent or of everyone.

    Raises:
        AgentNameError, UsageError: there is no such agent.
    """
    agents = agents_overview(home, agent)
    jobs = home.status_files().read_jobs()
    daemon = daemon_overview(home)
    engine = engine_overview(home, agents, agent)
    pauses = read_pauses(home.paths)
    alarms = alarms_of(home, daemon, engine, agents, agent=agent)
    return {
        "home": {"path": str(home.paths.root), "why": home.why},
        "format": _format(home),
        "health": "degraded" if alarms else "healthy",
        "daemon": daemon,
        "engine": engine,
        "api": api_overview(home),
        "agents": agents,
        "last_action": home.status_files().read_last_action(),
        "jobs": {name: _last(told_of(record, agent)) for name, record in jobs.items()},
        "paused": [{"name": name, "since": since} for name, since in pauses.items()],
        "violations": violations_overview(home, agent),
        "alarms": [one.to_json() for one in alarms],
        "notes": [
            *_notes(home),
            *_resting(pauses),
            *_owing(agents),
            *_filling(engine),
            *_changing(engine),
            *_worked_around(jobs),
        ],
    }


def _format(home: Home) -> int | None:
    """In which format the home is; None where nobody can say, which is an alarm of its own."""
    try:
        return read_format(home.paths).number
    except SkymemError:
        return None


def agents_overview(home: Home, agent: str | None = None) -> list[dict[str, Any]]:
    """Each agent, or one: its tiers, drains and quarantine, and what of it can't be read.

    Raises:
        AgentNameError, UsageError: there is no such agent.
    """
    whom = home.agents(agent)
    work = home.workplace()
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog:
        return [_agent(work, catalog, name) for name in whom]


def violations_overview(home: Home, agent: str | None = None) -> dict[str, Any]:
    """How often handles reached for what is not their own, and were refused (row M7)."""
    found = {
        name: one for name, one in read_violations(home.paths).items() if agent in (None, name)
    }
    return {
        "count": sum(one.count for one in found.values()),
        "open": sum(one.open for one in found.values()),
        "agents": {name: asdict(one) for name, one in found.items()},
    }


def who_remembers(home: Home) -> list[str]:
    """The agents in reach that have any memory in short-term, long-term or an archive."""
    found = [one for name in home.workplace().agents() for one in agents_overview(home, name)]
    return [
        one["name"]
        for one in found
        if any(one["tiers"][tier]["count"] for tier in TIERS if tier != "trash")
    ]


def daemon_overview(home: Home) -> dict[str, Any]:
    """Whether a daemon keeps this home, and its last sign of life."""
    holder = holder_of(home.paths.daemon_lock)
    beat = home.status_files().read_heartbeat()
    at = beat.get("ts") if beat else None
    age = max(0.0, now() - at) if isinstance(at, int | float) else None
    return {
        "running": bool(holder),
        "holder": holder or None,
        "heartbeat_age_s": None if age is None else round(age, 3),
        "heartbeat": beat,
    }


def api_overview(home: Home) -> dict[str, Any]:
    """Whether an API serves this home."""
    holder = holder_of(home.paths.api_lock)
    return {"running": bool(holder), "holder": holder or None}


def engine_overview(
    home: Home, agents: list[dict[str, Any]], agent: str | None = None
) -> dict[str, Any]:
    """Whether the engine runs, its model and its indexes, from what it wrote last: it isn't asked.

    What it said of itself holds while the process that said it lives.
    """
    holder = holder_of(home.paths.engine_lock)
    told = read_json(home.paths.engine_status) or {}
    running = bool(holder) and bool(told.get("running"))
    live = told if running else {}
    in_use = model_in_use(home.rules.engine, home.paths)
    return {
        "running": running,
        "holder": holder or None,
        "in_use": {"model": in_use.model, "why": in_use.why},
        "wanted": read_record(home.paths).wanted or None,
        "rag_pending": sum(_owed(one) for one in agents),
        **{name: told.get(name) for name in ("backend", "model", "precision", "dimension")},
        **{name: live.get(name) for name in ("pid", "version", "started", "rss_bytes", "doing")},
        "problem": told.get("problem"),
        "told": told.get("ts") if is_time(told.get("ts")) else None,
        "indexes": {
            name: one
            for name, one in part_of(told, "agents").items()
            if isinstance(one, dict) and agent in (None, name)
        },
    }


def _filling(engine: Mapping[str, Any]) -> list[str]:
    """Indexes that are filled for the first time, or on purpose: nothing is wrong with that."""
    return [
        f"{agent}: {building_words(index['building'])}"
        for agent, index in engine["indexes"].items()
        if index.get("building") and not index.get("problems")
    ]


def _changing(engine: Mapping[str, Any]) -> list[str]:
    """A change of model that was begun and not finished."""
    wanted = engine["wanted"]
    if wanted is None:
        return []
    go_on = f"skymem index --migrate {shlex.quote(wanted)}"
    return [f"a change of model to {wanted} was begun (it goes on with: {go_on})"]


def _resting(pauses: Mapping[str, float]) -> list[str]:
    return [f"{name} is paused (end that with: skymem resume {name})" for name in pauses]


def _owing(agents: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['name']}: {one['rag_pending']:,} long-term memories are not indexed yet "
        "(the next run does it, or: skymem index)"
        for one in agents
        if one["rag_pending"]
    ]


def _worked_around(jobs: Mapping[str, Any]) -> list[str]:
    """What the last runs did without, where none has gone well since."""
    return [
        f"{name} was degraded: {reason}"
        for name, record in jobs.items()
        for reason in detail_of(record).get("degraded", ())
        if not any(makes_good(other, record) for other in jobs.values())
    ]


def jobs_overview(
    schedule: "Schedule",
    runs: "Mapping[str, RunRecord]",
    due: Mapping[str, float | None],
    daemon: Mapping[str, Any],
    pauses: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """Each entry of the schedule: what it did last and does next; nothing while it is paused."""
    pauses = pauses or {}
    running, live = _live(daemon["heartbeat"] or {}) if daemon["running"] else (set(), {})
    found = []
    for entry in schedule.entries:
        record = runs.get(entry.name)
        waits = entry.enabled and entry.name not in pauses
        next_run = live.get(entry.name, due.get(entry.name)) if waits else None
        found.append(
            {
                "name": entry.name,
                "job": entry.job,
                "enabled": entry.enabled,
                "paused": pauses.get(entry.name),
                **_last_times(entry.job, record, daemon["heartbeat"]),
                "next_run": next_run,
                "missed": record.missed if record else 0,
                "failures": record.consecutive_failures if record else 0,
                "running": entry.name in running,
                "error": record.last_error if record else None,
                "result": "ok" if entry.job == "heartbeat" else _result(record),
            }
        )
    return found


def _live(beat: Mapping[str, Any]) -> tuple[set[str], dict[str, float]]:
    """What a heartbeat says is running, and when what runs next; nothing of a damaged one."""
    runs = beat.get("running")
    runs = runs if isinstance(runs, list) else []
    running = [one.get("name") for one in runs if isinstance(one, dict)]
    due = part_of(beat, "next_runs").items()
    return (
        {name for name in running if isinstance(name, str)},
        {name: at for name, at in due if isinstance(at, int | float)},
    )


def _last_times(
    job: str, record: "RunRecord | None", beat: Mapping[str, Any] | None
) -> dict[str, float | None]:
    """When an entry ran last; the heartbeat's own file is its record."""
    if job == "heartbeat":
        told = beat.get("ts") if beat else None
        beaten = told if isinstance(told, int | float) else None
        return {"last_run": beaten, "last_success": beaten, "last_effective": None}
    return {
        "last_run": record.last_start if record else None,
        "last_success": record.last_success if record else None,
        "last_effective": record.last_effective if record else None,
    }


def _result(record: "RunRecord | None") -> str:
    if record is None or record.last_end is None:
        return "never ran"
    return "ok" if record.last_exit_code == 0 else f"failed ({record.last_exit_code})"


def _agent(work: Workplace, catalog: Catalog, name: str) -> dict[str, Any]:
    unknown = {"count": None, "bytes": None, "oldest": None}
    tiers: dict[str, Any] = {"short": {**unknown, "backlog": None}}
    tiers |= {tier: dict(unknown) for tier in TIERS[1:]}
    found: dict[str, Any] = {
        "name": name,
        "tiers": tiers,
        "since": None,
        "quarantined": 0,
        "damaged": 0,
        "damaged_lines": {},
        "drains": 0,
        "rag_pending": 0,
        "redacted": redacted_of(work.paths, name),
        "problems": [],
    }
    for look in (_look_at_short, partial(_look_at_catalog, work, catalog), _look_aside):
        try:
            with disk_errors(work.agent_paths(name).directory):
                look(found, work.shelf(name))
        except SkymemError as error:  # the rest, and the other agents, are shown all the same
            found["problems"] = list(dict.fromkeys([*found["problems"], str(error)]))
    seen = [tier["oldest"] for tier in tiers.values() if tier["oldest"] is not None]
    found["since"] = min(seen, default=None)
    return found


def _look_at_catalog(
    work: Workplace, catalog: Catalog, found: dict[str, Any], shelf: Shelf
) -> None:
    counts, oldest, found["rag_pending"], found["damaged_lines"] = work.ask(
        catalog, shelf, lambda: _kept(work, catalog, shelf.paths)
    )
    for tier in TIERS[1:]:
        files = [count for count in counts if count.tier == tier]
        found["tiers"][tier] = {
            "count": sum(count.memories for count in files),
            "bytes": sum(_size(shelf.paths.directory / count.file) for count in files),
            "oldest": _seconds(oldest[tier]),
        }
    found["damaged"] = sum(count.damaged for count in counts)


def _kept(
    work: Workplace, catalog: Catalog, agent: AgentPaths
) -> tuple[list[TierCount], dict[str, int | None], int, dict[str, list[int]]]:
    oldest = {tier: catalog.oldest_us(agent.name, tier) for tier in TIERS[1:]}
    owed = rag_pending(work.paths, catalog, agent.name)
    return catalog.counts(agent.name), oldest, owed, damaged_lines(agent, catalog)


def _look_aside(found: dict[str, Any], shelf: Shelf) -> None:
    found["quarantined"] = shelf.quarantine.count()
    found["drains"] = len(shelf.drains.names())


def _look_at_short(found: dict[str, Any], shelf: Shelf) -> None:
    """Count short-term with what its drains still hold; its oldest is among the first lines."""
    lines = size = backlog = 0
    oldest: float | None = None
    for path, start in [*shelf.drains.tails(), (shelf.paths.short_term, 0)]:
        fd = open_or_none(path)
        if fd is None:
            continue
        try:
            end = os.fstat(fd).st_size
            lines += count_lines(fd, start, end)
            size += end - start
            if path != shelf.paths.short_term:
                backlog += end - start
            oldest = _earlier(oldest, _first_time(fd, start, end, shelf.rules.line_bytes_max))
        finally:
            os.close(fd)
    found["tiers"]["short"] = {"count": lines, "bytes": size, "oldest": oldest, "backlog": backlog}


def _first_time(fd: int, start: int, end: int, limit: int) -> float | None:
    stop = last_newline_end(fd, min(end, start + CHUNK_BYTES))
    if stop <= start:
        return None
    for number, entry in enumerate(read_entries(fd, start, stop, limit)):
        if isinstance(entry, Entry) and entry.memory.time_us is not None:
            return _seconds(entry.memory.time_us)
        if number >= FIRST_LINES:
            break
    return None


def _notes(home: Home) -> list[str]:
    """What is well and worth knowing, and that the home waits for an upgrade."""
    notes = []
    if (found := _format(home)) is not None and found < home_format.WORKED_ON:
        notes.append(f"the home is in format {found}: jobs wait for skymem upgrade")
    if home.paths.flat_short_term.exists():
        notes.append("memory/short_term.jsonl is adopted: what is written there goes to agent sky")
    return notes


def _last(record: Mapping[str, Any]) -> dict[str, Any]:
    detail = detail_of(record)
    return {"ts": record.get("ts"), "ok": detail.get("ok"), "acted": detail.get("acted")}


def _owed(agent: dict[str, Any]) -> int:
    return int(agent["rag_pending"])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _seconds(time_us: int | None) -> float | None:
    return None if time_us is None else time_us / 1_000_000


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((time for time in (one, other) if time is not None), default=None)
