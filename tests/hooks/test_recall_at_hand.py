"""A process keeps recall at hand: it answers as the usual way does, and is never in the way."""

import _socket
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import skymem
from skymem.hooks import hung, quick
from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of
from skymem.stores.violations import read_violations
from tests.acceptance.homes import wait_until
from tests.conftest import line
from tests.hooks.agents import CodingAgent

EVENT = {
    "session_id": "s1",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "when are the reports due?",
}
ASKED = json.dumps(EVENT).encode()
REPORTS = line("The reports are due at 7am on Mondays", 0.9)
MORE = line("The reports for Ann are due on Friday", 0.9)
ON = {"SKYMEM_HOOK_STANDBY": "on"}
SECONDS = 100


def start(paths: HomePaths, agent: str = "sky", **environment: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "skymem.hooks", str(paths.root), agent]
    return subprocess.Popen(command, cwd="/", env={**os.environ, **environment})


def pid_of(paths: HomePaths) -> int:
    found = re.search(r"process (\d+)", holder_of(paths.hook_lock))
    return int(found[1]) if found else 0


def end(paths: HomePaths) -> None:
    if pid := pid_of(paths):
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def connected(paths: HomePaths) -> Iterator["_socket.socket"]:
    found: list[_socket.socket] = []

    def dial() -> bool:
        one = quick.dial(str(paths.root))
        found.extend([one] if one else [])
        return one is not None

    wait_until(dial, "somebody answers prompts", SECONDS)
    try:
        yield found[0]
    finally:
        found[0].close()


def answered(paths: HomePaths, agent: str = "sky") -> tuple[bytes, bytes] | None:
    """What it alone answers; None where it leaves that to the usual way."""
    with connected(paths) as connection:
        return quick.ask(connection, quick.request(agent, ASKED), time.monotonic() + SECONDS)


