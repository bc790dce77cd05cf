"""Killed or refused at any step of a change of model: one model is in use, whole, and answers.

Command, engine and shadow die together, which is more than any kill does to them in life; what each
of them does to the disk is a step.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem.errors import SkymemError
from skymem.stores.files import Files
from tests.faults.faulty import FAULTS, FaultyFiles, PowerCut
from tests.faults.sweep import as_if_from_another_process
from tests.jobs.changing import AGENTS, NEW, OLD, ChangingHome, filled, note, seams

__all__ = ["seams"]

STEPS_MAX = 400
KINDS = ["killed", "killed in the middle of a write", "ENOSPC once"]

Seams = Callable[[ChangingHome], ChangingHome]


def answers(home: ChangingHome) -> str:
    """The model that answers both agents, each rightly and from a whole index."""
    (model,) = {str(home.engine.index.follow()["model"])}
    for agent in AGENTS:
        held = home.engine.index.missing(agent, "memory", [])["held"]
        assert held == [12, 0], f"{agent} has {held} with {model}"
        for number in (0, 7, 11):
            assert home.engine.first(agent, note(agent, number)) == f"{agent}{number:03}"
    return model


def cut_short(home: ChangingHome, change: Callable[[], object], fault: FaultyFiles) -> None:
    """Make a change on a disk that fails or dies; then all that ran is gone."""
    home.files = fault
    try:
        change()
    except (PowerCut, SkymemError):
        assert fault.fired
    home.die()
    home.files = Files()
    as_if_from_another_process(home.root)


def sweep(
    disk: Path, put: Seams, kind: str, before: Callable[[ChangingHome], object], model: str
) -> tuple[int, set[str]]:
    """Break every step of going over to `model`; how many there were, and who answered then."""
    template = put(ChangingHome(disk / "template"))
    filled(template)
    before(template)
    template.end()
    seen: set[str] = set()
    for step in range(1, STEPS_MAX):
        shutil.copytree(template.root, disk / f"{step}")
        home = put(ChangingHome(disk / f"{step}"))
        fault = FAULTS[kind](step)
        change = home.rollback if model == OLD else home.migrate
        cut_short(home, change, fault)
        seen.add(answers(home))
        home.end()
        at_hand = {
            one: len(set(texts.texts)) if (texts := home.models.get(one)) else 0
            for one in (OLD, NEW)
        }
        if model == NEW:
            done = home.migrate()
            assert done.detail["ok"], done.detail
            again = home.models[NEW].texts
            # A batch that was encoded and not yet put is all that may be encoded twice.
            assert len(again) <= 24 + 4, at_hand
        elif answers(home) == NEW:
            home.rollback()
        assert answers(home) == model
        home.engine.overview()
        for agent in AGENTS:
            assert home.caches(agent) == {OLD, NEW}
            assert home.generations(home.paths.chroma_store, agent) == [model]
        home.end()
        shutil.rmtree(home.root)
        if not fault.fired:
            return step, seen
    raise RuntimeError("it never ends")


@pytest.mark.parametrize("kind", KINDS)
def test_broken_at_any_step_of_a_migration_it_goes_on_and_encodes_nothing_twice(
    disk: Path, seams: Seams, kind: str
) -> None:
    steps, seen = sweep(disk, seams, kind, lambda _home: None, NEW)

    assert steps > 20
    assert seen == {OLD, NEW}


@pytest.mark.parametrize("kind", KINDS)
def test_broken_at_any_step_of_a_rollback_one_of_both_is_in_use(
    disk: Path, seams: Seams, kind: str
) -> None:
    steps, seen = sweep(disk, seams, kind, ChangingHome.migrate, OLD)

    assert steps > 8
    assert seen == {OLD, NEW}
