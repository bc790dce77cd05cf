"""Every metric there is, with its type, its help and its labels (promise 6).

The table is the one place that says what a name means; the list in docs/monitoring is made of it.
Names follow Prometheus' conventions: one prefix, base units, `_total` for what only grows. A label
holds the name of an agent, a tier, a job, an entry, an alarm, a kind of secret or a share, each out
of a small set that an operator chose: never a memory's text, an id or a question. None is `job` or
`instance`: Prometheus gives these itself, and would rename ours.
"""

from collections.abc import Iterable, Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""What the text is called over HTTP."""


class Metric(NamedTuple):
    """What a name means."""

    kind: Literal["gauge", "counter"]
    help: str
    labels: tuple[str, ...] = ()


def _gauge(words: str, *labels: str) -> Metric:
    return Metric("gauge", words, labels)


def _counter(words: str, *labels: str) -> Metric:
    return Metric("counter", words, labels)


METRICS: Final[Mapping[str, Metric]] = MappingProxyType(
    {
        # -- the look itself, and what it looked at
        "skymem_build_info": _gauge("The version of skymem that counted; always 1.", "version"),
        "skymem_home_format": _gauge(
            "The number of the format that the home is in; what brings it over: skymem upgrade."
        ),
        "skymem_collected_timestamp_seconds": _gauge(
            "When these numbers were gathered: a file that nobody writes any more grows old."
        ),
        "skymem_disk_size_bytes": _gauge("Size of the file system that the home lies on."),
        "skymem_disk_avail_bytes": _gauge(
            "Bytes of the home's file system that its owner can still use."
        ),
        "skymem_disk_avail_inodes": _gauge("Files that still fit on the home's file system."),
        "skymem_alarms": _gauge("Alarms that are raised, each counted."),
        "skymem_alarm": _gauge(
            "1 while the alarm is raised; agent is empty where it is about the home. "
            "What an id means: skymem alarms --explain ID",
            "agent",
            "id",
        ),
        "skymem_actions_total": _counter(
            "Results on record: of jobs, by whomever they were run, and of what people did."
        ),
        # -- processes
        "skymem_daemon_up": _gauge("Whether a daemon keeps the home."),
        "skymem_daemon_start_timestamp_seconds": _gauge("When the daemon that runs was started."),
        "skymem_daemon_heartbeat_timestamp_seconds": _gauge(
            "When a daemon last gave a sign of life."
        ),
        "skymem_daemon_resident_memory_bytes": _gauge(
            "Memory of the daemon at its last sign of life."
        ),
        "skymem_engine_up": _gauge(
            "Whether the engine runs. It is started on demand and leaves when it is idle."
        ),
        "skymem_engine_info": _gauge(
            "The embedding model in use; always 1.", "model", "backend", "precision"
        ),
        "skymem_engine_resident_memory_bytes": _gauge(
            "Memory of the engine when it last told of itself."
        ),
        "skymem_api_up": _gauge("Whether an API serves the home."),
        # -- memories
        "skymem_memories": _gauge("Memories of a tier.", "agent", "tier"),
        "skymem_memory_bytes": _gauge("Bytes of the files of a tier.", "agent", "tier"),
        "skymem_oldest_memory_timestamp_seconds": _gauge(
            "Time of a tier's oldest memory.", "agent", "tier"
        ),
        "skymem_backlog_bytes": _gauge(
            "Bytes of replaced short-term files that are still to be taken over.", "agent"
        ),
        "skymem_quarantined": _gauge("Pieces in quarantine.", "agent"),
        "skymem_damaged_lines": _gauge("Lines of a tier's files that can't be read.", "agent"),
        "skymem_redacted_total": _counter("Secrets taken out of memories.", "agent", "kind"),
        "skymem_violations_total": _counter(
            "Times that an agent's handle reached for what is another's, and was refused.", "agent"
        ),
        "skymem_violations_open": _gauge("Violations that nobody has acknowledged.", "agent"),
        "skymem_flood_held": _gauge(
            "Memories that the last promotion held back, being more than is usual.", "agent"
        ),
        "skymem_loss_budget_allowed": _gauge(
            "Memories of a tier that jobs may remove by judgement in 30 days, at the last prune.",
            "agent",
            "tier",
        ),
        "skymem_loss_budget_spent": _gauge(
            "Memories of a tier that jobs removed by judgement in 30 days, at the last prune.",
            "agent",
            "tier",
        ),
        # -- recall; a record of its own that gives way by age, and so no histogram that only grows
        "skymem_recall_recent_answers": _gauge(
            "Answers of the last hour that had something, as far as recall_log has them.", "agent"
        ),
        "skymem_recall_recent_seconds": _gauge(
            "Time within which that share of the answers of the last hour was found.",
            "agent",
            "share",
        ),
        # -- the vector index
        "skymem_rag_pending": _gauge("Long-term memories that are still to be indexed.", "agent"),
        "skymem_index_memories": _gauge("Memories that the vector index has.", "agent"),
        "skymem_index_missing": _gauge(
            "Long-term memories that the vector index neither has nor is known to owe.", "agent"
        ),
        "skymem_index_bytes": _gauge(
            "Bytes of the vector index on the disk, with its cache.", "agent"
        ),
        "skymem_index_building": _gauge("Whether the vector index is being filled.", "agent"),
        # -- results, by whatever name a job was run: a verb, or an entry of the schedule
        "skymem_job_last_run_timestamp_seconds": _gauge(
            "When a job ended last, by whomever it was run.", "action"
        ),
        "skymem_job_last_duration_seconds": _gauge(
            "How long the last run of a job took.", "action"
        ),
        "skymem_job_last_success": _gauge("Whether the last run of a job went well.", "action"),
        "skymem_job_last_acted": _gauge("Memories that the last run of a job acted on.", "action"),
        # -- entries of the schedule
        "skymem_entry_enabled": _gauge("Whether an entry of the schedule runs by itself.", "entry"),
        "skymem_entry_paused": _gauge("Whether an entry is paused.", "entry"),
        "skymem_entry_running": _gauge("Whether an entry runs now.", "entry"),
        "skymem_entry_next_run_timestamp_seconds": _gauge(
            "When an entry is due next; told while a daemon keeps the home.", "entry"
        ),
        "skymem_entry_last_run_timestamp_seconds": _gauge(
            "When the daemon started an entry last.", "entry"
        ),
        "skymem_entry_last_success_timestamp_seconds": _gauge(
            "When a run of an entry last went well.", "entry"
        ),
        "skymem_entry_last_effective_timestamp_seconds": _gauge(
            "When a run of an entry last went well and acted on a memory.", "entry"
        ),
        "skymem_entry_consecutive_failures": _gauge(
            "Runs of an entry that failed since its last success.", "entry"
        ),
        "skymem_entry_runs_total": _counter("Runs of an entry that ended.", "entry"),
        "skymem_entry_failures_total": _counter("Runs of an entry that failed.", "entry"),
        "skymem_entry_missed_total": _counter(
            "Runs of an entry that fell due while no daemon ran, and were left out.", "entry"
        ),
        "skymem_entry_caught_up_total": _counter(
            "Runs of an entry that were carried out late.", "entry"
        ),
        "skymem_entry_skipped_total": _counter(
            "Times that an entry fell due and was not started, for it still ran or was paused.",
            "entry",
            "reason",
        ),
    }
)
"""Each name, in the order in which it is told."""


class Sample(NamedTuple):
    """One value of a metric."""

    labels: Mapping[str, str]
    value: float


class Samples:
    """What a look found, by metric; what was not to be had is left out."""

    def __init__(self, constant: Mapping[str, str] | None = None) -> None:
        """Give each sample the `constant` labels."""
        self._constant = dict(constant or {})
        self._found: dict[str, list[Sample]] = {}

    def add(self, name: str, value: object, *labels: str) -> None:
        """Note a value; what is no number, or none that JSON has, is not to be had.

        Args:
            name: of `METRICS`.
            value: a number or a truth.
            labels: the values of the metric's labels, in their order.
        """
        if not isinstance(value, int | float) or not isfinite(value):
            return
        named = dict(zip(METRICS[name].labels, labels, strict=True))
        self._found.setdefault(name, []).append(Sample({**self._constant, **named}, float(value)))

    def families(self) -> list[tuple[str, Metric, list[Sample]]]:
        """Each metric that has samples, in the order of the table."""
        return [
            (name, metric, self._found[name])
            for name, metric in METRICS.items()
            if name in self._found
        ]

    def text(self) -> str:
        """As Prometheus takes it, over HTTP and from a file: text format 0.0.4."""
        return "".join(f"{line}\n" for line in self._lines())

    def to_json(self) -> list[dict[str, Any]]:
        """The same for other programs."""
        return [
            {
                "name": name,
                "type": metric.kind,
                "help": metric.help,
                "samples": [{"labels": one.labels, "value": one.value} for one in samples],
            }
            for name, metric, samples in self.families()
        ]

    def _lines(self) -> Iterable[str]:
        for name, metric, samples in self.families():
            yield f"# HELP {name} {_escaped(metric.help)}"
            yield f"# TYPE {name} {metric.kind}"
            for one in samples:
                yield f"{name}{_labels(one.labels)} {_number(one.value)}"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    quoted = (f'{name}="{_quoted(value)}"' for name, value in labels.items())
    return f"{{{','.join(quoted)}}}"


def _quoted(value: str) -> str:
    return _escaped(value).replace('"', '\\"')


def _escaped(text: str) -> str:
    """A backslash and a line's end are spelled; the rest stands for itself, as UTF-8."""
    sound = text.encode("utf-8", "replace").decode("utf-8")
    return sound.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    """Whole numbers as people write them; a float as briefly as it can be read back."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
