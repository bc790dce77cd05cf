"""The process that keeps recall at hand, as a test starts, asks and ends it."""

import _socket
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from skymem.hooks import quick
from skymem.stores.home import HomePaths
from skymem.stores.lock import holder_of
from tests.acceptance.homes import wait_until
from tests.conftest import line

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
    """End one that a hook has started."""
    if pid := pid_of(paths):
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def connected(paths: HomePaths) -> Iterator["_socket.socket"]:
    """A connection to the process that answers; one that takes none yet is waited for."""
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
    """What it alone answers: on stderr and stdout; None where it leaves that to the usual way."""
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
