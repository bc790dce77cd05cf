"""Rotate: the oldest lines over the limit go to an archive that stays greppable (rows P7, P10)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from skymem.errors import DiskError
from skymem.jobs.move import Taken, carry_out
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.model.spelling import moved
from skymem.policy.rotate import plan_rotate
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.shelf import Reading, Shelf

NAMES_MAX: Final = 10_000


def plan(shelf: Shelf, reading: Reading) -> Plan:
    """Read short-term and decide; changes nothing."""
    agent = shelf.paths.name
    return plan_rotate(reading.entries(), agent, shelf.rules.for_agent(agent))


def apply(plan: Plan, work: Workplace, shelf: Shelf, catalog: Catalog, *, reading: Reading) -> str:
    """Write the oldest lines to a new archive, then take them out of short-term."""
    now = work.now()

    def store(taken: Taken) -> None:
        new_archive(
            shelf, (moved(raw, memory, decision.id) for raw, memory, decision in taken), now
        )

    return carry_out(plan, work, shelf, catalog, reading=reading, moving="archive", store=store)


def new_archive(shelf: Shelf, lines: Iterator[bytes], now: float) -> Path:
    """Write a new archive, whole or not at all, under a name no other has."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    first = shelf.paths.directory / f"short_term_archive_{stamp}.jsonl"
    temporary = shelf.files.write_beside(first, lines)
    with disk_errors(first):
        archive = _free_name(shelf, temporary, first)
        shelf.files.unlink(temporary)
        shelf.files.fsync_directory(archive.parent)
    return archive


def _free_name(shelf: Shelf, temporary: Path, first: Path) -> Path:
    """Link the archive to the first free name: a link, unlike a rename, never replaces."""
    for number in range(1, NAMES_MAX):
        name = first if number == 1 else first.with_stem(f"{first.stem}_{number}")
        try:
            shelf.files.link(temporary, name)
        except FileExistsError:
            continue
        return name
    raise DiskError(str(first), "every name for an archive of this second is taken")
