"""The durable record of runs, `state/runs.json`: what each schedule entry did last.

Written by the daemon alone, whole, at each start and end of a run: a restart goes on where the
last one stopped (rows P2 and D2, hazards C1, C9 and C13). Times are epoch seconds.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from skymem.errors import SkymemError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

SCHEMA_VERSION: Final = 1
ERROR_CHARS_MAX: Final = 300
COUNTS: Final = frozenset(
    {
        *("missed", "caught_up", "consecutive_failures", "skipped_still_running"),
        *("skipped_paused", "runs", "failures"),
    }
)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What one schedule entry did. Times are epoch seconds; None says never."""

    first_seen: float
    """When a daemon first read the entry: an entry that never ran is measured from here."""

    last_start: float | None = None
    last_end: float | None = None
    last_success: float | None = None
    last_effective: float | None = None
    """End of the last run that acted on at least one memory."""

    last_exit_code: int | None = None
    """What the last run ended with; 128 + N where signal N ended it."""

    missed: int = 0
    """How often a daemon came up past a due time and left the run out (`--no-catch-up`)."""

    missed_at: float | None = None
    """The due time that was left out last."""

    waived_until: float | None = None
    """Due times up to here were left out: they are not counted or caught up again."""

    counted_from: float | None = None
    """Where the clock was set back since the last start: that start, on the clock as it is now.

    An interval counts from here."""

    caught_up: int = 0
    """How often a run was carried out late: due while no daemon was up, or passed over when the
    clock was set forward or the machine slept."""

    consecutive_failures: int = 0
    skipped_still_running: int = 0
    skipped_paused: int = 0
    """How often a run fell due while the entry was paused."""

    last_error: str | None = None

    runs: int = 0
    """How many have ended; one that the daemon's own end cut short is one of them."""

    failures: int = 0
    """How many of these failed."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, as far as the record cares."""

    at: float
    exit_code: int
    ok: bool
    error: str | None = None
    effective: bool = False
    interrupted: bool = False
    """The daemon's own end cut it short: neither a success nor a failure of the job."""


Runs = Mapping[str, RunRecord]


def runs_path(paths: HomePaths) -> Path:
    """Where a home keeps its record of runs."""
    return paths.state / "runs.json"


def read_runs(paths: HomePaths) -> dict[str, RunRecord]:
    """Read the record, for `skymem jobs` and `skymem status`; never writes, never fails.

    A missing or damaged file reads as empty, a damaged value as its default.
    """
    return _parse(_document(runs_path(paths)))


def damage(paths: HomePaths) -> str:
    """Why the record can't be believed, or "" when it can."""
    path = runs_path(paths)
    if not path.exists() or _entries(_document(path)) is not None:
        return ""
    return (
        f"state/{path.name} can't be read: when entries of the schedule ran last is not known "
        "(the daemon sets the file aside and counts anew)"
    )


