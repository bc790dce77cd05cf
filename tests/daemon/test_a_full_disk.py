"""A job that fills the disk: the daemon lives, says so, and goes on once there is room."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skymem import app

LINES = 4_000
SCHEDULE = 'every: [{name: "memory_rotate_check", seconds: 1}, {name: "heartbeat", seconds: 1}]\n'


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A home on a file system of 1 MiB, with more to promote than it has room for."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "skymem-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system, where the machine allows it")
    home = place / "home"
    app.init_home(home)
    (home / "schedule.yaml").write_text(SCHEDULE)
    text = b"".join(b'{"content": "m%d", "importance": 0.9}\n' % n for n in range(LINES))
    (home / "memory/sky/short_term.jsonl").write_bytes(text)
    yield home
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def daemon(small: Path) -> Iterator[subprocess.Popen[str]]:
    """`skymem run` on it."""
    command = [sys.executable, "-m", "skymem", "--home", str(small), "run"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def skymem(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skymem", "--home", str(home), *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def trigger(home: Path) -> subprocess.CompletedProcess[str]:
    """Run it now; a run that the schedule began in that very second is waited for."""
    found: list[subprocess.CompletedProcess[str]] = []

    def ran() -> bool:
        found.append(skymem(home, "trigger", "memory_rotate_check"))
        return found[-1].returncode != 11

    wait_until(ran, "the scheduled run did not end")
    return found[-1]


def wait_until(true: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def last(home: Path) -> dict[str, Any]:
    path = home / "status/jobs/memory_rotate_check.json"
    return dict(json.loads(path.read_bytes())["detail"]) if path.exists() else {}


def test_a_daemon_lives_through_a_disk_its_job_filled_and_loses_nothing(
    small: Path, daemon: subprocess.Popen[str]
) -> None:
    asked = trigger(small)
    assert asked.returncode == 74, asked.stderr
    assert "No space left on device" in asked.stderr + asked.stdout
    checked = skymem(small, "check")
    assert checked.returncode == 23
    assert "No space left on device" in checked.stdout
    assert daemon.poll() is None, "the daemon did not live through it"

    remount = ["mount", "-o", "remount,size=32m", str(small.parent)]
    subprocess.run(remount, check=True)
    assert trigger(small).returncode == 0
    wait_until(lambda: last(small).get("ok"), "it went well once there was room")
    long_term = (small / "memory/sky/long_term.jsonl").read_bytes().splitlines()
    assert sorted(json.loads(line)["content"] for line in long_term) == sorted(
        f"m{n}" for n in range(LINES)
    )
    daemon.send_signal(signal.SIGTERM)
    _, log = daemon.communicate(timeout=60)
    assert daemon.returncode == 0
    assert "Traceback" not in log
