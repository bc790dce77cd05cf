"""Status files: written whole, from any process, never with memory text.

`sky_last_action.json` is the last result of any job, `jobs/<name>.json` the last of each (and what
it has in common with those before, `lately`, by which it is seen that nothing comes of them), and
`actions.jsonl` all of them, a line each: the file to `tail -F`. `seq` rises by one across
processes.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from skymem.policy.alarming import lately
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held

SCHEMA_VERSION: Final = 1
ACTIONS_BYTES_MAX: Final = 5 * 1024 * 1024
ACTIONS_KEPT: Final = 3
LOCK_SECONDS: Final = 10.0


class StatusFiles:
    """The `status/` directory of a home."""

    def __init__(self, paths: HomePaths, files: Files) -> None:
        self._paths = paths
        self._files = files
        self.last_action = paths.status / "sky_last_action.json"
        self.heartbeat = paths.status / "sky_heartbeat.json"
        self.actions = paths.status / "actions.jsonl"
        self.jobs = paths.status / "jobs"

    def write_action(self, action: str, detail: Mapping[str, Any], now: float) -> int:
        """Record one result in all three files and return its `seq`.

        Args:
            action: schedule name or verb.
            detail: the job's detail (`jobs.detail`); ids and numbers only.
            now: epoch seconds.

        Raises:
            DiskError: the status directory can't be written; the job's result stands all the same.
        """
        self._paths.must_be_there()
        self._files.make_directory(self.jobs)
        self._files.make_directory(self._paths.run)
        with held(self._paths.run / "status.lock", "status", deadline_seconds=LOCK_SECONDS):
            seq = self._last_seq() + 1
            record: dict[str, Any] = {
                "ts": now,
                "action": action,
                "detail": detail,
                "seq": seq,
                "schema_version": SCHEMA_VERSION,
            }
            line = json.dumps(record, allow_nan=False).encode() + b"\n"
            self._tidy()
            self._rotate_actions(len(line))
            self._files.append(self.actions, line)
            own = self.jobs / f"{action}.json"
            before = (read_json(own) or {}).get("lately")
            record["lately"] = lately(before, detail, now)
            self._files.replace(own, json.dumps(record, allow_nan=False).encode() + b"\n")
            self._files.replace(self.last_action, line)
        return seq

    def begin_heartbeat(self) -> None:
        """Remove what a daemon that was killed left of a heartbeat; the daemon's lock is held."""
        self._files.remove_left(self._paths.status, self.heartbeat.name)

    def write_heartbeat(self, beat: Mapping[str, Any]) -> None:
        """Record that the daemon is alive."""
        self._files.make_directory(self._paths.status)
        self._files.replace(self.heartbeat, json.dumps(beat, allow_nan=False).encode() + b"\n")

    def read_last_action(self) -> dict[str, Any] | None:
        """The last result of any job, or None before the first."""
        return _read_result(self.last_action)

    def read_heartbeat(self) -> dict[str, Any] | None:
        """The daemon's last sign of life, or None before the first."""
        return read_json(self.heartbeat)

    def read_jobs(self) -> dict[str, dict[str, Any]]:
        """The last result of each schedule name or verb."""
        found = {path.stem: _read_result(path) for path in sorted(self.jobs.glob("[!.]*.json"))}
        return {name: record for name, record in found.items() if record is not None}

    def _tidy(self) -> None:
        """Remove what a kill left of a result; the heartbeat is the daemon's own to write."""
        self._files.remove_left(self._paths.status, self.last_action.name)
        self._files.remove_left(self.jobs)

    def _last_seq(self) -> int:
        # One of the two may have been deleted by hand, or not been reached before a kill.
        records = (self.read_last_action() or {}, last_json_line(self.actions) or {})
        numbers = (record.get("seq") for record in records)
        return max((number for number in numbers if isinstance(number, int)), default=0)

    def _rotate_actions(self, more_bytes: int) -> None:
        try:
            size = self.actions.stat().st_size
        except FileNotFoundError:
            return
        if size + more_bytes <= ACTIONS_BYTES_MAX:
            return
        for number in range(ACTIONS_KEPT - 1, 0, -1):
            older = self.actions.with_name(f"actions.jsonl.{number}")
            if older.exists():
                self._files.rename(older, self.actions.with_name(f"actions.jsonl.{number + 1}"))
        self._files.rename(self.actions, self.actions.with_name("actions.jsonl.1"))


def read_json(path: Path) -> dict[str, Any] | None:
    """Read one JSON object, or None where there is none that can be read."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def part_of(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object inside of one that was read; an empty one where there is something else."""
    part = value.get(name)
    return part if isinstance(part, Mapping) else {}


def _read_result(path: Path) -> dict[str, Any] | None:
    """Read what a run told; None also for JSON of another shape, which is none of ours."""
    found = read_json(path) or {}
    detail = found.get("detail")
    is_result = isinstance(detail, dict) and isinstance(detail.get("degraded", []), list)
    is_result = is_result and isinstance(found.get("action"), str) and is_time(found.get("ts"))
    return found if is_result else None


def is_time(value: object) -> bool:
    """Whether it can be when something was: a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value)


def last_json_line(path: Path) -> dict[str, Any] | None:
    """Read the last whole JSON line of a file of short lines."""
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - 64 * 1024))
            lines = stream.read().split(b"\n")
    except OSError:
        return None
    for line in reversed(lines):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return value
    return None
