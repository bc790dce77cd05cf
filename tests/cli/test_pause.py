"""`pause` and `resume`: what is paused is shown everywhere, and ends when it is said to."""

import json
import time

import pytest

from tests.cli.conftest import Shell, texts

SCHEDULE = """\
every:
  - {name: memory_rotate_check, minutes: 5}
  - {name: nightly, job: promote, daily: "02:30"}
  - {name: hourly, job: promote, hours: 1}
  - {name: heartbeat, seconds: 30}
"""


@pytest.fixture(autouse=True)
def schedule(shell: Shell) -> None:
    (shell.home / "schedule.yaml").write_text(SCHEDULE)


def paused(told: object) -> set[str]:
    assert isinstance(told, dict)
    return {one["name"] for one in told["jobs"] if one["paused"] is not None}


def test_a_paused_job_is_shown_until_it_is_resumed(shell: Shell) -> None:
    before = time.time()
    found = shell("pause", "nightly", "--json").json
    (one,) = [job for job in found["jobs"] if job["name"] == "nightly"]
    assert before <= one["paused"] <= time.time()
    assert one["next_run"] is None, "it has none"

    assert paused(shell("jobs", "--json").json) == {"nightly"}
    status = shell("status", "--json").json
    assert [entry["name"] for entry in status["paused"]] == ["nightly"]
    assert "nightly is paused (end that with: skymem resume nightly)" in status["notes"]
    assert status["health"] == "healthy", "somebody wanted it"
    assert "nightly is paused" in shell("status").out
    (row,) = [line for line in shell("jobs").out.splitlines() if line.startswith("nightly")]
    assert "paused" in row

    assert paused(shell("resume", "nightly", "--json").json) == set()
    assert shell("status", "--json").json["paused"] == []


def test_a_job_stands_for_all_its_entries(shell: Shell) -> None:
    assert paused(shell("pause", "promote", "--json").json) == {"nightly", "hourly"}
    assert paused(shell("resume", "hourly", "--json").json) == {"nightly"}


def test_a_person_is_told_what_changed(shell: Shell) -> None:
    shell("pause", "hourly")
    told = shell("pause", "promote").out.splitlines()
    assert told[-2:] == ["paused until resumed: nightly", "was paused already: hourly"]
    assert shell("resume", "hourly").out.splitlines()[-1] == "resumed: hourly"
    assert shell("resume", "hourly").out.splitlines()[-1] == "was not paused: hourly"


def test_a_second_pause_keeps_the_time_of_the_first(shell: Shell) -> None:
    shell("pause", "hourly")
    first = (shell.home / "state/paused.json").read_bytes()
    assert shell("pause", "hourly").code == 0
    assert (shell.home / "state/paused.json").read_bytes() == first


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_a_rehearsal_shows_and_changes_nothing(shell: Shell, verb: str) -> None:
    if verb == "resume":
        shell("pause", "hourly")
    before = shell.snapshot()
    told = shell(verb, "hourly", "--dry-run", "--json").json

    assert told["dry_run"] is True
    assert paused(told) == ({"hourly"} if verb == "pause" else set())
    assert shell.snapshot() == before
    assert paused(shell("jobs", "--json").json) == (set() if verb == "pause" else {"hourly"})
    assert ("would be paused" in shell(verb, "hourly", "--dry-run").out) is (verb == "pause")


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize("word", ["unheard_of", "prune", "heartbeat"])
def test_what_can_not_be_paused_is_told_with_what_can(shell: Shell, verb: str, word: str) -> None:
    told = shell(verb, word)

    assert (told.code, told.out) == (2, "")
    if word != "heartbeat":
        assert "it has: memory_rotate_check, nightly, hourly (or by job: promote)" in told.err
    assert not (shell.home / "state/paused.json").exists()


def test_a_paused_job_still_runs_by_hand(shell: Shell) -> None:
    shell("pause", "hourly")
    shell("remember", "x", "--importance", "0.9")

    assert shell("trigger", "hourly", "--json").json["promoted"] == 1


def test_an_entry_that_is_gone_can_still_be_resumed(shell: Shell) -> None:
    shell("pause", "hourly")
    (shell.home / "schedule.yaml").write_text("every:\n  - {name: promote, hours: 1}\n")
    assert "hourly is paused" in shell("status").out
    assert shell("resume", "hourly").code == 0
    assert "hourly" not in shell("status").out


def test_a_damaged_record_of_pauses_is_an_alarm(shell: Shell) -> None:
    shell("pause", "hourly")
    (shell.home / "state/paused.json").write_text("{")
    status = shell("status", "--json").json
    assert status["health"] == "degraded"
    assert "paused.json can't be read, so nothing is paused" in texts(status)[0]
    shell("pause", "nightly")
    assert shell.alarms() == []


def test_failures_in_a_row_are_shown(shell: Shell) -> None:
    record = {"first_seen": 1.0, "last_start": 2.0, "last_end": 3.0, "last_exit_code": 74}
    runs = {"entries": {"hourly": {**record, "consecutive_failures": 3, "last_error": "full"}}}
    (shell.home / "state").mkdir(exist_ok=True)
    (shell.home / "state/runs.json").write_text(json.dumps(runs))
    (one,) = [job for job in shell("jobs", "--json").json["jobs"] if job["name"] == "hourly"]

    assert (one["failures"], one["error"], one["result"]) == (3, "full", "failed (74)")
    assert one["next_run"] == 2.0 + 4 * 3600, "three failures: four intervals"
    assert shell("jobs").out.splitlines()[0].endswith("missed  failures")
