"""Killed or refused at any step, a home is in the format it says, and the next try ends it."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from skymem.app import Home, now, open_home
from skymem.errors import SkymemError
from skymem.exchange import backup
from skymem.exchange.backup import check
from skymem.stores import home_format
from skymem.stores.home_format import read_format
from skymem.upgrading.steps import STEPS, Step
from skymem.upgrading.upgrade import upgrade
from tests.faults.faulty import FAULTS, PowerCut
from tests.faults.sweep import as_if_from_another_process
from tests.upgrading.conftest import contents, put

STEPS_MAX = 400
KINDS = ["killed in the middle of a write", "ENOSPC for good"]
OLD_WORD, NEW_WORD = b"staging", b"testing"


def rewrite(home: Home) -> None:
    """1 → 2, of a release to come: a word is another one in every long-term memory."""
    for path in sorted(home.paths.memory.glob("*/long_term.jsonl")):
        home.files.remove_left(path.parent)
        text = path.read_bytes()
        if OLD_WORD in text:
            home.files.replace(path, text.replace(OLD_WORD, NEW_WORD))


TO_COME: Sequence[Step] = (*STEPS, Step(2, rewrite))


def lines(root: Path) -> dict[str, bytes]:
    """What the tiers hold, in the words of the first format."""
    return {
        name: data.replace(NEW_WORD, OLD_WORD)
        for name, data in contents(root).items()
        if name.startswith("memory/") and not name.endswith(".new")
    }


@pytest.mark.parametrize("kind", KINDS)
def test_at_any_step_of_copy_and_change(
    disk: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(home_format, "CURRENT", 2)
    template = put(disk / "template" / "home").paths.root
    for unneeded in ("status", "state", "memory/hobbs"):  # fewer files to copy, fewer steps
        shutil.rmtree(template / unneeded)
    before = lines(template)
    formats = set()
    for step in range(1, STEPS_MAX):
        place = disk / str(step)
        shutil.copytree(template.parent, place)
        root = place / "home"
        home, files = open_home(str(root)), FAULTS[kind](step)
        home.files = files
        with monkeypatch.context() as patch:
            patch.setattr(backup, "Files", lambda _modes, files=files: files)
            try:
                upgrade(home, now(), steps=TO_COME)
            except (PowerCut, SkymemError):
                assert files.fired
        as_if_from_another_process(place)
        said = read_format(home.paths).number
        formats.add(said)
        assert lines(root) == before
        if said:
            copies = [*place.glob("*.tar")]
            assert len(copies) == 1, "what was changed, was copied before"
            check(copies[0])

        again = open_home(str(root))
        upgrade(again, now() + step, place / "second.tar", steps=TO_COME)
        assert read_format(again.paths).number == 2
        assert NEW_WORD in (root / "memory/sky/long_term.jsonl").read_bytes()
        assert lines(root) == before
        assert again.workplace().ledger().verify()[1] == []
        assert [*root.glob(".*.new"), *root.glob("memory/*/.*.new")] == []
        shutil.rmtree(place)
        if not files.fired:
            break
    else:
        raise RuntimeError("it never ends")

    assert step > 10
    assert formats == {0, 1, 2}
