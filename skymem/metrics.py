"""What a monitor of many machines counts: the home in numbers, for Prometheus.

One look for every door: the API's /metrics and `skymem metrics` tell the same. It costs what
`skymem check` costs, changes nothing, and of a home that is damaged it tells what can be had.
"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skymem.alarms import detail_of
from skymem.app import Home, now
from skymem.config.schedule_file import read_schedule
from skymem.daemon.pauses import read_pauses
from skymem.daemon.runs import RunRecord, read_runs
from skymem.engine.room import index_bytes
from skymem.errors import SkymemError, UsageError
from skymem.health import judged
from skymem.model.metric import METRICS, Samples
from skymem.overview import jobs_overview, status_overview
from skymem.reporting.answers import quantile
from skymem.stores.files import Files, Modes
from skymem.stores.home_format import read_format, this_release
from skymem.stores.recall_events import answers_of
from skymem.stores.status import part_of

EMPTY: Final[Mapping[str, Any]] = {}
LABEL: Final = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
SHARES: Final = (0.5, 0.95)
RECENT_SECONDS: Final = 3600.0
PROMOTING: Final = ("promote", "memory_rotate_check")


def look(home: Home, agent: str | None = None, labels: Mapping[str, str] | None = None) -> Samples:
    """Count everything there is to count.

    Args:
        home: of which.
        agent: the one that is asked about, or everyone.
        labels: what every sample has besides its own.

    Raises:
        AgentNameError, UsageError: there is no such agent.
    """
    found = status_overview(home, agent)
    alarms = judged(home, found)["alarms"]
    results = home.status_files().read_jobs()
    samples = Samples(labels)
    _itself(samples, home)
    _alarms(samples, alarms)
    _processes(samples, found)
    for one in found["agents"]:
        _memories(samples, one)
        _index(samples, home, one, found["engine"]["indexes"].get(one["name"]) or EMPTY)
        _recalls(samples, home, one["name"])
        _last_words(samples, one["name"], results)
    _violations(samples, found["violations"]["agents"])
    _results(samples, results)
    _entries(samples, home, found["daemon"])
    return samples


def constant_labels(said: Sequence[str]) -> dict[str, str]:
    """Read `NAME=VALUE`, each once.

    Raises:
        UsageError: no label is called so, or metrics have one of that name.
    """
    taken = {name for metric in METRICS.values() for name in metric.labels}
    found: dict[str, str] = {}
    for text in said:
        name, equals, value = text.partition("=")
        if not equals or not LABEL.fullmatch(name) or name.startswith("__"):
            raise UsageError(f"--label {text!r:.80} is not like home=work")
        if name in taken or name in found:
            raise UsageError(f"--label {name}: there is one of that name already")
        found[name] = value
    return found


def _itself(samples: Samples, home: Home) -> None:
    samples.add("skymem_build_info", 1, this_release())
    with contextlib.suppress(SkymemError):  # which is an alarm
        samples.add("skymem_home_format", read_format(home.paths).number)
    samples.add("skymem_collected_timestamp_seconds", now())
    last = home.status_files().read_last_action() or EMPTY
    samples.add("skymem_actions_total", last.get("seq"))
    try:
        disk = os.statvfs(home.paths.root)
    except OSError:  # which is an alarm
        return
    samples.add("skymem_disk_size_bytes", disk.f_blocks * disk.f_frsize)
    samples.add("skymem_disk_avail_bytes", disk.f_bavail * disk.f_frsize)
    samples.add("skymem_disk_avail_inodes", disk.f_favail)


def write_textfile(path: Path, samples: Samples) -> int:
    """Write them as a file for node_exporter's textfile collector; returns its bytes.

    Whoever reads it sees the file before or this one, whole. A new one may be read by everyone,
    as node_exporter is another user's; of one that is there owner and mode stay.

    Raises:
        UsageError: it would not be read there, by its name.
        DiskError, NotAllowedError: it can't be written; the file before stays.
    """
    if path.suffix != ".prom" or path.name.startswith("."):
        raise UsageError(f"{path.name!r:.80}: a collector reads files whose names end in .prom")
    text = samples.text().encode()
    Files(Modes(file=0o644)).replace(path, text)
    return len(text)


def _alarms(samples: Samples, alarms: list[dict[str, Any]]) -> None:
    """Each kind of alarm there is, and whose; of several alike, one."""
    samples.add("skymem_alarms", len(alarms))
    for agent, name in dict.fromkeys((one["agent"] or "", one["id"]) for one in alarms):
        samples.add("skymem_alarm", 1, agent, name)


def _processes(samples: Samples, found: Mapping[str, Any]) -> None:
    for name in ("daemon", "engine", "api"):
        samples.add(f"skymem_{name}_up", bool(found[name]["running"]))
    daemon, engine = found["daemon"], found["engine"]
    beat = daemon["heartbeat"] or EMPTY
    samples.add("skymem_daemon_heartbeat_timestamp_seconds", beat.get("ts"))
    if daemon["running"]:
        samples.add("skymem_daemon_start_timestamp_seconds", beat.get("started"))
        samples.add("skymem_daemon_resident_memory_bytes", beat.get("rss_bytes"))
    told = [str(engine[name] or "") for name in ("backend", "precision")]
    samples.add("skymem_engine_info", 1, engine["in_use"]["model"], *told)
    samples.add("skymem_engine_resident_memory_bytes", engine["rss_bytes"])


def _memories(samples: Samples, one: Mapping[str, Any]) -> None:
    name = one["name"]
    for tier, found in one["tiers"].items():
        samples.add("skymem_memories", found["count"], name, tier)
        samples.add("skymem_memory_bytes", found["bytes"], name, tier)
        samples.add("skymem_oldest_memory_timestamp_seconds", found["oldest"], name, tier)
    samples.add("skymem_backlog_bytes", one["tiers"]["short"]["backlog"], name)
    samples.add("skymem_quarantined", one["quarantined"], name)
    samples.add("skymem_damaged_lines", one["damaged"], name)
    for kind, count in one["redacted"].items():
        samples.add("skymem_redacted_total", count, name, kind)


def _index(samples: Samples, home: Home, one: Mapping[str, Any], index: Mapping[str, Any]) -> None:
    name, pending, stored = one["name"], one["rag_pending"], one["tiers"]["long"]["count"]
    samples.add("skymem_rag_pending", pending, name)
    samples.add("skymem_index_bytes", index_bytes(home.paths, name), name)
    indexed = index.get("memory")
    if not isinstance(indexed, int):
        return
    samples.add("skymem_index_memories", indexed, name)
    samples.add("skymem_index_building", bool(index.get("building")), name)
    if stored is not None:
        samples.add("skymem_index_missing", max(0, stored - indexed - pending), name)


def _recalls(samples: Samples, home: Home, agent: str) -> None:
    """How long the answers of late took, where that is recorded; many are read in no time."""
    try:
        answers = [*answers_of(home.paths, agent, now() - RECENT_SECONDS)]
    except SkymemError:  # who looks at the file tells of it
        return
    took = sorted(one.took_ms / 1000 for one in answers if one.took_ms is not None)
    samples.add("skymem_recall_recent_answers", len(answers), agent)
    for share in SHARES:
        samples.add("skymem_recall_recent_seconds", quantile(took, share), agent, f"{share:g}")


def _last_words(samples: Samples, agent: str, results: Mapping[str, Any]) -> None:
    """What the agent's last promotion and its last prune say, under whatever name they ran."""
    promoted = _last_of(agent, results, PROMOTING)
    if promoted is not None:
        held = part_of(part_of(promoted, "calibration"), agent).get("held", 0)
        samples.add("skymem_flood_held", held, agent)
    pruned = _last_of(agent, results, ("prune",))
    budget = part_of(part_of(part_of(pruned or EMPTY, "agents"), agent), "budget")
    for tier in budget:
        for name in ("allowed", "spent"):
            samples.add(f"skymem_loss_budget_{name}", part_of(budget, tier).get(name), agent, tier)


