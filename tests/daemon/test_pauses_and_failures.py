"""What the daemon leaves out: runs of paused entries, and for a while those that keep failing."""

import itertools
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem.daemon.ask import ask_daemon
from skymem.daemon.pauses import Pauses
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.lock import never_stopped


def test_a_paused_entry_is_left_out_and_counted_until_it_is_resumed(
    home: Path, daemon: Any, remember_runs: Callable[..., None]
) -> None:
    remember_runs(told=100, sleep_0=100)
    pauses = Pauses(HomePaths(home), Files())
    pauses.pause(["told"], time.time())
    entries = ({"name": "told", "seconds": 1}, {"name": "sleep_0", "seconds": 1})
    for _ in range(2):
        up = daemon(*entries)
        before = up.record("told").get("skipped_paused", 0)
        up.wait_for(
            lambda up=up, before=before: up.record("told").get("skipped_paused", 0) >= before + 2
        )
        assert 'event="run left out: paused" name=told' in up.stop()[1]
    assert up.noted("start told") == []
    assert up.noted("start sleep_0"), "the others run"
    assert up.record("told")["skipped_paused"] < 12, "once an interval, not in a loop"

    pauses.resume(["told"])
    up = daemon(*entries)
    up.wait_for(lambda: up.record("told").get("last_success"))
    up.stop()


def test_a_failing_entry_is_tried_again_later_and_later(
    daemon: Any, remember_runs: Callable[..., None]
) -> None:
    remember_runs(exit_3=100)
    up = daemon({"name": "exit_3", "seconds": 1})
    up.wait_for(lambda: up.record("exit_3").get("consecutive_failures", 0) >= 3, seconds=60)
    record = up.record("exit_3")
    up.wait_for(lambda: up.heartbeat()["next_runs"]["exit_3"] > record["last_start"] + 3.5)
    assert up.heartbeat()["next_runs"]["exit_3"] < record["last_start"] + 4.5
    up.stop()
    starts = [float(line.split()[3]) for line in up.noted("start")]
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    # A busy machine starts a process late; the times that were planned are in the record.
    assert 0.1 < gaps[0] < 3
    assert 1 < gaps[1] < 5


def test_a_run_by_hand_that_goes_well_ends_the_wait(home: Path, daemon: Any) -> None:
    """The cause was mended: the entry is back at its own pace at once."""
    now = time.time()
    record = {"first_seen": now, "last_start": now, "consecutive_failures": 4, "last_end": now}
    (home / "state").mkdir()
    (home / "state/runs.json").write_text(json.dumps({"entries": {"told": record}}))
    up = daemon({"name": "told", "seconds": 600})
    up.started()
    assert up.heartbeat()["next_runs"]["told"] > now + 4000
    paths = HomePaths(home)
    ask_daemon(paths, Files(), "told", stop=never_stopped, tell=lambda _text: None)
    up.wait_for(lambda: up.heartbeat()["next_runs"]["told"] < time.time() + 601)
    up.stop()


@pytest.mark.parametrize("flags", [[], ["--no-catch-up"]])
def test_what_came_due_while_paused_and_down_is_neither_caught_up_nor_missed(
    home: Path, daemon: Any, remember_runs: Callable[..., None], flags: list[str]
) -> None:
    remember_runs(told=1e5)
    Pauses(HomePaths(home), Files()).pause(["told"], time.time())
    up = daemon({"name": "told"}, flags=flags)
    up.wait_for(lambda: up.record("told").get("skipped_paused"))
    assert up.stop()[0] == 0
    record = up.record("told")
    assert (record["caught_up"], record["missed"], record["skipped_paused"]) == (0, 0, 1)
    assert not up.noted("start")


def test_an_entry_that_was_changed_while_it_failed_is_tried_again_as_it_now_says(
    home: Path, daemon: Any
) -> None:
    now = time.time()
    record = {"first_seen": now, "last_start": now - 1e6, "consecutive_failures": 4}
    (home / "state").mkdir()
    (home / "state/runs.json").write_text(json.dumps({"entries": {"late_1": record}}))
    up = daemon({"name": "late_1", "seconds": 86_400})
    up.wait_for(lambda: up.noted("start"))
    (home / "schedule.json").write_text(json.dumps([{"name": "late_1", "seconds": 60}]))
    up.signal(signal.SIGHUP)
    up.wait_for(lambda: up.record("late_1").get("consecutive_failures") == 5)
    due = up.record("late_1")["last_start"] + 60 * 2**4
    # The reload counted from four failures; the fifth is told with a beat after the run's end.
    up.wait_for(lambda: abs(up.heartbeat()["next_runs"]["late_1"] - due) < 2, seconds=60)
    up.stop()
