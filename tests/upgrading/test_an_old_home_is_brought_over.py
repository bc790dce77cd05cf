"""A home of the first release works as it is, and is brought over with a proven copy before."""

import json
from pathlib import Path

import pytest

import skymem
from skymem.app import Home, now, open_home
from skymem.errors import (
    BusyError,
    DaemonRunningError,
    HomeTooOldError,
    NotAllowedError,
    UsageError,
)
from skymem.exchange.backup import restore_backup
from skymem.jobs.fsck import fsck
from skymem.overview import status_overview
from skymem.stores import home_format
from skymem.stores.home_format import read_format, write_format
from skymem.stores.lock import held
from skymem.upgrading.steps import STEPS, UnsoundHomeError
from skymem.upgrading.upgrade import adopt, upgrade
from tests.conftest import line
from tests.upgrading.conftest import TEXTS, contents


def texts(home: Home) -> list[str]:
    """Every memory's text, of both agents."""
    found = [
        json.loads(raw)["content"]
        for path in home.paths.memory.glob("*/*.jsonl")
        for raw in path.read_bytes().splitlines()
    ]
    return sorted(found)


def test_it_can_be_read_and_worked_on_as_it_is(old: Home) -> None:
    assert status_overview(old)["format"] == 0
    memory = skymem.open_memory(home=str(old.paths.root))
    assert memory.recall("where is staging?", mode="deterministic")
    memory.remember("said to it now", importance=0.2)
    detail, _ = old.run_job("promote")

    assert detail["ok"], detail
    assert detail["promoted"] == 1
    assert texts(old) == sorted([*TEXTS, "said to it now"])
    assert not old.paths.format.exists(), "a job says nothing of the format"


def test_it_is_in_this_format_afterwards_and_nothing_else_changed(old: Home) -> None:
    before = contents(old.paths.root)
    told = upgrade(old, now())
    after = contents(old.paths.root)

    assert (told["from"], told["to"], told["steps"]) == (0, 1, [1])
    assert read_format(old.paths).number == home_format.CURRENT
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert {one for one in changed if not one.startswith("status/")} == {
        "audit/ledger.jsonl", "skymem.json"
    }  # fmt: skip
    assert after["audit/ledger.jsonl"].startswith(before["audit/ledger.jsonl"])
    entry = json.loads(after["audit/ledger.jsonl"].splitlines()[-1])
    assert (entry["op"], entry["formats"]) == ("upgrade", [0, 1])
    assert old.workplace().ledger().verify()[1] == []
    last = old.status_files().read_last_action() or {}
    assert (last["action"], last["detail"]["to"]) == ("upgrade", 1)
    work = old.workplace()
    assert fsck(work, work.agents()).problems == []


def test_the_copy_made_before_is_the_home_as_it_was(old: Home, tmp_path: Path) -> None:
    before = contents(old.paths.root)
    told = upgrade(old, now())
    restored = restore_backup(Path(told["backup"]), tmp_path / "again")

    assert Path(told["backup"]).parent == tmp_path, "beside the home, where no erasure misses it"
    assert contents(tmp_path / "again") == before
    assert restored["files"] > 5
    assert upgrade(open_home(str(tmp_path / "again")), now())["to"] == 1


def test_again_does_nothing(old: Home, tmp_path: Path) -> None:
    upgrade(old, now())
    before = contents(old.paths.root)
    told = upgrade(old, now() + 5)

    assert (told["steps"], told["backup"]) == ([], None)
    assert contents(old.paths.root) == before
    assert len([*tmp_path.glob("*.tar")]) == 1


def test_a_rehearsal_says_it_and_leaves_it(old: Home, tmp_path: Path) -> None:
    before = {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")}
    told = upgrade(old, now(), dry_run=True)

    assert told["dry_run"]
    assert (told["steps"], told["to"]) == ([1], 1)
    assert {path: path.lstat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_the_copy_goes_where_it_is_told_but_not_into_the_home(old: Home, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lies among the home's own files"):
        upgrade(old, now(), old.paths.state / "before.tar")
    upgrade(old, now(), tmp_path / "before.tar")

    assert (tmp_path / "before.tar").stat().st_size > 1000


def test_a_damaged_home_is_left_alone(old: Home) -> None:
    protected = old.paths.agent("sky").protected
    protected.write_bytes(b"{")
    with pytest.raises(UnsoundHomeError, match="skymem doctor"):
        upgrade(old, now())
    adopt(old, now())

    assert not old.paths.format.exists()
    protected.unlink()
    assert upgrade(old, now() + 1)["to"] == 1


def test_nobody_else_works_on_it_meanwhile(old: Home) -> None:
    old.paths.run.mkdir()
    with (
        held(old.paths.daemon_lock, "skymem run", deadline_seconds=1),
        pytest.raises(DaemonRunningError),
    ):
        upgrade(old, now())
    with (
        held(old.paths.api_lock, "skymem serve", deadline_seconds=1),
        pytest.raises(BusyError, match="skymem serve"),
    ):
        upgrade(old, now())

    assert not old.paths.format.exists()


def test_who_is_bound_to_an_agent_may_not(old: Home) -> None:
    with pytest.raises(NotAllowedError):
        upgrade(old.bind("sky"), now())


def test_who_begins_to_keep_it_brings_it_over_without_a_copy(old: Home, tmp_path: Path) -> None:
    adopt(old, now())

    assert read_format(old.paths).number == home_format.CURRENT
    assert [*tmp_path.glob("*.tar")] == []
    size = old.workplace().ledger().size()
    adopt(old, now())
    assert old.workplace().ledger().size() == size


@pytest.fixture
def waits(old: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The same home under a release to come, one whose jobs need what an upgrade makes."""
    monkeypatch.setattr(home_format, "CURRENT", 2)
    monkeypatch.setattr(home_format, "WORKED_ON", 2)
    return old


def test_one_that_jobs_wait_for_is_read_and_told_things_all_the_same(waits: Home) -> None:
    root = str(waits.paths.root)
    memory = skymem.open_memory(home=root)
    assert memory.recall("where is staging?", mode="deterministic")
    memory.remember("said while it waits", importance=0.9)
    detail, _ = open_home(root).run_job("promote")

    assert not detail["ok"]
    assert "is in format 0; this is skymem" in detail["error"]
    assert "format 2 and newer" in detail["error"]
    assert "bring it over with: skymem upgrade" in detail["error"]
    assert sorted([*TEXTS, "said while it waits"]) == texts(waits)
    assert "jobs wait for skymem upgrade" in "".join(status_overview(waits)["notes"])
    with pytest.raises(HomeTooOldError):
        adopt(waits, now())


def test_a_job_that_a_long_lived_program_begins_looks_again(old: Home) -> None:
    write_format(old.paths, old.files, home_format.CURRENT + 1)
    old.remember("sky", [line("it may still be told something", 0.9)])
    before = _lines(old)
    detail, _ = old.run_job("promote")

    assert not detail["ok"]
    assert "knows formats up to 1" in detail["error"]
    assert _lines(old) == before


def _lines(home: Home) -> dict[str, bytes]:
    return {
        name: data
        for name, data in contents(home.paths.root).items()
        if name.startswith(("memory/", "audit/"))
    }


def test_the_steps_are_numbered_and_each_says_what_it_does() -> None:
    assert [step.to for step in STEPS] == [*range(1, home_format.CURRENT + 1)]
    assert 0 <= home_format.WORKED_ON <= home_format.CURRENT
    for step in STEPS:
        assert (step.take.__doc__ or "").startswith(f"{step.to - 1} → {step.to}: ")
