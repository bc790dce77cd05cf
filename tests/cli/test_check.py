"""`check`: 0 and `healthy`, or 23 and each reason."""

import json
import os
import re
import time
from typing import Any

import pytest

from skymem.alarm_facts import disk_alarms
from skymem.app import open_home
from skymem.health import health_of
from skymem.stores.lock import held
from tests.cli.conftest import Shell

SCHEDULE = """\
every:
  - {name: promote, minutes: 5}
  - {name: nightly, job: rotate, daily: "02:30"}
  - {name: heartbeat, seconds: 30}
"""


@pytest.fixture(autouse=True)
def schedule(shell: Shell) -> None:
    (shell.home / "schedule.yaml").write_text(SCHEDULE)
    for name in ("status", "state", "run"):
        (shell.home / name).mkdir(exist_ok=True)


def beat(shell: Shell, **more: Any) -> None:
    found = {
        "ts": time.time(),
        "state": "running",
        "running": [],
        "next_runs": {},
        "interval_seconds": 30.0,
        **more,
    }
    (shell.home / "status/sky_heartbeat.json").write_text(json.dumps(found))


def ran(shell: Shell, **records: dict[str, Any]) -> None:
    entries = {name: {"first_seen": 1.0, **record} for name, record in records.items()}
    (shell.home / "state/runs.json").write_text(json.dumps({"entries": entries}))


def reasons(shell: Shell, *, daemon: bool = True) -> list[str]:
    home = open_home(str(shell.home))
    if not daemon:
        return list(health_of(home)["reasons"])
    with held(home.paths.daemon_lock, "skymem run", deadline_seconds=1):
        return list(health_of(home)["reasons"])


def test_a_new_home_is_healthy_and_a_missing_daemon_a_note(shell: Shell) -> None:
    told = shell("check")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[0] == "healthy"
    assert "no daemon runs" in told.out
    found = shell("check", "--json")
    assert (found.code, found.json["health"], found.json["reasons"]) == (0, "healthy", [])


def test_each_reason_is_told_and_the_exit_code_is_23(shell: Shell) -> None:
    open_home(str(shell.home)).record("promote", {"ok": False, "error": "sky: no \x1b[2J space"})
    shell.short_term.write_bytes(b"no json\n")
    shell("rotate")
    told = shell("check")

    assert told.code == 23
    assert told.out.splitlines()[0] == "degraded"
    assert "reason  promote failed: sky: no \\u001b[2J space" in told.out
    assert told.err == "skymem: degraded, for 2 reason(s)\n"
    found = shell("check", "--json")
    assert (found.code, found.json["health"], len(found.json["reasons"])) == (23, "degraded", 2)
    assert found.out.count("\n") == 1


def test_a_daemon_at_work_is_healthy(shell: Shell) -> None:
    now = time.time()
    ran(shell, promote={"last_start": now - 100, "last_end": now - 99, "last_success": now - 99})
    beat(shell, next_runs={"promote": now + 200})

    assert reasons(shell) == []


def test_a_heartbeat_that_is_old_is_a_reason(shell: Shell) -> None:
    beat(shell, ts=time.time() - 3600)
    assert any(re.search(r"no sign of life for 36\d\d s", one) for one in reasons(shell))


def test_a_reload_that_failed_is_a_reason_with_each_of_its_lines(shell: Shell) -> None:
    beat(
        shell, configuration={"read": 1.0, "problem": "schedule.yaml:3:1: x\nschedule.yaml:9:1: y"}
    )
    before = "the daemon did not reload and goes by what it read before: "
    assert reasons(shell) == [f"{before}schedule.yaml:3:1: x", f"{before}schedule.yaml:9:1: y"]
    beat(shell, configuration={"read": 1.0, "problem": None})
    assert reasons(shell) == []


def test_a_time_zone_the_machine_has_not_is_a_reason(shell: Shell) -> None:
    beat(shell, clock={"timezone_missing": "Mars/Olympus", "timezone": "UTC"})
    assert "no time zone 'Mars/Olympus': the daemon goes by UTC" in reasons(shell)[0]


@pytest.mark.parametrize("damage", [{"clock": []}, {"configuration": 7}, {"ts": None}])
def test_a_heartbeat_that_is_damaged_breaks_nothing(shell: Shell, damage: dict[str, Any]) -> None:
    beat(shell, **damage)
    assert shell("check").code in (0, 23)
    assert isinstance(reasons(shell), list)


