"""The sweep can fail: steps in another order lose or double, and it says so."""

from pathlib import Path

import pytest

from skymem.jobs import move
from skymem.jobs.move import Store
from skymem.model.plan import Action, Damage, Inputs, Plan
from skymem.stores.drains import Cursor
from skymem.stores.edits import Edit
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.swap import Swap

from .sweep import sweep
from .world import promote_home


def swap_before_store(
    plan: Plan,
    shelf: Shelf,
    reading: Reading,
    *,
    run: str,
    now: float,
    moving: Action,
    store: Store,
) -> None:
    assert reading.fd is not None
    assert plan.inputs is not None
    damages = [
        Damage(one.start, one.end, one.reason.note)
        for one in plan.decisions
        if one.action == "quarantine"
    ]
    shelf.quarantine.keep(reading.fd, shelf.paths.short_term.name, damages, run, now)
    gone = [Edit(one.start, one.end) for one in plan.decisions]
    shelf.swap.edit(reading.fd, plan.inputs, gone, run, now)
    chosen = [decision for decision in plan.decisions if decision.action == moving]
    if chosen:
        store(move._taken(reading, reading.fd, chosen, shelf))


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
    monkeypatch.setattr(move, "_move", swap_before_store)
    with pytest.raises(AssertionError, match="unseen after step"):
        sweep(promote_home, "killed", disk)


def test_a_cursor_that_comes_after_the_rename_is_seen(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Swap, "_exchange", cursor_after_rename)
    with pytest.raises(AssertionError, match=r"is in quarantine 2 times|has other lines"):
        sweep(promote_home, "killed", disk)
