"""How often which memory was recalled of late: read off the events of recall, once a run."""

from collections.abc import Iterable, Mapping
from typing import Final

from skymem.jobs.sight import Sight
from skymem.model.rules import AgentRules
from skymem.policy.earning import Recalled
from skymem.stores.recall_events import RecallEvent, events_of

DAY_SECONDS: Final = 86_400


def recalled(sight: Sight, rules: AgentRules) -> Mapping[str, Recalled]:
    """By id, what was recalled up to now, where that may promote anything.

    Raises:
        DiskError: the events can't be read.
    """
    wanted = rules.promotion.recalled
    if not wanted.times or not sight.work.rules.recall_log:
        return {}
    now = sight.work.now()
    since = now - wanted.within_seconds
    return tally(events_of(sight.work.paths, sight.agent, since), now)


def tally(events: Iterable[RecallEvent], now: float) -> dict[str, Recalled]:
    """Count, by memory, questions and the days on which each was asked; nothing of the future."""
    asked: dict[str, set[tuple[str, int]]] = {}
    for event in events:
        if event.at <= now:
            day = int(event.at // DAY_SECONDS)
            asked.setdefault(event.id, set()).add((event.query, day))
    return {
        name: Recalled(len(pairs), len({query for query, _ in pairs}))
        for name, pairs in asked.items()
    }
