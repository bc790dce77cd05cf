"""Finding one memory by its id: an agent's own, and never another's (row M7)."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from skymem.errors import ElsewhereError, SkymemError, UnknownMemoryError
from skymem.jobs.workplace import READER_BUSY_MS, Workplace
from skymem.policy.admit import check_beginning
from skymem.stores.files import disk_errors
from skymem.stores.history import where_gone
from skymem.stores.protection import ProtectionDamagedError
from skymem.stores.shelf import Kept, Shelf

LETTERS_MIN: Final = 12
"""So many letters of an id mean that memory and no other; fewer may be anybody's by chance."""


def find(work: Workplace, agent: str, name: str) -> Kept:
    """Find one memory by its id or the first letters of it.

    Raises:
        UnknownMemoryError: there is none, or several begin like this.
        UsageError: it is empty.
        NotAllowedError: who works here is bound to this agent, and it is another's.
    """
    check_beginning(name)
    if any("\ud800" <= letter <= "\udfff" for letter in name):  # no UTF-8, and ids are
        raise UnknownMemoryError(f"{name} (agent {agent})")
    with refusing_others(work, [name]):
        found = _named(work, work.shelf(agent), name)
        if not found:
            gone = where_gone(work.ledger(), agent, name)
            raise UnknownMemoryError(f"{name} (agent {agent}){gone}")
    if len(found) > 1:
        ids = ", ".join(kept.id for kept in found[:5])
        raise ElsewhereError(f"{name} is the beginning of several: {ids}")
    return found[0]


class Stands(NamedTuple):
    """Whether readers return a memory, and what they return in its place."""

    standing: str | None
    """`active`, `expired` or `superseded`; None in trash, or where it can't be told."""

    superseded_by: str | None
    """What took its place."""

    survivor: str | None
    """What stands there now: that, or what took the place of that in turn."""

    def as_json(self) -> dict[str, str | None]:
        """Spell it as doors do that give one memory."""
        return self._asdict()


def standing_of(work: Workplace, agent: str, kept: Kept) -> Stands:
    """Say how a memory stands now."""
    shelf = work.shelf(agent)
    unknown = Stands(None, None, None)
    if kept.tier == "trash":
        return unknown

    def look() -> Stands:
        standings = work.standings(shelf, catalog)
        by = standings.chains.superseded_by(kept.id)
        survivor = None if by is None else standings.chains.head(kept.id)
        return Stands(standings.of_memory(kept.id, kept.memory), by, survivor)

    try:
        with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
            return work.ask(catalog, shelf, look)
    except ProtectionDamagedError:  # `check` tells of it; the memory itself is there
        return unknown


@contextmanager
def refusing_others(work: Workplace, names: Collection[str]) -> Iterator[None]:
    """What is not there, and is another agent's, is refused to who is bound, and on record.

    Raises:
        NotAllowedError: instead of UnknownMemoryError.
    """
    try:
        yield
    except UnknownMemoryError:
        if work.bound is not None:
            for name in names:
                if (whose := _owner(work, name)) is not None:
                    raise work.crossing(whose) from None
        raise


def _owner(work: Workplace, name: str) -> str | None:
    """The agent out of reach that has a memory of this name."""
    if len(name) < LETTERS_MIN:
        return None
    all_of_them = work.for_the_operator()
    for agent in all_of_them.agents():
        if work.bound is not None and not work.bound.reads(agent):
            with suppress(SkymemError, OSError):  # of what can't be read nothing is told
                if _named(all_of_them, all_of_them.shelf(agent), name):
                    return agent
    return None


def _named(work: Workplace, shelf: Shelf, name: str) -> list[Kept]:
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        return work.ask(catalog, shelf, lambda: shelf.find(name, catalog))
