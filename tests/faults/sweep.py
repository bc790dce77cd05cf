"""One job, broken at each of its steps in turn, and checked after the next run."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from . import world
from .faulty import FAULTS, PowerCut
from .oracle import check_sound, undisturbed
from .world import look

STEPS_MAX = 1000


def as_if_from_another_process(root: Path) -> None:
    """Temporary files carry their process's number, and the next process has another."""
    for left in root.rglob(f".*.{os.getpid()}.new"):
        left.rename(left.with_name(left.name.replace(f".{os.getpid()}.", ".1.")))


def sweep(make: Callable[[Path], str], fault: str, disk: Path) -> int:
    """Break every step and check what the next run makes of it; returns how many there were."""
    template = disk / "template"
    job = make(template)
    shutil.copytree(template, disk / "undisturbed")
    world.run(disk / "undisturbed", job)
    expected = undisturbed(disk / "undisturbed")
    assert {world.BROKEN, world.HUGE} <= expected.damage.keys()
    for step in range(1, STEPS_MAX):
        root = disk / f"{step}"
        shutil.copytree(template, root)
        files = FAULTS[fault](step)
        try:
            world.run(root, job, files)
        except PowerCut:
            assert fault.startswith("killed")
        assert look(root).names() >= expected.places.keys(), f"unseen after step {step}"
        as_if_from_another_process(root)
        detail = world.run(root, job)
        assert detail["ok"], detail["error"]
        check_sound(root, expected, exact="middle of a write" not in fault)
        shutil.rmtree(root)
        if not files.fired:
            return step
    raise RuntimeError("it never ends")
