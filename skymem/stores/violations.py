"""Crossings that were refused: who asked for whose memories, by which door (row M7).

Each is an entry of the ledger, and is counted in `state/violations.json`, so that the status tells
of it without reading the ledger. It is counted first: a kill between the two leaves one too many
counted, and never one too few. Names only, never what was asked for (promise 6).
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.lock import held
from skymem.stores.status import read_json

VIOLATION: Final = "violation"
ACKNOWLEDGED: Final = "acknowledge"
SCHEMA_VERSION: Final = 1
LOCK_SECONDS: Final = 10.0


class Crossing(NamedTuple):
    """Somebody reached for what is not theirs."""

    agent: str
    """Whom the handle is bound to."""

    whose: str
    """The agent that was asked for, `*` for everyone, `?` for a name that is none."""

    door: str
    """By what it was asked for: `python`, `cli:show`."""


@dataclass(frozen=True, slots=True)
class Count:
    """The crossings of one agent's handles."""

    count: int = 0
    open: int = 0
    """Those that nobody has acknowledged."""

    last: Mapping[str, Any] | None = None
    """The latest: its `ts`, `whose` and `door`."""


def violations_path(paths: HomePaths) -> Path:
    """Where a home counts them."""
    return paths.state / "violations.json"


def read_violations(paths: HomePaths) -> dict[str, Count]:
    """How many there were, by the agent whose handle it was; never writes, never fails.

    A damaged file reads as none: `damage` tells the one from the other.
    """
    return _counts(read_json(violations_path(paths))) or {}


def damage(paths: HomePaths) -> str:
    """Why the count can't be believed, or "" when it can."""
    path = violations_path(paths)
    if not path.exists() or _counts(read_json(path)) is not None:
        return ""
    return (
        f"state/{path.name} can't be read, so violations are not counted; they are all listed by: "
        "skymem agents violations (which counts them anew with --acknowledge)"
    )


class Violations:
    """The record of violations of one home."""

    def __init__(self, paths: HomePaths, files: Files, ledger: Ledger) -> None:
        self._paths = paths
        self._files = files
        self._ledger = ledger

    def note(self, crossing: Crossing, now: float) -> None:
        """Count a crossing, and write it to the ledger; returns once both are on disk.

        Raises:
            DiskError, BusyError: it could not be; it was refused all the same.
        """
        with self._changing() as counts:
            before = counts.get(crossing.agent, Count())
            last = {"ts": now, "whose": crossing.whose, "door": crossing.door}
            counts[crossing.agent] = Count(before.count + 1, before.open + 1, last)
        self._ledger.append([{"op": VIOLATION, **crossing._asdict()}], now)

    def acknowledge(self, now: float, agent: str | None = None) -> int:
        """Take the alarm back, of everyone or one agent; returns how many were open.

        Raises:
            DiskError, BusyError: the alarm stays.
        """
        listed = self.listed() if damage(self._paths) else []
        with self._changing() as counts:
            for entry in listed:
                before = counts.get(entry["agent"], Count())
                last = {key: entry.get(key) for key in ("ts", "whose", "door")}
                counts[entry["agent"]] = Count(before.count + 1, before.open + 1, last)
            looked_at = {name: one for name, one in counts.items() if agent in (None, name)}
            seen = sum(one.open for one in looked_at.values())
            counts |= {name: Count(one.count, 0, one.last) for name, one in looked_at.items()}
        if seen:
            whose = {} if agent is None else {"agent": agent}
            self._ledger.append([{"op": ACKNOWLEDGED, **whose, "violations": seen}], now)
        return seen

    def listed(self) -> list[dict[str, Any]]:
        """Every violation of the ledger, oldest first."""
        word = json.dumps(VIOLATION).encode()
        return [one for one in self._ledger.mentioning(word) if one["op"] == VIOLATION]

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Count]]:
        """The counts, changed under their lock and written whole."""
        path = violations_path(self._paths)
        self._files.make_directory(self._paths.run)
        self._files.make_directory(path.parent)
        lock = self._paths.run / "violations.lock"
        with held(lock, "violations", deadline_seconds=LOCK_SECONDS):
            if damage(self._paths):
                with disk_errors(path):
                    self._files.rename(path, path.with_name(f"{path.name}.damaged"))
            counts = read_violations(self._paths)
            yield counts
            self._files.remove_left(path.parent, path.name)
            agents = {
                agent: {"count": one.count, "open": one.open, "last": one.last}
                for agent, one in sorted(counts.items())
            }
            document = {"schema_version": SCHEMA_VERSION, "agents": agents}
            self._files.replace(path, json.dumps(document, indent=1).encode() + b"\n")


def _counts(document: Mapping[str, Any] | None) -> dict[str, Count] | None:
    agents = (document or {}).get("agents")
    if not isinstance(agents, dict):
        return None
    found = {}
    for name, one in agents.items():
        if not isinstance(one, dict):
            return None
        count, unseen, last = (one.get(key) for key in ("count", "open", "last"))
        if not (isinstance(count, int) and isinstance(unseen, int) and isinstance(last, dict)):
            return None
        found[name] = Count(count, unseen, last)
    return found
