"""Which entries of the schedule are paused, `state/paused.json`: until resumed, across restarts.

Any process may write it, whole and under a lock; the daemon looks at it when an entry falls due.
Light to import: `skymem status` reads it. Times are epoch seconds.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import UsageError
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.lock import held
from skymem.stores.status import read_json

if TYPE_CHECKING:
    from skymem.model.schedule import ScheduleEntry

SCHEMA_VERSION: Final = 1
LOCK_SECONDS: Final = 10.0
HEARTBEAT: Final = "heartbeat"
LATEST: Final = 253_402_300_800.0
"""The end of the year 9999: what lies past it is no time that could be shown."""

Changes = dict[str, float | None]
"""Entries to pause, with since when, and with None those to resume."""


def paused_path(paths: HomePaths) -> Path:
    """Where a home keeps what is paused."""
    return paths.state / "paused.json"


def read_pauses(paths: HomePaths) -> dict[str, float]:
    """The paused entries by name, with since when; never writes, never fails.

    A missing or damaged file reads as nothing paused: `damage` tells the one from the other.
    """
    return _parse(read_json(paused_path(paths)))


def damage(paths: HomePaths) -> str:
    """Why the record of pauses can't be believed, or "" when it can."""
    path = paused_path(paths)
    if not path.exists() or _entries(read_json(path)) is not None:
        return ""
    return (
        f"state/{path.name} can't be read, so nothing is paused; pause again what should be "
        "(the file is then set aside)"
    )


class Pauses:
    """The record of pauses of one home."""

    def __init__(self, paths: HomePaths, files: Files) -> None:
        self._paths = paths
        self._path = paused_path(paths)
        self._files = files

    def read(self) -> dict[str, float]:
        """As `read_pauses`."""
        return read_pauses(self._paths)

    def holds(self, name: str) -> bool:
        """Whether the entry is paused now; the daemon asks when it falls due."""
        return name in self.read()

    def pause(self, names: Iterable[str], now: float) -> list[str]:
        """Pause entries until they are resumed; returns those that were not paused before.

        Raises:
            DiskError: the record can't be written; it reads as before.
            BusyError: another process held its lock for too long.
        """
        return self._change(lambda paused: {name: now for name in names if name not in paused})

    def resume(self, names: Iterable[str]) -> list[str]:
        """End the pause of entries; returns those that were paused.

        Raises:
            DiskError: the record can't be written; it reads as before.
            BusyError: another process held its lock for too long.
        """
        return self._change(lambda paused: {name: None for name in names if name in paused})

    def _change(self, decide: Callable[[Mapping[str, float]], Changes]) -> list[str]:
        """Carry out what `decide` makes of the pauses there are; returns the names it changed."""
        self._files.make_directory(self._paths.run)
        lock = self._paths.run / "paused.lock"
        with held(lock, "skymem pause", deadline_seconds=LOCK_SECONDS):
            if damage(self._paths):
                with disk_errors(self._path):
                    self._files.rename(self._path, self._path.with_name("paused.json.damaged"))
            paused = self.read()
            changes = decide(paused)
            self._files.remove_left(self._path.parent, self._path.name)
            if changes:
                merged = {**paused, **changes}
                self._write({name: at for name, at in merged.items() if at is not None})
        return list(changes)

    def _write(self, paused: Mapping[str, float]) -> None:
        entries = {name: {"since": since} for name, since in sorted(paused.items())}
        document = {"schema_version": SCHEMA_VERSION, "paused": entries}
        self._files.make_directory(self._path.parent)
        self._files.replace(self._path, json.dumps(document, indent=1).encode() + b"\n")


def entries_meant(
    word: str, entries: "Sequence[ScheduleEntry]", paused: Iterable[str] = ()
) -> list[str]:
    """The entries that `pause WORD` or `resume WORD` is about: one by its name, or all of a job.

    An entry's name comes first: `promote` is the entry called so, even where others promote too.

    Args:
        word: what was typed.
        entries: the schedule.
        paused: names that may also be meant though the schedule has them no more.

    Raises:
        UsageError: there is none, or it is the heartbeat.
    """
    from skymem.jobs.table import steps_of
    from skymem.model.schedule import JOB_VERBS, KNOWN_JOBS

    named = {entry.name: entry.job for entry in entries}
    if word in named or word in paused:
        found = [word]
    else:
        found = [entry.name for entry in entries if entry.job == word]
    if any(named.get(name) == HEARTBEAT for name in found):
        raise UsageError("the heartbeat can't be paused: by it others see that the daemon lives")
    if found:
        return found
    known = [entry.name for entry in entries if entry.job != HEARTBEAT]
    which = f"schedule.yaml has no entry {word!r}"
    if word in KNOWN_JOBS:
        others = [name for name, job in named.items() if word in steps_of(job)]
        does = f" ({', '.join(others)} does it beside others)" if others else ""
        which = f"no entry of schedule.yaml has the job {word!r}{does}"
    verbs = [job for job in JOB_VERBS if job in set(named.values()) - set(known)]
    also = f" (or by job: {', '.join(verbs)})" if verbs else ""
    raise UsageError(f"{which}; it has: {', '.join(known) or 'none'}{also}")


def _entries(document: dict[str, Any] | None) -> dict[str, Any] | None:
    entries = (document or {}).get("paused")
    return entries if isinstance(entries, dict) else None


def _parse(document: dict[str, Any] | None) -> dict[str, float]:
    """What is paused; a time that is none is 0, so that the pause itself holds."""
    entries = _entries(document) or {}
    return {name: _since(value) for name, value in entries.items()}


def _since(value: object) -> float:
    since = value.get("since") if isinstance(value, dict) else None
    if isinstance(since, bool) or not isinstance(since, int | float):
        return 0.0
    return float(since) if 0 <= since < LATEST else 0.0
