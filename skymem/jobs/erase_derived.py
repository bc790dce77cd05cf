"""Taking what is erased out of what is derived from lines, and what is about them (row X5)."""

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from skymem.jobs.gone import Gone
from skymem.jobs.workplace import Workplace
from skymem.stores.agent_file import lock_of, take_out
from skymem.stores.catalog import Catalog
from skymem.stores.catalog_file import aside_of, catalog_path
from skymem.stores.erasures import Erasure
from skymem.stores.files import disk_errors
from skymem.stores.meanings import take_out_meanings
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.recall_events import take_out_events
from skymem.stores.shelf import Shelf
from skymem.stores.status import read_json
from skymem.stores.tiers import tier_files

WRITERS_OWN: Final = frozenset({".lock", "short_term.jsonl", "drains"})
"""Of an agent that is erased whole: what its writers may have in hand; of its text nothing is
left there."""

SUFFIXES: Final = ("", "-wal", "-shm", "-journal")


def take_out_of_pins(work: Workplace, shelf: Shelf, erasure: Erasure, gone: Gone) -> None:
    """Forget that erased memories were pinned, or restored.

    Raises:
        ProtectionDamagedError: nobody knows what is pinned.
    """
    if gone.everything:
        return  # the file goes
    protection = read_protection(shelf.paths.protected)
    names = [name for name in protection.ids if gone.has_id(name)]
    if names:
        protection.forget(names, 0.0)
        write_protection(shelf.paths.protected, protection, work.files)
    erasure.count("pins and graces").before += len(names)


def take_out_of_counts(work: Workplace, shelf: Shelf, erasure: Erasure, gone: Gone) -> None:
    """Forget how often erased memories were recalled, when, and by which questions."""
    agent = shelf.paths.name
    events = take_out_events(work.paths, work.files, agent, gone.has_id)
    erasure.count("recall counts").before += events
    take_out_meanings(work.paths, work.files, agent, gone.has_id)
    if gone.everything:
        _remove_directory(work.paths.recall_events(agent), work)
        _remove_directory(work.paths.importance(agent), work)
    path = work.paths.recalled(agent)
    counts = (read_json(path) or {}).get("recalled")
    if not isinstance(counts, dict):
        return
    kept = {name: times for name, times in counts.items() if not gone.has_id(str(name))}
    erasure.count("recall counts").before += len(counts) - len(kept)
    if gone.everything:
        remove([path], work)
    elif len(kept) < len(counts):
        work.files.replace(path, json.dumps({"recalled": kept}).encode())


def _remove_directory(path: Path, work: Workplace) -> None:
    """Take a directory of derived files away, where it is there, durably."""
    if path.is_dir():
        with disk_errors(path):
            shutil.rmtree(path)
            work.files.fsync_directory(path.parent)


def take_out_of_agent_md(work: Workplace, shelf: Shelf, erasure: Erasure, gone: Gone) -> None:
    """Take out of `agent.md` what was promoted into it of erased memories."""
    if gone.everything:
        return  # the file goes
    lock = lock_of(work.paths, shelf.paths.name)
    directory = shelf.paths.directory
    taken = take_out(directory, lock, gone.has_id, files=work.files, stop=work.stop)
    erasure.count("agent.md").before += taken


def take_out_words(work: Workplace, shelf: Shelf, erasure: Erasure, _gone: Gone) -> None:
    """Remove the word index, which is made anew from the lines: SQLite leaves what it deletes."""
    path = work.paths.words_of(shelf.paths.name)
    erasure.count("word index").before += path.exists()
    remove(_with_asides(path), work)


def shred_catalog(
    work: Workplace, _shelf: Shelf, erasure: Erasure, _gone: Gone, catalog: Catalog
) -> None:
    """Leave no page of the catalog with what it had of them: ids, hashes and places."""
    remove([one for one in _with_asides(catalog_path(work.paths)) if _is_aside(one)], work)
    erasure.count("catalog").action = "read anew"
    if catalog.temporary:
        return
    try:
        catalog.database.execute("VACUUM")
        catalog.database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:  # another process has it open; text it never had
        work.degrade(f"catalog: {error}: freed pages keep hashes of what was erased")


def take_out_others(work: Workplace, shelf: Shelf, erasure: Erasure) -> None:
    """Remove whatever else the directory of an agent has that is erased whole."""
    directory = shelf.paths.directory
    place = erasure.count("other files of the agent")
    tiers = dict(tier_files(shelf.paths))
    with disk_errors(directory):
        for item in sorted(os.scandir(directory), key=lambda one: one.name):
            if item.name in WRITERS_OWN or (item.name in tiers and tiers[item.name].stat().st_size):
                continue  # what came since is a new memory
            place.before += 1
            if item.is_dir(follow_symlinks=False):
                shutil.rmtree(item.path)
            else:
                work.files.unlink(Path(item.path))
        work.files.fsync_directory(directory)


def remove(paths: Iterable[Path], work: Workplace) -> None:
    """Take files away, those that are there, durably.

    Raises:
        DiskError: one can't be removed.
    """
    parents = set()
    for path in paths:
        with disk_errors(path), contextlib.suppress(FileNotFoundError):
            work.files.unlink(path)
            parents.add(path.parent)
    for parent in parents:
        with disk_errors(parent):
            work.files.fsync_directory(parent)


def _with_asides(path: Path) -> list[Path]:
    parts = [path.with_name(path.name + suffix) for suffix in SUFFIXES]
    return [*parts, *(aside_of(part) for part in parts)]


def _is_aside(path: Path) -> bool:
    return path.name.endswith(".unreadable")
