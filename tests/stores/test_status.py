"""Status is written whole from any process, numbered without a gap, and can always be polled."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skymem.errors import DiskError
from skymem.stores import status
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import StatusFiles

ROOT = Path(__file__).parents[2]

WRITER = """
import sys, time
from pathlib import Path
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.status import StatusFiles
files = StatusFiles(HomePaths(Path(sys.argv[1])), Files())
number, enough = 0, Path(sys.argv[4])
while number < int(sys.argv[3]) or not enough.exists():
    files.write_action(sys.argv[2], {"ok": True, "pad": "x" * (number % 7) * 1000}, 1.0)
    number += 1
"""


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    (tmp_path / "home").mkdir()
    return HomePaths(tmp_path / "home")


@pytest.fixture
def files(home: HomePaths) -> StatusFiles:
    return StatusFiles(home, Files())


def writers(
    home: HomePaths, *names: str, times: int, enough: Path = ROOT
) -> list[subprocess.Popen[bytes]]:
    """Processes that write so many times, and on until `enough` is there."""
    return [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home.root), name, str(times), str(enough)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for name in names
    ]


def seqs(path: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in path.read_bytes().splitlines()]


def test_a_result_is_in_all_three_files_with_what_row_p3_names(files: StatusFiles) -> None:
    detail = {"ok": True, "promoted": 2, "rotated": False, "remaining": 3, "threshold": 0.7}
    assert files.write_action("memory_rotate_check", detail, 12.5) == 1
    record = files.read_last_action()
    assert record == {
        "ts": 12.5,
        "action": "memory_rotate_check",
        "detail": detail,
        "seq": 1,
        "schema_version": 1,
    }
    assert files.read_jobs() == {"memory_rotate_check": {**record, "lately": {}}}
    assert json.loads(files.actions.read_bytes()) == record


def test_no_two_processes_get_the_same_number_and_none_is_left_out(
    home: HomePaths, files: StatusFiles
) -> None:
    started = writers(home, "promote", "rotate", "index", times=25)
    assert [process.wait() for process in started] == [0] * 3
    assert seqs(files.actions) == list(range(1, 76))
    last = files.read_last_action()
    assert last is not None
    assert last["seq"] == 75
    assert set(files.read_jobs()) == {"promote", "rotate", "index"}  # none lost another's result


def test_a_reader_never_sees_half_a_file(home: HomePaths, files: StatusFiles) -> None:
    enough = home.root / "enough"
    started = writers(home, "promote", "rotate", times=60, enough=enough)
    highest = polls = 0
    while any(process.poll() is None for process in started):
        try:
            record = json.loads(files.last_action.read_bytes())
        except FileNotFoundError:
            continue
        assert record["seq"] >= highest
        highest = record["seq"]
        polls += 1
        if polls == 100:  # however seldom a busy machine gives it a turn
            enough.touch()
        time.sleep(0.0005)
    assert [process.wait() for process in started] == [0, 0]
    assert polls >= 100
    assert highest > 1


@pytest.mark.parametrize("lost", ["sky_last_action.json", "actions.jsonl"])
def test_numbers_go_on_when_a_file_was_deleted(
    files: StatusFiles, home: HomePaths, lost: str
) -> None:
    for _ in range(3):
        files.write_action("promote", {}, 1)
    (home.status / lost).unlink()
    assert files.write_action("promote", {}, 1) == 4


def test_a_kill_after_the_history_does_not_use_a_number_twice(home: HomePaths) -> None:
    class Dying(Files):
        def replace(self, path: Path, data: object) -> None:
            raise KeyboardInterrupt

    files = StatusFiles(home, Files())
    files.write_action("promote", {}, 1)
    with pytest.raises(KeyboardInterrupt):
        StatusFiles(home, Dying()).write_action("promote", {}, 1)
    assert files.write_action("promote", {}, 1) == 3
    assert seqs(files.actions) == [1, 2, 3]


def test_a_history_that_has_grown_is_set_aside_and_three_are_kept(
    files: StatusFiles, home: HomePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "ACTIONS_BYTES_MAX", 1000)
    for _ in range(60):
        files.write_action("promote", {"ok": True}, 1)
    kept = sorted(path.name for path in home.status.glob("actions*"))
    assert kept == ["actions.jsonl", "actions.jsonl.1", "actions.jsonl.2", "actions.jsonl.3"]
    together = [n for name in reversed(kept) for n in seqs(home.status / name)]
    assert together == list(range(together[0], 61))
    assert all((home.status / name).stat().st_size <= 1000 for name in kept)


def test_a_history_cut_short_by_a_power_cut_is_still_read(files: StatusFiles) -> None:
    files.write_action("promote", {}, 1)
    with files.actions.open("ab") as stream:
        stream.write(b'{"ts": 1, "act')
    files.last_action.unlink()
    assert files.write_action("promote", {}, 1) == 2


def test_a_status_directory_in_the_way_is_a_disk_error(home: HomePaths) -> None:
    home.status.write_bytes(b"")
    with pytest.raises(DiskError, match="status"):
        StatusFiles(home, Files()).write_action("promote", {}, 1)


@pytest.mark.parametrize("garbage", [b"", b"{", b"[]", b"\xff"])
def test_a_file_that_cannot_be_read_is_no_result(files: StatusFiles, garbage: bytes) -> None:
    files.write_action("promote", {}, 1)
    files.last_action.write_bytes(garbage)
    assert files.read_last_action() is None
    assert files.write_action("promote", {}, 1) == 2


def test_the_heartbeat_is_a_file_of_its_own(files: StatusFiles) -> None:
    assert files.read_heartbeat() is None
    files.write_heartbeat({"pid": 1})
    assert files.read_heartbeat() == {"pid": 1}
    assert files.read_last_action() is None


def test_a_home_that_is_gone_is_not_made_anew(home: HomePaths, files: StatusFiles) -> None:
    home.root.rmdir()
    with pytest.raises(DiskError, match="the home is not there any more"):
        files.write_action("promote", {}, 1.0)
    assert not home.root.exists()
