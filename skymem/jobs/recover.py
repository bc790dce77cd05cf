"""Finishing what a kill, a full disk or a power cut left half done (promise 1).

Runs before every job. The ledger says which runs began and did not end; where short-term still is
the file a run started from, its swap did not happen and every line is still there.
"""

import os
from pathlib import Path
from typing import Any

from skymem.jobs.workplace import Workplace
from skymem.model.plan import Damage
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.lines import CHUNK_BYTES, last_newline_end, read_entries
from skymem.stores.shelf import Shelf


def recover(work: Workplace, shelf: Shelf, catalog: Catalog) -> list[str]:
    """Bring one agent's files to a state a job can start from; returns the runs it finished."""
    _tidy(shelf, shelf.paths.directory)
    _tidy(shelf, shelf.paths.quarantine)
    shelf.drains.recover()
    ledger = work.ledger()
    finished: list[str] = []
    for begin in catalog.open_runs(shelf.paths.name, ledger):
        swapped = _identity(shelf.paths.short_term) != begin["short"]
        if not swapped:
            shelf.quarantine.take_back(begin["run"])
            if begin["job"] == "promote":
                _secure_long_term(work, shelf, begin)
        end = {"op": "end", "agent": begin["agent"], "run": begin["run"], "job": begin["job"]}
        ledger.append([{**end, "recovered": True, "swapped": swapped}], work.now())
        finished.append(str(begin["run"]))
    return finished


def _tidy(shelf: Shelf, directory: Path) -> None:
    """Remove temporary files of runs that are no more; the job lock says that none is at work."""
    with disk_errors(directory):
        for leftover in directory.glob(".*.new"):
            shelf.files.unlink(leftover)


def _identity(path: Path) -> list[int]:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return []
    return [status.st_dev, status.st_ino]


def _secure_long_term(work: Workplace, shelf: Shelf, begin: dict[str, Any]) -> None:
    """Make durable what the run appended to long-term, or take it back if it is not whole.

    After a failed or missing sync the kernel may call pages clean that never reached the disk:
    only writing them again makes the next sync mean something.
    """
    path = shelf.paths.long_term
    start = int(begin["long_size"])
    if not path.exists() or path.stat().st_size <= start:
        return
    with disk_errors(path):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if _is_whole(fd, start, shelf.rules.line_bytes_max):
                _write_again(shelf, fd, start)
            else:
                rest = Damage(start, os.fstat(fd).st_size, "a promotion cut short")
                shelf.quarantine.keep(fd, path.name, [rest], f"cut_{begin['run']}", work.now())
                shelf.files.truncate(fd, start)
            shelf.files.fsync(fd)
        finally:
            os.close(fd)


def _is_whole(fd: int, start: int, line_bytes_max: int) -> bool:
    size = os.fstat(fd).st_size
    if last_newline_end(fd, size) != size:
        return False
    entries = read_entries(fd, start, size, line_bytes_max)
    return not any(isinstance(entry, Damage) for entry in entries)


def _write_again(shelf: Shelf, fd: int, start: int) -> None:
    size = os.fstat(fd).st_size
    for position in range(start, size, CHUNK_BYTES):
        block = os.pread(fd, min(CHUNK_BYTES, size - position), position)
        shelf.files.overwrite(fd, block, position)
