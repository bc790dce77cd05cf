"""A run as a process: its end, whatever the end is."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from skymem.daemon.child import ChildEnd, run_child
from skymem.daemon.stop import Stop


def run(code: str, *, timeout: float = 20, stop: Stop | None = None) -> ChildEnd:
    command = [sys.executable, "-S", "-c", code]
    return run_child(command, timeout_seconds=timeout, stop=stop or Stop())


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("print('{\"ok\": true}')", ChildEnd(0, {"ok": True}), id="a detail"),
        pytest.param("print('[1]')", ChildEnd(0), id="no object"),
        pytest.param("print('[' * 100000)", ChildEnd(0), id="brackets without end"),
        pytest.param("print('{} ' + ' ' * 3_000_000)", ChildEnd(0), id="more than is kept"),
        pytest.param("raise SystemExit(21)", ChildEnd(21), id="an exit code"),
        pytest.param(
            "import os; os.kill(os.getpid(), 9)",
            ChildEnd(137, error="killed by SIGKILL"),
            id="a signal",
        ),
        pytest.param(
            "import os; os.kill(os.getpid(), 40)",
            ChildEnd(168, error="killed by signal 40"),
            id="a real-time signal",
        ),
        pytest.param(
            "import os, time; os.close(1); time.sleep(0.3); os._exit(3)",
            ChildEnd(3),
            id="output closed early",
        ),
    ],
)
def test_every_end_is_told(code: str, expected: ChildEnd) -> None:
    assert run(code) == expected


def test_a_command_that_is_not_there_is_an_end_like_any_other(tmp_path: Path) -> None:
    missing = str(tmp_path / "gone")
    end = run_child([missing], timeout_seconds=1, stop=Stop())
    assert end == ChildEnd(127, error=f"can't start {missing}: No such file or directory")


def test_a_child_reads_nothing_and_leads_its_own_session() -> None:
    code = "import os, sys; assert not sys.stdin.read(); os._exit(os.getsid(0) != os.getpid())"
    assert run(code) == ChildEnd(0)


def test_one_that_ends_well_only_when_told_to_has_timed_out_all_the_same() -> None:
    code = "import signal, time, os; signal.signal(15, lambda *_: os._exit(0)); time.sleep(20)"
    assert run(code, timeout=0.5) == ChildEnd(124, error="timed out after 0.5 s")


def test_what_a_killed_child_left_behind_is_killed_too() -> None:
    code = (
        "import subprocess, time\n"
        'print(f\'{{"pid": {subprocess.Popen(["sleep", "60"]).pid}}}\', flush=True)\n'
        "time.sleep(60)"
    )
    end = run(code, timeout=0.5)
    assert end.error == "timed out after 0.5 s; killed by SIGTERM"
    assert gone(end.detail["pid"])


def test_what_a_child_left_behind_by_itself_neither_holds_it_nor_is_harmed() -> None:
    code = 'import subprocess\nprint(f\'{{"pid": {subprocess.Popen(["sleep", "60"]).pid}}}\')'
    started = time.monotonic()
    end = run(code)
    assert time.monotonic() - started < 30  # of 60
    os.kill(end.detail["pid"], 0)
    os.kill(end.detail["pid"], 9)


def test_what_a_child_left_behind_may_write_for_ever() -> None:
    code = 'import subprocess\nprint(subprocess.Popen(["yes"]).pid, flush=True)'
    ended: list[ChildEnd] = []
    watch = threading.Thread(target=lambda: ended.append(run(code)), daemon=True)
    watch.start()
    watch.join(8)
    assert ended == [ChildEnd(0)]


def test_a_daemon_that_ends_takes_the_child_along() -> None:
    stop = Stop(grace_seconds=0.3)
    stop.begin("SIGTERM")
    end = run("import time; time.sleep(20)", stop=stop)
    assert end == ChildEnd(
        143, error="stopped with the daemon; killed by SIGTERM", interrupted=True
    )


def gone(pid: int) -> bool:
    """Whether the process ends within a second; one that init has yet to reap has ended."""
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False
