"""How jobs ran, by the record of their results: as far back as the status keeps it."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from skymem.jobs.table import COMBINED, JOBS
from skymem.reporting.answers import quantile
from skymem.reporting.figures import JobFigures
from skymem.stores.files import disk_errors
from skymem.stores.status import ACTIONS_KEPT

TOLD = (*JOBS, COMBINED, "index", "compact", "train")


@dataclass(slots=True)
class _Ran:
    runs: int = 0
    idle: int = 0
    failed: int = 0
    degraded: int = 0
    took: "array[float]" = field(default_factory=lambda: array("d"))
    last: float = 0.0


def jobs_of(
    status: Path, since: float, until: float, agent: str | None = None
) -> tuple[JobFigures, ...]:
    """Each job that ran in a time, by its name; of one agent, those that ran on it.

    Raises:
        DiskError: the record can't be read.
    """
    found: dict[str, _Ran] = {}
    for at, whole in _results(status):
        job, detail = str(whole.get("job")), _of(whole, agent)
        if since <= at <= until and job in TOLD and detail is not None:
            _count(found.setdefault(job, _Ran()), at, detail)
    return tuple(_told(job, ran) for job, ran in sorted(found.items()))


def _of(whole: Mapping[str, Any], agent: str | None) -> Mapping[str, Any] | None:
    """What a result says of an agent, with how long the run took; None where it was not on it."""
    if agent is None:
        return whole
    agents = whole.get("agents")
    own = agents.get(agent) if isinstance(agents, dict) else None
    return {**own, "duration_s": whole.get("duration_s")} if isinstance(own, dict) else None


def _count(ran: _Ran, at: float, detail: Mapping[str, Any]) -> None:
    ran.runs += 1
    ran.failed += not detail.get("ok")
    ran.idle += bool(detail.get("ok")) and not (detail.get("acted") or detail.get("embedded"))
    ran.degraded += bool(detail.get("degraded"))
    ran.last = max(ran.last, at)
    took = detail.get("duration_s")
    if isinstance(took, int | float):
        ran.took.append(took)


def _told(job: str, ran: _Ran) -> JobFigures:
    took = sorted(ran.took)
    return JobFigures(
        job, ran.runs, ran.idle, ran.failed, ran.degraded,
        quantile(took, 0.5), quantile(took, 1.0), ran.last,
    )  # fmt: skip


def _results(status: Path) -> Iterator[tuple[float, Mapping[str, Any]]]:
    for number in range(ACTIONS_KEPT, -1, -1):
        path = status.with_name(f"{status.name}.{number}") if number else status
        with disk_errors(path):
            try:
                stream = path.open("rb")
            except FileNotFoundError:
                continue
            with stream:
                for raw in stream:
                    if (result := _result(raw)) is not None:
                        yield result


def _result(raw: bytes) -> tuple[float, Mapping[str, Any]] | None:
    try:
        record = orjson.loads(raw)
        at, detail = float(record["ts"]), record["detail"]
    except (ValueError, LookupError, TypeError):
        return None
    return (at, detail) if isinstance(detail, dict) else None
