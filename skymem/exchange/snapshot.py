"""One moment of a home that is at work: its files, opened while nothing moves between tiers.

Under every agent's job lock, and the append and ledger locks for an instant each (design §4 How),
the files are opened and their sizes noted. Lines are only appended, and what is rewritten gets a
new inode: so the bytes up to those sizes are read afterwards, without any lock, for as long as it
takes.
"""

import contextlib
import errno
import os
import resource
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from skymem.errors import BusyError, DiskError
from skymem.exchange.container import COPY_BYTES, Piece
from skymem.jobs.workplace import DEFAULT_AGENT, Workplace
from skymem.stores.files import disk_errors
from skymem.stores.lock import held

TRY_SECONDS: Final = 0.25
"""How long one agent's lock is waited for while those of others are held."""

WAIT_SECONDS: Final = 300.0
"""How long a job at work is waited for, nothing held."""

APPEND_SECONDS: Final = 30.0
TRIES_MAX: Final = 20

PARTS: Final = ("audit", "memory", "state", "status")
NAMED: Final = ("retention_rules.yaml", "schedule.yaml", "skymem.json")
DERIVED: Final = (
    "state/catalog.db", "state/catalog.db-wal", "state/catalog.db-shm", "state/words",
    "state/embeddings", "state/models", "status/engine.json", "status/sky_heartbeat.json",
)  # fmt: skip
"""Made anew by itself, or true of the running program alone."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file as it was at that moment."""

    name: str
    """Relative to the home."""

    fd: int
    size: int
    mode: int

    def piece(self) -> Piece:
        """What goes into a container."""
        return Piece(self.name, self.size, self.mode, lambda: self.blocks(self.size))

    def blocks(self, size: int, start: int = 0) -> Iterator[bytes]:
        """Yield its bytes from `start` to `size`.

        Raises:
            DiskError: it can't be read, or has become shorter.
        """
        with disk_errors(Path(self.name)):
            while start < size:
                block = os.pread(self.fd, min(COPY_BYTES, size - start), start)
                if not block:
                    raise DiskError(self.name, "became shorter while it was copied; do it again")
                start += len(block)
                yield block


@dataclass(slots=True)
class Snapshot:
    """What was there at that moment."""

    files: list[Opened] = field(default_factory=list)
    starts: dict[str, int] = field(default_factory=dict)
    """Of each drain that readers still read: from where on."""

    passed_over: list[str] = field(default_factory=list)
    """What is no regular file, or no file of a home: links, sockets."""

    def close(self) -> None:
        """Let the files go."""
        for one in self.files:
            os.close(one.fd)
        self.files.clear()

    def add(self, root: Path, path: Path) -> None:
        """Open a file; one that has just gone is not there."""
        name = str(path.relative_to(root))
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENXIO):
                raise
            self.passed_over.append(name)
            return
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(fd)
            self.passed_over.append(name)
            return
        self.files.append(Opened(name, fd, status.st_size, status.st_mode & 0o660))


@contextlib.contextmanager
def snapshot_of(work: Workplace, whose: Sequence[str] | None = None) -> Iterator[Snapshot]:
    """Take one of the whole home, or of some agents' directories; derived files are left out.

    Raises:
        BusyError: a job works on an agent for too long.
        DiskError: a file can't be opened.
        InterruptedRunError: a signal asked to stop.
    """
    snapshot = Snapshot()
    try:
        _allow_many_files()
        with still(work, whose) as agents:
            _open_agents(work, agents, snapshot)
            if whose is None:
                _open_rest(work, agents, snapshot)
            elif DEFAULT_AGENT in whose:
                snapshot.add(work.paths.root, work.paths.flat_short_term)
        yield snapshot
    finally:
        snapshot.close()


def _allow_many_files() -> None:
    """A home may have thousands of small files in trash: as many as the system lets us have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextlib.contextmanager
def still(work: Workplace, whose: Sequence[str] | None = None) -> Iterator[Sequence[str]]:
    """Hold the job lock of these agents, or of every one there is, in order; gives their names.

    A rehearsal makes no lock: what it tells may be a moment apart.

    Raises:
        BusyError: a job works on an agent for too long.
    """
    if work.rehearsing:
        yield work.agents() if whose is None else whose
        return
    work.files.make_directory(work.paths.run)
    for _ in range(TRIES_MAX):
        agents = work.agents() if whose is None else whose
        with contextlib.ExitStack() as stack:
            busy = next((one for one in agents if not _lock(work, one, stack)), None)
            if busy is None and agents == (work.agents() if whose is None else whose):
                yield agents
                return
        if busy is not None:  # the others may go on while that one is waited for
            with _held(work, busy, WAIT_SECONDS):
                pass
    raise BusyError("the home", "jobs that come one after another")


def _lock(work: Workplace, agent: str, stack: contextlib.ExitStack) -> bool:
    try:
        stack.enter_context(_held(work, agent, TRY_SECONDS))
    except BusyError:
        return False
    return True


def _held(work: Workplace, agent: str, seconds: float) -> contextlib.AbstractContextManager[None]:
    lock = work.paths.job_lock(work.admit(agent))
    return held(lock, "backup", deadline_seconds=seconds, stop=work.stop)


def _kept(
    work: Workplace, lock: Path, holder: str, **more: Any
) -> contextlib.AbstractContextManager[None]:
    if work.rehearsing:
        return contextlib.nullcontext()
    return held(lock, holder, deadline_seconds=APPEND_SECONDS, stop=work.stop, **more)


def _open_agents(work: Workplace, agents: Sequence[str], snapshot: Snapshot) -> None:
    root = work.paths.root
    with disk_errors(root):
        for agent in agents:
            paths = work.agent_paths(agent)
            mode = work.files.modes.file
            with _kept(work, paths.append_lock, "", mode=mode):
                _open_under(root, paths.directory, snapshot)
                tails = work.shelf(agent).drains.tails()
                snapshot.starts |= {str(path.relative_to(root)): at for path, at in tails}


def _open_rest(work: Workplace, agents: Sequence[str], snapshot: Snapshot) -> None:
    root = work.paths.root
    with disk_errors(root):
        opened = {f"memory/{agent}" for agent in agents}
        ledger_lock = work.paths.run / "ledger.lock"
        with _kept(work, ledger_lock, "backup"):
            for part in PARTS:
                _open_under(root, root / part, snapshot, opened)
        for name in NAMED:
            snapshot.add(root, root / name)


def _open_under(
    root: Path, directory: Path, snapshot: Snapshot, without: set[str] | None = None
) -> None:
    """Open what is below a directory, but what is derived or under way."""
    try:
        found = sorted(os.scandir(directory), key=lambda item: item.name)
    except FileNotFoundError:
        return
    for item in found:
        path = Path(item.path)
        name = str(path.relative_to(root))
        if name in DERIVED or (without and name in without) or _is_passing(item.name):
            continue
        if item.is_dir(follow_symlinks=False):
            _open_under(root, path, snapshot, without)
        else:
            snapshot.add(root, path)


def _is_passing(name: str) -> bool:
    """A lock, or what a write leaves behind when it is killed."""
    return name == ".lock" or (name.startswith(".") and name.endswith(".new"))
