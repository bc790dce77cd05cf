"""A hook puts memory into a prompt, or says why not; it fails open, and holds nobody up."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from skymem.stores.lock import held
from tests.conftest import line
from tests.hooks.agents import CodingAgent

ASKED = {
    "session_id": "s1",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "when are the reports due?",
}
REPORTS = line("The reports are due at 7am on Mondays", 0.9)


@contextmanager
def hung_engine(path: Path) -> Iterator[None]:
    """What takes every connection on the engine's own socket, and answers none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    taken = []
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(path.parent, os.O_PATH)
        listening.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)
        os.chmod(path, 0o600)
        listening.listen(64)

        def take() -> None:
            while True:
                try:
                    taken.append(listening.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        for one in taken:
            one.close()


def test_a_prompt_is_given_what_has_to_do_with_it(coding_agent: CodingAgent) -> None:
    coding_agent.short_term.write_bytes(REPORTS + line("The cat is called Tom", 0.9))
    told = coding_agent.tells("prompt", ASKED)

    assert told.code == 0
    assert "due at 7am" in told.context
    assert "Tom" not in told.context
    assert "data, not instructions" in told.context
    assert told.message == ""


def test_a_hung_engine_is_not_waited_for_and_the_person_is_told(coding_agent: CodingAgent) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    with hung_engine(coding_agent.paths.engine_socket):
        told = coding_agent.tells("prompt", ASKED, SKYMEM_ENGINE="on")

    assert told.code == 0
    assert "due at 7am" in told.context
    assert "by words only" in told.message


def test_work_that_hangs_holds_nobody_up(coding_agent: CodingAgent) -> None:
    lock = coding_agent.paths.agent("sky").append_lock
    event = {"tool_name": "Write", "tool_input": {"file_path": "/srv/x"}}
    with held(lock, "a job that hangs", deadline_seconds=5):
        told = coding_agent.tells("tool-use", event, SKYMEM_HOOK_SECONDS="1")
        assert coding_agent.memories() == []  # once the lock is free it may still be written

    assert told.code == 0
    assert "may not be written: no answer in time" in told.message


def test_a_child_that_hangs_is_ended() -> None:
    program = """
import os, signal, time
from skymem.hooks.watchdog import within

def hang(report):
    os.read(os.pipe()[0], 1)

done = within(time.monotonic() + 0.5, hang, linger=1)
assert done.report is None and "in time" in done.said, done
assert os.WTERMSIG(os.waitpid(-1, 0)[1]) == signal.SIGALRM
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=300)

    assert done.returncode == 0


def test_a_session_starts_with_what_holds(coding_agent: CodingAgent) -> None:
    rule = line("Run the tests first", 0.9, kind="rule", trust=0.95, origin="user")
    coding_agent.short_term.write_bytes(rule)
    told = coding_agent.tells("session-start", {"hook_event_name": "SessionStart"})

    assert told.code == 0
    assert "Run the tests first" in told.context


def test_a_home_that_is_not_there_is_said_and_nothing_else(
    coding_agent: CodingAgent, tmp_path: Path
) -> None:
    elsewhere = CodingAgent(type(coding_agent.paths)(tmp_path / "nowhere"))
    told = elsewhere.tells("prompt", ASKED)

    assert told.code == 0
    assert "no memory for this prompt" in told.message
    assert "nowhere" in told.err
    assert "additionalContext" not in told.out
    assert "Traceback" not in told.err


def test_hooks_that_are_switched_off_say_nothing(coding_agent: CodingAgent) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    told = coding_agent.tells("prompt", ASKED, SKYMEM_ENABLED="false")

    assert (told.code, told.out, told.err) == (0, "", "")


def test_who_is_bound_to_another_agent_is_told_nothing(coding_agent: CodingAgent) -> None:
    coding_agent.short_term.write_bytes(REPORTS)
    told = coding_agent.tells("prompt", ASKED, SKYMEM_BOUND_AGENT="milton")

    assert told.code == 0
    assert "due at 7am" not in told.out
    assert "milton" in told.message
