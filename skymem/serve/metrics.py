"""The home's counts as Prometheus takes them; names and numbers only, never a memory's text."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from skymem.alarms import detail_of
from skymem.app import Home
from skymem.daemon.runs import RunRecord, read_runs
from skymem.overview import status_overview

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Counts(Collector):
    """What one look at the home found."""

    def __init__(
        self,
        found: Mapping[str, Any],
        results: Mapping[str, Any],
        runs: Mapping[str, RunRecord],
    ) -> None:
        self._found = found
        self._results = results
        self._runs = runs

    def collect(self) -> Iterator[Metric]:
        """Give each family with its samples."""
        yield from _agents(self._found["agents"])
        yield from _results(self._results)
        yield from _runs(self._runs)
        yield _gauge("skymem_alarms", "Things that are wrong.", len(self._found["alarms"]))
        yield _alarms(self._found["alarms"])
        for name in ("daemon", "engine"):
            up = float(bool(self._found[name]["running"]))
            yield _gauge(f"skymem_{name}_up", f"Whether the {name} runs.", up)
        yield from _violations(self._found["violations"]["agents"])


def metrics(home: Home) -> bytes:
    """Look at the home, and spell it.

    Raises:
        DiskError: what is to be counted can't be read.
    """
    registry = CollectorRegistry(auto_describe=False)
    results = home.status_files().read_jobs()
    registry.register(Counts(status_overview(home), results, read_runs(home.paths)))
    return generate_latest(registry)


def _gauge(name: str, words: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, value=value)


def _alarms(alarms: list[dict[str, Any]]) -> Metric:
    """Each kind of alarm there is, and whose; of several alike, one."""
    family = GaugeMetricFamily("skymem_alarm", "It is wrong now.", labels=["id", "agent"])
    for name, agent in dict.fromkeys((one["id"], one["agent"] or "") for one in alarms):
        family.add_metric([name, agent], 1.0)
    return family


def _agents(agents: list[dict[str, Any]]) -> Iterator[Metric]:
    by_tier = ["agent", "tier"]
    counts = GaugeMetricFamily("skymem_memories", "Memories of a tier.", labels=by_tier)
    sizes = GaugeMetricFamily("skymem_memory_bytes", "Bytes of a tier's files.", labels=by_tier)
    owed = GaugeMetricFamily("skymem_rag_pending", "Memories to be embedded.", labels=["agent"])
    away = GaugeMetricFamily("skymem_quarantined", "Pieces in quarantine.", labels=["agent"])
    secrets = CounterMetricFamily(
        "skymem_redacted", "Secrets taken out of memories.", labels=["agent", "kind"]
    )
    for one in agents:
        name = one["name"]
        for tier, found in one["tiers"].items():
            if found["count"] is not None:
                counts.add_metric([name, tier], found["count"])
            if found["bytes"] is not None:
                sizes.add_metric([name, tier], found["bytes"])
        owed.add_metric([name], one["rag_pending"])
        away.add_metric([name], one["quarantined"])
        for kind, count in one["redacted"].items():
            secrets.add_metric([name, kind], count)
    yield from (counts, sizes, owed, away, secrets)


def _results(results: Mapping[str, Any]) -> Iterator[Metric]:
    """What each job's last result says, whoever ran it."""
    label = ["job"]
    last = GaugeMetricFamily(
        "skymem_job_last_run_timestamp_seconds", "When it ended last.", labels=label
    )
    took = GaugeMetricFamily(
        "skymem_job_last_duration_seconds", "How long that took.", labels=label
    )
    well = GaugeMetricFamily("skymem_job_last_success", "Whether that went well.", labels=label)
    for name, record in results.items():
        detail = detail_of(record)
        for family, value in (
            (last, record.get("ts")),
            (took, detail.get("duration_s")),
            (well, detail.get("ok")),
        ):
            if isinstance(value, int | float):
                family.add_metric([name], float(value))
    yield from (last, took, well)


def _runs(runs: Mapping[str, RunRecord]) -> Iterator[Metric]:
    """What the daemon's record of its entries says."""
    good = GaugeMetricFamily(
        "skymem_entry_last_success_timestamp_seconds", "When it went well last.", labels=["entry"]
    )
    bad = GaugeMetricFamily(
        "skymem_entry_consecutive_failures", "Failures since then.", labels=["entry"]
    )
    for name, record in runs.items():
        if record.last_success is not None:
            good.add_metric([name], record.last_success)
        bad.add_metric([name], record.consecutive_failures)
    yield from (good, bad)


def _violations(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Metric]:
    counted = CounterMetricFamily(
        "skymem_violations", "Times somebody reached for what is another's.", labels=["agent"]
    )
    unseen = GaugeMetricFamily(
        "skymem_violations_open", "Of them, not acknowledged.", labels=["agent"]
    )
    for agent, one in found.items():
        counted.add_metric([agent], one["count"])
        unseen.add_metric([agent], one["open"])
    yield from (counted, unseen)
