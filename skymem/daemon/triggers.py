"""Runs by hand while a daemon keeps the home: `skymem trigger` asks, the daemon carries out.

Such a run is the daemon's own: it is in the record of runs, never beside a scheduled run of the
same entry, and its result is where every other is. A request is a file of `run/triggers/` that the
asking process holds locked (flock) as long as it waits, so that one whose asker is gone is told
from one that waits, whatever became of the number of its process. `daemon.ask` is the other end.

    .ID.asking about to be asked; nobody looks into it
    ID.json    asked; whoever takes the name away first has it: the daemon, or an asker who gave up
    ID.taken   the daemon has it in hand
    ID.answer  what became of it
    ID.untold  the same as ID.taken, but no answer could be written: the disk is full
"""

import contextlib
import fcntl
import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skymem.errors import BusyError, SkymemError
from skymem.model.schedule import ScheduleEntry, by_hand
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import read_json

if TYPE_CHECKING:  # the asker imports this module too, and must start at once
    from skymem.daemon.journal import Journal
    from skymem.daemon.runner import Runner, RunResult

ASKING: Final = ".asking"
ASKED: Final = ".json"
TAKEN: Final = ".taken"
ANSWERED: Final = ".answer"
UNTOLD: Final = ".untold"

REQUEST_BYTES_MAX: Final = 4096
"""A request names one entry; what is longer is none."""

HEARTBEAT: Final = "heartbeat"

RUNS_MAX: Final = 16
"""Entries run by hand at the same time; more wait for the next look."""

DONE: Final = "done"
BUSY: Final = "busy"
REFUSED: Final = "refused"
DIED: Final = "died"


@dataclass(frozen=True, slots=True)
class Request:
    """An entry that somebody wants run now."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request."""

    state: str
    """`done`, or why not: `busy`, `refused`, or `died` where a daemon took it and was gone."""

    exit_code: int = 0
    detail: dict[str, Any] = field(default_factory=dict)
    """The job's own, where it is done."""

    reason: str = ""


def triggers_directory(paths: HomePaths) -> Path:
    """Where the requests of a home lie."""
    return paths.run / "triggers"


def read_answer(path: Path) -> Answer | None:
    """Read an answer, or None while there is none."""
    found = read_json(path)
    if found is None:
        return None
    # Another release may say more than this one knows; what it says of these must be of their kind.
    state, code = found.get("state"), found.get("exit_code", 0)
    detail, reason = found.get("detail", {}), found.get("reason", "")
    fits = isinstance(state, str) and isinstance(reason, str) and isinstance(detail, dict)
    if not fits or not state or type(code) is not int:
        return Answer(DIED, reason="its answer can't be read")
    return Answer(state, code, detail, reason)


