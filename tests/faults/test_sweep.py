"""Every step of every job fails once and dies once; the next run finds everything again."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from . import world
from .faulty import FAULTS, DyingFiles, PowerCut
from .oracle import check_records
from .sweep import STEPS_MAX, sweep
from .world import HOMES, both_home, late_home, look, promote_home, rotate_home


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("make", HOMES, ids=lambda make: make.__name__)
def test_the_next_run_finds_every_memory_once_whichever_step_broke(
    make: Callable[[Path], str], fault: str, disk: Path
) -> None:
    assert sweep(make, fault, disk) > 8, "the fault never met its step"


def states(make: Callable[[Path], str], name: str, disk: Path) -> list[frozenset[str]]:
    """In which tiers a memory is after a kill at each step, without the repetitions."""
    template = disk / "template"
    job = make(template)
    seen: list[frozenset[str]] = []
    for step in range(1, STEPS_MAX):
        root = disk / f"{step}"
        shutil.copytree(template, root)
        files = DyingFiles(step)
        try:
            world.run(root, job, files)
        except PowerCut:
            pass
        sight = look(root)
        state = sight.where(name) or sight.where_damage(name.encode())
        if state not in seen[-1:]:
            seen.append(state)
        if not files.fired:
            return seen
    pytest.fail("it never ends")


@pytest.mark.parametrize(
    ("make", "name", "order"),
    [
        pytest.param(promote_home, "worth-1", ["short", "long+short", "long"], id="promoted"),
        pytest.param(promote_home, "kept-last", ["short"], id="kept"),
        pytest.param(
            promote_home, world.BROKEN.decode(), ["short", "quarantine+short", "quarantine"],
            id="damaged",
        ),
        pytest.param(
            rotate_home, "kept-first", ["short", "archive+short", "archive"], id="archived"
        ),
        pytest.param(
            both_home, "worth-2", ["short", "long+short", "long"], id="promoted by the check"
        ),
        pytest.param(
            both_home, "kept-first", ["short", "archive+short", "archive"], id="archived by it"
        ),
        pytest.param(late_home, "late-worth", ["short", "long+short", "long"], id="late"),
    ],
)  # fmt: skip
def test_a_memory_is_in_its_old_place_then_in_both_then_in_its_new_one(
    make: Callable[[Path], str], name: str, order: list[str], disk: Path
) -> None:
    assert ["+".join(sorted(state)) for state in states(make, name, disk)] == order


@pytest.mark.parametrize("make", HOMES, ids=lambda make: make.__name__)
def test_a_run_after_the_last_changes_nothing(make: Callable[[Path], str], disk: Path) -> None:
    root = disk / "home"
    job = make(root)
    world.run(root, job)
    before = look(root)
    assert not world.run(root, job)["acted"]
    assert look(root) == before
    check_records(root)
