"""A home in the middle of its life, held against what an undisturbed verb makes of it."""

import shutil
from pathlib import Path
from typing import Final

from skymem.errors import SkymemError

from .faulty import CountedFiles, PowerCut
from .life import Life, Places, check_records, look, opened, spelled

TIERS: Final = {"short", "long", "archive", "trash"}


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
