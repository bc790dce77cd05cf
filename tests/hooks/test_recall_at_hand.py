"""A process keeps recall at hand: it answers as the usual way does, and is never in the way."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from skymem.hooks import hung, quick
from tests.acceptance.homes import wait_until
from tests.conftest import line
from tests.hooks.agents import CodingAgent
from tests.hooks.at_hand import (
    ASKED,
    MORE,
    ON,
    REPORTS,
    SECONDS,
    answered,
    connected,
    end,
    pid_of,
    standing_by,
    start,
)  # fmt: skip


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
