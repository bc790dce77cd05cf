"""Whoever dies while settings are written, and whatever fails: they are old or new, and whole."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skymem.errors import BusyError, DiskError
from skymem.hooks.install import Change, carry_out, plan_install, plan_remove
from skymem.stores.files import Files
from tests.faults.faulty import DyingFiles, FailingFiles, FaultyFiles, PowerCut

BEFORE = b'{\n    "model": "x",   "odd" : [ ]\n}'
HOME = Path("/srv/home")

Disk = Callable[[int], FaultyFiles]
DISKS: dict[str, Disk] = {
    "dies": DyingFiles,
    "dies, torn": lambda at: DyingFiles(at, torn=True),
    "full": lambda at: FailingFiles(at, errno.ENOSPC, for_good=True),
    "one error": lambda at: FailingFiles(at, errno.EIO),
}


def install(path: Path) -> Change:
    return plan_install(path, HOME, "sky")


def broken(plan: Callable[[Path], Change], path: Path, disk: Disk) -> Iterator[int]:
    """Do it on a disk that breaks at each step in turn, until one never comes to it."""
    for at in range(1, 100):
        files = disk(at)
        change = plan(path)
        try:
            carry_out(change, files)
        except (PowerCut, DiskError):
            yield at
            continue
        if not files.fired:
            return


@pytest.mark.parametrize("disk", DISKS.values(), ids=DISKS)
def test_an_install_that_breaks_can_be_taken_back_or_ended(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    after = install(path).after
    for _ in broken(install, path, disk):
        assert path.read_bytes() in (BEFORE, after)
        carry_out(plan_remove(path), Files())
        assert path.read_bytes() == BEFORE

    carry_out(install(path), Files())
    assert path.read_bytes() == after


@pytest.mark.parametrize("disk", DISKS.values(), ids=DISKS)
def test_a_remove_that_breaks_can_be_ended(tmp_path: Path, disk: Disk) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    carry_out(install(path), Files())
    after = path.read_bytes()
    for _ in broken(plan_remove, path, disk):
        assert path.read_bytes() in (BEFORE, after)

    carry_out(plan_remove(path), Files())
    assert path.read_bytes() == BEFORE
    assert not path.with_name("settings.json.before-skymem").exists()


def test_what_another_program_wrote_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(BEFORE)
    change = install(path)
    path.write_bytes(b'{"model": "y"}')

    with pytest.raises(BusyError):
        carry_out(change, Files())
    assert path.read_bytes() == b'{"model": "y"}'
