"""What promote knows of a memory beside its line: how often it was recalled, what it may be worth.

Whatever can't matter is not looked at: where nothing is known of any memory, nothing is asked.
"""

from collections import Counter
from collections.abc import Callable

from skymem.jobs.clock import clock_alarm
from skymem.jobs.meaning import look_without_a_trace
from skymem.jobs.predicting import Predicting
from skymem.jobs.recalled import recalled
from skymem.jobs.sight import Sight
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Entry
from skymem.model.rules import AgentRules
from skymem.policy.earning import NOTHING, Known, nothing_known


def known_of(sight: Sight, by: Counter[str] | None = None) -> Callable[[Entry], Known]:
    """Tell what is known of each memory; `by` is to count what was predicted by what.

    Raises:
        DiskError: what is known can't be read.
    """
    counts = recalled(sight, sight.work.rules.for_agent(sight.agent))
    if sight.work.rehearsing:
        look_without_a_trace(sight)
    predicting = Predicting.by_rules(sight.work, sight.catalog, sight.agent)
    if predicting is not None:
        if by is not None:
            predicting.by = by
        never, of = NOTHING.recalled, predicting.of
        return lambda entry: Known(of(entry.memory, entry.id), counts.get(entry.id, never))
    if not counts:
        return nothing_known
    known = {name: Known(recalled=found) for name, found in counts.items()}
    return lambda entry: known.get(entry.id, NOTHING)


def now_of(work: Workplace, rules: AgentRules) -> int:
    """The time by which memories age; 0, and so no age, while the clock is not to be believed.

    A clock that was set forward would let everything fall below a threshold that decays at once.

    Raises:
        DiskError: what is known of the clock can't be read.
    """
    if not rules.promotion.decay.per_day:
        return 0
    if not work.accept_clock and clock_alarm(work):
        work.degrade("the clock moved: thresholds do not decay until it is believed again")
        return 0
    return round(work.now() * 1_000_000)
