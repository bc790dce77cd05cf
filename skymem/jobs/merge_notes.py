"""Merging notes that a person names: two or more become one summary (row N7)."""

from collections.abc import Collection

from skymem.errors import UnknownMemoryError
from skymem.jobs.merge import apply
from skymem.jobs.sight import Sight
from skymem.jobs.table import Job
from skymem.model.plan import Decision, Plan, Reason
from skymem.policy.merge import MergeItem, merged_summary
from skymem.policy.promote import repeat


def merge_notes(ids: Collection[str]) -> Job:
    """The job that merges just these."""
    return Job(lambda sight: plan(sight, ids), apply)


def plan(sight: Sight, ids: Collection[str]) -> Plan:
    """Make one summary of them.

    Raises:
        UnknownMemoryError: one is in no tier that can be merged.
        InvalidMemoryError: they can't be one; names what differs.
    """
    found = Plan("merge", sight.agent)
    items = _in_short(sight, ids, found)
    rest = [name for name in ids if name not in items]
    for kept in sight.shelf.read(sight.catalog.find(sight.agent, rest)):
        if kept.tier in ("long", "archive"):
            items[kept.id] = MergeItem(kept.id, kept.memory, kept.tier)
    for name in ids:
        if name not in items:
            raise UnknownMemoryError(f"{name} (agent {sight.agent})")
    kinds = sight.work.rules.kinds
    made = merged_summary(list(items.values()), now_us=sight.now_us, kinds=kinds)
    found.additions.append(made)
    reason = Reason("merged", note=made.id)
    found.decisions += [
        Decision("archive", item.id, item.line, item.start, item.end, reason)
        for item in items.values()
        if item.tier == "short"
    ]
    found.decisions.sort(key=lambda decision: decision.start)
    return found


def _in_short(sight: Sight, ids: Collection[str], found: Plan) -> dict[str, MergeItem]:
    """Those that short-term has; their exact repeats, and damage, leave it by `found`."""
    items: dict[str, MergeItem] = {}
    for entry in sight.entries_for(found):
        if entry.id in items:
            found.decisions.append(repeat(entry, "this run"))
        elif entry.id in ids and not entry.elsewhere:
            place = (entry.start, entry.end, entry.line)
            items[entry.id] = MergeItem(entry.id, entry.memory, "short", *place)
    return items
