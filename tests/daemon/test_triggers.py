"""A run by hand while a daemon keeps the home is the daemon's own run."""

import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from skymem.daemon import ask
from skymem.daemon.ask import ask_daemon, nudge
from skymem.daemon.journal import Journal
from skymem.daemon.runner import Runner
from skymem.daemon.runs import RunBook, read_runs
from skymem.daemon.stop import Stop
from skymem.daemon.triggers import Answer, Triggers
from skymem.errors import (
    BusyError,
    DaemonGoneError,
    DiskError,
    InterruptedRunError,
    UsageError,
)
from skymem.model.schedule import Every, ScheduleEntry
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held, never_stopped
from skymem.stores.status import StatusFiles

CHILD = [sys.executable, "-S", str(Path(__file__).with_name("child.py"))]
ENTRIES = {
    name: ScheduleEntry(name, "promote", Every(3600), timeout_seconds=30)
    for name in ("told", "unwell", "sleep_1", "sleep_2", "crash")
}


class Keeper:
    """What a daemon does about requests, on this test's own thread."""

    def __init__(self, home: Path, command: list[str]) -> None:
        self.paths, self.files = HomePaths(home), Files()
        self.journal = Journal(time.time)
        self.entries = dict(ENTRIES)
        self.runner = Runner(
            command,
            book=RunBook(self.paths, self.files, lambda error: pytest.fail(str(error))),
            status=StatusFiles(self.paths, self.files),
            journal=self.journal,
            clock=time.time,
            stop=Stop(),
        )
        self.triggers = self.anew()

    def anew(self) -> Triggers:
        return Triggers(
            self.paths,
            self.files,
            runner=self.runner,
            journal=self.journal,
            find=self.entries.get,
        )

    def look_until(self, *futures: "Future[Any]", stopping: bool = False) -> None:
        deadline = time.monotonic() + 20
        while not all(future.done() for future in futures):
            assert time.monotonic() < deadline
            self.triggers.look(lambda: None, stopping=stopping)
            time.sleep(0.02)

    def strays(self) -> list[str]:
        directory = self.paths.run / "triggers"
        return sorted(os.listdir(directory)) if directory.exists() else []


@pytest.fixture(autouse=True)
def children_find_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))


@pytest.fixture
def keeper(home: Path) -> Iterator[Keeper]:
    made = Keeper(home, [*CHILD, str(home)])
    yield made
    made.triggers.close()


@pytest.fixture
def up(keeper: Keeper) -> Iterator[None]:
    """The daemon's lock is held."""
    keeper.paths.run.mkdir(exist_ok=True)
    with held(keeper.paths.daemon_lock, "skymem run", deadline_seconds=1):
        yield


@pytest.fixture
def asks(keeper: Keeper) -> Iterator[Callable[..., "Future[Answer | None]"]]:
    """Ask from a thread of its own, as a process of its own would."""
    with ThreadPoolExecutor() as pool:

        def start(name: str, stop: Callable[[], str] = never_stopped) -> "Future[Answer | None]":
            return pool.submit(
                ask_daemon, keeper.paths, keeper.files, name, stop=stop, tell=lambda _text: None
            )

        yield start


def requests(keeper: Keeper, suffix: str, count: int = 1) -> list[Path]:
    """Wait for files of that kind."""
    deadline = time.monotonic() + 10
    while len(found := list((keeper.paths.run / "triggers").glob(f"[!.]*{suffix}"))) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_without_a_daemon_nothing_is_asked(keeper: Keeper, asks: Any) -> None:
    assert asks("told").result() is None
    assert keeper.strays() == []


def test_run_once_takes_no_requests_so_none_is_left_to_it(keeper: Keeper, asks: Any) -> None:
    keeper.paths.run.mkdir()
    with held(keeper.paths.daemon_lock, "skymem run --once", deadline_seconds=1):
        assert asks("told").result() is None


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize(("name", "code", "ok"), [("told", 0, True), ("unwell", 21, False)])
def test_the_run_is_in_the_record_and_its_result_comes_back(
    keeper: Keeper, asks: Any, name: str, code: int, ok: bool
) -> None:
    asked = asks(name)
    keeper.look_until(asked)
    answer = asked.result()

    assert (answer.state, answer.exit_code, answer.detail["ok"]) == ("done", code, ok)
    assert answer.detail["job"] == "promote"
    assert read_runs(keeper.paths)[name].last_exit_code == code
    assert keeper.strays() == []


