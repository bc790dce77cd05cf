"""When jobs ran: by the record of their results, by what the ledger tells, else by the schedule.

The ledger knows runs that did something or found something new. That a run found nothing to do is
in `status/actions.jsonl`, as far back as that is kept; before that the schedule is believed.
"""

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from skymem.daemon.fires import next_fire
from skymem.jobs.table import COMBINED, steps_of
from skymem.model.schedule import Every, Schedule, ScheduleEntry
from skymem.simulation.steps import REPLAYED, Came, Ran, Step, Told
from skymem.stores.files import disk_errors
from skymem.stores.status import ACTIONS_KEPT

SLACK_SECONDS: Final = 0.001
"""By which a time may differ from itself, once it was written down."""

NEAR_SECONDS: Final = 3600.0
"""A run so soon after its time of the day was the one that the schedule asked for."""


class Action(NamedTuple):
    """A job that ran, as the status has it."""

    started: float
    ended: float
    job: str
    agents: tuple[str, ...]


def actions_of(status: Path) -> list[Action]:
    """What the status remembers of jobs, oldest first."""
    found: list[Action] = []
    for number in range(ACTIONS_KEPT, -1, -1):
        path = status.with_name(f"{status.name}.{number}") if number else status
        with disk_errors(path):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue
        found += [one for raw in data.split(b"\n") if (one := _action(raw)) is not None]
    return sorted(found, key=lambda one: one.started)


def _action(raw: bytes) -> Action | None:
    try:
        record = json.loads(raw)
        detail = record["detail"]
        job, agents = str(detail["job"]), tuple(map(str, detail["agents"]))
        times = float(detail["started"]), float(record["ts"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return Action(*times, job, agents) if job in (*REPLAYED, COMBINED) else None


@dataclass(slots=True)
class _Trace:
    """What the ledger has of one agent's runs."""

    at: float
    seq: int
    told: Told | None
    """None where a run only found what had come."""

    taken: bool = False


class JobSteps:
    """Puts together when jobs ran."""

    def __init__(self, steps: Sequence[Step], runs: Mapping[str, Told]) -> None:
        """Go by what the ledger tells since some time."""
        self._traces: dict[str, list[_Trace]] = {}
        by_hand = {(told.agent, told.at) for told in runs.values() if told.job not in REPLAYED}
        for step in steps:
            came = isinstance(step.what, Came)
            if came and (step.what.agent, step.at) not in by_hand:
                self._trace(step.what.agent, _Trace(step.at, step.seq, None))
        for told in runs.values():
            if told.job in REPLAYED:
                self._trace(told.agent, _Trace(told.at, told.seq, told))
        for own in self._traces.values():
            own.sort(key=lambda one: (one.at, one.seq))
        self._order = sorted((step.at, step.seq) for step in steps)

    def _trace(self, agent: str, trace: _Trace) -> None:
        self._traces.setdefault(agent, []).append(trace)

    def recorded(self, actions: Iterable[Action]) -> Iterator[Step]:
        """The runs whose results are known; what they left in the ledger is taken as theirs."""
        for action in actions:
            for agent in action.agents:
                if action.job == "train":  # it takes in nothing, and the ledger has none of it
                    ran = Ran(agent, action.job)
                    yield Step(action.started, self._seq(action.started), 3, ran)
                else:
                    yield self._one(action, agent)

    def _one(self, action: Action, agent: str) -> Step:
        own = [
            trace
            for trace in self._between(agent, action.started, action.ended)
            if not trace.taken and (not trace.told or trace.told.job in steps_of(action.job))
        ]
        for trace in own:
            trace.taken = True
        runs = tuple(trace.told.run for trace in own if trace.told)
        ran = Ran(agent, action.job, runs)
        if own:  # behind all that it found new, in however many entries
            came = [trace.seq for trace in own if not trace.told and trace.at == own[0].at]
            return Step(own[0].at, max(came, default=own[0].seq), 1, ran)
        return Step(action.started, self._seq(action.started), 3, ran)

    def _between(self, agent: str, first: float, last: float) -> Iterator[_Trace]:
        own = self._traces.get(agent, [])
        begin = bisect_left(own, first - SLACK_SECONDS, key=lambda one: one.at)
        for trace in own[begin:]:
            if trace.at > last + SLACK_SECONDS:
                return
            yield trace

    def _seq(self, at: float) -> int:
        """The last entry up to a moment."""
        place = bisect_right(self._order, (at, 1 << 62))
        return self._order[place - 1][1] if place else 0

    def left(self, until: float) -> Iterator[Step]:
        """Runs that the ledger alone tells of; one that only found what came, before `until`."""
        for agent, own in self._traces.items():
            done = {(trace.at, trace.told.job) for trace in own if trace.told}
            begun = {at for at, _ in done}
            for trace in own:
                if trace.taken:
                    continue
                if trace.told:
                    runs = (trace.told.run,)
                    yield Step(trace.at, trace.seq, 1, Ran(agent, trace.told.job, runs))
                elif trace.at < until and trace.at not in begun:
                    yield Step(trace.at, trace.seq, 1, Ran(agent, COMBINED))

    def by_schedule(self, schedule: Schedule, since: float, until: float) -> Iterator[Step]:
        """Runs that the schedule asks for, where nothing is known of them."""
        for entry in schedule.entries:
            if entry.enabled and entry.job in (*REPLAYED, COMBINED):
                for agent, own in self._traces.items():
                    jobs = steps_of(entry.job)
                    times = [one.at for one in own if not one.told or one.told.job in jobs]
                    first = max(since, own[0].at if own else since)
                    for at in _fires(entry, schedule.timezone, times, first, until):
                        yield Step(at, self._seq(at), 3, Ran(agent, entry.job))


def _fires(
    entry: ScheduleEntry, timezone: str, known: Sequence[float], since: float, until: float
) -> Iterator[float]:
    """When an entry fires, counted anew from each of the `known` runs; those are left out."""
    ahead = [*(at for at in known if at > since), math.inf]
    at = since
    while at < until:
        trigger = entry.trigger
        every = isinstance(trigger, Every)
        due = (
            at + trigger.seconds if isinstance(trigger, Every) else next_fire(trigger, timezone, at)
        )
        while ahead[0] <= at:
            ahead.pop(0)
        near = ahead[0] if every else ahead[0] - NEAR_SECONDS
        if near <= due:
            at = max(due, ahead[0]) if not every else ahead[0]
            continue
        if due >= until:
            return
        yield due
        at = due
