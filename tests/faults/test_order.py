"""The sweep can fail: steps in another order lose or double, and it says so."""

from pathlib import Path

import pytest

from skymem.jobs.move import Carrying, Spell, Store
from skymem.jobs.taking import taken_from_short
from skymem.model.plan import STAYING, Inputs
from skymem.stores.drains import Cursor
from skymem.stores.swap import Swap

from .sweep import sweep
from .world import promote_home


def leave_before_bringing(self: Carrying, spell: Spell, store: Store) -> None:
    self._set_damage_aside()
    chosen = [one for one in self._short if one.action not in STAYING]
    taken = [
        spell(raw, memory, one)
        for raw, memory, one in taken_from_short(self.shelf, self.reading, chosen)
    ]
    self._leave()
    if taken:
        store(iter(taken))


def cursor_after_rename(  # noqa: PLR0917  (as what it stands for)
    self: Swap, source: Path, temporary: Path, inputs: Inputs, name: str, cursor: Cursor
) -> None:
    drain = source.parent / "drains" / name
    self._files.make_directory(drain.parent)
    self._files.link(source, drain)
    self._files.fsync_directory(drain.parent)
    self._files.rename(temporary, source)
    self._drains.begin(name, cursor)


def test_taking_lines_out_before_they_are_in_long_term_is_seen(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Carrying, "_move", leave_before_bringing)
    with pytest.raises(AssertionError, match="unseen after step"):
        sweep(promote_home, "killed", disk)


def test_a_cursor_that_comes_after_the_rename_is_seen(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Swap, "_exchange", cursor_after_rename)
    with pytest.raises(AssertionError, match=r"is in quarantine 2 times|has other lines"):
        sweep(promote_home, "killed", disk)
