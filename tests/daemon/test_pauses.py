"""What is paused: durable, written from any process, never half."""

import json
import subprocess
import sys
from datetime import time
from pathlib import Path
from typing import Any

import pytest

from skymem.daemon.pauses import Pauses, damage, entries_meant, paused_path, read_pauses
from skymem.daemon.runs import RunBook, read_runs
from skymem.daemon.timing import due_time
from skymem.errors import BusyError, UsageError
from skymem.model.schedule import Daily, Every, ScheduleEntry
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import held

ENTRIES = (
    ScheduleEntry("nightly", "promote", Daily(time(2, 30))),
    ScheduleEntry("hourly", "promote", Every(3600)),
    ScheduleEntry("rotate", "rotate", Every(600)),
    ScheduleEntry("pulse", "heartbeat", Every(30)),
)


@pytest.fixture
def paths(home: Path) -> HomePaths:
    return HomePaths(home)


@pytest.fixture
def pauses(paths: HomePaths) -> Pauses:
    return Pauses(paths, Files())


def test_a_pause_holds_until_it_is_ended_whoever_asks(paths: HomePaths, pauses: Pauses) -> None:
    assert pauses.pause(["hourly", "rotate"], 5.0) == ["hourly", "rotate"]
    another = Pauses(paths, Files())
    assert another.holds("hourly")
    assert not another.holds("nightly")
    assert another.pause(["hourly", "nightly"], 9.0) == ["nightly"]
    assert read_pauses(paths) == {"hourly": 5.0, "nightly": 9.0, "rotate": 5.0}
    assert another.resume(["hourly", "unheard_of"]) == ["hourly"]
    assert pauses.read() == {"nightly": 9.0, "rotate": 5.0}
    assert paused_path(paths).stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_where_nothing_changes(paths: HomePaths, pauses: Pauses) -> None:
    assert pauses.resume(["hourly"]) == []
    assert not paused_path(paths).exists()


@pytest.mark.parametrize(
    "text", ["", "[]", '{"paused": []}', "{" * 5000], ids=["empty", "list", "inside", "deep"]
)
def test_damage_pauses_nothing_is_told_and_is_set_aside(
    paths: HomePaths, pauses: Pauses, text: str
) -> None:
    paths.state.mkdir()
    paused_path(paths).write_text(text)
    assert pauses.read() == {}
    assert "pause again" in damage(paths)

    pauses.pause(["rotate"], 1.0)

    assert damage(paths) == ""
    assert pauses.read() == {"rotate": 1.0}
    assert (paths.state / "paused.json.damaged").read_text() == text


@pytest.mark.parametrize("since", [None, "x", -1, 1e300, True, float("nan")])
def test_a_pause_whose_time_is_damaged_still_holds(
    paths: HomePaths, pauses: Pauses, since: Any
) -> None:
    paths.state.mkdir()
    paused_path(paths).write_text(json.dumps({"paused": {"a": {"since": since}, "b": 7}}))

    assert pauses.read() == {"a": 0.0, "b": 0.0}


def test_many_processes_at_once_lose_no_pause(paths: HomePaths) -> None:
    code = (
        "import sys; from pathlib import Path; from skymem.daemon.pauses import Pauses; "
        "from skymem.stores.files import Files; from skymem.stores.home import HomePaths; "
        "book = Pauses(HomePaths(Path(sys.argv[1])), Files()); "
        "[book.pause([sys.argv[2] + str(n)], 1.0) for n in range(10)]"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(paths.root), letter]) for letter in "abc"
    ]
    assert [process.wait(timeout=30) for process in processes] == [0, 0, 0]

    assert len(read_pauses(paths)) == 30


def test_a_lock_that_stays_held_is_told(
    paths: HomePaths, pauses: Pauses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.daemon.pauses.LOCK_SECONDS", 0.05)
    paths.run.mkdir()
    lock = held(paths.run / "paused.lock", "somebody", deadline_seconds=1)
    with lock, pytest.raises(BusyError, match="somebody"):
        pauses.pause(["rotate"], 1.0)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("hourly", ["hourly"]), ("promote", ["nightly", "hourly"]), ("rotate", ["rotate"])],
)
def test_a_name_is_one_entry_and_a_job_all_of_its_entries(word: str, meant: list[str]) -> None:
    assert entries_meant(word, ENTRIES) == meant


def test_what_is_paused_can_be_resumed_though_the_schedule_has_it_no_more() -> None:
    assert entries_meant("gone", ENTRIES, paused={"gone": 1.0}) == ["gone"]


@pytest.mark.parametrize("word", ["unheard_of", "prune"])
def test_an_unknown_name_is_told_with_those_there_are(word: str) -> None:
    with pytest.raises(UsageError, match=r"it has: nightly, hourly, rotate \(or by job: promote\)"):
        entries_meant(word, ENTRIES)


@pytest.mark.parametrize("word", ["pulse", "heartbeat"])
def test_the_sign_of_life_can_not_be_paused(word: str) -> None:
    with pytest.raises(UsageError, match="heartbeat can't be paused"):
        entries_meant(word, ENTRIES)


def test_a_run_left_out_by_a_pause_is_counted_and_is_due_again_an_interval_later(
    paths: HomePaths,
) -> None:
    """Else the entry would be overdue for as long as the pause lasts, and asked without end."""
    book = RunBook(paths, Files(), lambda error: pytest.fail(str(error)))
    book.see(["rotate"], 1000.0)
    book.started("rotate", 1000.0)
    book.paused("rotate", 1600.5)
    book.paused("unseen", 1600.5)
    record = read_runs(paths)["rotate"]

    assert record.skipped_paused == 1
    assert (record.missed, record.last_start) == (0, 1000.0)
    assert due_time(ENTRIES[2], record, "UTC", 1600.5) == 2200.0
    assert read_runs(paths)["unseen"].skipped_paused == 1
