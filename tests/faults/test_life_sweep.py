"""Each step of each verb fails once and dies once; the next run finds every memory in one place.

In CI a kill is tried at every step and the other faults at some, the same every time;
`SKYMEM_FAULTS=all` tries each at each.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zlib import crc32

import pytest

from skymem.errors import SkymemError
from skymem.jobs.move import Carrying
from skymem.jobs.put_back import Return

from .faulty import FAULTS
from .life import LIVES, look, opened
from .sweep import as_if_from_another_process
from .swept import Swept, attempt
from .test_order import leave_before_bringing

WHOLE: Final = os.environ.get("SKYMEM_FAULTS") == "all"
EVERY: Final = 6
TRIED: Final = (
    "killed",
    "killed in the middle of a write",
    "ENOSPC once",
    "ENOSPC for good",
    "EIO once",
    "EIO for good",
)

each_life = pytest.mark.parametrize("name", LIVES)


def chosen(swept: Swept, name: str, fault: str) -> Iterator[int]:
    """The steps to break, from 1."""
    every = 1 if WHOLE or fault.startswith("killed") else EVERY
    first = crc32(f"{name} {fault}".encode()) % every
    for number in range(first, len(swept.steps), every):
        if "middle" not in fault or swept.steps[number] == "write":
            yield number + 1


def sweep(name: str, fault: str, disk: Path) -> None:
    """Break each chosen step and check what the next run, and the same verb again, make of it."""
    swept = Swept(LIVES[name], disk)
    steps = list(chosen(swept, name, fault))
    assert steps
    for step in steps:
        root = disk / f"{step}"
        shutil.copytree(swept.template, root)
        files = FAULTS[fault](step)
        attempt(swept.life, root, files)
        assert files.fired, f"step {step} was never made"
        try:
            swept.check_seen(look(root, torn=True))
            as_if_from_another_process(root)
            if step % 2:
                assert opened(root).run_job("promote")[0]["ok"]
                swept.check_sound(root)
            attempt(swept.life, root)
            swept.check_sound(root)
            swept.check_done(root)
        except (AssertionError, SkymemError) as error:
            error.add_note(f"{name}, {fault}, step {step} after {swept.steps[:step][-4:]}")
            raise
        shutil.rmtree(root)


@pytest.mark.parametrize("fault", TRIED)
@each_life
def test_every_memory_is_in_one_place_whichever_step_broke(
    name: str, fault: str, disk: Path
) -> None:
    sweep(name, fault, disk)


def test_taking_lines_out_before_they_are_in_trash_is_seen(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Carrying, "_move", leave_before_bringing)
    with pytest.raises(AssertionError, match=r"nowhere|is in no file"):
        sweep("forget", "killed", disk)


def test_emptying_trash_before_its_memories_are_back_is_seen(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = Return.carry_out

    def empty_first(self: Return, run: str) -> None:
        for path in self.shelf.trash.names():
            self.shelf.trash.without(path, self.from_trash)
        back(self, run)

    monkeypatch.setattr(Return, "carry_out", empty_first)
    with pytest.raises(AssertionError, match="nowhere"):
        sweep("restore", "killed", disk)
