"""What a job works with: the home's stores, its rules, the time and the stop flag."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from skymem.errors import AgentNameError, DiskError, InterruptedRunError
from skymem.model.rules import RetentionRules
from skymem.policy.admit import check_agent_name
from skymem.stores.catalog import Catalog
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.ledger import Ledger
from skymem.stores.lock import held, never_stopped
from skymem.stores.shelf import Shelf

JOB_LOCK_SECONDS = 30.0
DEFAULT_AGENT = "sky"


@dataclass(slots=True)
class Workplace:
    """Everything a job may touch. Passed to each; made by `skymem.app` only."""

    paths: HomePaths
    files: Files
    rules: RetentionRules
    now: Callable[[], float]
    """The clock, epoch seconds."""

    pause: Callable[[], None]
    """A short wait between two looks at a drain somebody still writes to."""

    stop: Callable[[], str] = never_stopped
    progress: Callable[[str, int, int], None] = lambda _what, _done, _whole: None
    """Told now and then what is being worked on, and how many bytes of how many are read."""

    degraded: list[str] = field(default_factory=list)
    """What did not work as it should, and was worked around."""

    def shelf(self, agent: str) -> Shelf:
        """The tiers of one agent."""
        return Shelf(self.paths.agent(agent), self.files, self.rules, self.stop)

    def ledger(self) -> Ledger:
        """The home's ledger."""
        return Ledger(self.paths, self.files, self.stop)

    @contextlib.contextmanager
    def catalog(self) -> Iterator[Catalog]:
        """Open the catalog; one that can't be used is replaced by one in memory for this run.

        It is derived, so a run without it is slower and as right (design §3).
        """
        try:
            catalog = Catalog.on_disk(self.paths, self.files, self.rules.line_bytes_max)
        except (sqlite3.Error, DiskError, OSError) as error:
            self.degrade(f"catalog: {error}")
            catalog = Catalog.in_memory(self.rules.line_bytes_max)
        try:
            yield catalog
        finally:
            catalog.close()

    def degrade(self, reason: str) -> None:
        """Note, once, what did not work as it should."""
        if reason not in self.degraded:
            self.degraded.append(reason)

    @contextlib.contextmanager
    def job_lock(self, agent: str, job: str) -> Iterator[None]:
        """Hold the agent's job lock: one job at a time works on one agent."""
        self.files.make_directory(self.paths.run)
        lock = self.paths.job_lock(agent)
        with held(lock, job, deadline_seconds=JOB_LOCK_SECONDS, stop=self.stop):
            yield

    def check_stop(self) -> None:
        """Raise if a signal asked to stop; called between steps that are whole in themselves."""
        if signal_name := self.stop():
            raise InterruptedRunError(signal_name)

    def agents(self) -> list[str]:
        """The agents there are: directories of `memory/` with a name that is allowed."""
        return sorted(name for name, problem in self.agent_directories() if not problem)

    def agent_directories(self) -> Iterator[tuple[str, str]]:
        """Every directory of `memory/`, each with "" or why it is no agent's (hazard H2)."""
        try:
            found = list(os.scandir(self.paths.memory))
        except FileNotFoundError:
            return
        for item in found:
            if item.is_symlink() and item.is_dir():
                yield item.name, "is a symbolic link; agents' directories must be real"
            elif item.is_dir():
                yield item.name, _name_problem(item.name)


def _name_problem(name: str) -> str:
    try:
        check_agent_name(name)
    except AgentNameError as error:
        return str(error)
    return ""
