"""Whether anything that `skymem status` tells may have changed: some stat calls, no reading."""

from collections.abc import Iterable
from pathlib import Path

from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of


def mark_of(paths: HomePaths) -> object:
    """Compare it with an earlier one: equal says that nothing changed but the time that passes."""
    memory = [*sorted(paths.memory.glob("*")), *sorted(paths.memory.glob("*/*.jsonl"))]
    return mark_of_files(memory), mark_of_runs(paths)


def mark_of_runs(paths: HomePaths) -> object:
    """The same of what is about the daemon and its runs alone."""
    kept = [paths.schedule, paths.state / "paused.json", paths.state / "runs.json"]
    status = sorted(paths.status.glob("*.json*"))
    return mark_of_files([*kept, *status]), holder_of(paths.daemon_lock)


def mark_of_files(looked_at: Iterable[Path]) -> object:
    """The same of some files."""
    return [_stat(path) for path in looked_at]


def _stat(path: Path) -> tuple[str, int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return path.name, status.st_ino, status.st_size, status.st_mtime_ns
