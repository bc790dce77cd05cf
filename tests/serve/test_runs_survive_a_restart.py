"""Who polls a job after a restart of the API is told what came of it, or that it is lost."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest

from skymem.serve.run_records import RunRecords
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.acceptance.homes import wait_until
from tests.serve.conftest import answers, new_home, serving
from tests.serve.test_the_process import SLOW_JOB


def test_what_had_ended_is_told_as_before(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with serving(home) as api:
        api.remember("a decision to keep", importance=0.95)
        place = api.post("/v1/jobs/promote").headers["location"]
        wait_until(lambda: api.get(place).json()["state"] != "running", "it has ended")
        before = api.get(place).json()
        api.process.kill()
        api.process.wait(60)
    assert "a decision" not in (home / "state/api_runs.json").read_text()
    with serving(home) as api:
        assert api.get(place).json() == before

    assert (before["state"], before["detail"]["promoted"]) == ("done", 1)


def test_what_was_in_hand_is_lost_and_that_is_said(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with serving(home, command=(sys.executable, "-c", SLOW_JOB)) as api:
        place = api.post("/v1/jobs/promote").headers["location"]
        jobs = children_of(api.process.pid)
        api.process.kill()
        api.process.wait(60)
        for job in jobs:  # one that was just being started has the API's own stderr
            with contextlib.suppress(ProcessLookupError):
                os.kill(job, signal.SIGKILL)
    with serving(home) as api:
        told = api.get(place).json()
        again = api.get(place).json()

    assert (told["state"], told["ended"], told["exit_code"]) == ("lost", None, None)
    assert "did not see its end" in told["error"]
    assert told == again


def children_of(pid: int) -> list[int]:
    """The processes that one has started, once there are any."""
    path = Path(f"/proc/{pid}/task")

    def found() -> list[int]:
        texts = []
        for each in path.iterdir():
            with contextlib.suppress(OSError):  # a thread that ends meanwhile has no children
                texts.append((each / "children").read_text())
        return [int(one) for text in texts for one in text.split()]

    wait_until(found, "the job runs")
    return found()


def test_an_api_that_is_told_to_end_sees_its_jobs_end(tmp_path: Path) -> None:
    home = new_home(tmp_path / "home")
    with serving(home, command=(sys.executable, "-c", SLOW_JOB)) as api:
        place = api.post("/v1/jobs/promote").headers["location"]
        children_of(api.process.pid)
        api.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not answers(home / "run/api.sock"), "it takes no more")
        api.process.send_signal(signal.SIGTERM)
        api.process.wait(60)
    with serving(home) as api:
        assert api.get(place).json()["state"] == "failed"


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"runs": 1}', b'{"runs": [1, {"id": "x"}, {"id": 7}]}', b"\xff\x00"]
)
def test_a_record_that_can_not_be_read_is_none(tmp_path: Path, content: bytes) -> None:
    paths = HomePaths(tmp_path)
    paths.state.mkdir()
    (paths.state / "api_runs.json").write_bytes(content)
    assert RunRecords(paths, Files()).read() == []
