"""What keeps recall at hand leaves when it should, and answers nobody but who may ask."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import skymem
from skymem.hooks import quick
from skymem.stores.home import HomePaths
from skymem.stores.violations import read_violations
from tests.acceptance.homes import wait_until
from tests.hooks.agents import CodingAgent
from tests.hooks.at_hand import (
    ASKED,
    MORE,
    ON,
    REPORTS,
    SECONDS,
    answered,
    end,
    pid_of,
    standing_by,
)  # fmt: skip


def test_a_home_that_was_moved_is_asked_anew(coding_agent: CodingAgent, tmp_path: Path) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(coding_agent.paths) as process:
        moved = coding_agent.paths.root.rename(tmp_path / "moved")
        there = CodingAgent(HomePaths(moved))
        assert "7am" in there.calls("prompt", ASKED, **ON).context
        assert process.wait(SECONDS) == 0
        wait_until(lambda: pid_of(there.paths), "one of the home's new place", SECONDS)
        assert answered(there.paths) is not None
        end(there.paths)


def test_it_leaves_with_its_home(coding_agent: CodingAgent) -> None:
    with standing_by(coding_agent.paths) as process:
        shutil.rmtree(coding_agent.paths.root)
        assert process.wait(SECONDS) == 0


def test_it_leaves_when_nobody_asks(coding_agent: CodingAgent) -> None:
    program = (
        "import sys; from pathlib import Path; from skymem.hooks.standby import Standby;"
        "from skymem.stores.home import HomePaths;"
        "Standby(HomePaths(Path(sys.argv[1])), idle_seconds=0.05).run()"
    )
    coding_agent.paths.run.mkdir()
    command = [sys.executable, "-c", program, str(coding_agent.paths.root)]
    assert subprocess.run(command, check=False, timeout=SECONDS).returncode == 0
    assert not coding_agent.paths.hook_socket.exists()


def test_after_an_upgrade_it_leaves_what_is_asked_to_the_new_one(
    coding_agent: CodingAgent, tmp_path: Path
) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    package = tmp_path / "installed" / "skymem"
    shutil.copytree(Path(skymem.__file__).parent, package)
    with standing_by(coding_agent.paths, PYTHONPATH=str(package.parent)) as process:
        os.utime(package / "policy" / "context.py")
        assert answered(coding_agent.paths) is None
        assert process.wait(SECONDS) == 0


def test_one_of_another_installation_gives_way(coding_agent: CodingAgent, tmp_path: Path) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    package = tmp_path / "other" / "skymem"
    shutil.copytree(Path(skymem.__file__).parent, package)
    with standing_by(coding_agent.paths, PYTHONPATH=str(package.parent)) as process:
        assert answered(coding_agent.paths) is None
        assert process.wait(SECONDS) == 0


def test_who_is_bound_to_another_agent_is_refused_once(
    coding_agent: CodingAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(coding_agent.paths):
        told = coding_agent.calls("prompt", ASKED, **ON, SKYMEM_BOUND_AGENT="milton")
        monkeypatch.setenv("SKYMEM_BOUND_AGENT", "milton")
        assert answered(coding_agent.paths) is None

    assert "milton" in told.message
    assert "7am" not in told.out
    assert read_violations(coding_agent.paths)["milton"].count == 1


def test_its_socket_is_the_owners_alone(coding_agent: CodingAgent) -> None:
    with standing_by(coding_agent.paths):
        assert coding_agent.paths.hook_socket.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming somebody else takes root")
def test_another_user_is_neither_answered_nor_asked(coding_agent: CodingAgent) -> None:
    paths = coding_agent.paths
    with standing_by(paths):
        paths.run.chmod(0o777)
        paths.hook_socket.chmod(0o666)
        assert a_stranger_asks(paths.run) == b""
    paths.hook_socket.unlink()
    with somebody_else(paths.run):
        assert quick.dial(str(paths.root)) is None


def a_stranger_asks(run: Path) -> bytes:
    """What another user is told who connects."""
    told_in, told_out = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(run)
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect("hook.sock")
            stranger.settimeout(SECONDS)
            with contextlib.suppress(ConnectionError):
                os.write(told_out, stranger.recv(1))
        os._exit(0)
    os.close(told_out)
    with os.fdopen(told_in, "rb") as stream:
        told = stream.read()
    assert os.waitpid(child, 0)[1] == 0
    return told


@contextlib.contextmanager
def somebody_else(run: Path) -> Iterator[None]:
    """A stranger who listens under the name of ours."""
    ready_in, ready_out = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(run)
        os.setuid(65534)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.bind("hook.sock")
            stranger.listen()
            os.write(ready_out, b"x")
            signal.pause()
    try:
        os.read(ready_in, 1)
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready_in)
        os.close(ready_out)


def test_an_answer_loads_nothing_that_is_not_at_hand(coding_agent: CodingAgent) -> None:
    coding_agent.short_term.write_bytes(REPORTS + MORE)
    program = """
import sys
from dataclasses import replace
from skymem.app import open_home
from skymem.hooks.event import Event
from skymem.hooks.run import answer_of, spelled
from skymem.hooks.standby import load

load()
home = open_home(sys.argv[1], lenient=True)
before = {*sys.modules}
answer = answer_of(home, "prompt", "sky", Event.read(sys.stdin.buffer.read()))
assert "7am" in spelled("prompt", answer)[1]
answer.afterwards(True)
print(*sorted({*sys.modules} - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(coding_agent.paths.root)],
        input=ASKED, capture_output=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == ([], b"")
