"""A status directory that can't be written: the jobs run, the daemon says so and goes on."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

NOBODY = 65534


@pytest.fixture
def home() -> Iterator[Path]:
    """A home that another uid can reach; pytest keeps its own directories to the owner."""
    path = Path(tempfile.mkdtemp(prefix="skymem-read-only-"))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_status_directory_nobody_may_write_stops_nothing(
    daemon: Any, home: Path, remember_runs: Callable[..., None], mode: int
) -> None:
    remember_runs(exit_3=1e6)
    status = home / "status"
    status.mkdir()
    status.chmod(mode)
    prefix = []
    if os.getuid() == 0:  # whom no mode stops
        for path in (home, home / "state", home / "state/runs.json"):
            os.chown(path, NOBODY, NOBODY)
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    up = daemon({"name": "exit_3", "seconds": 1}, prefix=prefix)
    up.wait_for(lambda: up.record("exit_3").get("consecutive_failures", 0) >= 2)
    code, log = up.stop()
    status.chmod(0o700)
    assert code == 0
    assert list(status.iterdir()) == []
    assert log.count("can't write the heartbeat") == 1
    assert 'event="can\'t write the status" name=exit_3' in log
