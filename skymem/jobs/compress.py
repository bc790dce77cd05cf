"""Compress: what is old goes from short-term to the archive, quoted in a record (rows R9, R10)."""

from collections.abc import Iterable, Iterator
from typing import Final

from skymem.jobs.grouping import Grouping
from skymem.jobs.move import Carrying
from skymem.jobs.rotate import archived, new_archive
from skymem.jobs.sight import Sight
from skymem.jobs.summarizer import Asked, open_summarizer
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry, Plan
from skymem.policy.compress import plan_compress
from skymem.policy.living import Living
from skymem.policy.summary import SourceGroup, Summarize, Summary, extractive
from skymem.stores.lifecycle import RECORD, Lifecycle
from skymem.stores.naming import Naming
from skymem.stores.standings import Standings

RECORD_TYPES: Final = ("profile", "project")


def plan(sight: Sight) -> Plan:
    """Read short-term and the records there are, and decide; changes nothing.

    No summariser is asked: what it said before is looked up, and checked again.
    """
    asked = _asked(sight.work)
    unasked: set[str] = set()

    def summarize(group: SourceGroup) -> Summary:
        unasked.update(source.id for source in asked.missing(group))
        return asked.answer(group)

    found = _plan(sight, summarize)
    found.unasked = len(unasked)
    for reason in asked.degraded:
        sight.work.degrade(reason)
    return found


def foresee(sight: Sight) -> None:
    """Ask the summariser, and have the engine compare, what is about to be decided.

    Raises:
        InterruptedRunError: a signal came while waiting.
    """
    groups: list[SourceGroup] = []

    def collect(group: SourceGroup) -> Summary:
        groups.append(group)
        return Summary([])

    _plan(sight, collect)
    sight.reading.close()  # it may take minutes, and no file is to be held open so long
    for group in groups:
        _asked(sight.work).ask(group)


def plan_one(sight: Sight, entry: Entry) -> Plan:
    """Decide about one line as if it were the only one; nobody is asked, and nothing changed."""
    return _plan(sight, extractive, [entry])


def _plan(
    sight: Sight, summarize: Summarize, entries: Iterable[Entry | Damage] | None = None
) -> Plan:
    work = sight.work
    rules = work.rules
    standings = sight.standings()
    active = dict(active_records(sight, standings))
    grouping = _grouping(work)
    grouping.begin(sight.agent)
    return plan_compress(
        sight.reading.entries() if entries is None else entries,
        sight.agent,
        rules,
        now_us=sight.now_us,
        records=Living.of(active.items()),
        lapsed=lapsed(sight, standings, active),
        summarize=summarize,
        likeness=grouping.pairs,
    )


def _asked(work: Workplace) -> Asked:
    if work.asked is None:
        rules = work.rules.compress.summarizer
        work.asked = Asked(open_summarizer(rules, work.environment, work.stop))
    return work.asked


def _grouping(work: Workplace) -> Grouping:
    if work.grouping is None:
        work.grouping = Grouping(work.engine, work.rules.compress.likeness, work.degrade)
    return work.grouping


def apply(carrying: Carrying) -> str:
    """Append the records, write a new archive, then take the lines out of short-term."""
    return carrying.carry_out(
        archived, lambda lines: new_archive(carrying.shelf, lines, carrying.now)
    )


def active_records(sight: Sight, standings: Standings) -> Iterator[tuple[str, Memory]]:
    """The active profiles and project records, by their ids."""
    life = Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds)
    names = [one.id for one in life.of_kinds(RECORD + each for each in RECORD_TYPES)]
    for kept in sight.shelf.read(sight.catalog.find(sight.agent, names)):
        if standings.let(kept.id, kept.memory):
            yield kept.id, kept.memory


def lapsed(sight: Sight, standings: Standings, records: dict[str, Memory]) -> set[str]:
    """Ids that hold no more: superseded, expired, in trash, or gone for good."""
    life = Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds)
    found = {*standings.chains.superseded(), *(one.id for one in life.expired(sight.now_us))}
    cited = {name for memory in records.values() for name in memory.evidence_ids}
    places = sight.catalog.find(sight.agent, sorted(cited))
    found |= {name for name, place in places.items() if place.tier == "trash"}
    missing = cited - places.keys()
    return found | (missing - _in_short(sight) if missing else missing)


def _in_short(sight: Sight) -> set[str]:
    """Ids of what short-term holds: what a record cites may have been brought back there."""
    naming = Naming(sight.agent, sight.catalog)
    found: set[str] = set()
    for entry in sight.shelf.short_entries():
        if not isinstance(entry, Damage):
            naming.name([entry])
            found.add(entry.id)
    return found