class Triggers:
    """The daemon's end. `look` and the rest are for its main thread; none of them raises."""

    def __init__(
        self,
        paths: HomePaths,
        files: Files,
        *,
        runner: "Runner",
        journal: "Journal",
        find: Callable[[str], ScheduleEntry | None],
        ended: Callable[[ScheduleEntry], object] = lambda _entry: None,
    ) -> None:
        """Take up the place of requests, with the daemon's lock held.

        Args:
            paths: the home.
            files: how its files are written.
            runner: carries the runs out.
            journal: the daemon's log.
            find: an entry of the schedule by its name, as it stands when asked.
            ended: called with an entry whose run by hand has ended, on the run's thread.
        """
        self._directory = triggers_directory(paths)
        self._files = files
        self._runner = runner
        self._journal = journal
        self._find = find
        self._ended = ended
        self._threads: list[threading.Thread] = []
        self._complaint = ""
        self._answer_what_was_left()

    def waiting(self) -> list[Request]:
        """Take in hand what was asked for, oldest first; what nobody waits for is swept away."""
        found: list[Request] = []
        room = RUNS_MAX - sum(thread.is_alive() for thread in self._threads)
        for name in self._names():
            if len(found) == room:
                break
            if not name.endswith(ASKED) or not self._is_waited_for(name):
                continue
            if request := self._take(name.removesuffix(ASKED)):
                found.append(request)
        self._sweep()
        return found

    def answer(self, request: Request, answer: Answer) -> None:
        """Tell the asker what became of its request, or that there is no room to tell it."""
        text = json.dumps(asdict(answer)).encode() + b"\n"
        taken, answered, untold = (
            self._directory / (request.id + suffix) for suffix in (TAKEN, ANSWERED, UNTOLD)
        )
        if not self._try(lambda: self._files.replace(answered, text)):
            self._try(lambda: self._files.rename(taken, untold))

    def look(self, changed: Callable[[], object], *, stopping: bool = False) -> None:
        """Carry out what was asked for, each on a thread of its own; call it at every wake-up.

        Args:
            changed: called when a run is in hand and when it is not, as `Runner.carry_out` does.
            stopping: the daemon is about to end: whoever asks now is told so.
        """
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        for request in self.waiting():
            entry = self._find(request.name)
            if stopping:
                self.answer(request, Answer(BUSY, reason="the daemon, which is stopping"))
            elif reason := _why_not(entry, request.name):
                self.answer(request, Answer(REFUSED, reason=reason))
            elif entry is not None:
                self._start(request, entry, changed)

    def close(self) -> None:
        """Wait until what is in hand is answered; call it before the daemon's lock is free."""
        for thread in self._threads:
            thread.join()
        self._sweep()

    # -- one request ------------------------------------------------------------------------------

    def _start(self, request: Request, entry: ScheduleEntry, changed: Callable[[], object]) -> None:
        thread = threading.Thread(
            target=self._carry_out, args=(request, entry, changed), name=f"trigger {entry.name}"
        )
        try:
            thread.start()
        except RuntimeError as error:  # the host has no thread left for us
            self.answer(request, Answer(REFUSED, reason=f"the daemon can't run it now: {error}"))
        else:
            self._threads.append(thread)

    def _carry_out(
        self, request: Request, entry: ScheduleEntry, changed: Callable[[], object]
    ) -> None:
        self._journal.info("run asked for by hand", name=entry.name)
        try:
            result = self._runner.carry_out(entry, changed)
        except BusyError as error:
            self.answer(request, Answer(BUSY, reason=str(error.args[1])))
        else:
            self.answer(request, Answer(DONE, result.exit_code, _told(result)))
            self._ended(entry)

    def _take(self, identity: str) -> Request | None:
        request = self._read(identity)
        if request is None:  # not ours to carry out: whoever wrote it hears no answer
            self._remove(identity + ASKED)
            return None
        asked, taken = (self._directory / (identity + suffix) for suffix in (ASKED, TAKEN))
        try:
            self._files.rename(asked, taken)
        except OSError:  # its asker gave up at this very moment
            return None
        return request

    def _read(self, identity: str) -> Request | None:
        """Read a request that the home's owner wrote; anybody else's is none (promise 9)."""
        with _opened(self._directory / (identity + ASKED)) as fd:
            if fd is None:
                return None
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
                return None
            try:
                value = json.loads(os.read(fd, REQUEST_BYTES_MAX))
            except (OSError, ValueError, RecursionError):
                return None
        name = value.get("name") if isinstance(value, dict) else None
        return Request(identity, name) if isinstance(name, str) else None

    # -- what was left ----------------------------------------------------------------------------

    def _answer_what_was_left(self) -> None:
        """Tell those who still wait for a daemon before this one that it is gone."""
        for name in self._names():
            identity, suffix = os.path.splitext(name)
            if name.startswith(".") and name.endswith(".new"):
                self._remove(name)  # an answer that a kill cut short
            elif suffix == TAKEN and not (self._directory / (identity + ANSWERED)).exists():
                reason = "the daemon that carried it out is gone, and another has come"
                self.answer(Request(identity, ""), Answer(DIED, reason=reason))
        self._sweep()

    def _sweep(self) -> None:
        """Remove whatever belongs to a request nobody waits for any more."""
        names = self._names()
        alive = {
            name.partition(".")[0]
            for name in names
            if name.endswith((ASKED, TAKEN, UNTOLD)) and self._is_waited_for(name)
        }
        for name in names:
            if self._is_left(name, alive):
                self._remove(name)

    def _is_left(self, name: str, alive: set[str]) -> bool:
        if name.startswith("."):  # on its way to its name: a request, or an answer of ours
            return name.endswith(ASKING) and not self._is_waited_for(name)
        return name.partition(".")[0] not in alive

    def _is_waited_for(self, name: str) -> bool:
        with _opened(self._directory / name) as fd:
            if fd is None:
                return False
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:
                return False
        return False

    def _names(self) -> list[str]:
        """What lies there, oldest first."""
        try:
            with os.scandir(self._directory) as found:
                aged = sorted((_age(one), one.name) for one in found)
        except FileNotFoundError:
            return []
        except OSError as error:
            self._complain(error)
            return []
        return [name for _, name in aged]

    def _remove(self, name: str) -> None:
        def unlink() -> None:
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                self._files.unlink(self._directory / name)

        self._try(unlink)

    def _try(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except (SkymemError, OSError) as error:
            self._complain(error)
            return False
        return True

    def _complain(self, error: Exception) -> None:
        """Log a trouble once, not at every look."""
        if str(error) != self._complaint:
            self._complaint = str(error)
            self._journal.error("trouble with requests by hand", error=error)


def _told(result: "RunResult") -> dict[str, Any]:
    return {"job": result.job, **result.detail}


def _age(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """Open for reading, whatever lies there; None where it can't be."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _why_not(entry: ScheduleEntry | None, name: str) -> str:
    """Why an entry can't be run by hand; "" where it can."""
    if entry is None:
        hand = by_hand(name)
        return f"the daemon that runs knows no entry {name!r}{hand}; reload it if that is new"
    if entry.job == HEARTBEAT:
        return f"{entry.job!r} can't be triggered: the daemon does that by itself"
    return ""