@pytest.mark.usefixtures("up")
def test_a_child_that_is_killed_is_told_with_what_killed_it(keeper: Keeper, asks: Any) -> None:
    asked = asks("crash")
    keeper.look_until(asked)

    assert asked.result().exit_code == 128 + signal.SIGKILL
    assert "killed by SIGKILL" in asked.result().detail["error"]


@pytest.mark.usefixtures("up")
def test_an_entry_never_runs_beside_itself(keeper: Keeper, asks: Any) -> None:
    """Whether the schedule's run or one by hand is there first."""
    first = asks("sleep_1")
    while not keeper.runner.running():
        keeper.triggers.look(lambda: None)
        time.sleep(0.01)
    second, other = asks("sleep_1"), asks("told")
    keeper.look_until(second, other)
    with pytest.raises(BusyError, match=r"entry sleep_1 is held by its run since 20\d\d-"):
        second.result()
    assert other.result().state == "done", "another entry is not held up"
    with pytest.raises(BusyError):
        keeper.runner.carry_out(ENTRIES["sleep_1"], lambda: None)
    keeper.look_until(first)
    assert first.result().state == "done"
    starts = [
        line for line in (keeper.paths.root / "log").read_text().splitlines() if "start" in line
    ]
    assert len([line for line in starts if "sleep_1" in line]) == 1


@pytest.mark.usefixtures("up")
def test_an_entry_the_daemon_does_not_know_is_refused(keeper: Keeper, asks: Any) -> None:
    asked = asks("fresh")
    keeper.look_until(asked)
    with pytest.raises(UsageError, match="knows no entry 'fresh'; reload it if that is new"):
        asked.result()


@pytest.mark.usefixtures("up")
def test_a_daemon_that_stops_begins_nothing(keeper: Keeper, asks: Any) -> None:
    asked = asks("told")
    keeper.look_until(asked, stopping=True)
    with pytest.raises(BusyError, match="the daemon, which is stopping"):
        asked.result()
    assert not (keeper.paths.root / "log").exists()


@pytest.mark.usefixtures("up")
def test_a_signal_takes_an_untaken_request_back(keeper: Keeper, asks: Any) -> None:
    came: list[str] = []
    asked = asks("told", lambda: "".join(came))
    requests(keeper, ".json")
    came.append("SIGINT")
    with pytest.raises(InterruptedRunError):
        asked.result()
    keeper.triggers.look(lambda: None)

    assert keeper.strays() == []
    assert not keeper.runner.running()


@pytest.mark.usefixtures("up")
def test_a_daemon_that_takes_nothing_is_told_in_the_end(
    keeper: Keeper, asks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "TAKE_SECONDS", 0.6)
    with pytest.raises(BusyError, match="which takes no request"):
        asks("told").result()
    assert keeper.strays() == []


def test_a_daemon_gone_before_it_took_the_request_leaves_it_to_the_asker(
    keeper: Keeper, asks: Any
) -> None:
    keeper.paths.run.mkdir()
    with held(keeper.paths.daemon_lock, "skymem run", deadline_seconds=1):
        asked = asks("told")
        requests(keeper, ".json")

    assert asked.result() is None
    assert keeper.strays() == []


def test_a_daemon_gone_after_it_took_the_request_is_told(keeper: Keeper, asks: Any) -> None:
    keeper.paths.run.mkdir()
    with held(keeper.paths.daemon_lock, "skymem run", deadline_seconds=1):
        asked = asks("told")
        requests(keeper, ".json")
        assert [one.name for one in keeper.triggers.waiting()] == ["told"]
    with pytest.raises(DaemonGoneError, match="gone before it could tell how the run of told"):
        asked.result()
    assert keeper.strays() == []


@pytest.mark.usefixtures("up")
def test_a_daemon_that_comes_after_tells_those_who_still_wait(keeper: Keeper, asks: Any) -> None:
    asked = asks("told")
    requests(keeper, ".json")
    keeper.triggers.waiting()
    (keeper.paths.run / "triggers/.x.answer.1.new").write_text("{")
    keeper.anew()
    with pytest.raises(DaemonGoneError):
        asked.result()
    assert keeper.strays() == []


