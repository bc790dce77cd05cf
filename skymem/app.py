"""The composition root: reads the clock and the environment, and wires the parts together.

Everything above (the CLI, the Python API) calls this; nothing below reads the time or `os.environ`.
"""

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skymem.config.home_choice import HomeChoice, choose_home, data_directory
from skymem.errors import (
    ConfigurationError,
    DiskError,
    EngineUnavailableError,
    NotAllowedError,
    SkymemError,
    UsageError,
)
from skymem.home_making import init_home as init_home  # noqa: PLC0414  (part of what this offers)
from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.jobs.workplace import READER_BUSY_MS as READER_BUSY_MS  # noqa: PLC0414  (likewise)
from skymem.model.rules import RetentionRules
from skymem.ownership import enter, locate, not_owner
from skymem.policy.bound import EVERYONE, Bound, bound_to
from skymem.stores.files import Files, Modes, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.home_format import must_be_known
from skymem.stores.lock import never_stopped
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.status import StatusFiles

if TYPE_CHECKING:  # loaded when a job runs: reading the status must not cost it
    from skymem.engine.client import Engine
    from skymem.jobs.detail import Ended
    from skymem.policy.clock import Seen

PAUSE_SECONDS: Final = 0.005


def now() -> float:
    """Read the wall clock, epoch seconds: the only place that does."""
    return time.time()  # noqa: TID251  (this is the place)


def agent_from_environment() -> str:
    """The agent a process works for when nobody names one."""
    return os.environ.get("SKYMEM_AGENT") or binding() or DEFAULT_AGENT


def binding() -> str | None:
    """The agent that whoever started this process bound it to (row M7); empty is no way out."""
    return os.environ.get("SKYMEM_BOUND_AGENT")


def engine_allowed() -> bool:
    """Whether this process may use the engine, and start it: `SKYMEM_ENGINE=off` says no."""
    return os.environ.get("SKYMEM_ENGINE", "").lower() not in ("off", "0", "false", "no")


def clocks() -> "Seen":
    """Read the wall clock, and the one since boot that nobody can set: the only place that does."""
    from skymem.policy.clock import Seen

    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot_id = ""
    return Seen(now(), boot_id, time.clock_gettime(time.CLOCK_BOOTTIME))


def pause() -> None:
    """Wait a little between two looks at a drain."""
    time.sleep(PAUSE_SECONDS)


