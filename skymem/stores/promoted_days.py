"""How many lines of each agent came in and were promoted, by day: read off the ledger, kept small.

Derived: the ledger is read on from where it was read before, and from its beginning where the
counts are lost. What can't be written is counted anew the next time. No id and no text is in it.
"""

import contextlib
import json
from collections.abc import Mapping
from typing import Any, Final

from skymem.errors import SkymemError
from skymem.policy.calibration import DAY_SECONDS, Day, Days
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.status import read_json

DAYS_KEPT: Final = 120
"""Of one agent; more than any rule looks back."""

KEEP_BYTES: Final = 256 * 1024
"""Of the ledger that was read on: less is read again the next time, and nothing is written."""

_Counts = dict[str, Any]
"""Of one day: `came`, `promoted`, and `given` by hundredths, as JSON has it."""


class PromotedDays:
    """The counts of a home; who asks again is told what has come to the ledger since."""

    def __init__(self, paths: HomePaths, ledger: Ledger) -> None:
        self._path = paths.promoted_days
        self._ledger = ledger
        self._place = 0
        self._agents: dict[str, dict[str, _Counts]] = {}
        self._loaded = False

    def of(self, agent: str, files: Files | None = None) -> Days:
        """The days of an agent, as far as the ledger tells; kept where `files` are given.

        Raises:
            DiskError: the ledger can't be read.
        """
        self._load()
        before = self._place
        for end, entry in self._ledger.read_from(self._place):
            self._count(entry)
            self._place = end
        if files is not None and self._place - before > KEEP_BYTES:
            self._keep(files)
        days = self._agents.get(agent, {})
        return {int(number): _day(counts) for number, counts in days.items()}

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        found = read_json(self._path) or {}
        place, agents = found.get("place"), found.get("agents")
        if not isinstance(agents, dict) or not _whole(agents):
            return
        if type(place) is int and 0 <= place <= self._ledger.size():
            self._place, self._agents = place, agents

    def _keep(self, files: Files) -> None:
        for days in self._agents.values():
            for number in sorted(days, key=int)[:-DAYS_KEPT]:
                del days[number]
        data = json.dumps({"place": self._place, "agents": self._agents}).encode()
        with contextlib.suppress(SkymemError):
            files.make_directory(self._path.parent)
            files.replace(self._path, data)

    def _count(self, entry: Mapping[str, Any]) -> None:
        op = entry["op"]
        if op in ("remember", "adopt"):
            self._of_day(entry)["came"] += len(entry["ids"])
        elif op == "decide":
            for action, _, gate, value, _, note, *_ in entry["decided"]:
                if action == "promote" and gate == "importance":
                    counts = self._of_day(entry)
                    counts["promoted"] += 1
                    if value is not None and note.startswith("given"):
                        key = str(round(value * 100))
                        counts["given"][key] = counts["given"].get(key, 0) + 1

    def _of_day(self, entry: Mapping[str, Any]) -> _Counts:
        days = self._agents.setdefault(str(entry["agent"]), {})
        number = str(int(entry["ts"] // DAY_SECONDS))
        return days.setdefault(number, {"came": 0, "promoted": 0, "given": {}})


def _day(counts: _Counts) -> Day:
    given = {int(value): int(times) for value, times in counts["given"].items()}
    return Day(int(counts["came"]), int(counts["promoted"]), given)


def _whole(agents: Any) -> bool:
    """Whether the counts are as they were written; what a hand changed is counted anew."""
    try:
        for days in agents.values():
            for number, counts in days.items():
                int(number)
                _day(counts)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return True
