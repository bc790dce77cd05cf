"""Whether anything that `skymem status` tells may have changed: some stat calls, no reading."""

import os
from collections.abc import Iterable
from pathlib import Path

from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of
from skymem.stores.stamp import Stamp, stamp_of


def mark_of(paths: HomePaths) -> object:
    """Compare it with an earlier one: equal says that nothing changed but the time that passes."""
    return _below(paths.memory), mark_of_runs(paths)


def _below(memory: Path) -> list[object]:
    """What lies in `memory/`, and each agent's lines; of hundreds of agents it must be quick."""
    found: list[object] = []
    for entry in _entries(memory):
        found.append(_stat(entry))
        found += [_stat(one) for one in _entries(entry) if one.name.endswith(".jsonl")]
    return found


def _entries(directory: "Path | os.DirEntry[str]") -> list["os.DirEntry[str]"]:
    """By name; none of what is no directory."""
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda one: one.name)
    except OSError:
        return []


def mark_of_runs(paths: HomePaths) -> object:
    """The same of what is about the daemon and its runs alone."""
    kept = [paths.schedule, paths.state / "paused.json", paths.state / "runs.json"]
    status = sorted(paths.status.glob("*.json*"))
    return mark_of_files([*kept, *status]), holder_of(paths.daemon_lock)


def mark_of_files(looked_at: Iterable[Path]) -> object:
    """The same of some files."""
    return [_stat(path) for path in looked_at]


def _stat(path: "Path | os.DirEntry[str]") -> tuple[str, Stamp] | None:
    stamp = stamp_of(path)
    return None if stamp is None else (path.name, stamp)
