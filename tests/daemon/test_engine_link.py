"""Where a service manager keeps the daemon, the engine is the daemon's to start and to end."""

import contextlib
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.app import init_home
from skymem.daemon.ask import INSIDE, ask_for_engine
from skymem.daemon.engine_link import EngineLink
from skymem.daemon.journal import Journal
from skymem.engine.client import Engine
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held, holder_of
from skymem.stores.status import StatusFiles, read_json

FILES = Files()
NEVER = (sys.executable, "-c", "raise SystemExit('no engine was to be started here')")


@pytest.fixture
def paths(home: Path) -> Iterator[HomePaths]:
    """A home whose daemon, so its files say, is a service's; it is this process."""
    init_home(home)
    made = HomePaths(home)
    FILES.make_directory(made.run)
    StatusFiles(made, FILES).write_heartbeat({"ts": time.time(), "managed": True})
    with held(made.daemon_lock, "skymem run", deadline_seconds=1):
        yield made
    if holder := holder_of(made.engine_lock):  # it may be on its way out already
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(re.findall(r"\d+", holder)[-1]), signal.SIGKILL)


def link(paths: HomePaths, *, managed: bool = True) -> EngineLink:
    return EngineLink(paths, FILES, Journal(time.time), {}, managed=managed)


def outside(paths: HomePaths) -> Engine:
    """A client that could start no engine if it wanted to."""
    return Engine(
        paths,
        FILES,
        EngineRules(),
        command=NEVER,
        elsewhere=lambda: ask_for_engine(paths, FILES, {}),
    )


def test_an_engine_that_is_wanted_outside_is_started_and_ended_by_the_daemon(
    paths: HomePaths,
) -> None:
    daemon = link(paths)
    assert ask_for_engine(paths, FILES, {})
    assert ask_for_engine(paths, FILES, {})  # two may ask at once
    daemon.look()
    assert not paths.engine_wanted.exists()
    assert outside(paths).overview()["running"] is True

    daemon.say_goodbye()
    assert holder_of(paths.engine_lock) == ""
    told = read_json(paths.engine_status) or {}
    assert (told["running"], told["left"]) == (False, "a client asked")


def test_a_daemon_that_starts_none_is_told_of_and_nobody_steps_in(
    paths: HomePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.engine.launch.START_SECONDS", 0.5)
    with pytest.raises(EngineUnavailableError, match="the daemon was asked for it and has none"):
        outside(paths).overview()
    assert paths.engine_wanted.exists()


def test_elsewhere_everybody_starts_his_own(paths: HomePaths) -> None:
    assert not ask_for_engine(paths, FILES, {INSIDE: "1"})  # a child of the daemon
    StatusFiles(paths, FILES).write_heartbeat({"ts": time.time(), "managed": False})
    assert not ask_for_engine(paths, FILES, {})  # by hand: the daemon has no service around it
    assert not paths.engine_wanted.exists()


def test_a_dead_daemon_is_not_asked(home: Path) -> None:
    made = HomePaths(home)
    FILES.make_directory(made.run)
    StatusFiles(made, FILES).write_heartbeat({"ts": time.time(), "managed": True})

    assert not ask_for_engine(made, FILES, {})


def test_a_daemon_by_hand_leaves_the_engine_to_those_who_use_it(paths: HomePaths) -> None:
    engine = Engine(paths, FILES, EngineRules())
    engine.overview()
    link(paths, managed=False).say_goodbye()

    assert holder_of(paths.engine_lock)
    engine.leave()
