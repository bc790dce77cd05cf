"""Living the recorded past once more under other rules, with the very jobs that run every day."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from skymem.errors import SkymemError
from skymem.jobs import runner
from skymem.jobs.apart import run_apart
from skymem.jobs.detail import Outcome
from skymem.jobs.fitting import is_installed
from skymem.jobs.restore import restore
from skymem.jobs.rotate import new_archive
from skymem.jobs.undo import undo
from skymem.model.rules import RetentionRules
from skymem.simulation import by_hand
from skymem.simulation.beginning import know_short_term, lay_out, tell_before
from skymem.simulation.bench import Clock, bench
from skymem.simulation.lines import lines_of
from skymem.simulation.past import Past, Size, sizes_of
from skymem.simulation.regret import Regret, regret_of
from skymem.simulation.steps import (
    ByHand,
    Came,
    Imported,
    Pinned,
    Ran,
    Recalled,
    Restored,
    Step,
    Undone,
)
from skymem.simulation.stillness import Stillness
from skymem.simulation.whereabouts import Whereabouts
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.recall_events import note_events
from skymem.stores.recall_log import note_recalled


@dataclass(slots=True)
class Replayed:
    """What came of it."""

    old: Whereabouts
    """The record, up to its end."""

    new: Whereabouts
    regrets: list[Regret] = field(default_factory=list)
    sizes: dict[str, dict[str, Size]] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    """Of the ledger that the replay wrote."""

    runs: Counter[str] = field(default_factory=Counter)
    """By agent, as those that follow."""

    still: Counter[str] = field(default_factory=Counter)
    """Runs at which nothing could change."""

    recalls: Counter[str] = field(default_factory=Counter)

    failed: dict[str, int] = field(default_factory=dict)
    """By what went wrong, how often."""

    degraded: list[str] = field(default_factory=list)


class Replay:
    """One replay in an empty directory of its own."""

    def __init__(
        self,
        past: Past,
        root: Path,
        rules: RetentionRules,
        stop: Callable[[], str],
        tell: Callable[[str], None],
    ) -> None:
        """Begin where the past begins."""
        self._past = past
        self._clock = Clock(past.since)
        self._bench = bench(root, rules, self._clock, stop, past.key)
        self._tell = tell
        self._still = Stillness()
        self._read_to = 0
        self._entries = iter(past.entries)
        self._ahead = next(self._entries, None)
        self._trains = {*past.agents} - past.by_vectors if is_installed() else set[str]()
        self._runs: dict[str, list[str]] = {
            one["run"]: [one["run"]] for one in past.before if one["op"] == "begin"
        }
        """By the name of a run in the record, what it is called here."""

        self._done = Replayed(_copy(past.begin), _copy(past.begin))
        self._done.old.gone = past.gone

    def run(self) -> Replayed:
        """Live it; gives what came of it.

        Raises:
            InterruptedRunError: a signal came.
            DiskError: there is no room.
        """
        past, work = self._past, self._bench
        lay_out(work, past.begin, past.lines, past.since)
        know_short_term(work, past.begin)
        tell_before(work, past.before)
        self._read_to = work.ledger().size()
        self._lay_models()
        for step in past.recalled_before:
            if isinstance(step.what, Recalled):
                self._note_recalled(step.what, step.at)
        try:
            for number, step in enumerate(past.steps):
                if number % 500 == 0:
                    work.check_stop()
                    self._tell(f"simulate: {number:,} of {len(past.steps):,} steps")
                self._step(step)
            self._end()
        finally:
            work.kept.close()
        self._done.degraded = list(work.degraded)
        return self._done

    def _lay_models(self) -> None:
        """Those of before; of whom none can be trained here, all: each counts from when it was.

        One that was gone back from is in force nowhere, and not made again from the same history.
        """
        past, work = self._past, self._bench
        for name, data in past.models.items():
            at = past.trained.get(name)
            agent = PurePath(name).parent.name
            if at is None or at < past.since or agent not in self._trains:
                work.files.make_directory((work.paths.root / name).parent)
                work.files.replace(work.paths.root / name, data)
        trained = (one.what for one in past.steps if isinstance(one.what, Ran))
        if {one.agent for one in trained if one.job == "train"} - self._trains:
            why = "its models go by vectors" if is_installed() else "skymem[train] is not installed"
            work.degrade(f"train was not run again: {why}")

    # -- one step -------------------------------------------------------------------------------

    def _step(self, step: Step) -> None:
        what = step.what
        self._clock.at = step.at
        if isinstance(what, Ran):
            self._job(what)
        elif isinstance(what, Recalled):
            self._recall(what)
        else:
            self._still.changed(what.agent)
            self._one_off(what)
            self._follow()

    def _one_off(self, what: Any) -> None:
        doing: dict[type, Callable[[Any], None]] = {
            Came: self._came,
            ByHand: self._by_hand,
            Restored: self._restored,
            Undone: self._undone,
            Pinned: self._pinned,
            Imported: self._imported,
        }
        doing[type(what)](what)

    def _came(self, what: Came) -> None:
        own = self._past.lines[what.agent]
        lines = [own[name].came for name in what.ids if name in own]
        if lines:
            self._bench.shelf(what.agent).append(lines)

    def _job(self, ran: Ran) -> None:
        self._done.runs[ran.agent] += 1
        if self._still.holds(ran.agent, ran.job, self._clock.at):
            self._done.still[ran.agent] += 1
            return
        work = self._bench.anew()
        if ran.job == "train" and ran.agent not in self._trains:
            return
        if ran.job in ("compact", "train"):
            _, ended = run_apart(work, ran.job, [ran.agent], dry_run=False)
            self._still.changed(ran.agent)
            failed = [one.error for one in ended if one.error]
        else:
            _, outcomes = runner.run(work, ran.job, [ran.agent])
            self._still.ran(work, ran.agent, ran.job, outcomes)
            self._name_runs(ran, outcomes)
            failed = [one.error for one in outcomes if one.error]
        for error in dict.fromkeys(failed):
            self._failed(ran.job, error)
        work.check_stop()
        self._follow()

    def _failed(self, job: str, error: str) -> None:
        name = f"{job}: {error}"
        self._done.failed[name] = self._done.failed.get(name, 0) + 1

    def _name_runs(self, ran: Ran, outcomes: list[Outcome]) -> None:
        for outcome in outcomes:
            for run in ran.runs:
                if f"_{outcome.job}_" in run:
                    self._runs[run] = outcome.runs

    def _by_hand(self, what: ByHand) -> None:
        own = self._past.lines[what.agent]
        made = {name: own[name].stands for _, name, *_ in what.added if name in own}
        table = {what.job: by_hand.job_of(what, made)}
        if what.trashed or made:
            _, (outcome,) = runner.run(self._bench.anew(), what.job, [what.agent], table=table)
            self._runs[what.run] = outcome.runs
            if outcome.error:
                self._failed(what.job, outcome.error)

    def _restored(self, what: Restored) -> None:
        lying = self._bench.shelf(what.agent).trash.find({*what.ids})
        names = [name for name in what.ids if name in lying]
        if names:
            detail = restore(self._bench.anew(), what.agent, names)
            self._runs[what.run] = detail["runs"]

    def _undone(self, what: Undone) -> None:
        for run in reversed(self._runs.get(what.of, [])):
            with suppress(SkymemError):  # under these rules it did nothing that could be undone
                detail = undo(self._bench.anew(), run, [what.agent])
                self._runs.setdefault(what.run, []).extend(detail.get("runs", ()))

    def _pinned(self, what: Pinned) -> None:
        shelf = self._bench.shelf(what.agent)
        protection = read_protection(shelf.paths.protected)
        own = self._past.lines[what.agent]
        for name in what.ids:
            if what.pinned:
                protection.pin(name, self._clock.at)
            elif name in own:
                protection.unpin(name, own[name].memory, self._clock.at)
        write_protection(shelf.paths.protected, protection, shelf.files)

    def _imported(self, what: Imported) -> None:
        """Lines that came straight into a tier: short of trash, which nobody asks of."""
        shelf, own = self._bench.shelf(what.agent), self._past.lines[what.agent]
        lines: dict[str, list[bytes]] = {}
        for action, name, *_ in what.decided:
            if name in own and action in ("promote", "archive"):
                lines.setdefault(action, []).append(own[name].stands)
        if "promote" in lines:
            shelf.files.append(shelf.paths.long_term, b"".join(lines["promote"]))
        if "archive" in lines:
            new_archive(shelf, lines["archive"], self._clock.at)
        entry = {"op": "decide", "agent": what.agent, "run": what.run, "decided": what.decided}
        self._bench.ledger().append([entry], self._clock.at)

    # -- what was recalled ----------------------------------------------------------------------

    def _recall(self, what: Recalled) -> None:
        """Hold it against the record; here it is recalled as well, where it can be."""
        self._tell_old()
        work, new = self._bench, self._done.new
        self._done.recalls[what.agent] += len(what.ids)
        self._done.regrets += regret_of(what, self._clock.at, self._done.old, new)
        if work.rules.recall_log:
            self._note_recalled(what, self._clock.at)
            self._still.changed(what.agent)

    def _note_recalled(self, what: Recalled, at: float) -> None:
        spots = {name: self._done.new.spot(what.agent, name) for name in what.ids}
        there = [name for name, spot in spots.items() if spot is not None and spot.tier != "trash"]
        if there:
            paths, files = self._bench.paths, self._bench.files
            note_recalled(paths, files, what.agent, there)
            note_events(paths, files, what.agent, what.query, there, at=at)

    def _tell_old(self) -> None:
        while self._ahead is not None and self._ahead["ts"] <= self._clock.at:
            self._done.old.tell(self._ahead)
            self._ahead = next(self._entries, None)

    def _follow(self) -> None:
        """Read on in the ledger of the replay."""
        for end, entry in self._bench.ledger().read_from(self._read_to):
            self._read_to = end
            self._done.entries.append(entry)
            self._done.new.tell(entry)

    # -- the end --------------------------------------------------------------------------------

    def _end(self) -> None:
        past, work = self._past, self._bench
        self._clock.at = past.until
        self._tell_old()
        for agent, lines in past.unseen.items():
            work.shelf(agent).append(lines)
        for agent in past.lines:
            self._done.sizes[agent] = sizes_of(lines_of(work, agent, {}))


def _copy(begin: Whereabouts) -> Whereabouts:
    spots = {agent: dict(own) for agent, own in begin.spots.items()}
    return Whereabouts(spots, again={agent: [*own] for agent, own in begin.again.items()})
