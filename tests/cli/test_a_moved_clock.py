"""A clock that moved: who looks is told what the jobs say, once, and until it is lifted."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

JOBS = ("compress", "merge", "prune", "compact")
DAYS = 86_400.0


def move(clock: Path, days: float) -> None:
    """Record that the clocks were last seen at another time: as if the wall clock had been set."""
    seen = json.loads(clock.read_bytes())
    clock.write_text(json.dumps({**seen, "wall": seen["wall"] - days * DAYS}))


@pytest.fixture
def clock(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the clocks are recorded, of a home that has something in trash."""
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    shell("remember", "something")
    shell("forget", "--match", "something")
    assert shell("prune").code == 0
    return shell.home / "state/clock.json"


@pytest.mark.parametrize("days", [10, -10])
def test_doctor_and_check_say_what_the_jobs_say(shell: Shell, clock: Path, days: float) -> None:
    assert "ok      clock" in shell("doctor").out
    move(clock, days)
    before, told = shell("check"), shell("doctor")
    ended = [shell(job) for job in JOBS]
    after = shell("check", "--json")

    assert [one.code for one in ended] == [25] * len(JOBS)
    assert (before.code, told.code, after.code) == (23, 20, 23)
    for said in (before.out, told.out, ended[0].err):
        assert "the clock moved: it says" in said
        assert "10.0 days" in said
    assert "skymem prune --accept-clock" in told.out
    (reason,) = after.json["reasons"]
    assert "compress, merge, prune, compact stop (25) until it is set right" in reason


def test_accepting_the_clock_once_lifts_every_alarm_about_it(shell: Shell, clock: Path) -> None:
    move(clock, 10)
    for job in JOBS:
        shell(job)
    assert shell("prune", "--accept-clock").code == 0

    assert shell("check", "--json").json["reasons"] == []
    assert shell("status", "--json").json["health"] == "healthy"
    assert shell("doctor").code == 0


def test_setting_the_clock_right_lifts_them_as_well(shell: Shell, clock: Path) -> None:
    right = clock.read_bytes()
    move(clock, 10)
    shell("compress")
    clock.write_bytes(right)
    assert shell("check", "--json").json["reasons"] == []


def test_a_failure_that_is_not_about_the_clock_stays(shell: Shell, clock: Path) -> None:
    move(clock, 10)
    shell("compress")
    shell("prune", "--accept-clock")
    protected = shell.agent_directory / "protected.json"
    protected.write_text("{garbage")
    assert shell("merge").code == 20
    protected.unlink()

    (reason,) = shell("check", "--json").json["reasons"]
    assert reason.startswith("merge failed: sky: ")


def test_a_compact_that_failed_does_not_call_trash_empty(shell: Shell, clock: Path) -> None:
    move(clock, 10)
    told = shell("compact")
    assert "(it failed)" in told.out
    assert "trash is empty" not in told.out
    assert shell("compact", "--json").json["agents"]["sky"]["exit_code"] == 25