@pytest.mark.usefixtures("up")
def test_what_a_killed_asker_left_is_swept_and_not_carried_out(keeper: Keeper) -> None:
    code = (
        "import sys; from pathlib import Path; from skymem.daemon.ask import _asked, time; "
        "from skymem.stores.files import Files; from skymem.stores.home import HomePaths\n"
        "with _asked(HomePaths(Path(sys.argv[1])), Files(), 'told'): time.sleep(60)"
    )
    asker = subprocess.Popen([sys.executable, "-c", code, str(keeper.paths.root)])
    (request,) = requests(keeper, ".json")
    assert request.stat().st_mode & 0o777 == 0o600
    asker.kill()
    asker.wait()
    (request.parent / "0.answer").write_text("{}")
    (request.parent / f".{'0' * 16}.asking").write_text("")

    keeper.triggers.look(lambda: None)

    assert keeper.strays() == []
    assert not keeper.runner.running()


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize(
    "text", ["", "[]", '{"name": 7}', "{" * 4000, '{"name": "told"' + " " * 5000 + "}"]
)
def test_what_is_no_request_is_taken_away_and_harms_nothing(keeper: Keeper, text: str) -> None:
    directory = keeper.paths.run / "triggers"
    directory.mkdir()
    path = directory / "1.json"
    path.write_text(text)
    fd = os.open(path, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.mkfifo(directory / "2.json")
    (directory / "3.json").symlink_to("/etc/passwd")
    with contextlib.closing(os.fdopen(fd)):
        assert keeper.triggers.waiting() == []

    assert keeper.strays() == []
    assert Path("/etc/passwd").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
@pytest.mark.usefixtures("up")
def test_a_request_of_another_user_is_none(
    keeper: Keeper, asks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask, "TAKE_SECONDS", 0.6)
    asked = asks("told")
    (request,) = requests(keeper, ".json")
    os.chown(request, 61_001, 61_001)

    assert keeper.triggers.waiting() == []
    assert not request.exists()
    with pytest.raises(BusyError, match="which takes no request"):
        asked.result()


def test_a_nudge_wakes_only_a_holder_that_listens(keeper: Keeper) -> None:
    """SIGUSR1 would end any other process."""
    code = (
        "import signal, sys; from pathlib import Path; from skymem.stores.lock import held\n"
        "if sys.argv[2] == 'listens': signal.signal(signal.SIGUSR1, lambda *_: print('woken'))\n"
        "with held(Path(sys.argv[1]), 'skymem run', deadline_seconds=1):\n"
        " print('up', flush=True); signal.sigtimedwait([], 3) if len(sys.argv) > 3 else None\n"
        " sys.stdin.read()"
    )
    keeper.paths.run.mkdir()
    lock = keeper.paths.daemon_lock
    assert not nudge(keeper.paths), "nobody holds it"
    for manner, safe in (("deaf", False), ("listens", True)):
        with subprocess.Popen(
            [sys.executable, "-c", code, str(lock), manner],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            assert nudge(keeper.paths) is safe
            told, _ = process.communicate(timeout=60)
        assert (process.returncode, told) == (0, "woken\n" if safe else "")


def test_a_lock_that_names_another_process_wakes_nobody(keeper: Keeper) -> None:
    keeper.paths.run.mkdir()
    bystander = subprocess.Popen(["sleep", "60"])
    lock = keeper.paths.daemon_lock
    try:
        with held(lock, "skymem run", deadline_seconds=1):
            lock.write_text(f"process {bystander.pid} (skymem run)")
            assert not nudge(keeper.paths)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


class NoRoomForAnswers(Files):
    """A disk that is full when the daemon wants to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = 0

    def create(self, path: Path) -> int:
        if ".answer" in path.name:
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().create(path)


@pytest.mark.usefixtures("up")
@pytest.mark.parametrize("name", ["told", "sleep_1"])
def test_whoever_waits_for_an_answer_that_can_not_be_written_is_told(
    keeper: Keeper, asks: Any, name: str
) -> None:
    full = keeper.files = NoRoomForAnswers()
    keeper.triggers = keeper.anew()
    asked = asks(name)
    keeper.look_until(asked)

    with pytest.raises(DiskError, match=f"could not write how the run of {name} ended"):
        asked.result()
    assert full.refused == 1
    assert read_runs(keeper.paths)[name].last_exit_code == 0
    assert keeper.strays() == []
