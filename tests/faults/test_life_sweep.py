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

from .faulty import FAULTS, CountedFiles, PowerCut
from .life import LIVES, Life, Places, check_records, look, opened, spelled
from .sweep import as_if_from_another_process
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
TIERS: Final = {"short", "long", "archive", "trash"}

each_life = pytest.mark.parametrize("name", LIVES)


class Swept:
    """One home before its verb, and as an undisturbed verb leaves it."""

    def __init__(self, life: Life, disk: Path) -> None:
        self.life = life
        self.template = disk / "template"
        life.make(self.template)
        self.before = look(self.template)
        whole = disk / "undisturbed"
        shutil.copytree(self.template, whole)
        counted = CountedFiles()
        life.verb(opened(whole, counted))
        self.steps = counted.steps
        self.after = look(whole)
        check_records(whole)
        moved = [one for one in self.before.lines if self.after.of(one) != self.before.of(one)]
        assert len(moved) == life.moves
        self.gone = self.before.lines.keys() - self.after.lines.keys()
        self.made = self.after.lines.keys() - self.before.lines.keys()
        assert len(self.made) == life.made
        assert all(len(places) == 1 for places in self.after.lines.values())
        self.spellings = {
            one: {
                spelled(raw)
                for sight in (self.before, self.after)
                for lines in sight.lines.get(one, {}).values()
                for raw in lines
            }
            for one in self.before.lines
        }

    def check_seen(self, sight: Places) -> None:
        """At any moment each memory is somewhere."""
        lost = self.before.lines.keys() - self.gone - sight.lines.keys()
        assert not lost, f"nowhere: {lost}"

    def check_sound(self, root: Path) -> None:
        """Each memory is in one place, once, as it was; what is made is made once."""
        sight = look(root)
        self.check_seen(sight)
        for one, tiers in sight.lines.items():
            assert len(tiers) == 1, f"{one} is in {sorted(tiers)}"
            (lines,) = tiers.values()
            assert len(lines) == 1, f"{one} is there {len(lines)} times"
            if one in self.spellings:
                assert spelled(lines[0]) in self.spellings[one], f"{one} has other bytes"
        assert len(sight.lines.keys() - self.before.lines.keys()) <= self.life.made
        assert len(sight.ids) == len(set(sight.ids)), "one id, two memories"
        check_resolving(root, sight)
        check_records(root)

    def check_done(self, root: Path) -> None:
        """The verb, asked for again, has come to its end."""
        sight = look(root)
        known = self.before.lines.keys() | self.after.lines.keys()
        tiers = sight.tiers()
        for one in known - self.made:
            there = tiers.get(one)
            # A summary that a killed merge had made is not made again: its originals stay.
            if not (self.life.waits and there == self.before.tiers()[one]):
                assert there == self.after.tiers().get(one)
        assert len(sight.lines.keys() - self.before.lines.keys()) == self.life.made


def check_resolving(root: Path, sight: Places) -> None:
    """What is cited can be read."""
    home = opened(root)
    for name in sight.cited:
        assert home.find("sky", name).tier in TIERS


def attempt(life: Life, root: Path, files: CountedFiles | None = None) -> None:
    """Do it, and bear what it raises: only a kill and an error of ours may come out."""
    try:
        life.verb(opened(root, files))
    except (PowerCut, SkymemError):
        assert files is not None


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
    with pytest.raises(AssertionError, match="nowhere"):
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
