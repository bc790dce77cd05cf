"""One process for a home: how it starts, what it says, how it ends (hazards F1, F8)."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from skymem.stores.lock import holder_of
from tests.acceptance.homes import wait_until
from tests.serve.conftest import ROOT, Api, answers, new_home, serving

SLOW_JOB = """
import sys
from skymem.serve import service
from skymem.serve.runs import Runs
class Slow(Runs):
    def __init__(self, command, *more):
        super().__init__([sys.executable, "-c", "import time; print('{}', flush=True); time.sleep(600)"], *more)
service.Runs = Slow
from skymem.cli.entry import main
main()
"""  # noqa: E501


def test_it_ends_with_nothing_left_of_it(tmp_path: Path) -> None:
    with serving(new_home(tmp_path / "home")) as api:
        api.remember("kept")
        assert api.end() == 0
        assert not (api.home / "run/api.sock").exists()
        assert holder_of(api.home / "run/api.lock") == ""


def test_what_a_killed_one_left_is_no_hindrance(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with serving(home) as api:
        api.process.kill()
        api.process.wait(60)
    assert (home / "run/api.sock").exists()
    with serving(home) as api:
        assert api.get("/health/live").status_code == 200


def test_a_second_one_is_refused(api: Api) -> None:
    done = command(api.home, "serve")

    assert done.returncode == 11
    assert f"process {api.process.pid}" in done.stderr
    assert api.get("/health/live").status_code == 200


def test_a_file_in_its_place_is_left_alone(tmp_path: Path) -> None:
    home, mine = new_home(tmp_path / "home"), tmp_path / "mine"
    mine.write_text("precious")

    done = command(home, "serve", "--socket", str(mine))

    assert (done.returncode, mine.read_text()) == (2, "precious")


def test_where_it_would_listen_is_said_without_listening(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home", "api: {tcp: 127.0.0.1:8321, agents: {1001: [hobbs]}}\n")

    told = json.loads(command(home, "serve", "--dry-run", "--json").stdout)

    assert told == {
        "socket": str(home / "run/api.sock"),
        "tcp": "127.0.0.1:8321",
        "agents": {"1001": ["hobbs"]},
    }
    assert not (home / "run/api.token").exists()


def test_a_bound_process_serves_nobody(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")

    assert command(home, "serve", SKYMEM_BOUND_AGENT="sky").returncode == 30


def test_the_service_manager_is_told(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        name = f"\0skymem-test-{os.getpid()}-{tmp_path.name}"
        manager.bind(name)
        manager.settimeout(60)
        with serving(
            home, env={"NOTIFY_SOCKET": f"@{name[1:]}", "WATCHDOG_USEC": "2000000"}
        ) as api:
            said = manager.recv(4096).decode()
            assert said.startswith("READY=1\nSTATUS=the API answers on ")
            while manager.recv(4096) != b"WATCHDOG=1":
                pass
            api.process.terminate()
            while manager.recv(4096) != b"STOPPING=1":
                pass
            assert api.process.wait(60) == 0


def test_a_job_is_started_polled_and_told_as_the_cli_tells_it(api: Api) -> None:
    api.remember("a decision to keep", importance=0.95)

    started = api.post("/v1/jobs/promote", {"agent": "sky"})
    place = started.headers["location"]
    wait_until(lambda: api.get(place).json()["state"] != "running", "it has ended")
    ended = api.get(place).json()

    assert (started.status_code, started.json()["state"]) == (202, "running")
    assert (ended["state"], ended["exit_code"], ended["error"]) == ("done", 0, None)
    assert ended["detail"]["promoted"] >= 1
    status = json.loads((api.home / "status/sky_last_action.json").read_text())
    assert (status["action"], status["detail"]["promoted"]) == (
        "promote",
        ended["detail"]["promoted"],
    )


@pytest.mark.parametrize("name", ["erase", "heartbeat", "run", "--help", "no-such"])
def test_what_is_no_job_is_not_started(api: Api, name: str) -> None:
    assert api.post(f"/v1/jobs/{name}").status_code == 404
    assert api.get(f"/v1/jobs/runs/{name}").status_code == 404


def test_a_rehearsed_job_moves_nothing(api: Api) -> None:
    api.remember("a goal to keep", agent="rehearsed", importance=0.95)

    place = api.post("/v1/jobs/promote", {"agent": "rehearsed", "dry_run": True}).headers[
        "location"
    ]
    wait_until(lambda: api.get(place).json()["state"] != "running", "it has ended")

    assert api.get(place).json()["detail"]["dry_run"]
    assert not (api.home / "memory/rehearsed/long_term.jsonl").exists()


def test_a_second_signal_ends_a_job_in_hand(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with serving(home, command=(sys.executable, "-c", SLOW_JOB)) as api:
        place = api.post("/v1/jobs/promote").headers["location"]
        assert api.get(place).json()["state"] == "running"
        api.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not answers(home / "run/api.sock"), "it takes no more")
        api.process.send_signal(signal.SIGTERM)
        assert api.process.wait(60) == 0


def test_requests_and_a_daemon_do_not_lose_a_memory(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    each, writers = 25, 4
    (home / "schedule.yaml").write_text("every:\n  - {name: memory_rotate_check, seconds: 1}\n")
    daemon = subprocess.Popen(
        [sys.executable, "-m", "skymem", "--home", str(home), "run"],
        cwd=ROOT, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with serving(home) as api:
            failed: list[BaseException] = []

            def write(number: int) -> None:
                try:
                    for one in range(each):
                        api.remember(f"writer {number} saw {one}", importance=one / each)
                        api.get("/v1/agents/sky/search", q=f"writer {number}", limit=3)
                except BaseException as error:  # noqa: BLE001  (a thread's failure is the test's)
                    failed.append(error)

            threads = [threading.Thread(target=write, args=(one,)) for one in range(writers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failed == []
            wanted = {f"writer {w} saw {one}" for w in range(writers) for one in range(each)}
            listed = api.get("/v1/agents/sky/memories", limit=1000).json()["results"]
            assert sorted(one["content"] for one in listed) == sorted(wanted)
    finally:
        daemon.terminate()
        assert daemon.wait(90) == 0
    assert command(home, "fsck").returncode == 0


def command(home: Path, *words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "skymem", "--home", str(home), *words],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip
