"""Finishing what a kill, a full disk or a power cut left half done (promise 1).

Runs before every job. The ledger says which runs began and did not end; where short-term still is
the file a run started from, its swap did not happen and every line is still there.
"""

import os
from itertools import chain
from pathlib import Path
from typing import Any

from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.model.identity import digest
from skymem.model.plan import Damage, Entry
from skymem.model.spelling import read_line
from skymem.model.strict_json import LineDamage
from skymem.stores import home_key
from skymem.stores.catalog import Catalog
from skymem.stores.edits import Edit
from skymem.stores.files import disk_errors
from skymem.stores.lines import CHUNK_BYTES, TIER_LINE_BYTES_MAX, last_newline_end, read_entries
from skymem.stores.rewrite import rewrite
from skymem.stores.shelf import Shelf, tier_entries
from skymem.stores.swap import drain_name
from skymem.stores.tiers import tier_files


def recover(work: Workplace, shelf: Shelf, catalog: Catalog) -> list[str]:
    """Bring one agent's files to a state a job can start from; returns the runs it finished."""
    _secure_names(work, shelf)
    for directory in (shelf.paths.directory, shelf.paths.quarantine, shelf.paths.trash):
        shelf.files.remove_left(directory)
    if shelf.paths.name == DEFAULT_AGENT:  # its jobs adopt the flat file, and nobody else's
        shelf.files.remove_left(work.paths.memory)
    home_key.tidy(work.paths, shelf.files)
    shelf.drains.recover()
    ledger = work.ledger()
    ledger.secure()
    finished: list[str] = []
    for begin in catalog.open_runs(shelf.paths.name, ledger):
        swapped = _swapped(shelf, begin)
        if not swapped:
            shelf.quarantine.take_back(begin["run"])
            if begin["job"] == "promote" or begin.get("additions"):
                _secure_long_term(work, shelf, begin)
        _finish_removal(shelf, begin["run"], swapped=swapped)
        if begin["job"] in ("restore", "undo"):
            _finish_restoring(shelf)
        end = {"op": "end", "agent": begin["agent"], "run": begin["run"], "job": begin["job"]}
        ledger.append([{**end, "recovered": True, "swapped": swapped}], work.now())
        finished.append(str(begin["run"]))
    return finished


def _secure_names(work: Workplace, shelf: Shelf) -> None:
    """Make durable what names a killed run made, moved or removed without coming to sync them.

    Whatever this run builds on them must not outlive them in a power cut.
    """
    home, agent = work.paths, shelf.paths
    own = (agent.directory, agent.drains, agent.quarantine, agent.trash)
    for directory in (home.root, home.memory, *own):
        if directory.is_dir():
            with disk_errors(directory):
                shelf.files.fsync_directory(directory)


def _swapped(shelf: Shelf, begin: dict[str, Any]) -> bool:
    """Whether the run's swap happened: an editor replaces the file as well, but makes no drain."""
    drain = shelf.paths.drains / drain_name(begin["run"])
    before: list[int] = begin["short"]
    return (
        bool(before) and _identity(shelf.paths.short_term) != before and _identity(drain) == before
    )


def _finish_removal(shelf: Shelf, run: str, *, swapped: bool) -> None:
    """Take what the run has in trash out of the files it was in.

    What is still in short-term, as the run did not come to its swap, was not removed: out of trash
    with it, or it would lie there as well.
    """
    path = shelf.trash.file_of(run)
    lying = [(one.tier, digest(one.memory), one.key) for one in shelf.trash.read(path)]
    if not swapped and any(tier == "short" for tier, _, _ in lying):
        entries = shelf.short_entries()
        there = {entry.digest for entry in entries if isinstance(entry, Entry)}
        kept = {key for tier, own, key in lying if tier == "short" and own in there}
        shelf.trash.without(path, kept)
    held = {own for tier, own, _ in lying if tier != "short"}
    for name, path in tier_files(shelf.paths) if held else ():  # a repeat may stand in any of them
        gone = [
            Edit(entry.start, entry.end) for entry in tier_entries(path) if entry.digest in held
        ]
        if gone:
            rewrite(shelf.paths, shelf.files, name, gone)


def _finish_restoring(shelf: Shelf) -> None:
    """Take out of trash what has come back to a tier already; the rest stays there."""
    lying: dict[bytes, set[tuple[str, bytes]]] = {}
    for held in shelf.trash.all():
        lying.setdefault(digest(held.memory), set()).add(held.key)
    if not lying:
        return
    stored = chain.from_iterable(tier_entries(path) for _, path in tier_files(shelf.paths))
    back: set[tuple[str, bytes]] = set()
    for entry in chain(stored, shelf.short_entries()):
        if isinstance(entry, Entry):
            back |= lying.get(entry.digest, set())
    for path in shelf.trash.names():
        shelf.trash.without(path, back)


def _identity(path: Path) -> list[int]:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return []
    return [status.st_dev, status.st_ino]


def _secure_long_term(work: Workplace, shelf: Shelf, begin: dict[str, Any]) -> None:
    """Make durable what the run appended to long-term, and take back what is not whole.

    Its whole lines stay: short-term still has them, and ids tell that they are repeats. After a
    failed or missing sync the kernel may call pages clean that never reached the disk: only writing
    them again makes the next sync mean something.
    """
    path = shelf.paths.long_term
    start = int(begin["long_size"])
    if not path.exists() or path.stat().st_size <= start:
        return
    with disk_errors(path):
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if _is_border(fd, start):  # else a hand has edited what is before it since
                _cut_back(work, shelf, begin["run"], fd, start)
            _write_again(shelf, fd, start)
            shelf.files.fsync(fd)
        finally:
            os.close(fd)


def _is_border(fd: int, offset: int) -> bool:
    """Whether a line ends before `offset`, or is ended there: an append ends an open one first."""
    return offset == 0 or b"\n" in os.pread(fd, 2, offset - 1)


def _cut_back(work: Workplace, shelf: Shelf, run: str, fd: int, start: int) -> None:
    """Cut off the damage that ends the file at or after `start`, quarantined first."""
    path = shelf.paths.long_term
    limit = TIER_LINE_BYTES_MAX
    size = os.fstat(fd).st_size
    stop = max(start, last_newline_end(fd, size))
    if _is_memory(fd, stop, size, limit):  # a hand's, or one of which only the newline is missing
        shelf.files.append(path, b"")
        return
    whole = _whole_until(fd, start, stop, limit)
    if whole < size:
        rest = Damage(whole, size, "a promotion cut short")
        shelf.quarantine.take(fd, path.name, rest, f"cut_{run}_{whole}", work.now())
        shelf.files.truncate(fd, whole)


def _is_memory(fd: int, start: int, stop: int, bytes_max: int) -> bool:
    if not 0 < stop - start <= bytes_max:
        return False
    try:
        read_line(os.pread(fd, stop - start, start))
    except LineDamage:
        return False
    return True


def _whole_until(fd: int, start: int, stop: int, bytes_max: int) -> int:
    """Find where nothing but damage follows, `stop` where none does; what is before it stays."""
    damage = stop
    for entry in read_entries(fd, start, stop, bytes_max):
        if not isinstance(entry, Damage):
            damage = stop
        elif damage == stop:
            damage = entry.start
    return damage


def _write_again(shelf: Shelf, fd: int, start: int) -> None:
    size = os.fstat(fd).st_size
    for position in range(start, size, CHUNK_BYTES):
        block = os.pread(fd, min(CHUNK_BYTES, size - position), position)
        shelf.files.overwrite(fd, block, position)
