"""Jobs that were started over the API: each a child process of the CLI's own entry point.

So one started here is the same code path as by hand or by the schedule (promise 3). What a run did
is in the home's status; what is kept here is only who asked for it, and is gone with the process.
"""

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from skymem.daemon.child import run_child
from skymem.daemon.stop import Stop
from skymem.model.schedule import JOB_VERBS
from skymem.serve.refusal import RefusedError

RUNS_MAX: Final = 200
"""Ended ones that are remembered."""

AT_ONCE_MAX: Final = 4
TIMEOUT_SECONDS: Final = 3600.0
GRACE_SECONDS: Final = 20.0
"""What a run in hand gets when the API is to end."""

VERBS: Final = JOB_VERBS


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

    @property
    def state(self) -> str:
        """`running`, `done` or `failed`."""
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

    def __init__(self, command: Sequence[str], clock: Callable[[], float]) -> None:
        self._command = [*command]
        self._clock = clock
        self._stop = Stop(grace_seconds=GRACE_SECONDS)
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
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
        raise RefusedError(404, "no such run was started here", code=24, hint="see: skymem jobs")

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
            ended = [one.id for one in self._runs.values() if one.ended is not None]
            for name in ended[:-RUNS_MAX]:
                del self._runs[name]
