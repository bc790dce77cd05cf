"""What was taken away and asked for later: the record, held against a past that kept everything.

Regret is what `skymem simulate` calls so (`simulation/regret.py`), with one difference: there the
other past is that of other rules, here it is one in which no job took anything away. Asking is a
recall; so is bringing back by hand what lies in trash, since trash answers nobody.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from skymem.reporting.figures import Missed
from skymem.simulation.regret import regret_of
from skymem.simulation.steps import Recalled
from skymem.simulation.whereabouts import Whereabouts
from skymem.stores.history import job_of
from skymem.stores.recall_events import Answered

TAKES: Final = ("archive", "trash")
"""Actions that take a memory away from those who ask."""

_BACK: Final = {"restore": "restored", "undo": "undone"}


class Asked(NamedTuple):
    """A memory that was asked for."""

    agent: str
    id: str


class _Taken(NamedTuple):
    """How a memory was taken away last."""

    at: float
    job: str
    gate: str


@dataclass(slots=True)
class Regrets:
    """Follows the ledger and the answers, of those memories alone that are asked for some time."""

    asked: Collection[Asked]
    since: float
    """What was asked before is not told of."""

    _kept: Whereabouts = field(default_factory=Whereabouts)
    _record: Whereabouts = field(default_factory=Whereabouts)
    _taken: dict[Asked, _Taken] = field(default_factory=dict)
    _missed: dict[Asked, Missed] = field(default_factory=dict)
    _times: Counter[Asked] = field(default_factory=Counter)

    def tell(self, entry: Mapping[str, Any]) -> None:
        """Take in an entry of the ledger, one after the other."""
        narrow = self._narrow(entry)
        if narrow is None:
            return
        for action, name, *_ in narrow.get("decided", ()):
            if action in _BACK:
                self._ask(entry["agent"], [name], entry["ts"], _BACK[action])
        for action, name, gate, *_ in narrow.get("decided", ()):
            if action in TAKES:
                self._taken[Asked(entry["agent"], name)] = _Taken(
                    entry["ts"], job_of(entry["run"]), gate
                )
        self._record.tell(narrow)
        self._kept.tell(_without_loss(narrow))

    def answer(self, agent: str, answered: Answered) -> None:
        """Take in an answer, at its time among the entries."""
        self._ask(agent, answered.ids, answered.at, "recalled")

    def missed(self) -> tuple[Missed, ...]:
        """Each memory that was missed, in the order of the first time."""
        return tuple(replace(one, times=self._times[key]) for key, one in self._missed.items())

    def _narrow(self, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
        agent = entry.get("agent", "")
        found: dict[str, Any] = {}
        for field_name, place in (("ids", None), ("decided", 1), ("added", 1)):
            items = entry.get(field_name)
            if items:
                found[field_name] = [
                    one
                    for one in items
                    if Asked(agent, one if place is None else one[place]) in self.asked
                ]
        return {**entry, **found} if any(found.values()) else None

    def _ask(self, agent: str, names: Collection[str], at: float, how: str) -> None:
        recalled = Recalled(agent, "", tuple(names))
        for one in regret_of(recalled, at, self._kept, self._record):
            key = Asked(agent, one.id)
            taken = self._taken.get(key)
            if taken is None or at < self.since:
                continue
            self._times[key] += 1
            if key not in self._missed:
                self._missed[key] = Missed(
                    agent, one.id, one.what, taken.job, taken.gate, taken.at, at, how, 1
                )


def _without_loss(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same entry, where nothing is taken away."""
    if "decided" not in entry:
        return entry
    return {
        **entry,
        "decided": [one for one in entry["decided"] if one[0] not in (*TAKES, "compact")],
    }
