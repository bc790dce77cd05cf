"""Prune: what is over, replaced, or by the rules old leaves every tier for trash (rows P18, M9).

Over its loss budget the run stops whole, before anything is removed (row X4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from skymem.jobs import removal
from skymem.jobs.move import Carrying
from skymem.jobs.sight import Sight
from skymem.model.memory import Memory
from skymem.model.plan import Plan, Stored
from skymem.policy.archives import ArchiveFile
from skymem.policy.budget import Spent, overrun, spent_lately, standing
from skymem.policy.prune import PruneView, plan_prune
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection
from skymem.stores.recall_log import most_recalled
from skymem.stores.standings import living_evidence
from skymem.stores.tiers import tier_files, tier_of

SECOND_US = 1_000_000


def plan(sight: Sight) -> Plan:
    """Read every tier's candidates and decide; changes nothing.

    A plan that would remove more by judgement than the budget lets it says so (`Plan.over`).
    """
    rules = sight.work.rules
    known = view(sight)
    found = plan_prune(
        replace(known, short=sight.reading.entries(), stored=_candidates(sight, known.superseded)),
        sight.agent,
        rules.prune,
        now_us=sight.now_us,
        grace_us=round(rules.restore_grace_seconds * SECOND_US),
    )
    found.over = _over_budget(sight, found)
    found.decisions += removal.repeats(sight, found.decisions)
    return found


def apply(carrying: Carrying) -> str:
    """Write what leaves to the run's trash file, then take it out of its places."""
    return removal.apply(carrying)


def view(sight: Sight) -> PruneView:
    """See what a prune goes by, but for the memories themselves: none is in it."""
    shelf, catalog, agent = sight.shelf, sight.catalog, sight.agent
    rules = sight.work.rules
    life = Lifecycle(catalog, agent, rules.kinds)
    standings = sight.standings()
    protection = read_protection(shelf.paths.protected)
    superseded = {
        name: (one.by, one.since_us) for name, one in standings.chains.superseded().items()
    }
    return PruneView(
        read=lambda stored: _read(sight, stored),
        superseded=superseded,
        rings=standings.chains.rings,
        pinned=protection.pinned.keys(),
        unpinned=protection.unpinned.keys(),
        evidence=living_evidence(standings, shelf, catalog, rules.kinds),
        restored={
            name: (one.gate, round(one.at * SECOND_US)) for name, one in protection.restored.items()
        },
        recalled=most_recalled(sight.work.paths, agent) if rules.recall_log else frozenset(),
        archives=_archives(sight, life),
        archive_lines=life.in_file,
        kinds=rules.kinds,
    )


def _candidates(sight: Sight, superseded: Mapping[str, object]) -> Iterable[Stored]:
    """What may be due of long-term and archives, each once; costs what there is of it."""
    life = Lifecycle(sight.catalog, sight.agent, sight.work.rules.kinds)
    rules = sight.work.rules.prune
    found = {one.id: one for one in life.expired(sight.now_us)}
    found |= {one.id: one for one in life.named(superseded)}
    if rules.older_than_seconds is not None and rules.importance_below is not None:
        before = sight.now_us - round(rules.older_than_seconds * SECOND_US)
        found |= {one.id: one for one in life.old(before, rules.importance_below)}
    return found.values()


def _read(sight: Sight, stored: Sequence[Stored]) -> dict[str, Memory]:
    places = sight.catalog.find(sight.agent, [one.id for one in stored])
    return {kept.id: kept.memory for kept in sight.shelf.read(places)}


def _archives(sight: Sight, life: Lifecycle) -> list[ArchiveFile]:
    rules = sight.work.rules.prune
    if rules.archive_older_than_seconds is None and rules.archive_bytes_max is None:
        return []
    return [
        ArchiveFile(name, path.stat().st_size, life.newest_us(name))
        for name, path in tier_files(sight.shelf.paths)
        if tier_of(name) == "archive"
    ]


def _over_budget(sight: Sight, found: Plan) -> str:
    """By how much a run would remove more by judgement than it may; "" when it may."""
    judged = {
        tier: found.judged.get(tier, 0) + found.judged_later.get(tier, 0)
        for tier in {*found.judged, *found.judged_later}
    }
    work, life = sight.work, Lifecycle(sight.catalog, sight.agent)
    sizes = {tier: life.count(tier) for tier in ("long", "archive")} | {"short": found.lines}
    runs = (Spent(at, spent) for at, spent in sight.catalog.judged_runs(sight.agent, work.ledger()))
    spent = spent_lately(runs, work.now())
    over = overrun(judged, sizes, spent, work.rules.budget, work.max_loss) or ""
    found.budget = standing({} if over else judged, sizes, spent, work.rules.budget)
    return over
