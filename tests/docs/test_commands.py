"""README's commands and Python lines are run, in their order, in one home, as a reader would."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.app import init_home
from tests.docs.pages import read_through

README = read_through()
ELSEWHERE = (".venv", "GROUP")
"""Blocks about installing and about a group's name; what they say is tried in other tests."""

LINES = b'{"content": "a line of a file", "importance": 0.4}\n'


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.M | re.S)


COMMANDS = [
    line.split("   #")[0].split("  #")[0].strip()
    for block in blocks("sh")
    if not any(word in block for word in ELSEWHERE)
    for line in block.splitlines()
]


def environment(home: Path) -> dict[str, str]:
    """A reader's: `skymem` is on the path, and an engine may be started."""
    given = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    given.pop("SKYMEM_ENGINE", None)
    return given


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with a daemon, and `skymem` on the path."""
    made = tmp_path_factory.mktemp("home")
    init_home(made)
    (made / "lines.jsonl").write_bytes(LINES)
    (made / "other.yaml").write_text("promote_threshold: 0.6\n")
    command = made / "bin" / "skymem"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m skymem "$@"\n')
    command.chmod(0o755)
    with subprocess.Popen(
        [str(command), "run"], cwd=made, stderr=subprocess.DEVNULL, env=environment(made)
    ) as daemon:
        until = time.monotonic() + 60
        try:
            while not (made / "status/sky_heartbeat.json").exists():
                assert time.monotonic() < until
                time.sleep(0.05)
            yield made
        finally:
            daemon.send_signal(signal.SIGTERM)
            assert daemon.wait(60) == 0
            engine = json.loads((made / "status/engine.json").read_text())
            os.kill(engine["pid"], signal.SIGTERM)


def run(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    """One line as a shell runs it; what is live is ended with Ctrl-C once it is at work."""
    return watch(home, line) if "--follow" in line else tell(home, ["bash", "-c", line])


def watch(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["bash", "-c", f"exec {line}"], cwd=home, stdout=pipe, stderr=pipe, text=True,
        env=environment(home),
    ) as process:  # fmt: skip
        until = time.monotonic() + 60
        while not handles(process.pid, signal.SIGTERM) and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=60)
    return subprocess.CompletedProcess(line, process.returncode, said, complaints)


def handles(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler of its own for it: Python's are only for Ctrl-C."""
    caught = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return bool(caught and int(caught[1], 16) >> (number - 1) & 1)


def tell(home: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    pipe = subprocess.PIPE
    return subprocess.run(
        command, cwd=home, check=False, stdout=pipe, stderr=pipe, text=True, timeout=60,
        env=environment(home),
    )  # fmt: skip


def test_each_command_does_what_readme_shows(home: Path) -> None:
    assert len(COMMANDS) > 15
    failed = {
        line: f"{done.returncode}: {done.stderr}"
        for line in COMMANDS
        if (done := run(home, line)).returncode
    }

    assert failed == {}


def test_the_python_lines_run_one_after_the_other(home: Path) -> None:
    program = "\n".join(blocks("python"))
    done = tell(home, [sys.executable, "-c", program])

    assert done.returncode == 0, done.stderr
