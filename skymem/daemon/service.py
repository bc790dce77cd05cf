"""The daemon: schedules, watches, times out, reports (`skymem run`, rows D2 and D5).

It is light: each run is a child process (design §5). Signals set flags (hazards C10, C11, F8), and
the main thread looks after the thread that keeps the time (C13).
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from skymem.daemon.clocks import Change, Clocks, reader
from skymem.daemon.engine_link import EngineLink
from skymem.daemon.heart import Heart, heartbeat_seconds
from skymem.daemon.journal import Journal, iso_time
from skymem.daemon.lookout import Lookout
from skymem.daemon.notify import Notifier
from skymem.daemon.pauses import Pauses
from skymem.daemon.reload import Configuration, difference
from skymem.daemon.runner import Runner, RunResult
from skymem.daemon.runs import RunBook, RunRecord
from skymem.daemon.setting import Setting
from skymem.daemon.sole import sole_daemon
from skymem.daemon.timing import (
    HEARTBEAT,
    FirstRun,
    Timer,
    due_time,
    first_runs,
)
from skymem.daemon.triggers import Triggers
from skymem.errors import BusyError, DiskError, InterruptedRunError
from skymem.model.schedule import Every, Schedule, ScheduleEntry
from skymem.stores.status import StatusFiles

IDLE_SECONDS: Final = 2.0
"""How often the main thread looks whether the scheduler lives; signals wake it at once."""

SCHEDULER_DIED: Final = 1

HOME_LOST: Final = 10
"""As `HomeNotFoundError`: where the home was, there is none any more, or one of another daemon."""


def serve(setting: Setting, *, catch_up: bool = True) -> int:
    """Keep the home until a signal, and return the exit code: 0 after SIGTERM or SIGINT.

    Call it on the main thread. Without `catch_up`, runs missed while no daemon was up wait for
    their next regular time and are recorded as missed.

    Raises:
        DaemonRunningError: another daemon keeps this home.
        DiskError: the home has no place for the lock.
    """
    with setting.stop, sole_daemon(setting.paths, setting.files):
        return Service(setting).keep(catch_up=catch_up)


def serve_once(setting: Setting) -> list[RunResult]:
    """Run every enabled entry once, one after the other, in the order of the schedule.

    `exit_code_of` turns the results into what `skymem run --once` ends with.

    Raises:
        DaemonRunningError: a daemon keeps this home and runs them anyway.
        InterruptedRunError: a signal came; the run in hand was finished first.
        DiskError: the home has no place for the lock.
    """
    with setting.stop, sole_daemon(setting.paths, setting.files, "skymem run --once"):
        return Service(setting).once()


def exit_code_of(results: Sequence[RunResult]) -> int:
    """The exit code of the first run that failed, 0 if none did."""
    return next((result.exit_code or 1 for result in results if not result.ok), 0)


class Service:
    """The parts of a daemon, put together for one home whose daemon lock is held."""

    def __init__(self, setting: Setting) -> None:
        self._clock = setting.clock
        self._schedule = setting.schedule
        self._root = setting.paths.root
        self._lock = setting.paths.daemon_lock
        self._lock_identity = _identity(self._lock)
        self._stop = setting.stop
        self._first_run_seconds = setting.first_run_seconds
        self._journal = Journal(setting.clock, level=setting.log_level)
        status = StatusFiles(setting.paths, setting.files)
        self._notifier = Notifier(setting.environment)
        managed = self._notifier.listened_to
        self._engine = EngineLink(
            setting.paths, setting.files, self._journal, setting.environment, managed=managed
        )
        self._heart = Heart(
            status,
            self._journal,
            setting.clock,
            version=setting.version,
            interval_seconds=heartbeat_seconds(setting.schedule),
            managed=managed,
        )
        self._book = RunBook(
            setting.paths,
            setting.files,
            lambda error: self._journal.error("can't write the record of runs", error=error),
        )
        self._runner = Runner(
            setting.command,
            book=self._book,
            status=status,
            journal=self._journal,
            clock=setting.clock,
            stop=setting.stop,
        )
        self._configuration = Configuration(setting.reread, self._journal, setting.clock)
        self._lookout = Lookout(setting, self._journal)
        self._pauses = Pauses(setting.paths, setting.files)
        self._triggers = Triggers(
            setting.paths,
            setting.files,
            runner=self._runner,
            journal=self._journal,
            find=self._entry,
            ended=self._after_run,
        )
        self._read = setting.read or reader(setting.clock)
        self._clocks = Clocks(self._read, timezone=setting.schedule.timezone)
        self._timer: Timer | None = None

    # -- the daemon -----------------------------------------------------------------------------

    def keep(self, *, catch_up: bool) -> int:
        """Run the schedule until a signal; returns the exit code."""
        timer = self._timer = self._make_timer(catch_up=catch_up)
        self._banner(timer)
        self._beat()
        timer.start()
        self._notifier.ready(self._words())
        code = self._watch(timer)
        with self._stop.hard_end(lambda: self._journal.error("daemon hangs and is ended")):
            self._wind_up(timer)
        self._journal.info("daemon stopped", exit_code=code)
        return code

    def _wind_up(self, timer: Timer) -> None:
        self._notifier.stopping()
        timer.halt()
        self._journal.info("daemon stopping", on=self._stop.name)
        self._beat()
        while self._runner.running():
            self._triggers.look(self._changed, stopping=True)
            self._stop.sleep(IDLE_SECONDS)
        timer.close()
        self._triggers.close()
        self._lookout.close()
        self._engine.say_goodbye()
        self._beat("stopped")

    def _make_timer(self, *, catch_up: bool) -> Timer:
        enabled = [entry for entry in self._schedule.entries if entry.enabled]
        timer = Timer(
            self._schedule.timezone,
            workers=len(enabled),
            read=self._read,
            on_skip=self._skipped,
            on_late=self._late,
            complain=partial(self._journal.trace, "the scheduler complains"),
        )
        self._place(enabled, timer, catch_up=catch_up)
        return timer

    def _place(self, entries: Iterable[ScheduleEntry], timer: Timer, *, catch_up: bool) -> None:
        """Give each of some enabled entries its next run, by its record."""
        now, zone = self._clock(), self._schedule.timezone
        placed = Schedule(tuple(entries), zone)
        self._book.see([entry.name for entry in placed.entries], now)
        for first in first_runs(
            placed,
            self._book.snapshot(),
            now,
            catch_up=catch_up,
            first_run_seconds=self._first_run_seconds,
        ):
            owed = first.due if first.late and catch_up else None
            timer.add(first.entry, partial(self._due, first.entry), first.at, owed=owed)
            if first.late and not catch_up:
                self._left_out(first, now)
        for entry in placed.entries:
            if entry.job == HEARTBEAT:
                # One is written at start, so that the next is a whole interval away.
                timer.add(entry, self._beat, due_time(entry, RunRecord(now), zone, now))

    def _left_out(self, first: FirstRun, now: float) -> None:
        name = first.entry.name
        if self._pauses.holds(name):
            self._book.paused(name, now)
            return
        self._book.missed(name, first.due, now)
        self._journal.info("a run was missed", name=name, was_due=iso_time(first.due))

    def _banner(self, timer: Timer) -> None:
        due = timer.next_runs()
        clock = self._clocks.state()
        self._journal.info(
            "daemon started",
            home=self._root,
            timezone=clock["timezone"],
            timezone_missing=clock["timezone_missing"],
        )
        for entry in self._schedule.entries:
            at = due.get(entry.name)
            when = iso_time(at) if at is not None else "never, it is not enabled"
            self._journal.info("entry", name=entry.name, job=entry.job, next_run=when)

    def _watch(self, timer: Timer) -> int:
        code = 0
        while not self._stop.asked() and not code:
            self._stop.sleep(min(IDLE_SECONDS, (self._notifier.watchdog_seconds or 60.0) / 4))
            code = self._look(timer)
        return code

    def _look(self, timer: Timer) -> int:
        """One look at everything that may have happened; an exit code where it is the end."""
        if not self._stop.asked() and not timer.alive():
            return self._end("the scheduler's thread died", SCHEDULER_DIED)
        if self._is_lost():
            return self._end("the home was moved or its lock removed", HOME_LOST)
        if change := self._clocks.look():
            self._clock_changed(change, timer)
        if self._stop.reload_asked():
            self._reload(timer)
        self._triggers.look(self._changed, stopping=self._stop.asked())
        self._engine.look()
        self._lookout.look()
        limit = self._notifier.watchdog_seconds
        if limit is not None and timer.turns_over(limit / 2):
            self._notifier.watchdog()
        return 0

    def _end(self, why: str, code: int) -> int:
        self._journal.error(why, home=self._root)
        self._stop.begin(why)
        return code

    def _reload(self, timer: Timer) -> None:
        """Go by the new files, or by the old ones where those can't be used (hazard F4)."""
        self._notifier.reloading()
        new = self._configuration.read()
        self._lookout.reread()
        if new is not None:
            changed = difference(self._schedule, new)
            self._schedule = new
            timer.set_timezone(new.timezone)
            self._clocks.set_timezone(new.timezone)
            self._heart.set_interval(heartbeat_seconds(new))
            for name in changed.gone:
                timer.remove(name)
            self._place(changed.placed, timer, catch_up=True)
        self._beat()
        self._notifier.ready(self._words())

    def _clock_changed(self, change: Change, timer: Timer) -> None:
        seconds = round(change.seconds, 3)
        self._journal.warning("the clocks changed", kind=change.kind, seconds=seconds)
        if change.kind == "back":
            self._book.set_back(change.seconds, change.at)
        timer.rearm(change)
        self._beat()

    def _is_lost(self) -> bool:
        """Whether the lock we hold is no longer the one others would look at."""
        return _identity(self._lock) != self._lock_identity

    # -- called on the scheduler's threads --------------------------------------------------------

    def _due(self, entry: ScheduleEntry) -> None:
        if self._stop.asked():
            return
        if self._pauses.holds(entry.name):
            self._book.paused(entry.name, self._clock())
            self._journal.info("run left out: paused", name=entry.name)
            return
        try:
            self._runner.carry_out(entry, self._changed)
        except BusyError:  # it is run by hand just now
            self._skipped(entry.name)
        else:
            self._after_run(entry)

    def _entry(self, name: str) -> ScheduleEntry | None:
        return next((entry for entry in self._schedule.entries if entry.name == name), None)

    def _after_run(self, ran: ScheduleEntry) -> None:
        """Leave an entry that keeps failing alone for longer; end that once a run by hand is ok."""
        entry = self._entry(ran.name)  # a reload may have changed it meanwhile, or taken it away
        record = self._book.snapshot().get(ran.name)
        if self._timer is None or entry is None or record is None:
            return
        if not isinstance(entry.trigger, Every):
            return
        due = due_time(entry, record, self._schedule.timezone, self._clock())
        armed = self._timer.next_runs().get(entry.name, 0.0)
        if record.consecutive_failures > 1 or armed > due + entry.jitter_seconds + IDLE_SECONDS:
            self._timer.arm(entry.name, due)
            self._beat()

    def _late(self, name: str, due: float) -> None:
        if not self._stop.asked() and not self._pauses.holds(name):
            self._book.caught_up(name)
            self._journal.info("catching up a run", name=name, was_due=iso_time(due))

    def _skipped(self, name: str) -> None:
        self._book.skipped(name)
        since = self._runner.running().get(name)
        self._journal.error(
            "run skipped: still running", name=name, since=iso_time(since) if since else None
        )

    def _changed(self) -> None:
        self._beat()
        self._notifier.status(self._words())
        self._stop.wake()

    def _words(self) -> str:
        """What the daemon does now, in a line for `systemctl status`; a bad reload is in it."""
        problem = str(self._configuration.state()["problem"] or "").partition("\n")[0]
        return f"{self._doing()}; not reloaded: {problem}" if problem else self._doing()

    def _doing(self) -> str:
        if running := self._runner.running():
            return f"running {', '.join(sorted(running))}"
        due = self._timer.next_runs() if self._timer else {}
        at, name = min(((at, name) for name, at in due.items()), default=(0.0, ""))
        return f"idle; next {name} at {iso_time(at)}" if name else "idle; nothing is scheduled"

    def _beat(self, state: str = "") -> str:
        if self._is_lost():  # a moved home must not be made anew where it was
            return ""
        return self._heart.beat(
            state or ("stopping" if self._stop.asked() else "running"),
            next_runs=self._timer.next_runs() if self._timer else {},
            running=self._runner.running(),
            clock=self._clocks.state(),
            configuration=self._configuration.state(),
        )

    # -- run --once -------------------------------------------------------------------------------

    def once(self) -> list[RunResult]:
        """Run every enabled entry, in order."""
        enabled = [entry for entry in self._schedule.entries if entry.enabled]
        self._book.see([entry.name for entry in enabled], self._clock())
        self._beat()
        results: list[RunResult] = []
        for entry in enabled:
            if self._stop.asked():
                break
            results.append(self._run_now(entry))
        self._beat("stopped")
        if self._stop.asked():
            raise InterruptedRunError(self._stop.name)
        return results

    def _run_now(self, entry: ScheduleEntry) -> RunResult:
        if entry.job != HEARTBEAT:
            return self._runner.carry_out(entry, self._beat)
        error = self._beat()
        detail = {"ok": False, "error": error} if error else {"ok": True}
        code = DiskError.exit_code if error else 0
        return RunResult(entry.name, entry.job, code, not error, detail)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