@dataclass(slots=True)
class Home:
    """An opened home."""

    paths: HomePaths
    why: str
    files: Files
    rules: RetentionRules
    stop: Callable[[], str] = never_stopped
    owned: bool = True
    """Whether this process runs as the home's owner; else it may append only."""

    faults: tuple[str, ...] = ()
    """What is wrong with its rules, where it was opened all the same: `rules` is a makeshift."""

    progress: Callable[[str, int, int], None] = lambda _what, _done, _whole: None
    """Told what a long job is at: what, bytes read, bytes in all."""

    tell: Callable[[str], None] = lambda _text: None
    """Told how far a long job is that counts other things than bytes."""

    program: str = "python"
    """What acts: `cli`, `daemon`, or a program that imports us."""

    bound: Bound | None = None
    """Whom this handle is bound to, for good; None for the operator's."""

    door: str = "python"
    """By what whoever works with it came, as `cli:show`."""

    _ready: dict[str, Shelf] = field(default_factory=dict)
    _engine: "Engine | None" = None

    def workplace(self, *, dry_run: bool = False) -> Workplace:
        """What a job works with; in a dry run it writes nothing."""
        return Workplace(
            self.paths,
            self.files,
            self.rules,
            now,
            pause,
            self.stop,
            self.progress,
            self.tell,
            self.engine if engine_allowed() else None,
            os.environ,
            clocks,
            f"{self.program}:{os.geteuid()}",
            rehearsing=dry_run,
            bound=self.bound,
            door=self.door,
        )

    def bind(self, agent: str) -> "Home":
        """Give a handle to this home that admits one agent alone, for good (row M7).

        Raises:
            AgentNameError: the name is not allowed.
            NotAllowedError: this one is bound to another agent.
        """
        bound = bound_to(self.admit(agent), self.rules)
        return replace(self, bound=bound, _ready={})

    def admit(self, agent: str, *, writing: bool = False) -> str:
        """Give an agent's name back when this handle may touch it; see `Workplace.admit`."""
        return self.workplace().admit(agent, writing=writing)

    def only_operator(self) -> None:
        """Raise NotAllowedError, and record a violation, where this is bound to an agent."""
        if self.bound is not None:
            raise self.workplace().crossing(EVERYONE)

    def engine(self) -> "Engine":
        """Connect to the engine, which is started by the first call.

        Raises:
            EngineUnavailableError: it is not to be used here.
        """
        from skymem.daemon.ask import ask_for_engine
        from skymem.engine.client import Engine

        if not engine_allowed():
            raise EngineUnavailableError("SKYMEM_ENGINE=off keeps it from being used; unset that")
        if self._engine is None:
            self._engine = Engine(
                self.paths,
                self.files,
                self.rules.engine,
                stop=self.stop,
                elsewhere=lambda: ask_for_engine(self.paths, self.files, os.environ),
            )
        return self._engine

    def running_engine(self) -> "Engine | None":
        """Connect to the engine if it runs and may be used; it is never started by this."""
        from skymem.engine.client import Engine

        if not engine_allowed():
            return None
        engine = Engine(self.paths, self.files, self.rules.engine, stop=self.stop, start=False)
        return engine if engine.running() else None

    def shelf(self, agent: str) -> Shelf:
        """The tiers of an agent whose name passed the gate."""
        return self.workplace().shelf(agent)

    def status_files(self) -> StatusFiles:
        """The home's status files."""
        return StatusFiles(self.paths, self.files)

    def remember(self, agent: str, lines: Sequence[bytes], *, synced: bool = True) -> None:
        """Append admitted lines to an agent's short-term; returns once on disk, unless unsynced.

        Raises:
            AgentNameError: the name is not allowed.
            NotAllowedError: only the home's owner may make the files of a new agent.
            DiskError: full, read-only or broken disk; none of the lines stays.
        """
        shelf = self._shelf_to_write(agent)
        try:
            shelf.append(lines, synced=synced)
        except DiskError:
            if shelf.paths.directory.is_dir():
                raise
            self._ready.clear()  # the directory was removed under a long-lived handle
            self._shelf_to_write(agent).append(lines, synced=synced)

    def _shelf_to_write(self, agent: str) -> Shelf:
        """Find an agent's shelf, made ready once for each handle: `remember` must cost little."""
        if agent in self._ready:
            return self._ready[agent]
        self.admit(agent, writing=True)
        if self.owned:
            shelf = self.make_ready(agent)
        elif not (shelf := self.shelf(agent)).paths.short_term.exists():
            raise NotAllowedError(
                f"agent {agent} has no short-term file yet; the home's owner makes it with: "
                f"skymem --agent {agent} remember TEXT"
            )
        self._ready[agent] = shelf
        return shelf

    def make_ready(self, agent: str) -> Shelf:
        """Make what an agent's writers need: a directory; where a group shares it, the file too.

        A member's first `echo` would make the file his own, and no job could keep it his.
        """
        shelf = self.shelf(agent)
        shelf.ensure()
        path = shelf.paths.short_term
        if self.rules.access == "group" and not os.path.lexists(path):
            temporary = self.files.write_beside(path, b"")
            with disk_errors(path):
                try:
                    with contextlib.suppress(FileExistsError):  # a writer was faster: it is his
                        self.files.link(temporary, path)
                finally:
                    self.files.unlink(temporary)
                self.files.fsync_directory(path.parent)
        return shelf

    def find(self, agent: str, name: str, *, dry_run: bool = False) -> Kept:
        """Find one memory by its id or the first letters of it; a dry run writes nothing.

        Raises:
            UnknownMemoryError: there is none, or several begin like this.
            UsageError: it is empty.
        """
        from skymem.jobs.finding import find

        return find(self.workplace(dry_run=dry_run), agent, name)

    def only_owner(self, what: str) -> None:
        """Raise NotAllowedError where this process may only append."""
        if not self.owned:
            raise NotAllowedError(f"only the home's owner may {what}; its group may remember")

    def agents(self, agent: str | None = None) -> list[str]:
        """Whom a job is for: the one that was named, else everyone there is.

        Raises:
            AgentNameError: the name is not allowed.
            UsageError: there is no such agent.
        """
        if agent is None:
            self.only_operator()
        found = set(self.workplace().agents())
        if self.paths.flat_short_term.exists():
            found.add(DEFAULT_AGENT)
        if agent is None:
            return sorted(found)
        # Anything else under that name is the shelf's to refuse: it says what is in the way.
        directory = self.workplace().agent_paths(agent).directory
        if agent not in found and not os.path.lexists(directory):
            raise UsageError(
                f'no agent "{agent}" here; there are: {", ".join(sorted(found)) or "none"} '
                f"(an agent is made by its first: skymem --agent {agent} remember TEXT)"
            )
        return [agent]

    def run_job(
        self,
        job: str,
        *,
        action: str | None = None,
        agent: str | None = None,
        dry_run: bool = False,
        plans: Mapping[tuple[str, str], Any] | None = None,
        **options: Any,
    ) -> tuple[dict[str, Any], "Sequence[Ended]"]:
        """Run a job and record its result, as the CLI, the schedule and the Python API do.

        Args:
            job: a job's verb, or `memory_rotate_check`.
            action: what the status file calls it; the job's own name when None.
            agent: one agent, or everyone.
            dry_run: plan only, record nothing.
            plans: saved plans to apply.
            options: of `index`: `only_if_owed`, `force` and `batch`; of the jobs that remove:
                `accept_clock` and `max_loss` (see `Workplace`).

        Returns:
            The job's detail (docs/daemon.md, "What a run reports") and the outcomes behind it.

        Raises:
            ConfigurationError: the rules are not usable, and the home was opened all the same.
        """
        if self.faults:
            raise ConfigurationError("\n".join(self.faults))
        whom = sorted({name for _, name in plans}) if plans else self.agents(agent)
        work = self.workplace(dry_run=dry_run)
        outcomes: Sequence[Ended]
        if job == "index":
            from skymem.jobs import index_run

            detail, outcomes = index_run.run(work, whom, dry_run=dry_run, **options)
        elif job in ("compact", "train"):
            from skymem.jobs.apart import run_apart

            detail, outcomes = run_apart(replace(work, **options), job, whom, dry_run=dry_run)
        else:
            from skymem.canaries import HomeCanaries
            from skymem.jobs import runner

            work = replace(work, canaries=HomeCanaries(self.workplace, self.engine), **options)
            detail, outcomes = runner.run(work, job, whom, dry_run=dry_run, plans=plans)
        if not dry_run:
            self.record(action or job, detail)
        return detail, outcomes

    def record(self, action: str, detail: dict[str, Any]) -> None:
        """Write a result to the status files; one that can't be is told in the result."""
        try:
            self.status_files().write_action(action, detail, now())
        except SkymemError as error:
            # The job is done and its result must be told: it goes to stdout all the same.
            detail["degraded"] = [*detail.get("degraded", []), f"status: {error}"]


