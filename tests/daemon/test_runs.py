"""The record of runs survives what can happen to its file."""

import json
from pathlib import Path
from typing import Any

import pytest

from skymem.daemon.runs import RunBook, RunEnd, RunRecord, read_runs, runs_path
from skymem.errors import DiskError, SkymemError
from skymem.stores.files import Files
from skymem.stores.home import HomePaths


@pytest.fixture
def paths(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path)


def book(paths: HomePaths) -> RunBook:
    def complain(error: SkymemError | OSError) -> None:
        raise error

    return RunBook(paths, Files(), complain)


def write(paths: HomePaths, document: object) -> None:
    paths.state.mkdir(exist_ok=True)
    runs_path(paths).write_text(json.dumps(document))


def test_what_one_daemon_wrote_the_next_reads(paths: HomePaths) -> None:
    first = book(paths)
    first.see(["promote"], 100)
    first.started("promote", 200)
    first.ended("promote", RunEnd(201, 0, ok=True, effective=True))
    first.skipped("promote")
    expected = RunRecord(
        100,
        last_start=200,
        last_end=201,
        last_success=201,
        last_effective=201,
        last_exit_code=0,
        skipped_still_running=1,
        runs=1,
    )
    assert read_runs(paths) == book(paths).snapshot() == {"promote": expected}


def test_first_seen_is_written_once(paths: HomePaths) -> None:
    book(paths).see(["promote"], 100)
    book(paths).see(["promote"], 300)
    assert read_runs(paths)["promote"].first_seen == 100


def test_failures_are_counted_until_a_success(paths: HomePaths) -> None:
    kept = book(paths)
    kept.started("promote", 1)
    failed = RunEnd(2, 1, ok=False, error="no\n" * 1000)
    cut_short = RunEnd(3, 143, ok=False, error="stopped", interrupted=True)
    counted = [kept.ended("promote", end) for end in (failed, failed, cut_short)]
    assert counted == [1, 2, 2]
    assert kept.ended("promote", RunEnd(4, 0, ok=True)) == 0
    assert read_runs(paths)["promote"].last_error is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b'{"entries": 7}', b"\xff\xfe", b'{"entries": {', b"[" * 100_000],
)
def test_a_damaged_file_is_set_aside_and_begun_anew(paths: HomePaths, content: bytes) -> None:
    paths.state.mkdir()
    runs_path(paths).write_bytes(content)
    assert read_runs(paths) == {}
    assert runs_path(paths).read_bytes() == content, "a reader writes nothing"
    anew = book(paths)
    assert (paths.state / "runs.json.damaged").read_bytes() == content
    anew.see(["promote"], 5)
    assert read_runs(paths) == {"promote": RunRecord(5)}


@pytest.mark.parametrize(
    "value",
    [None, "soon", True, -1, 1e300, 10**400, float("nan"), float("inf"), []],
)
def test_a_damaged_value_reads_as_never(paths: HomePaths, value: Any) -> None:
    names = ("last_start", "missed", "last_error", "last_exit_code", "waived_until")
    write(paths, {"entries": {"promote": {"first_seen": 5} | dict.fromkeys(names, value)}})
    found = read_runs(paths)["promote"]
    assert (found.first_seen, found.last_start, found.missed) == (5, None, 0)
    write(paths, {"entries": {"promote": {"first_seen": value}, "rotate": {"first_seen": 6}}})
    assert read_runs(paths) == {"rotate": RunRecord(6)}


def test_a_disk_that_refuses_is_complained_about_and_the_record_goes_on(paths: HomePaths) -> None:
    paths.state.write_text("a file where the directory should be")
    complaints: list[SkymemError | OSError] = []
    kept = RunBook(paths, Files(), complaints.append)
    kept.started("promote", 7)
    assert kept.snapshot()["promote"].last_start == 7
    assert [type(error) for error in complaints] == [DiskError]
