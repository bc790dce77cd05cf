"""Putting a report together: the status, one pass over the ledger, one over what the tiers hold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import accumulate
from typing import Any, Final

from skymem.app import Home
from skymem.errors import SkymemError
from skymem.overview import status_overview
from skymem.reporting.answers import Answers, answers
from skymem.reporting.days import DAY, Calendar, calendar
from skymem.reporting.figures import (
    TIERS,
    AgentFigures,
    Entry,
    Index,
    Missed,
    Regret,
    Report,
    RuleFigures,
)
from skymem.reporting.holdings import Holdings, entries_of
from skymem.reporting.regrets import Asked, Regrets
from skymem.reporting.runs import jobs_of
from skymem.reporting.spread import Spread
from skymem.reporting.told import Rule, Told
from skymem.reporting.worth import Ends
from skymem.stores.recall_events import Answered

ENTRIES: Final = 10
"""How many memories of each end are told of."""

TOLD_EVERY: Final = 2_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a report is to be about."""

    since: float
    until: float
    agent: str | None = None
    texts: bool = True
    """Whether it says what memories say."""


def report_of(home: Home, wanted: Wanted) -> Report:
    """Gather all facts; of the home nothing but what is derived is written.

    Raises:
        AgentNameError, UsageError: there is no such agent.
        DiskError: the ledger can't be read.
        InterruptedRunError: a signal came.
    """
    return _Gathering(home, wanted).report()


