"""The working records of one type: the active ones, and all there ever were (rows W3, W4).

The active ones are kept at hand; the rest is read from the lines when somebody asks for history.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from skymem.jobs import runner
from skymem.jobs.detail import raise_failure
from skymem.jobs.forget import Wanted, forget
from skymem.model.plan import Damage
from skymem.policy.standing import State
from skymem.stores.files import disk_errors
from skymem.stores.lifecycle import RECORD, Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.shelf import Kept
from skymem.stores.standings import Standings
from skymem.working.at_hand import BUSY_MS, at_hand

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.stores.catalog import Catalog
    from skymem.stores.shelf import Shelf


class Once(NamedTuple):
    """A record as it stands among those of its type, active or not."""

    kept: Kept
    state: State
    superseded_by: str | None


def active(
    home: "Home", agent: str, record_type: str, *, dry_run: bool = False
) -> tuple[Kept, ...]:
    """The active records of a type, newest first; in a dry run nothing derived is written either.

    Raises:
        NotAllowedError: this process is not the home's owner.
        DiskError: they can't be read.
    """
    return at_hand(home, agent, dry_run=dry_run).of(record_type)


def every(home: "Home", agent: str, record_type: str, *, dry_run: bool = False) -> list[Once]:
    """Each record of a type that is in short-term, long-term or an archive, oldest first.

    Raises:
        NotAllowedError: this process is not the home's owner.
        DiskError, ProtectionDamagedError: they can't be read.
    """
    home.only_owner("read working memory")
    work, shelf = home.workplace(dry_run=dry_run), home.shelf(agent)
    with work.catalog(busy_ms=BUSY_MS) as catalog, disk_errors(shelf.paths.directory):

        def found() -> list[Once]:
            standings = work.standings(shelf, catalog)
            records = {kept.id: kept for kept in _read(shelf, catalog, record_type)}
            return [_once(kept, standings) for kept in _by_time(records)]

        return work.ask(catalog, shelf, found)


def _once(kept: Kept, standings: Standings) -> Once:
    state = standings.of_memory(kept.id, kept.memory)
    return Once(kept, state, standings.chains.superseded_by(kept.id))


def _by_time(records: Mapping[str, Kept]) -> list[Kept]:
    return sorted(records.values(), key=lambda one: (one.memory.time_us or 0, one.id))


def _read(shelf: "Shelf", catalog: "Catalog", record_type: str) -> Iterator[Kept]:
    """Short-term first: of a line on its way, the tier it is going to is told."""
    naming = Naming(shelf.paths.name, catalog)
    for entry in shelf.short_entries():
        if not isinstance(entry, Damage) and entry.memory.record_type == record_type:
            naming.name([entry])
            yield Kept(entry.id, "short", shelf.paths.short_term.name, entry.memory)
    stored = Lifecycle(catalog, shelf.paths.name).of_kinds([RECORD + record_type])
    yield from shelf.read(catalog.find(shelf.paths.name, [one.id for one in stored]))


def forget_records(
    home: "Home", agent: str, record_type: str, ids: Collection[str], *, dry_run: bool = False
) -> list[str]:
    """Move records of a type to trash, all at once; gives the ids of those that went.

    Pinned ones stay; `restore` brings the others back.

    Raises:
        SkymemError: what kept the job from its end.
    """
    work, table = home.workplace(dry_run=dry_run), {"forget": forget(Wanted(frozenset(ids)))}
    home.only_owner("forget")
    detail, outcomes = runner.run(work, "forget", [agent], dry_run=dry_run, table=table)
    if not dry_run:
        home.record("forget", detail)
    raise_failure(outcomes)
    if dry_run:
        plans = [plan for one in outcomes for plan in one.plans]
        return sorted({two.id for one in plans for two in one.decisions if two.action == "trash"})
    return sorted(set(ids) - {one.kept.id for one in every(home, agent, record_type)})