def open_home(
    explicit: str | None = None,
    *,
    stop: Callable[[], str] = never_stopped,
    become_owner: bool = False,
    appending: bool = False,
    lenient: bool = False,
) -> Home:
    """Find and open a home.

    Args:
        explicit: `--home`, or None to look where design §3 says.
        stop: the stop flag of this process.
        become_owner: drop from root to the home's owner, for a process of our own.
        appending: the caller only appends: with `access: group` a member of the group may.
        lenient: go on where the rules are not usable, for who only appends or reads.

    Raises:
        HomeNotFoundError: there is none.
        NotAllowedError: it belongs to another user.
        HomeTooNewError: a newer release keeps it, in a format that is not known here.
        ConfigurationError: `retention_rules.yaml` is not usable.
    """
    from skymem.config.makeshift import rules_to_go_by

    choice = locate_home(explicit)
    paths = HomePaths(choice.path)
    owner = enter(choice, become_owner=become_owner, appending=appending)
    rules, faults = rules_to_go_by(paths.rules, paths.memory, lenient=lenient)
    if not owner and rules.access != "group":
        raise NotAllowedError(not_owner(choice))
    files = Files(_modes(rules, choice.path))
    home = Home(paths, choice.why, files, rules, stop, owner, faults)
    return home if (agent := binding()) is None else home.bind(agent)


def _modes(rules: RetentionRules, home: Path) -> Modes:
    if rules.access == "private":
        return Modes()
    return Modes(file=0o660, directory=0o2770, group=os.stat(home).st_gid)


def locate_home(explicit: str | None = None) -> HomeChoice:
    """Find a home without opening it.

    Raises:
        HomeNotFoundError: there is none.
        NotAllowedError: this user can't look into it.
        HomeTooNewError: a newer release keeps it, in a format that is not known here.
    """
    choice = locate(explicit, os.environ)
    must_be_known(HomePaths(choice.path))
    return choice


def home_to_make(explicit: str | None) -> Path:
    """Where `skymem init` without a path makes a home: where the CLI will look for it."""
    if explicit is not None or os.environ.get("SKYMEM_HOME"):
        return choose_home(explicit, os.environ, Path("/"), os.geteuid()).path
    return data_directory(os.environ)
