"""Reading a home over and over, at little cost: status files, counts, the ledger's end.

It starts no engine and loads no vectors. What can't be read is told, and what was known of it
stays: a home that is moved away, or a file that is damaged, ends nothing.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from skymem.alarms import told_of
from skymem.app import now
from skymem.daemon.pauses import read_pauses
from skymem.errors import SkymemError
from skymem.live_view.decided import Decided, decided_in
from skymem.live_view.ledger_tail import LedgerTail
from skymem.live_view.marks import mark_of, mark_of_files, mark_of_runs
from skymem.live_view.snapshot import Snapshot
from skymem.overview import daemon_overview, jobs_overview, status_overview

if TYPE_CHECKING:
    from skymem.app import Home

DECIDED_MAX: Final = 500
"""How many of the last decisions are at hand."""

REST_FACTOR: Final = 100.0
REST_SECONDS_MAX: Final = 30.0
"""Counting rests so many times as long as it worked, and at most so long: it costs 1 % of a core in
the busiest home."""

OLD_SECONDS: Final = 30.0
"""After so long everything is counted anew, whatever the files seem to say."""


NOT_OURS: Final = (TypeError, AttributeError, LookupError, ValueError, OverflowError)
"""What comes of a status file that is JSON of another shape than ours: it must end nothing here."""


class Watch:
    """A home, looked at from one thread at a time."""

    def __init__(self, opened: Callable[[], "Home"], clock: Callable[[], float] = now) -> None:
        """Open it with `opened`, now and whenever its rules are written anew."""
        self.home = opened()
        self._opened = opened
        self._clock = clock
        self._rules_mark = mark_of_files([self.home.paths.rules])
        self._status_mark = self._runs_mark = object()  # equal to none
        self._count_at = self._old_at = 0.0
        """On the monotonic clock: when it may be counted again, and when it is in any case."""

        self._failed: Exception | None = None

        self._tail = LedgerTail(self.home.workplace().ledger())
        self._decided: deque[Decided] = deque(maxlen=DECIDED_MAX)
        self._last = Snapshot(clock())

    def look(self, agent: str | None, *, whole: bool = False) -> Snapshot:
        """Say what there is now, of one agent or of all; `whole` counts anew in any case."""
        found = replace(self._last, at=self._clock(), agent=agent, daemon={})
        problems: list[str] = []
        if agent != self._last.agent:
            found = replace(found, status={}, counted=0.0)
        if whole or agent != self._last.agent:
            self._status_mark = self._runs_mark = object()
            self._count_at = 0.0
        for part in (
            self._with_daemon,
            self._reopened,
            self._with_status,
            self._with_jobs,
            self._with_decided,
        ):
            try:
                self.home.paths.must_be_there()
                found = part(found)
            except (SkymemError, OSError) as error:
                told = str(error).removeprefix(f"{self.home.paths.root}: ")
                problems += told.split("\n")
            except NOT_OURS as error:
                problems.append(f"a file is not as skymem writes it: {error!r} (skymem doctor)")
        self._last = replace(found, problems=tuple(dict.fromkeys(problems)))
        return self._last

    def _with_daemon(self, found: Snapshot) -> Snapshot:
        return replace(found, daemon=daemon_overview(self.home))

    def _reopened(self, found: Snapshot) -> Snapshot:
        """Go by the rules as they are now."""
        mark = mark_of_files([self.home.paths.rules])
        if mark != self._rules_mark:
            self.home = self._opened()
            self._rules_mark, self._status_mark = mark, object()
        return found

    def _with_status(self, found: Snapshot) -> Snapshot:
        mark, at = mark_of(self.home.paths), time.monotonic()
        if at >= self._old_at or (at >= self._count_at and mark != self._status_mark):
            self._failed = None
            try:
                return replace(found, status=self._counted(found.agent, mark), counted=found.at)
            except (SkymemError, OSError, *NOT_OURS) as error:
                self._failed = error
                raise
        if self._failed is not None:  # still so, until it is looked at again
            raise self._failed.with_traceback(None)
        return found

    def _counted(self, agent: str | None, mark: object) -> dict[str, Any]:
        began = time.thread_time()
        try:
            status = status_overview(self.home, agent)
        finally:
            rest = REST_FACTOR * (time.thread_time() - began)
            self._count_at = time.monotonic() + min(rest, REST_SECONDS_MAX)
            self._old_at = time.monotonic() + OLD_SECONDS
        self._status_mark = mark
        return status

    def _with_jobs(self, found: Snapshot) -> Snapshot:
        mark = (mark_of_runs(self.home.paths), found.agent)
        if mark == self._runs_mark:
            return found
        results = self.home.status_files().read_jobs()
        told = {name: told_of(record, found.agent) for name, record in results.items()}
        found = replace(found, results=told, jobs=self._jobs(found))
        self._runs_mark = mark
        return found

    def _jobs(self, found: Snapshot) -> tuple[dict[str, Any], ...]:
        from skymem.config.schedule_file import read_schedule
        from skymem.daemon.runs import read_runs
        from skymem.daemon.timing import next_runs

        paths = self.home.paths
        schedule, runs = read_schedule(paths.schedule), read_runs(paths)
        due, pauses = next_runs(schedule, runs, found.at), read_pauses(paths)
        return tuple(jobs_overview(schedule, runs, due, found.daemon, pauses))

    def _with_decided(self, found: Snapshot) -> Snapshot:
        fresh, left_out = self._tail.fresh()
        if not fresh and found.decided and found.agent == self._last.agent:
            return found
        for entry in fresh:
            self._decided.extendleft(decided_in(entry))
        about = (one for one in self._decided if found.agent in (None, one.agent))
        more = found.more_before or left_out or len(self._decided) == DECIDED_MAX
        return replace(found, decided=tuple(about), more_before=more)