class RunBook:
    """The daemon's own copy of the record, safe to use from every thread.

    A save that fails is handed to `complain` and forgotten: the record in memory stays right, and
    the next save tries again.
    """

    def __init__(
        self, paths: HomePaths, files: Files, complain: Callable[[SkymemError | OSError], None]
    ) -> None:
        self._paths = paths
        self._path = runs_path(paths)
        self._files = files
        self._complain = complain
        self._lock = threading.Lock()
        self._set_damage_aside()
        self._runs = read_runs(paths)

    def snapshot(self) -> dict[str, RunRecord]:
        """A copy of the record as it stands."""
        with self._lock:
            return dict(self._runs)

    def see(self, names: list[str], now: float) -> None:
        """Note entries that were never seen before, and what a clock that was ahead left."""
        with self._lock:
            known = {name: self._runs.get(name, RunRecord(now)) for name in names}
            self._take_over({name: _set_back(old, 0.0, now) for name, old in known.items()})

    def set_back(self, seconds: float, now: float) -> None:
        """Note that the clock was set back by `seconds` and says `now`: paces count on."""
        with self._lock:
            runs = self._runs.items()
            self._take_over({name: _set_back(old, seconds, now) for name, old in runs})

    def caught_up(self, name: str) -> None:
        """Note that the next run carries out one that was due while no daemon was up."""
        with self._lock:
            old = self._runs[name]
            self._put(name, replace(old, caught_up=old.caught_up + 1))

    def missed(self, name: str, due: float, now: float) -> None:
        """Note that the run due at `due` is left out; the schedule goes on from `now`."""
        with self._lock:
            old = self._runs[name]
            changed = replace(old, missed=old.missed + 1, missed_at=due, waived_until=now)
            self._put(name, changed)

    def skipped(self, name: str) -> None:
        """Note that a run fell due while the one before was still going (hazard C9)."""
        with self._lock:
            old = self._runs[name]
            changed = replace(old, skipped_still_running=old.skipped_still_running + 1)
            self._put(name, changed)

    def paused(self, name: str, now: float) -> None:
        """Note that a run fell due while the entry is paused; the schedule goes on from `now`."""
        with self._lock:
            old = self._runs.get(name, RunRecord(now))
            changed = replace(old, skipped_paused=old.skipped_paused + 1, waived_until=now)
            self._put(name, changed)

    def started(self, name: str, now: float) -> None:
        """Note a start, before the child is there: a crash must not make the run repeat."""
        with self._lock:
            old = self._runs.get(name, RunRecord(now))
            self._put(name, replace(old, last_start=now, counted_from=None))

    def ended(self, name: str, end: RunEnd) -> int:
        """Note an end and return how many runs in a row have failed by now."""
        with self._lock:
            old = self._runs[name]
            failures = old.consecutive_failures
            failed = not end.ok and not end.interrupted
            if not end.interrupted:
                failures = 0 if end.ok else failures + 1
            changed = replace(
                old,
                last_end=end.at,
                last_success=end.at if end.ok else old.last_success,
                last_effective=end.at if end.ok and end.effective else old.last_effective,
                last_exit_code=end.exit_code,
                consecutive_failures=failures,
                last_error=None if end.ok else (end.error or "")[:ERROR_CHARS_MAX],
                runs=old.runs + 1,
                failures=old.failures + failed,
            )
            self._put(name, changed)
        return failures

    def _take_over(self, records: Runs) -> None:
        changed = any(self._runs.get(name) != record for name, record in records.items())
        self._runs |= records
        if changed:
            self._save()

    def _put(self, name: str, record: RunRecord) -> None:
        self._runs[name] = record
        self._save()

    def _save(self) -> None:
        entries = {name: asdict(record) for name, record in self._runs.items()}
        document = {"schema_version": SCHEMA_VERSION, "entries": entries}
        try:
            self._paths.must_be_there()
            self._files.make_directory(self._path.parent)
            self._files.replace(self._path, json.dumps(document, indent=1).encode() + b"\n")
        except (SkymemError, OSError) as error:
            self._complain(error)

    def _set_damage_aside(self) -> None:
        """Keep a file that is no record for whoever wants to look; what a kill left of one goes."""
        try:
            self._files.remove_left(self._path.parent, self._path.name)
            if _entries(_document(self._path)) is not None:
                return
            with disk_errors(self._path):
                if not self._path.exists():
                    return
                aside = self._path.with_name("runs.json.damaged")
                self._files.rename(self._path, aside)
        except (SkymemError, OSError) as error:
            self._complain(error)


def _set_back(record: RunRecord, seconds: float, now: float) -> RunRecord:
    """The record on a clock that was set back by `seconds` and says `now`."""
    seen = record.first_seen if record.last_start is None else record.last_start
    counted = seen if record.counted_from is None else record.counted_from
    moved = max(0.0, min(now, counted - seconds))
    return record if moved == counted else replace(record, counted_from=moved)


def _document(path: Path) -> dict[str, Any] | None:
    try:
        return read_json(path)
    except RecursionError:  # brackets without end are damage like any other
        return None


def _entries(document: dict[str, Any] | None) -> dict[str, Any] | None:
    entries = (document or {}).get("entries")
    return entries if isinstance(entries, dict) else None


def _parse(document: dict[str, Any] | None) -> dict[str, RunRecord]:
    entries = _entries(document) or {}
    records = {name: _record(value) for name, value in entries.items()}
    return {name: record for name, record in records.items() if record is not None}


def _record(value: object) -> RunRecord | None:
    if not isinstance(value, dict) or not _is_time(value.get("first_seen")):
        return None
    kept = {field.name: value[field.name] for field in fields(RunRecord) if field.name in value}
    return RunRecord(**{name: item for name, item in kept.items() if _fits(name, item)})


def _fits(name: str, value: object) -> bool:
    if name in COUNTS:
        return _is_count(value, 2**53)
    if value is None:
        return True
    if name == "last_error":
        return isinstance(value, str)
    if name == "last_exit_code":
        return _is_count(value, 256)
    return _is_time(value)


def _is_count(value: object, bound: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < bound


def _is_time(value: object) -> bool:
    """Whether it is an epoch time that a date can be made of (years 1970 to 9999)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < 253_402_300_800
