"""A disk without room: nothing is moved, nothing is lost, and trying again costs nothing."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem import app

LINES = 4_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A home with 4,000 promotable lines on a file system of 1 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "skymem-test", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a small file system, where the machine allows it")
    app.init_home(place / "home")
    yield place / "home"
    subprocess.run(["umount", str(place)], check=True)


def test_runs_that_fail_for_want_of_room_leave_the_ledger_as_it_is(small: Path) -> None:
    short_term = small / "memory" / "sky" / "short_term.jsonl"
    text = b"".join(b'{"content": "m%d", "importance": 0.9}\n' % n for n in range(LINES))
    short_term.write_bytes(text)
    home = app.open_home(str(small))
    ledger = small / "audit" / "ledger.jsonl"
    for _ in range(3):
        detail, outcomes = home.run_job("promote")
        assert not detail["ok"]
        assert outcomes[0].exit_code == 74
        assert "No space left on device: a run needs" in detail["error"]
        assert detail["remaining"] is None
        assert not ledger.exists()
    assert short_term.read_bytes() == text
    subprocess.run(["mount", "-o", "remount,size=16m", str(small.parent)], check=True)
    detail, _ = home.run_job("promote")
    assert (detail["ok"], detail["promoted"]) == (True, LINES)
