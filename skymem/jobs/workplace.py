"""What a job works with: the home's stores, its rules, the time and the stop flag."""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from skymem.errors import (
    AgentNameError,
    DiskError,
    InterruptedRunError,
    NotAllowedError,
    SkymemError,
)
from skymem.model.memory import Memory
from skymem.model.plan import Damage
from skymem.model.rules import RetentionRules
from skymem.policy.admit import agent_name_fault, check_agent_name
from skymem.policy.bound import EVERYONE, Bound
from skymem.policy.clock import Seen
from skymem.stores.catalog import BUSY_MS, Catalog
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import AgentPaths, HomePaths
from skymem.stores.home_format import must_be_worked_on
from skymem.stores.home_key import HomeKey
from skymem.stores.ledger import Ledger
from skymem.stores.lock import held, never_stopped
from skymem.stores.shelf import Shelf
from skymem.stores.tombstones import Graveyard
from skymem.stores.violations import Crossing, Violations

if TYPE_CHECKING:  # a verb that needs no vectors must not pay for them
    from skymem.engine.client import Engine
    from skymem.jobs.canary import Canaries
    from skymem.jobs.grouping import Grouping
    from skymem.jobs.nearness import Nearness
    from skymem.jobs.summarizer import Asked
    from skymem.stores.promoted_days import PromotedDays
    from skymem.stores.standings import Standings
    from skymem.stores.words import WordIndex

JOB_LOCK_SECONDS = 30.0
READER_BUSY_MS = 1_000
"""How long a reader waits for a catalog that another process writes to, before it does without."""