def _last_of(
    agent: str, results: Mapping[str, Any], jobs: tuple[str, ...]
) -> Mapping[str, Any] | None:
    found = [
        (record.get("seq", 0), detail)
        for record in results.values()
        if (detail := detail_of(record)).get("job") in jobs and agent in part_of(detail, "agents")
    ]
    return max(found, key=lambda one: one[0])[1] if found else None


def _violations(samples: Samples, found: Mapping[str, Mapping[str, Any]]) -> None:
    for agent, one in found.items():
        samples.add("skymem_violations_total", one["count"], agent)
        samples.add("skymem_violations_open", one["open"], agent)


def _results(samples: Samples, results: Mapping[str, Any]) -> None:
    """What each job's last result says, whoever ran it."""
    for name, record in results.items():
        detail = detail_of(record)
        samples.add("skymem_job_last_run_timestamp_seconds", record.get("ts"), name)
        samples.add("skymem_job_last_duration_seconds", detail.get("duration_s"), name)
        samples.add("skymem_job_last_success", detail.get("ok"), name)
        samples.add("skymem_job_last_acted", detail.get("acted"), name)


def _entries(samples: Samples, home: Home, daemon: Mapping[str, Any]) -> None:
    """The schedule as it is now, with the daemon's record of it; a faulty one is an alarm."""
    try:
        schedule = read_schedule(home.paths.schedule)
    except SkymemError:
        return
    runs = read_runs(home.paths)
    # What is due is the daemon's word; where none runs, nothing is.
    for one in jobs_overview(schedule, runs, {}, daemon, read_pauses(home.paths)):
        name = one["name"]
        samples.add("skymem_entry_enabled", one["enabled"], name)
        samples.add("skymem_entry_paused", one["paused"] is not None, name)
        samples.add("skymem_entry_running", one["running"], name)
        for key in ("next_run", "last_run", "last_success", "last_effective"):
            samples.add(f"skymem_entry_{key}_timestamp_seconds", one[key], name)
        if name in runs:
            _counts(samples, name, runs[name])


def _counts(samples: Samples, name: str, record: RunRecord) -> None:
    samples.add("skymem_entry_consecutive_failures", record.consecutive_failures, name)
    samples.add("skymem_entry_runs_total", record.runs, name)
    samples.add("skymem_entry_failures_total", record.failures, name)
    samples.add("skymem_entry_missed_total", record.missed, name)
    samples.add("skymem_entry_caught_up_total", record.caught_up, name)
    samples.add("skymem_entry_skipped_total", record.skipped_still_running, name, "still_running")
    samples.add("skymem_entry_skipped_total", record.skipped_paused, name, "paused")