class _Gathering:
    def __init__(self, home: Home, wanted: Wanted) -> None:
        self._home = home
        self._wanted = wanted
        self._found = status_overview(home, wanted.agent)
        self._names = [str(one["name"]) for one in self._found["agents"]]
        self._notes: list[str] = [str(one) for one in self._found["notes"]]
        self._calendar = self._days()
        self._answers = Answers(self._calendar)
        self._told = Told(self._calendar, frozenset(self._names))

    def report(self) -> Report:
        """Go through everything once."""
        for agent, answered in self._answered():
            self._answers.take(agent, answered)
        missed = self._ledger()
        spread = Spread(self._calendar.since, self._wanted.until)
        ends = self._holdings(spread)
        most, least = self._entries(ends)
        status = self._found
        since, until = self._calendar.since, self._wanted.until
        status_file = self._home.status_files().actions
        agents = tuple(self._agent(one) for one in status["agents"])
        return Report(
            version=version("skymem"),
            home=str(self._home.paths.root),
            made=until,
            since=since,
            until=until,
            step=self._calendar.step,
            days=tuple(self._calendar.labels()),
            agents=agents,
            rules=tuple(_rules(self._told, missed)),
            ages=spread.ages(),
            importances=spread.importances(),
            latency=self._answers.latency(),
            jobs=jobs_of(status_file, since, until, self._wanted.agent),
            index=_index(status["engine"]),
            most=most,
            least=least,
            regret=Regret(missed, _taken(self._told)),
            alarms=tuple(str(one["text"]) for one in status["alarms"]),
            notes=tuple(dict.fromkeys(self._notes)),
        )

    def _days(self) -> Calendar:
        """From when on, no earlier than there is anything to tell of."""
        since = self._wanted.since
        first = next((entry["ts"] for _, entry in self._entries_of_ledger()), None)
        if first is None:
            self._notes.append("no run has been here yet: the ledger is empty")
            return calendar(max(since, self._wanted.until - DAY), self._wanted.until)
        if first >= since + DAY:
            self._notes.append("the ledger begins after that time: this report begins with it")
        return calendar(max(since, min(first, self._wanted.until)), self._wanted.until)

    def _entries_of_ledger(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return self._home.workplace().ledger().read_from(0)

    # -- what the ledger tells ------------------------------------------------------------------

    def _ledger(self) -> tuple[Missed, ...]:
        """One pass over it, and before that one for what is brought back by hand."""
        asked, self._told.undone = self._brought_back()
        regrets = Regrets({*asked, *self._answers.asked}, self._calendar.since)
        waiting = self._answered()
        ahead = next(waiting, None)
        for number, (_, entry) in enumerate(self._entries_of_ledger()):
            if number % TOLD_EVERY == 0:
                self._look_up(f"report: {number:,} entries of the ledger")
            while ahead is not None and ahead[1].at < entry["ts"]:
                regrets.answer(*ahead)
                ahead = next(waiting, None)
            self._told.tell(entry)
            if self._is_told_of(entry):
                regrets.tell(entry)
        for left in (*([ahead] if ahead else ()), *waiting):
            regrets.answer(*left)
        return regrets.missed()

    def _brought_back(self) -> tuple[set[Asked], frozenset[str]]:
        """Memories that are brought back some time, and the runs that are undone."""
        asked: set[Asked] = set()
        undone: set[str] = set()
        for entry in self._home.workplace().ledger().mentioning(b'"restore"', b'"undo"'):
            if entry["op"] == "begin" and "of" in entry:
                undone.add(entry["of"])
            elif entry["op"] == "decide" and self._is_told_of(entry):
                back = (one[1] for one in entry["decided"] if one[0] in ("restore", "undo"))
                asked.update(Asked(entry["agent"], name) for name in back)
        return asked, frozenset(undone)

    def _is_told_of(self, entry: Mapping[str, Any]) -> bool:
        return entry["ts"] <= self._wanted.until and entry.get("agent") in self._told.agents

    def _answered(self) -> Iterator[tuple[str, Answered]]:
        every = answers(self._home.paths, self._names, self._calendar.since)
        return ((agent, one) for agent, one in every if one.at <= self._wanted.until)

    def _look_up(self, text: str) -> None:
        self._home.tell(text)
        self._home.workplace().check_stop()

    # -- what there is --------------------------------------------------------------------------

    def _holdings(self, spread: Spread) -> Ends:
        ends = Ends(ENTRIES)
        holdings = Holdings(self._home, spread, ends, self._answers, self._wanted.until)
        for agent in self._names:
            self._look_up(f"report: what {agent} holds")
            try:
                holdings.look(agent)
            except SkymemError as error:  # the other agents are told of all the same
                self._notes.append(f"{agent}: {error}")
        return ends

    def _entries(self, ends: Ends) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        texts = self._wanted.texts
        try:
            most = entries_of(self._home, ends.most(), texts=texts)
            return tuple(most), tuple(entries_of(self._home, ends.least(), texts=texts))
        except SkymemError as error:
            self._notes.append(str(error))
            return (), ()

    def _agent(self, found: Mapping[str, Any]) -> AgentFigures:
        name = str(found["name"])
        counts = {tier: int(found["tiers"][tier]["count"] or 0) for tier in TIERS}
        sizes = {tier: int(found["tiers"][tier]["bytes"] or 0) for tier in TIERS}
        index = self._found["engine"]["indexes"].get(name)
        growth = {tier: self._growth(name, tier, counts[tier]) for tier in TIERS}
        return AgentFigures(
            name=name,
            counts=counts,
            bytes=sizes,
            begun={tier: begun for tier, (begun, _) in growth.items()},
            growth={tier: by_day for tier, (_, by_day) in growth.items()},
            flows={flow: tuple(by_day) for flow, by_day in self._told.flows[name].items()},
            unindexed=int(found["rag_pending"]),
            vectors=None if index is None else int(index["memory"]),
            problems=tuple(str(one) for one in found["problems"]),
        )

    def _growth(self, agent: str, tier: str, now: int) -> tuple[int, tuple[int, ...]]:
        """What a tier held when the first day began, and at the end of each: the last is now.

        What no run has seen yet came today. What else the ledger does not tell of (lines that a
        hand put into a tier) counts as there from the beginning.
        """
        grew, held = self._told.grew[agent][tier], self._told.before[agent][tier]
        untold = now - held - sum(grew)
        unseen = max(0, untold) if tier == "short" else 0
        begun = held + untold - unseen
        ends = [max(0, one) for one in accumulate(grew, initial=begun)]
        return ends[0], (*ends[1:-1], now)


def _rules(told: Told, missed: Sequence[Missed]) -> Iterator[RuleFigures]:
    """Each rule, those that did most first."""
    again: dict[tuple[str, str], int] = {}
    for one in missed:
        again[one.job, one.gate] = again.get((one.job, one.gate), 0) + 1
    order = sorted(told.rules.items(), key=lambda item: (-sum(item[1].by_day), item[0]))
    for rule, doing in order:
        yield RuleFigures(
            job=rule.job,
            gate=rule.gate,
            what=rule.what,
            by_day=tuple(doing.by_day),
            lowest=doing.lowest,
            highest=doing.highest,
            threshold=doing.threshold,
            asked_again=_asked_again(rule, again),
        )


def _asked_again(rule: Rule, again: Mapping[tuple[str, str], int]) -> int:
    return again.get((rule.job, rule.gate), 0) if rule.what in ("archived", "trashed") else 0


def _taken(told: Told) -> int:
    return sum(
        sum(doing.by_day)
        for rule, doing in told.rules.items()
        if rule.what in ("archived", "trashed")
    )


def _index(engine: Mapping[str, Any]) -> Index:
    indexes = engine["indexes"].values()
    problems = [str(one) for index in indexes for one in index.get("problems", ())]
    problems += [str(engine["problem"])] if engine["problem"] else []
    return Index(
        model=engine["model"] or engine["in_use"]["model"],
        running=bool(engine["running"]),
        told=engine["told"],
        owed=int(engine["rag_pending"]),
        bytes=sum(int(index.get("bytes") or 0) for index in indexes),
        problems=tuple(dict.fromkeys(problems)),
    )