DEFAULT_AGENT = "sky"
Answer = TypeVar("Answer")


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

    tell: Callable[[str], None] = lambda _text: None
    """Told now and then, in words, how far a job is that counts other things than bytes."""

    engine: "Callable[[], Engine] | None" = None
    """Connects to the engine, which starts by the first call; None where there is to be none."""

    environment: Mapping[str, str] = field(default_factory=dict)
    """Where a configured key is looked for."""

    clock_seen: Callable[[], Seen] | None = None
    """The clocks, to be held against the last time; None where a test has its own time."""

    actor: str = ""
    """Who acts, for the ledger: the program and the user's number, as in `cli:1000`."""

    rehearsing: bool = False
    """Whether nothing at all is to be written, derived or not: a dry run."""

    accept_clock: bool = False
    """Whether a person says that the clock is right, however it moved."""

    uncalibrated: bool = False
    """Whether a person lets promote move more than is usual of an agent."""

    max_loss: float | None = None
    """The share of a tier, 0 to 1, that a person lets this run remove by judgement."""

    canaries: "Canaries | None" = None
    """Who looks whether memories are still recalled after a job; None where nobody does."""

    asked: "Asked | None" = None
    """What a summariser was asked and said; its deadline and its budget are for one run."""

    grouping: "Grouping | None" = None
    """Likewise; what it was told before a lock was taken is looked up under the lock."""

    nearness: "Nearness | None" = None
    """Likewise: which memories the engine found near to each other."""

    shares: dict[tuple[str, float], dict[str, float]] = field(default_factory=dict)
    """What the engine told in this run about meanings, where that may not be kept; by agent and
    model (row P12)."""

    bound: Bound | None = None
    """Whom who works here is bound to; None for the operator, who may touch every agent."""

    door: str = ""
    """By what they came: what is told of a crossing."""

    batch: str = ""
    """The first run that was begun with this: all of them together are what a person did or the
    schedule, and are undone together."""

    degraded: list[str] = field(default_factory=list)
    """What did not work as it should, and was worked around."""

    _key: HomeKey | None = None
    _graveyard: Graveyard | None = None

    def shelf(self, agent: str) -> Shelf:
        """The tiers of one agent, whoever asks: the one gate to them.

        Raises:
            AgentNameError: the name is not allowed.
            NotAllowedError: its directory is a link out of the home, or who asks is bound to
                another agent.
        """
        paths = self.agent_paths(agent)
        with disk_errors(paths.directory):
            linked = paths.directory.is_symlink()
        if linked:
            raise NotAllowedError(
                f"{paths.directory} is a symbolic link; put a real directory there, or a bind mount"
            )
        return Shelf(
            paths, self.files, self.rules, self.stop, tell=partial(self._tell_set_aside, agent)
        )

    def agent_paths(self, agent: str) -> AgentPaths:
        """Where an agent's files lie; as `shelf`, and nothing on disk is looked at."""
        return self.paths.agent(self.admit(agent))

    def admit(self, agent: str, *, writing: bool = False) -> str:
        """Give an agent's name back when it is one, and who works here may touch it (row M7).

        Raises:
            AgentNameError: the name is not allowed.
            NotAllowedError: who works here is bound to another; it is on record as a violation.
        """
        bound = self.bound
        if bound is None:
            return check_agent_name(agent)
        if agent_name_fault(agent) is not None:
            self.note_crossing("?")
            return check_agent_name(agent)
        if not (bound.admits(agent) if writing else bound.reads(agent)):
            raise self.crossing(agent)
        return agent

    def for_the_operator(self) -> "Workplace":
        """The same place without the binding, of which nothing is shown to who is bound.

        It tells a crossing from a slip, and takes back what was given to others.
        """
        return replace(self, bound=None)

    def crossing(self, whose: str) -> NotAllowedError:
        """Record that another agent was reached for, or everyone; gives what is to be raised."""
        failed = self.note_crossing(whose)
        own = self.bound.agent if self.bound else ""
        everyone = f"all of the home (what is about one agent: --agent {own})"
        what = everyone if whose == EVERYONE else f"agent {whose}"
        return NotAllowedError(
            f"this is bound to agent {own} and may not touch {what}; "
            f"the violation {f'could not be recorded: {failed}' if failed else 'is on record'}"
        )

    def note_crossing(self, whose: str) -> str:
        """Record and log a violation; returns why it could not be recorded, or "".

        It is refused in any case: that is not for the disk to decide.
        """
        import logging

        crossing = Crossing(self.bound.agent if self.bound else "", whose, self.door)
        if not self.door.startswith("cli:"):  # who typed it is told on stderr, where logs go
            told = "violation: agent %s reached for %s by %s"
            logging.getLogger("skymem").warning(told, *crossing)
        try:
            self.violations().note(crossing, self.now())
        except (SkymemError, OSError) as error:
            return str(error)
        return ""

    def _tell_set_aside(self, agent: str, source: str, damage: Damage) -> None:
        """Record what recovery and drains put into quarantine, whoever had it done (row M8)."""
        piece = [source, damage.start, damage.end, damage.reason]
        entry = {"op": "quarantine", "agent": agent, "pieces": [piece]}
        self.ledger().append([entry], self.now())

    def standings(
        self, shelf: Shelf, catalog: Catalog, *, coming: Iterable[tuple[str, Memory]] = ()
    ) -> "Standings":
        """Which memories of an agent are active now, by the home's kinds; see `Standings.of`."""
        from skymem.stores.standings import Standings

        now_us = round(self.now() * 1_000_000)
        return Standings.of(shelf, catalog, now_us, self.rules.kinds, coming=coming)

    def ledger(self) -> Ledger:
        """The home's ledger."""
        return Ledger(self.paths, self.files, self.stop, self.actor)

    def promoted_days(self) -> "PromotedDays":
        """What of each agent came in and was promoted, by day."""
        from skymem.stores.promoted_days import PromotedDays

        return PromotedDays(self.paths, self.ledger())

    def violations(self) -> Violations:
        """The home's record of violations."""
        return Violations(self.paths, self.files, self.ledger())

    def home_key(self) -> HomeKey:
        """The home's key, made at the first call that is not a rehearsal.

        Raises:
            KeyDamagedError: it is there and not whole.
        """
        if self._key is None:
            self._key = HomeKey.of(self.paths, self.files, make=not self.rehearsing)
        return self._key

    def graveyard(self) -> Graveyard:
        """What was erased of each agent."""
        if self._graveyard is None:
            self._graveyard = Graveyard(self.paths, self.home_key)
        return self._graveyard

    @contextlib.contextmanager
    def catalog(self, *, busy_ms: int = BUSY_MS) -> Iterator[Catalog]:
        """Open the catalog; one that can't be used is replaced by one in memory for this run.

        It is derived, so a run without it is slower and as right (design §3). `busy_ms` is how long
        another process may write to it before it counts as one that can't be used. A rehearsal
        works on a copy.
        """
        catalog = self._open_catalog(busy_ms)
        catalog.erased = self.graveyard().of
        try:
            yield catalog
        finally:
            catalog.close()

    def _open_catalog(self, busy_ms: int) -> Catalog:
        if self.rehearsing:
            with contextlib.suppress(sqlite3.Error, OSError):
                return Catalog.copy_of(self.paths)
            return Catalog.in_memory()
        try:
            return Catalog.on_disk(self.paths, self.files, busy_ms=busy_ms)
        except (sqlite3.Error, DiskError, OSError) as error:
            self.degrade(f"catalog: {error}")
        return Catalog.in_memory()

    @contextlib.contextmanager
    def words(self, agent: str, *, busy_ms: int = BUSY_MS) -> "Iterator[WordIndex]":
        """Open an agent's word index; where none can be kept, one that stays empty.

        It is derived: what it lacks is found in the lines. A rehearsal does without.
        """
        from skymem.stores.word_file import WordIndexError
        from skymem.stores.words import WordIndex

        with contextlib.ExitStack() as stack:
            index = None
            if not self.rehearsing:
                try:
                    opened = WordIndex.on_disk(self.paths, self.files, agent, busy_ms=busy_ms)
                    index = stack.enter_context(opened)
                except WordIndexError as error:
                    self.degrade(f"word index: {error}")
            yield index or stack.enter_context(WordIndex.nowhere())

    def ask(self, catalog: Catalog, shelf: Shelf, question: Callable[[], Answer]) -> Answer:
        """Catch the catalog up and ask it something; one that fails gives way to one in memory.

        A reader needs the answer and not the file, be it damaged or held by another process.
        """
        try:
            catalog.catch_up(shelf.paths)
            return question()
        except sqlite3.Error as error:
            if catalog.temporary:
                raise
            self.do_without_file(catalog, error)
        catalog.catch_up(shelf.paths)
        return question()

    def do_without_file(self, catalog: Catalog, error: sqlite3.Error) -> None:
        """Go on with a catalog in memory: the file is damaged, or the disk has no room for it."""
        self.degrade(f"catalog: {error}")
        try:
            catalog.become_temporary(damaged=not isinstance(error, sqlite3.OperationalError))
        except OSError:  # it can't even be set aside: a writer will say so
            catalog.become_temporary(damaged=False)

    def degrade(self, reason: str) -> None:
        """Note, once, what did not work as it should."""
        if reason not in self.degraded:
            self.degraded.append(reason)

    @contextlib.contextmanager
    def job_lock(self, agent: str, job: str) -> Iterator[None]:
        """Hold the agent's job lock: one job at a time works on one agent.

        Raises:
            HomeFormatError: the home is in a format that jobs of this release do not work on.
        """
        self.admit(agent, writing=True)
        self.files.make_directory(self.paths.run)
        lock = self.paths.job_lock(agent)
        with held(lock, job, deadline_seconds=JOB_LOCK_SECONDS, stop=self.stop):
            must_be_worked_on(self.paths)  # under the lock, as an upgrade holds it too
            yield

    def check_stop(self) -> None:
        """Raise if a signal asked to stop; called between steps that are whole in themselves."""
        if signal_name := self.stop():
            raise InterruptedRunError(signal_name)

    def agents(self) -> list[str]:
        """The agents there are: directories of `memory/` with a name that is allowed.

        Of those, who is bound to an agent sees what it may read.
        """
        found = sorted(name for name, problem in self.agent_directories() if not problem)
        return [name for name in found if self.bound is None or self.bound.reads(name)]

    def agent_directories(self) -> Iterator[tuple[str, str]]:
        """Every directory of `memory/`, each with "" or why it is no agent's (hazard H2)."""
        with disk_errors(self.paths.memory):
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
