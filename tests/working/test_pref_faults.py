"""Whatever the disk does while preferences and playbooks are written: all of it or nothing."""

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skymem.app import open_home
from skymem.errors import DiskError
from skymem.model.playbook import Flow
from skymem.working.playbooks import Playbooks
from skymem.working.preferences import Preferences
from tests.faults.faulty import (
    DyingFiles,
    FailingFiles,
    FaultyFiles,
    FullFiles,
    PowerCut,
    UnsyncedFiles,
)
from tests.working.preferring import again, clock, home, lines, memory

__all__ = ["clock", "home", "memory"]

SHEET = """\
preferences: {verbosity: terse, depth: deep}
rules: [{name: r, when: {a: 1}, effect: {b: 2}}]
"""
FLOW = Flow("report", [{"tool_id": "sql"}], "a chart", "revenue by region")
STEPS_MAX = 100


def on(files: FaultyFiles, home: Path) -> Preferences:
    """As a process sees them whose disk has a fault."""
    return Preferences(replace(open_home(str(home)), files=files), "sky")


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda: FullFiles(1), id="full in the middle"),
        pytest.param(lambda: FailingFiles(2, errno.ENOSPC), id="full"),
        pytest.param(lambda: UnsyncedFiles(1), id="not synced"),
    ],
)
def test_a_sheet_that_can_t_be_written_leaves_nothing_and_is_written_next_time(
    home: Path, tmp_path: Path, fault: Callable[[], FaultyFiles]
) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(SHEET)
    again(home).update("depth", "brief")
    with pytest.raises(DiskError):
        on(fault(), home).onboard(path)

    assert len(lines(home)) == 1
    assert again(home).get("depth") == "brief"
    assert again(home).get("verbosity") is None
    assert [one.new for one in again(home).onboard(path)] == [True] * 3
    assert again(home).get("depth") == "deep"


@pytest.mark.parametrize("torn", [False, True])
def test_whoever_dies_at_any_step_leaves_the_old_value_or_the_new(
    home: Path, *, torn: bool
) -> None:
    again(home).update("verbosity", "0")
    for step in range(1, STEPS_MAX):
        files = DyingFiles(step, torn=torn)
        before = again(home).get("verbosity")
        try:
            on(files, home).update("verbosity", str(step))
        except PowerCut:
            assert again(home).get("verbosity") in {before, str(step)}
        else:
            break
    assert 1 < step < STEPS_MAX - 1
    found = again(home)
    assert found.get("verbosity") == str(step)
    history = [one.preference.value for one in found.history("verbosity")]
    assert len(history) == len(set(history))


@pytest.mark.parametrize("torn", [False, True])
def test_whoever_dies_as_the_user_goes_on_makes_one_playbook_of_it(
    home: Path, *, torn: bool
) -> None:
    for step in range(1, STEPS_MAX):
        Playbooks(open_home(str(home)), "sky").complete(FLOW, session=str(step))
        files = DyingFiles(step, torn=torn)
        try:
            Playbooks(replace(open_home(str(home)), files=files), "sky").continued(
                session=str(step)
            )
        except PowerCut:
            Playbooks(open_home(str(home)), "sky").continued(session=str(step))
        else:
            break
    assert 1 < step < STEPS_MAX - 1
    found = Playbooks(open_home(str(home)), "sky")
    assert [one.count for one in found.all()] == [step]
    assert all(found.waiting(session=str(one)) == [] for one in range(1, step + 1))
