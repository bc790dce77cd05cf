"""Carrying out one run: the child, the record of runs, the status file, the log lines.

The child writes its own result; the daemon writes one only for a child that could not (killed,
timed out, crashed), so that no run ends without a trace (promise 8, hazards C9 and C13).
"""

import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from skymem.daemon.child import ChildEnd, run_child
from skymem.daemon.journal import Journal, iso_time
from skymem.daemon.runs import RunBook, RunEnd
from skymem.daemon.stop import Stop
from skymem.errors import BusyError, SkymemError
from skymem.model.schedule import ScheduleEntry
from skymem.stores.status import StatusFiles, read_json


@dataclass(frozen=True, slots=True)
class RunResult:
    """How one run of an entry went."""

    name: str
    job: str
    exit_code: int
    ok: bool
    detail: dict[str, Any] = field(default_factory=dict)
    """What the job reported; with `error` where it failed."""


class Runner:
    """Runs entries as children, each on the thread that asks."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        book: RunBook,
        status: StatusFiles,
        journal: Journal,
        clock: Callable[[], float],
        stop: Stop,
    ) -> None:
        self._command = tuple(command)
        self._book = book
        self._status = status
        self._journal = journal
        self._clock = clock
        self._stop = stop
        self._lock = threading.Lock()
        self._running: dict[str, float] = {}

    def running(self) -> dict[str, float]:
        """The entries in hand, with the epoch seconds of their start."""
        with self._lock:
            return dict(self._running)

    def carry_out(self, entry: ScheduleEntry, changed: Callable[[], object]) -> RunResult:
        """Run `entry` to its end; `changed` is called when it is in hand and when it is not.

        The job boundary: whatever goes wrong in one run is logged and recorded, and the next runs
        come all the same.

        Raises:
            BusyError: it is in hand already; an entry never runs beside itself, whoever asks.
        """
        started = self._clock()
        with self._lock:
            if (since := self._running.get(entry.name)) is not None:
                raise BusyError(f"the entry {entry.name}", f"its run since {iso_time(since)}")
            self._running[entry.name] = started
        try:
            self._book.started(entry.name, started)
            changed()
            return self._run(entry, started)
        except Exception as error:  # noqa: BLE001 — the one job boundary (style §1.5)
            self._journal.trace("a run met a bug", traceback.format_exc())
            reason = f"bug in the daemon: {type(error).__name__}"
            self._book.ended(entry.name, RunEnd(self._clock(), 1, ok=False, error=reason))
            return RunResult(entry.name, entry.job, 1, ok=False, detail={"error": reason})
        finally:
            with self._lock:
                del self._running[entry.name]
            changed()

    def _run(self, entry: ScheduleEntry, started: float) -> RunResult:
        self._journal.debug("command", argv=" ".join(self._command))
        self._journal.info("run started", name=entry.name, job=entry.job)
        seq_before = self._last_written(entry).get("seq")
        clock_start = time.monotonic()
        end = run_child(
            # The job as well: the child need not read the schedule, which somebody may be editing.
            [*self._command, "trigger", entry.name, "--scheduled", entry.job],
            timeout_seconds=entry.timeout_seconds,
            stop=self._stop,
        )
        duration = round(time.monotonic() - clock_start, 3)
        written = self._last_written(entry)
        told = written.get("seq") != seq_before
        detail = end.detail or (written.get("detail") if told else None) or {}
        ok = end.exit_code == 0 and detail.get("ok") is not False
        if not ok:
            detail = {**detail, "ok": False, "error": _reason(end, detail)}
        result = RunResult(entry.name, entry.job, end.exit_code, ok, detail)
        if end.exit_code != 0 and not told:
            self._write_for_the_child(result, started, duration)
        self._record(result, duration, interrupted=end.interrupted)
        return result

    def _last_written(self, entry: ScheduleEntry) -> dict[str, Any]:
        return read_json(self._status.jobs / f"{entry.name}.json") or {}

    def _write_for_the_child(self, result: RunResult, started: float, duration: float) -> None:
        detail = {
            "ok": False,
            "job": result.job,
            "started": started,
            "duration_s": duration,
            "error": result.detail["error"],
            "exit_code": result.exit_code,
        }
        try:
            self._status.write_action(result.name, detail, self._clock())
        except (SkymemError, OSError) as error:
            self._journal.error("can't write the status", name=result.name, error=error)

    def _record(self, result: RunResult, duration: float, *, interrupted: bool) -> None:
        error = result.detail["error"] if not result.ok else None
        acted = result.detail.get("acted")
        end = RunEnd(
            at=self._clock(),
            exit_code=result.exit_code,
            ok=result.ok,
            error=error,
            effective=isinstance(acted, int) and acted > 0,
            interrupted=interrupted and not result.ok,
        )
        failures = self._book.ended(result.name, end)
        # That it was told to end with the daemon is no error of anybody's.
        plain = result.ok or end.interrupted
        say = self._journal.info if plain else self._journal.error
        say(
            "run ended",
            name=result.name,
            ok=result.ok,
            exit_code=result.exit_code,
            duration_s=duration,
            acted=acted,
            error=error,
            failures_in_a_row=failures or None,
        )


def _reason(end: ChildEnd, detail: dict[str, Any]) -> str:
    told = detail.get("error")
    if end.error:
        return end.error
    return told if isinstance(told, str) and told else f"ended with exit code {end.exit_code}"
