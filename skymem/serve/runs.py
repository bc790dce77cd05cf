"""Jobs that were started over the API: each a child process of the CLI's own entry point.

So one started here is the same code path as by hand or by the schedule (promise 3). Who polls
after a restart of the API is told the truth: what had ended is on record (`run_records`), and what
was in hand when the API ended without a word is `lost`, as nobody saw its end.
"""

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.daemon.child import run_child
from skymem.daemon.stop import Stop
from skymem.model.schedule import JOB_VERBS
from skymem.serve.refusal import RefusedError
from skymem.serve.run_records import RunRecords

RUNS_MAX: Final = 200
"""Ended ones that are remembered."""

AT_ONCE_MAX: Final = 4
TIMEOUT_SECONDS: Final = 3600.0
GRACE_SECONDS: Final = 20.0
"""What a run in hand gets when the API is to end."""

LOST: Final = "the API ended while it ran, and did not see its end; what it did: skymem status"

VERBS: Final = JOB_VERBS

RECORDED: Final = ("id", "job", "started", "ended", "exit_code", "detail", "error")


@dataclass(slots=True)
class Run:
    """One job that was started here."""

    id: str
    job: str
    started: float
    ended: float | None = None
    exit_code: int | None = None
    detail: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    lost: bool = False
    """The API ended while it ran."""

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Run":
        """A run as an earlier process left it."""
        run = cls(*(record[name] for name in RECORDED))
        if run.ended is None:
            run.lost, run.error = True, LOST
        return run

    def record(self) -> dict[str, Any]:
        """What is kept of it."""
        return {name: getattr(self, name) for name in RECORDED}

    @property
    def state(self) -> str:
        """`running`, `done`, `failed` or `lost`."""
        if self.lost:
            return "lost"
        if self.ended is None:
            return "running"
        return "failed" if self.exit_code else "done"

    def as_json(self) -> dict[str, Any]:
        """What who polls gets."""
        return {
            "id": self.id,
            "job": self.job,
            "state": self.state,
            "started": self.started,
            "ended": self.ended,
            "exit_code": self.exit_code,
            "detail": self.detail,
            "error": self.error,
        }


class Runs:
    """Starts them, and remembers what came of it."""

    def __init__(
        self, command: Sequence[str], clock: Callable[[], float], records: RunRecords
    ) -> None:
        """Start jobs by `command`; know those of earlier processes from `records`."""
        self._command = [*command]
        self._records = records
        self._clock = clock
        self._stop = Stop(grace_seconds=GRACE_SECONDS)
        self._lock = threading.Lock()
        self._runs = {one["id"]: Run.of_record(one) for one in records.read()}
        self._threads: dict[str, threading.Thread] = {}

    def start(self, job: str, agent: str | None, *, dry_run: bool) -> Run:
        """Start a job, by its verb or as an entry of the schedule is called.

        Raises:
            RefusedError: too many are running, or the API is about to end.
        """
        words = [job] if job in VERBS else ["trigger", job]
        before = [] if agent is None else ["--agent", agent]
        command = [*self._command, *before, *words, "--json", *(["--dry-run"] if dry_run else [])]
        run = Run(secrets.token_hex(8), job, self._clock())
        with self._lock:
            if self._stop.asked():
                raise RefusedError(503, "the API is about to end", code=130)
            if len(self._threads) >= AT_ONCE_MAX:
                raise RefusedError(
                    409, f"{AT_ONCE_MAX} jobs run already", code=11, hint="wait for one"
                )
            self._runs[run.id] = run
            self._record()
            thread = threading.Thread(target=self._keep, args=(run, command), name=f"run {run.id}")
            self._threads[run.id] = thread
            thread.start()
        return run

    def find(self, name: str) -> Run:
        """A run by its id.

        Raises:
            RefusedError: 404.
        """
        with self._lock:
            if name in self._runs:
                return self._runs[name]
        raise RefusedError(404, "no such run is known here", code=24, hint="see: skymem status")

    def end(self) -> None:
        """Take no more; return when those in hand have ended, or were ended."""
        with self._lock:
            self._stop.begin("SIGTERM")
            threads = [*self._threads.values()]
        for thread in threads:
            thread.join()

    def hurry(self) -> None:
        """End those in hand now."""
        self._stop.begin("SIGTERM")
        self._stop.begin("SIGTERM")

    def _keep(self, run: Run, command: Sequence[str]) -> None:
        end = run_child(command, timeout_seconds=TIMEOUT_SECONDS, stop=self._stop)
        with self._lock:
            run.exit_code, run.detail = end.exit_code, end.detail
            run.error = end.error or end.detail.get("error")
            if end.exit_code and run.error is None:
                run.error = f"it ended with {end.exit_code}; why is in the log of the API"
            run.ended = self._clock()
            del self._threads[run.id]
            ended = [one.id for one in self._runs.values() if one.state != "running"]
            for name in ended[:-RUNS_MAX]:
                del self._runs[name]
            self._record()

    def _record(self) -> None:
        self._records.write([one.record() for one in self._runs.values()])
