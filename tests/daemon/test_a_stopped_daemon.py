"""A daemon that was stopped over a job's time: what it did not run is an alarm until it has (X3).

A real daemon and a real stop; only who looks does so from a later hour.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.app import init_home, open_home
from skymem.daemon.runs import read_runs
from skymem.health import health_of
from skymem.stores.home import HomePaths
from tests.daemon.test_alarms_told import until

SCHEDULE = """
every:
  - {name: heartbeat, seconds: 1}
  - {name: rotate, seconds: 1}
  - {name: prune, hours: 1}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "home"
    init_home(root)
    (root / "schedule.yaml").write_text(SCHEDULE)
    return root


@pytest.fixture
def daemon(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """One that runs; it is ended, stopped or not."""
    command = [sys.executable, "-m", "skymem", "--home", str(home), "run"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        yield process
        process.send_signal(signal.SIGCONT)
        process.terminate()
        process.wait(60)


def alarms(home: Path) -> dict[str, str]:
    """Those about what did not run, each with its text."""
    found = health_of(open_home(str(home), lenient=True))["alarms"]
    wanted = ("job_overdue", "job_never_run")
    return {one["id"]: one["text"] for one in found if one["id"] in wanted}


def test_what_a_stopped_daemon_did_not_run_is_told_until_it_goes_on(
    home: Path, daemon: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    def last_end() -> float:
        entry = read_runs(HomePaths(home)).get("rotate")
        return 0.0 if entry is None else entry.last_end or 0.0

    until(last_end)
    assert alarms(home) == {}
    daemon.send_signal(signal.SIGSTOP)
    with monkeypatch.context() as later:
        for module in ("skymem.app", "skymem.alarms"):
            later.setattr(f"{module}.now", lambda: time.time() + 2 * 3600)
        found = alarms(home)
        assert {*found} == {"job_overdue", "job_never_run"}
        assert found["job_overdue"].startswith("rotate was due ")
        assert found["job_never_run"].startswith("prune was due ")
    before = last_end()
    daemon.send_signal(signal.SIGCONT)
    until(lambda: last_end() > before)
    assert alarms(home) == {}
