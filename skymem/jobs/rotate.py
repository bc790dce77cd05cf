"""Rotate: the oldest lines over the limit go to an archive that stays greppable (rows P7, P10)."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from skymem.errors import DiskError
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.model.memory import Memory
from skymem.model.plan import Decision, Plan
from skymem.model.spelling import moved
from skymem.policy.rotate import plan_rotate
from skymem.stores.files import disk_errors
from skymem.stores.shelf import Shelf

NAMES_MAX: Final = 10_000


def plan(sight: Sight) -> Plan:
    """Read short-term and decide; changes nothing."""
    rules = sight.work.rules
    return plan_rotate(sight.reading.entries(), sight.agent, rules.for_agent(sight.agent))


def apply(carrying: Carrying) -> str:
    """Write the oldest lines to a new archive, then take them out of short-term."""
    return carrying.carry_out(
        archived, lambda lines: new_archive(carrying.shelf, lines, carrying.now)
    )


def archived(raw: bytes, memory: Memory, decision: Decision) -> bytes:
    """Spell a line as it stands in an archive."""
    return moved(raw, memory, decision.id)


def new_archive(shelf: Shelf, lines: Iterable[bytes], now: float) -> None:
    """Write a new archive, whole or not at all, under a name no other has."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    first = shelf.paths.directory / f"short_term_archive_{stamp}.jsonl"
    temporary = shelf.files.write_beside(first, lines)
    with disk_errors(first):
        archive = _free_name(shelf, temporary, first)
        shelf.files.unlink(temporary)
        shelf.files.fsync_directory(archive.parent)


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