@contextlib.contextmanager
def standing_by(paths: HomePaths, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    process = start(paths, **environment)
    try:
        with connected(paths):
            pass
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "environment",
    [{}, {"SKYMEM_CONTEXT_LIMIT": "1"}, {"SKYMEM_ENABLED": "no"}, {"SKYMEM_BOUND_AGENT": "sky"}],
)
def test_it_answers_as_the_usual_way(
    coding_agent: CodingAgent, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    coding_agent.short_term.write_bytes(REPORTS + MORE + line("The cat is called Tom", 0.9))
    usual = coding_agent.calls("prompt", ASKED, **environment)
    with standing_by(coding_agent.paths):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        assert answered(coding_agent.paths) == (usual.err.encode(), usual.out.encode())
        whole = coding_agent.calls("prompt", ASKED, **environment, **ON)

    assert whole == usual
    assert bool(usual.out) == ("SKYMEM_ENABLED" not in environment)


def test_what_is_written_meanwhile_is_recalled_and_what_is_gone_is_not(
    coding_agent: CodingAgent,
) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(coding_agent.paths):
        answered(coding_agent.paths)
        with coding_agent.short_term.open("ab") as stream:
            stream.write(MORE)
        _, told = answered(coding_agent.paths) or (b"", b"")
        assert b"7am" in told
        assert b"Friday" in told
        coding_agent.short_term.write_bytes(MORE)
        _, told = answered(coding_agent.paths) or (b"", b"")

    assert b"7am" not in told
    assert b"Friday" in told


def test_rules_are_followed_as_they_are_now(coding_agent: CodingAgent) -> None:
    paths = coding_agent.paths
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(paths):
        usable = paths.rules.read_bytes()
        paths.rules.write_bytes(b"no: such\n")
        assert answered(paths) is None
        assert "rules" in coding_agent.calls("prompt", ASKED, **ON).err
        paths.rules.write_bytes(usable)

        assert answered(paths) is not None


def test_a_first_prompt_answers_itself_and_has_it_started(coding_agent: CodingAgent) -> None:
    paths = coding_agent.paths
    coding_agent.short_term.write_bytes(REPORTS)
    first = coding_agent.calls("prompt", ASKED, **ON)
    try:
        assert "7am" in first.context
        assert answered(paths) == (first.err.encode(), first.out.encode())
    finally:
        end(paths)


def test_of_two_that_start_one_stays(coding_agent: CodingAgent) -> None:
    processes = [start(coding_agent.paths) for _ in range(2)]
    try:
        with connected(coding_agent.paths):
            pass
        wait_until(lambda: any(one.poll() is not None for one in processes), "one leaves", SECONDS)
        codes = [one.poll() for one in processes]
        assert sorted(codes, key=str) == [0, None]
        assert processes[codes.index(None)].pid == pid_of(coding_agent.paths)
    finally:
        for one in processes:
            one.kill()
            one.wait()


def test_one_that_was_killed_is_not_missed(coding_agent: CodingAgent) -> None:
    paths = coding_agent.paths
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(paths) as process:
        process.kill()
        process.wait()
        assert paths.hook_socket.exists()
        assert "7am" in coding_agent.calls("prompt", ASKED, **ON).context
        try:
            wait_until(lambda: pid_of(paths) not in (0, process.pid), "another one", SECONDS)
            assert answered(paths) is not None
        finally:
            end(paths)


def test_one_that_dies_under_a_question_leaves_it_to_the_usual_way(
    coding_agent: CodingAgent,
) -> None:
    paths = coding_agent.paths
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(paths) as process:
        process.send_signal(signal.SIGSTOP)
        words = ("--home", str(paths.root), "--agent", "sky", "hook", "prompt")
        asking = subprocess.Popen(
            [sys.executable, "-P", "-m", "skymem", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/",
            env={**os.environ, **ON, "SKYMEM_HOOK_SECONDS": "200"},
        )  # fmt: skip
        with asking:
            assert asking.stdin is not None
            asking.stdin.write(ASKED)
            asking.stdin.flush()
            wait_until(lambda: holds_a_socket(asking.pid), "it asks", SECONDS)
            process.kill()
            told, _ = asking.communicate()
        assert asking.returncode == 0
        process.wait()
        wait_until(lambda: pid_of(paths), "another one", SECONDS)
        end(paths)

    assert b"7am" in told


def holds_a_socket(pid: int) -> bool:
    found = []
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(fd))
    return any(one.startswith("socket:") for one in found)


def test_one_that_hangs_is_given_up_and_ended(coding_agent: CodingAgent) -> None:
    paths = coding_agent.paths
    coding_agent.short_term.write_bytes(REPORTS)
    with standing_by(paths) as process:
        process.send_signal(signal.SIGSTOP)
        told = coding_agent.calls("prompt", ASKED, **ON, SKYMEM_HOOK_SECONDS="0.3")
        assert told.code == 0
        assert "no memory for this prompt: the process that keeps it at hand hangs" in told.message
        assert process.poll() is None

        with connected(paths) as connection:
            hung.wait_and_end(str(paths.root), connection, 0.1)
        assert process.wait() == -signal.SIGKILL
        assert pid_of(paths) == 0


def test_when_too_much_is_asked_at_once_it_says_so(coding_agent: CodingAgent) -> None:
    program = (
        "import sys; from skymem.hooks import standby; from skymem.hooks.__main__ import main;"
        "standby.CHILDREN_MAX = 0; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, str(coding_agent.paths.root)]
    with subprocess.Popen(command) as process:
        try:
            with pytest.raises(quick.UnansweredError, match="too much"):
                answered(coding_agent.paths)
        finally:
            process.kill()


def test_one_that_answers_is_not_ended(coding_agent: CodingAgent) -> None:
    paths = coding_agent.paths
    with standing_by(paths) as process, connected(paths) as connection:
        hung.wait_and_end(str(paths.root), connection, SECONDS)
        assert process.poll() is None


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
