"""What was asked: how many answers, how long they took, and which memories were among the first."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from operator import itemgetter
from types import MappingProxyType
from typing import Final

from skymem.reporting.days import Calendar
from skymem.reporting.figures import Latency
from skymem.reporting.regrets import Asked
from skymem.stores.home import HomePaths
from skymem.stores.recall_events import Answered, answers_of

OF_WHOLE: Final = MappingProxyType({"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0})


@dataclass(slots=True)
class Answers:
    """Counts answers of the time of the report."""

    calendar: Calendar
    asked: Counter[Asked] = field(default_factory=Counter)
    """How often each memory was among the first."""

    _counts: list[int] = field(default_factory=list)
    _took: list["array[float]"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._counts = self.calendar.zeros()
        self._took = [array("d") for _ in self._counts]

    def take(self, agent: str, answered: Answered) -> None:
        """Count one."""
        day = self.calendar.place(answered.at)
        self._counts[day] += 1
        self.asked.update(Asked(agent, name) for name in answered.ids)
        if answered.took_ms is not None:
            self._took[day].append(answered.took_ms)

    def latency(self) -> Latency:
        """How long they took."""
        days = [sorted(each) for each in self._took]
        every = sorted(took for each in days for took in each)
        return Latency(
            tuple(self._counts),
            len(every),
            tuple(quantile(each, 0.5) for each in days),
            tuple(quantile(each, 0.95) for each in days),
            {name: found for name, q in OF_WHOLE.items() if (found := quantile(every, q))},
        )


def quantile(numbers: Sequence[float], share: float) -> float | None:
    """What so many of them are at most, given in their order; None where there are none."""
    if not numbers:
        return None
    return round(numbers[min(len(numbers) - 1, int(share * len(numbers)))], 3)


def answers(
    paths: HomePaths, agents: Sequence[str], since: float
) -> Iterator[tuple[str, Answered]]:
    """Everybody's answers since a moment, in their order, each with whose it was."""
    streams = [_stream(paths, agent, since) for agent in agents]
    for _, agent, answered in merge(*streams, key=itemgetter(0)):
        yield agent, answered


def _stream(paths: HomePaths, agent: str, since: float) -> Iterator[tuple[float, str, Answered]]:
    return ((one.at, agent, one) for one in answers_of(paths, agent, since))
