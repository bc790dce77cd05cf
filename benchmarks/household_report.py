"""A household of three agents, lived for months in a minute, and the report of its last 90 days.

The jobs are the very ones that run every day, under a clock that is set; answers are real ones, by
words. How long answers and runs took is drawn, not measured: the page must be the same everywhere.

Run: python -m benchmarks.household_report [--days N] [--html FILE]
"""

import argparse
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from benchmarks import household
from benchmarks.household import AGENTS, DAY
from skymem import app
from skymem.jobs import index_run, runner
from skymem.jobs.compact import compact
from skymem.jobs.forget import Wanted as Forget
from skymem.jobs.forget import forget
from skymem.jobs.restore import restore
from skymem.jobs.table import COMBINED
from skymem.jobs.workplace import Workplace
from skymem.recall.request import ask
from skymem.recall.search import recall
from skymem.reporting.figures import Report
from skymem.reporting.gather import Wanted, report_of
from skymem.reporting.page import page
from skymem.reporting.writing import write_page
from skymem.stores.files import Files
from skymem.stores.fleeting import FleetingFiles
from skymem.stores.home import HomePaths
from skymem.stores.recall_events import note_events
from skymem.stores.status import StatusFiles

BEGINS: Final = 1_777_593_600.0
"""The first of May 2026."""

BEFORE: Final = 14
"""Days that are lived before those that are reported."""

ROOT: Final = Path(__file__).resolve().parents[1]
KEPT: Final = ROOT / "docs" / "example_report.html"
NAMED: Final = "/home/ada/.local/share/skymem"
"""Where the household's home is said to be."""

DIGITS, INDEX_DIGITS = -3, -6
"""Sizes are rounded to so many, as the names of runs have the number of their process."""

SIMULATED: Final = (
    "This household is simulated: the jobs and the answers are real ones, how long they took is "
    "drawn."
)

RULES: Final = """
promote_threshold: 0.7
short_term_max_lines: 60
trash: {keep: 21d}
prune: {older_than: 45d, importance_below: 0.3}
budget: {per_run: 25%, per_30_days: 60%}
compress: {older_than: 10d}
promote:
  always_tags: [incident]
  recalled: {times: 2, queries: 2}
agents:
  aegis: {promote_threshold: 0.75, short_term_max_lines: 40}
"""


@dataclass
class Household:
    """A home under a clock of its own, and what was done in it, counted beside it."""

    root: Path
    clock: float = BEGINS
    said: Counter[str] = field(default_factory=Counter)
    """Lines by agent."""

    answers: int = 0
    runs: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Make the home."""
        app.init_home(self.root)
        self.paths = HomePaths(self.root)
        self.paths.rules.write_text(RULES)
        self.rules = app.open_home(str(self.root)).rules
        self.files = FleetingFiles()
        self._drawn = random.Random("how long runs take")
        for agent in AGENTS:
            self.work().shelf(agent).ensure()

    def work(self) -> Workplace:
        """What jobs work with."""
        return Workplace(self.paths, self.files, self.rules, lambda: self.clock, lambda: None)

    def live(self, days: int) -> None:
        """So many days: what comes, runs, is asked for, and is done by hand."""
        for day in range(days):
            for hour in (9, 18):
                self.clock = BEGINS + day * DAY + hour * 3600
                if hour == 18:
                    self._say(day)
                self.job(COMBINED)
            self._ask(day)
            self.clock = BEGINS + day * DAY + 22 * 3600
            for job in ("compress", "prune", *(("merge", "compact") if day % 7 == 6 else ())):
                self.job(job)
            self._by_hand(day)

    def job(self, name: str) -> None:
        """Run a job on everybody, and record its result."""
        self.clock += 1
        detail: dict[str, Any]
        if name == "compact":
            detail, _ = compact(self.work(), [*AGENTS])
        else:
            detail, _ = runner.run(self.work(), name, [*AGENTS])
        self._record(name, detail)

    def _record(self, name: str, detail: dict[str, Any]) -> None:
        detail["duration_s"] = round(self._drawn.lognormvariate(-2.2, 0.4), 3)
        StatusFiles(self.paths, self.files).write_action(name, detail, self.clock)
        self.runs[name] += 1

    def _say(self, day: int) -> None:
        for agent in AGENTS:
            lines = [*household.said(agent, day, self.clock)]
            self.work().shelf(agent).append(lines)
            self.said[agent] += len(lines)

    def _ask(self, day: int) -> None:
        for agent in AGENTS:
            for question, took_ms in household.asked(agent, day):
                self.clock += 20
                wanted = ask(question, 3, "deterministic")
                found = recall(self.work(), agent, wanted, _no_engine)
                ids = [one.id for one in found if one.parts.text >= 0.5]
                self.answers += bool(ids)
                hashed = f"{sum(question.encode()):x}"
                note_events(
                    self.paths, self.files, agent, hashed, ids, at=self.clock, took_ms=took_ms
                )

    def _by_hand(self, day: int) -> None:
        """Now and then somebody forgets something, and wants something back."""
        agent = AGENTS[day % 3]
        trash = sorted(self.work().shelf(agent).trash.all(), key=lambda one: one.id)
        if day % 17 == 16 and trash:
            self.clock += 60
            restore(self.work(), agent, [trash[-1].id])
        if day % 23 == 22:
            self.clock += 60
            wanted = Forget(pattern=None, ids=frozenset({f"{agent}-{day - 3:03}-00"}))
            runner.run(self.work(), "forget", [agent], table={"forget": forget(wanted)})

    def index(self) -> None:
        """Embed what is owed, with the engine and its model."""
        home = app.open_home(str(self.root))
        work = replace(self.work(), engine=home.engine)
        detail, _ = index_run.run(work, [*AGENTS])
        assert detail["ok"], detail
        self._record("index", detail)
        home.engine().leave()

    def report(self, days: int) -> Report:
        """What the last days were like, told in the evening of the last."""
        with self.now(), _without_engine():
            home = app.open_home(str(self.root))
            found = report_of(home, Wanted(self.clock - (days - 1) * DAY, self.clock))
        return _the_same_everywhere(found, self.clock)

    @contextmanager
    def now(self) -> Iterator[None]:
        """Have this process believe that it is the household's time."""
        from skymem import alarms, overview

        with ExitStack() as stack:
            for module in (app, alarms, overview):
                stack.enter_context(patch.object(module, "now", lambda: self.clock))
            yield


def _the_same_everywhere(found: Report, told: float) -> Report:
    """Without what differs by machine and process: places, moments, the last digits of sizes."""
    index = found.index
    index = replace(
        index, told=index.told and told, running=False, bytes=round(index.bytes, INDEX_DIGITS)
    )
    agents = tuple(
        replace(one, bytes={tier: round(size, DIGITS) for tier, size in one.bytes.items()})
        for one in found.agents
    )
    notes = (SIMULATED, *found.notes)
    return replace(found, home=NAMED, index=index, agents=agents, notes=notes)


def _no_engine() -> Any:
    raise AssertionError


@contextmanager
def _without_engine() -> Iterator[None]:
    with patch.dict(os.environ, {"SKYMEM_ENGINE": "off"}):
        yield


def main() -> None:
    """Live, and write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--html", type=Path, default=KEPT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        lived = Household(Path(scratch) / "home")
        lived.live(BEFORE + given.days)
        lived.index()
        data = page(lived.report(given.days))
    write_page(given.html, data, Files())
    print(f"{len(data):,} bytes in {given.html}")


if __name__ == "__main__":
    main()
