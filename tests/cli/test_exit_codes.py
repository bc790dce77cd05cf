"""Exit codes, through real processes where the process is what counts (README's table)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem.stores.lock import held
from tests.cli.conftest import RULES, Shell

REFUSED = [
    pytest.param(["bogus"], 2, "No such command", id="unknown verb"),
    pytest.param(["remember"], 2, "TEXT or --stdin", id="nothing to remember"),
    pytest.param(["remember", "--dry-run"], 2, "TEXT or --stdin", id="nothing to rehearse"),
    pytest.param(["remember", " "], 2, "no text", id="blank text"),
    pytest.param(["remember", "x", "--importance", "7"], 2, "0 to 1", id="importance beyond 1"),
    pytest.param(["remember", "x", "--importance", "nan"], 2, "", id="importance not a number"),
    pytest.param(["remember", "x", "--ttl-days", "0"], 2, "ttl_days", id="ttl of nothing"),
    pytest.param(["remember", "x", "--kind", ""], 2, "kind", id="kind without a name"),
    pytest.param(["remember", "x", "--meta", "novalue"], 2, "KEY=VALUE", id="meta without value"),
    pytest.param(["trigger", "nope"], 2, "memory_rotate_check", id="no such entry"),
    pytest.param(["trigger", "promote"], 2, "by hand: skymem promote)", id="a job, no entry"),
    pytest.param(["trigger", "heartbeat"], 2, "a daemon does that", id="not to be triggered"),
    pytest.param(["pause", "rotate"], 2, "(memory_rotate_check does it", id="a step of an entry"),
    pytest.param(["config", "explain", "promote_treshold"], 2, "did you mean", id="no such key"),
    pytest.param(["--log-level", "loud", "promote"], 2, "--log-level", id="no such level"),
    pytest.param(["show", "ffff"], 24, "ffff", id="no such memory"),
    pytest.param(["--agent", "../x", "show", "a"], 30, "agent name", id="agent outside"),
    pytest.param(["apply", "/nonexistent"], 2, "/nonexistent: there is no such", id="no such plan"),
    pytest.param(["apply", "/"], 2, "/: that is a directory; save one", id="a directory as plan"),
    pytest.param(["apply", "/dev/null"], 22, "not a plan", id="not a plan"),
]


@pytest.mark.parametrize(("words", "code", "says"), REFUSED)
def test_a_refusal_has_its_code_and_says_why_on_stderr(
    shell: Shell, words: list[str], code: int, says: str
) -> None:
    before = shell.snapshot()
    told = shell(*words)

    assert (told.code, told.out) == (code, "")
    assert says in told.err
    assert shell.snapshot() == before


def test_an_error_is_one_line_that_names_the_way_out(tmp_path: Path, shell: Shell) -> None:
    told = shell.bare("--home", str(tmp_path / "nowhere"), "status")

    assert told.code == 10
    assert told.err.count("\n") == 1
    assert "skymem init" in told.err


def test_a_job_that_is_held_up_names_the_holder_and_ends_with_11(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skymem.jobs.workplace.JOB_LOCK_SECONDS", 0.1)
    (shell.home / "run").mkdir(exist_ok=True)
    shell("promote")
    with held(shell.home / "run/job-sky.lock", "a backup", deadline_seconds=1):
        told = shell("promote")

    assert told.code == 11
    assert "a backup" in told.err
    assert f"{os.getpid()}" in told.err


def test_a_second_daemon_ends_with_12(shell: Shell) -> None:
    (shell.home / "run").mkdir(exist_ok=True)
    with held(shell.home / "run/daemon.lock", "skymem run", deadline_seconds=1):
        told = shell("run", "--once")

    assert told.code == 12
    assert "skymem status" in told.err


def test_damage_makes_doctor_end_with_20(shell: Shell) -> None:
    shell("remember", "x", "--importance", "0.9")
    shell("promote")
    ledger = shell.home / "audit/ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b"promote", b"PROMOTE", 1))
    told = shell("doctor", "--json")

    assert told.code == 20
    assert [one["check"] for one in told.json["problems"]] == ["ledger"]


def test_a_stale_plan_ends_with_22_and_does_nothing(shell: Shell) -> None:
    shell("remember", "x", "--importance", "0.9")
    plan = str(shell.home / "plan.json")
    shell("promote", "--plan", plan)
    shell("remember", "y", "--importance", "0.9")
    before = shell.snapshot()

    for words in (["apply", plan, "--dry-run"], ["apply", plan]):
        told = shell(*words)
        assert told.code == 22
        assert "make a new one" in told.err
    assert shell.snapshot() == before


@pytest.mark.parametrize(
    ("file", "text", "place"),
    [
        pytest.param("retention_rules.yaml", "promote_treshold: 0.7\n", ":1:1: ", id="typo"),
        pytest.param("retention_rules.yaml", "a: 1\na: 2\n", ":2:1: ", id="key twice"),
        pytest.param("retention_rules.yaml", "promote_threshold: 70\n", ":1:20: ", id="range"),
    ],
)
def test_a_broken_rules_file_ends_with_78_and_its_place(
    shell: Shell, file: str, text: str, place: str
) -> None:
    (shell.home / file).write_text(text)

    for words in (["promote"], ["undo"], ["run", "--once"]):
        told = shell(*words)
        assert told.code == 78
        assert file + place in told.err


def test_a_broken_schedule_stops_the_daemon_but_not_the_jobs(shell: Shell) -> None:
    (shell.home / "schedule.yaml").write_text("every:\n  - name: nope\n    minutes: 1\n")

    for words in (["run", "--once"], ["jobs"]):
        told = shell(*words)
        assert told.code == 78
        assert "schedule.yaml:2:" in told.err
    assert shell("promote").code == 0


def test_config_check_names_every_problem_of_both_files_at_once(shell: Shell) -> None:
    (shell.home / "retention_rules.yaml").write_text(RULES + "line_max: 7\naccess: all\n")
    (shell.home / "schedule.yaml").write_text("every:\n  - minutes: 1\n")
    told = shell("config", "check", "--json")

    assert told.code == 78
    assert len(told.json["problems"]) >= 3


def test_ctrl_c_ends_a_wait_for_input_with_130(shell: Shell) -> None:
    with _started(shell, "remember", "--stdin") as process:
        _wait(lambda: _reads_stdin(process.pid))
        code, err = _interrupt(process)

    assert (code, err) == (130, "")


def test_ctrl_c_ends_a_run_with_130_after_the_entry_in_hand(shell: Shell) -> None:
    heartbeat = shell.home / "status/sky_heartbeat.json"
    for _ in range(10):  # on a busy machine the run may be over before the signal is sent
        heartbeat.unlink(missing_ok=True)
        with _started(shell, "run", "--once") as process:
            _wait(heartbeat.exists)
            code, err = _interrupt(process)
        if code:
            break

    assert code == 130
    assert err.splitlines()[-1] == (
        "skymem: stopped by SIGINT before the next step; nothing was lost"
    )
    assert "Traceback" not in err


def _started(shell: Shell, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "skymem", "--home", str(shell.home), *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def _interrupt(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def _wait(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _reads_stdin(pid: int) -> bool:
    """Whether the process sleeps in read(0, …); the call has number 0 or 63, by machine."""
    return Path(f"/proc/{pid}/syscall").read_text().split()[:2] in (["0", "0x0"], ["63", "0x0"])


def test_a_bug_keeps_its_traceback(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("skymem.app.Home.run_job", broken)

    with pytest.raises(ZeroDivisionError):
        shell("promote")