@pytest.mark.parametrize("state", ["running", "stopping"])
def test_a_daemon_that_was_killed_is_a_reason(shell: Shell, state: str) -> None:
    beat(shell, state=state)
    (reason,) = reasons(shell, daemon=False)
    assert "the daemon ended without a word" in reason


def test_a_daemon_that_was_stopped_is_none(shell: Shell) -> None:
    beat(shell, state="stopped")
    assert reasons(shell, daemon=False) == []


def test_a_run_that_should_have_come_is_a_reason(shell: Shell) -> None:
    now = time.time()
    ran(shell, promote={"last_start": now - 1000, "last_end": now - 999})
    beat(shell)
    (reason,) = reasons(shell)
    told = r"promote was due 7\d\d s ago and has not run, though a daemon runs"
    assert re.fullmatch(told, reason)
    ran(shell, promote={"first_seen": now - 1000})
    assert "has never run" in reasons(shell)[0]


@pytest.mark.parametrize(
    "why", ["armed for later", "in hand", "paused", "no daemon", "a little late", "stopping"]
)
def test_a_run_that_need_not_have_come_is_none(shell: Shell, why: str) -> None:
    now = time.time()
    age = 320 if why == "a little late" else 1000
    ran(shell, promote={"last_start": now - age, "last_end": now - age})
    match why:
        case "armed for later":
            beat(shell, next_runs={"promote": now + 1})
        case "in hand":
            beat(shell, running=[{"name": "promote", "since": now}])
        case "stopping":
            beat(shell, state="stopping")
        case "no daemon":
            beat(shell, state="stopped")
        case _:
            beat(shell)
    if why == "paused":
        shell("pause", "promote")

    assert reasons(shell, daemon=why != "no daemon") == []


def test_a_failure_the_status_could_not_tell_of_is_a_reason(shell: Shell) -> None:
    now = time.time()
    failed = {"last_start": now - 10, "last_end": now - 9, "consecutive_failures": 1}
    ran(shell, promote={**failed, "last_error": "read-only file system"})
    assert reasons(shell, daemon=False) == ["promote failed: read-only file system"]
    open_home(str(shell.home)).record("promote", {"ok": True, "job": "promote", "agents": {}})
    assert reasons(shell, daemon=False) == [], "it was told, or made good, since"


def test_a_clock_that_went_back_is_a_reason(shell: Shell) -> None:
    shell("promote")
    path = shell.home / "status/sky_last_action.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "ts": time.time() + 86_400}))

    (reason,) = reasons(shell, daemon=False)
    assert "the clock went back, or was wrong before: the last action" in reason


def test_a_schedule_that_can_not_be_read_is_a_reason(shell: Shell) -> None:
    (shell.home / "schedule.yaml").write_text("every:\n  - {name: promote, hours: 0}\n")
    told = shell("check", "--json")

    assert told.code == 23
    assert "schedule.yaml:2" in told.json["reasons"][0]


def disk(*, blocks: int, available: int, inodes: int = 1000, left: int = 1000) -> os.statvfs_result:
    return os.statvfs_result((4096, 4096, blocks, available, available, inodes, left, left, 0, 255))


@pytest.mark.parametrize(
    ("found", "told"),
    [
        pytest.param(disk(blocks=10_000_000, available=1_000_000), [], id="plenty"),
        pytest.param(disk(blocks=10_000_000, available=90_000), ["368,640,000"], id="a hundredth"),
        pytest.param(disk(blocks=100_000, available=20_000), [], id="a small disk"),
        pytest.param(disk(blocks=100_000, available=9_000), ["36,864,000"], id="small and full"),
        pytest.param(disk(blocks=10**7, available=10**6, left=5), ["5 more files"], id="inodes"),
        pytest.param(disk(blocks=10**7, available=10**6, inodes=0, left=0), [], id="no inodes"),
    ],
)
def test_a_disk_that_is_nearly_full_is_a_reason(
    shell: Shell, found: os.statvfs_result, told: list[str]
) -> None:
    reasons = [one.text for one in disk_alarms(open_home(str(shell.home)), found)]

    assert len(reasons) == len(told)
    assert all(words in reason for words, reason in zip(told, reasons, strict=True))
