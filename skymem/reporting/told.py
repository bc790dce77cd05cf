"""What the ledger tells of a time: what came, what each rule did, and how tiers grew by that.

One pass, entry by entry: what is held is a count for each day, agent, rule and tier, however long
the ledger is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from skymem.reporting.days import Calendar
from skymem.reporting.figures import FLOWS, TIERS
from skymem.stores.history import job_of
from skymem.stores.tiers import tier_of

SHORT_FILES: Final = ("", "short_term.jsonl")
IMPORT: Final = "import"

_BRINGS: Final = {"promote": "long", "archive": "archive", "trash": "trash"}
_FLOW: Final = {
    "promote": "promoted",
    "archive": "archived",
    "trash": "trashed",
    "restore": "restored",
    "undo": "restored",
    "compact": "gone",
    "erase": "gone",
}
_CAME: Final = {"adopt": 1, "remember": 1, "edited outside": -1, "erase": -1}
"""Entries that name what is in short-term, or is so no more."""


class Rule(NamedTuple):
    """A gate of a job, and what it did with memories."""

    job: str
    gate: str
    what: str


@dataclass(slots=True)
class Doing:
    """What a rule did."""

    by_day: list[int]
    lowest: float | None = None
    highest: float | None = None
    threshold: float | None = None

    def note(self, day: int, value: float | None, threshold: float | None) -> None:
        """Count one decision, with its value and what that was held against."""
        self.by_day[day] += 1
        if value is not None:
            self.lowest = value if self.lowest is None else min(self.lowest, value)
            self.highest = value if self.highest is None else max(self.highest, value)
        self.threshold = self.threshold if threshold is None else threshold


@dataclass(slots=True)
class Told:
    """Follows the ledger, of some agents."""

    calendar: Calendar
    agents: frozenset[str]
    undone: frozenset[str] = frozenset()
    """Runs that are taken back some time: of these it is held where they brought what."""

    rules: dict[Rule, Doing] = field(default_factory=dict)
    flows: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By agent and flow."""

    grew: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By agent and tier, by how much in each day."""

    before: dict[str, Counter[str]] = field(default_factory=dict)
    """By agent, what each tier held when the first day began."""

    begins: float | None = None
    _brought: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for agent in self.agents:
            self.flows[agent] = {flow: self.calendar.zeros() for flow in FLOWS}
            self.grew[agent] = {tier: self.calendar.zeros() for tier in TIERS}
            self.before[agent] = Counter()

    def tell(self, entry: Mapping[str, Any]) -> None:
        """Take in an entry, one after the other."""
        if self.begins is None:
            self.begins = float(entry["ts"])
        if entry.get("agent") not in self.agents or entry["ts"] > self.calendar.until:
            return
        op = entry["op"]
        if op in _CAME:
            self._came(entry, len(entry["ids"]), _CAME[op])
        elif op == "add":
            self._grows(entry, "long", len(entry["added"]))
            self._flows(entry, "made", len(entry["added"]))
        elif op == "decide":
            for decision in entry["decided"]:
                self._decided(entry, decision)

    def _came(self, entry: Mapping[str, Any], count: int, sign: int) -> None:
        self._grows(entry, "short", sign * count)
        self._flows(entry, "came" if sign > 0 else "gone", count)

    def _decided(self, entry: Mapping[str, Any], decision: list[Any]) -> None:
        action, name, gate, value, threshold = decision[:5]
        file = decision[6] if len(decision) > 6 else ""
        for tier, change in self._moves(decision, file):
            self._grows(entry, tier, change)
        if entry["run"] in self.undone and action in _BRINGS:
            self._brought[entry["run"], name] = _BRINGS[action]
        if action == "erase" and file in SHORT_FILES:
            return  # of these the ledger has an entry of its own
        if (flow := _FLOW.get(action)) and gate != IMPORT:
            self._flows(entry, flow, 1)
            if flow != "restored" and (day := self.calendar.place(entry["ts"])) >= 0:
                rule = Rule(job_of(entry["run"]), gate, flow)
                doing = self.rules.setdefault(rule, Doing(self.calendar.zeros()))
                doing.note(day, value, threshold)

    def _moves(self, decision: list[Any], file: str) -> Iterator[tuple[str, int]]:
        """By how much the tiers grow by a decision."""
        action, name, gate, _, _, note, *_ = decision
        stood = "short" if file in SHORT_FILES else tier_of(file)
        if action in _BRINGS or action == "repeat":
            if gate != IMPORT:
                yield stood, -1
            if action in _BRINGS:
                yield _BRINGS[action], 1
        elif action in ("restore", "undo"):
            yield stood, 1
            yield self._brought.get((note, name), "trash") if action == "undo" else "trash", -1
        elif action == "compact":
            yield "trash", -1
        elif action == "erase" and file not in SHORT_FILES:
            yield stood, -1

    def _grows(self, entry: Mapping[str, Any], tier: str, change: int) -> None:
        day = self.calendar.place(entry["ts"])
        if day >= 0:
            self.grew[entry["agent"]][tier][day] += change
        else:
            self.before[entry["agent"]][tier] += change

    def _flows(self, entry: Mapping[str, Any], flow: str, count: int) -> None:
        day = self.calendar.place(entry["ts"])
        if day >= 0:
            self.flows[entry["agent"]][flow][day] += count
