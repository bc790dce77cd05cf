"""What recovery and drains put into quarantine is in the ledger, whoever comes by (row M8)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem import app, upkeep
from skymem.errors import DiskError
from skymem.jobs.compact import compact
from skymem.jobs.fsck import fsck
from skymem.jobs.restore import restore
from skymem.jobs.undo import undo
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from skymem.stores.quarantine import Quarantine
from tests.conftest import Desk, line
from tests.faults.faulty import FAULTS, FaultyFiles, PowerCut
from tests.faults.sweep import as_if_from_another_process

TORN = b'{"ts":1,"cont'

Verb = Callable[[Desk], object]


def home(desk: Desk) -> app.Home:
    opened = app.open_home(str(desk.paths.root))
    opened.files = desk.files
    return opened


def lying(desk: Desk) -> list[str]:
    return [held.id for held in desk.shelf().trash.all()]


VERBS: dict[str, Verb] = {
    "promote": lambda desk: desk.run("promote"),
    "restore": lambda desk: restore(desk.work(), "sky", lying(desk)),
    "undo": lambda desk: undo(desk.work(), None, ["sky"]),
    "compact": lambda desk: compact(desk.work(), ["sky"]),
    "fsck": lambda desk: fsck(desk.work(), ["sky"]),
    "forget": lambda desk: upkeep.forget_memories(home(desk), "sky", (), "worth"),
    "pin": lambda desk: upkeep.pin_memory(home(desk), "sky", "kept"),
}
each_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


@pytest.fixture
def torn(desk: Desk) -> Desk:
    """A home whose last run left a drain, in which a writer has given up in its line since."""
    app.init_home(desk.paths.root)
    desk.echo(line("worth", 0.9), line("gone", 0.9), line("kept", 0.1, id="kept"))
    desk.run("promote")
    upkeep.forget_memories(home(desk), "sky", (), "gone")
    desk.echo(line("worth too", 0.9))
    desk.run("promote")
    *_, drain = desk.shelf().drains.names()
    with drain.open("ab") as stream:
        stream.write(TORN)
    os.utime(drain, (desk.clock - 1000, desk.clock - 1000))
    return desk


@pytest.fixture
def cut(torn: Desk) -> Desk:
    """The same after a promotion that was killed in the middle of its line in long-term."""
    torn.echo(line("half", 0.9))
    for drain in torn.shelf().drains.names():
        torn.shelf().drains.take_back(drain)
    torn.files = CutInLongTerm()
    with pytest.raises(PowerCut):
        torn.run("promote")
    assert torn.tiers.long_term.read_bytes().endswith(b"ha")
    as_if_from_another_process(torn.paths.root)
    torn.files = Files()
    return torn


class CutInLongTerm(FaultyFiles):
    """The process dies when half of a memory has been written to long-term."""

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if b'"half"' in bytes(data) and b'"promoted_at"' in bytes(data):
            super().write(fd, bytes(data).partition(b"lf")[0])
            self.fired = True
        if self.fired:
            raise PowerCut
        return super().write(fd, data)


def kept(desk: Desk) -> list[tuple[str, int, int, str]]:
    """What lies in quarantine: of which file, whence, whither and why."""
    return [
        (one["file"], one["offset"], one["offset"] + one["bytes"], one["reason"])
        for one in Quarantine(desk.tiers.quarantine, desk.files).entries()
    ]


def on_record(desk: Desk) -> list[tuple[Any, ...]]:
    entries = [entry for entry in desk.ledger() if entry["op"] == "quarantine"]
    assert all(entry["agent"] == "sky" for entry in entries)
    return [tuple(piece) for entry in entries for piece in entry["pieces"]]


@each_verb
def test_what_a_drain_held_is_on_the_record(torn: Desk, verb: Verb) -> None:
    verb(torn)

    assert torn.quarantined() == [TORN]
    assert on_record(torn) == kept(torn)


@each_verb
def test_what_is_cut_off_long_term_is_on_the_record(cut: Desk, verb: Verb) -> None:
    verb(cut)

    assert [source for source, _ in cut.quarantined_from()] == ["long_term.jsonl"]
    assert on_record(cut) == kept(cut)


def test_fsck_tells_what_it_set_aside(torn: Desk) -> None:
    (note,) = fsck(torn.work(), ["sky"]).notes

    assert (note["what"], note["agent"]) == ("set aside", "sky")
    assert note["file"].startswith("drains/")
    assert "torn: its writer stopped in the middle" in note["message"]
    assert fsck(torn.work(), ["sky"]).notes == []


@pytest.mark.parametrize("fault", ["killed", "ENOSPC once", "EIO for good"])
@pytest.mark.parametrize("verb", ["restore", "fsck"])
def test_it_is_on_the_record_whichever_step_broke(
    torn: Desk, tmp_path: Path, verb: str, fault: str
) -> None:
    steps, fired = 0, True
    while fired:
        steps += 1
        root = shutil.copytree(torn.paths.root, tmp_path / f"{steps}")
        files = FAULTS[fault](steps)
        copy = Desk(HomePaths(root), files=files, clock=torn.clock)
        try:
            VERBS[verb](copy)
        except (PowerCut, DiskError):
            as_if_from_another_process(root)
        fired, copy.files = files.fired, Files()
        copy.run("promote")
        assert copy.quarantined() == [TORN]
        assert set(on_record(copy)) == set(kept(copy)), steps
        assert fsck(copy.work(), ["sky"]).problems == []
        shutil.rmtree(root)
    assert steps > 8, "the fault never met its step"
