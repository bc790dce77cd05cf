"""What is removed out of a chain, and what a summary cites, while it is removed and after (N3)."""

from pathlib import Path
from typing import Any

import pytest

from skymem import app, upkeep
from skymem.stores.standings import Standings
from tests.conftest import START, Desk, line

DAY = 86_400.0


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


@pytest.fixture
def chain(desk: Desk) -> Path:
    """Four memories, each in the place of the one before."""
    desk.tiers.directory.mkdir(parents=True, exist_ok=True)
    desk.tiers.long_term.write_bytes(
        line("Ana lives in Rome", 0.9, id="a")
        + line("Ana lives in Oslo", 0.9, ts=START + 1, id="b", supersedes=["a"])
        + line("Ana lives in Bonn", 0.9, ts=START + 2, id="c", supersedes=["b"])
        + line("Ana lives in Nice", 0.9, ts=START + 3, id="d", supersedes=["c"])
    )
    return desk.tiers.long_term


def active(home: app.Home) -> list[str]:
    """The ids that readers may return."""
    with home.workplace().catalog() as catalog:
        shelf = home.shelf("sky")
        catalog.catch_up(shelf.paths)
        standings = Standings.of(shelf, catalog, round(app.now() * 1_000_000))
        found = [kept for kept in shelf.find("", catalog) if kept.tier != "trash"]
        return sorted(kept.id for kept in found if standings.let(kept.id, kept.memory))


@pytest.mark.parametrize("gone", [["b"], ["c"], ["b", "c"], ["c", "b"]])
def test_a_middle_that_is_forgotten_brings_nothing_back(
    home: app.Home, chain: Path, gone: list[str]
) -> None:
    for name in gone:
        upkeep.forget_memories(home, "sky", [name])
        assert active(home) == ["d"]
    upkeep.restore_memories(home, "sky", gone)
    assert active(home) == ["d"]


def test_a_head_that_is_forgotten_brings_back_the_nearest_that_is_there(
    home: app.Home, chain: Path
) -> None:
    for name, back in (("c", "d"), ("d", "b"), ("b", "a")):
        upkeep.forget_memories(home, "sky", [name])
        assert active(home) == [back]
    upkeep.restore_memories(home, "sky", ["d"])
    assert active(home) == ["d"]


def test_compact_keeps_the_middle_of_a_chain_as_long_as_its_beginning_is_there(
    desk: Desk, home: app.Home, chain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = app.now()
    monkeypatch.setattr(app, "now", lambda: at)
    upkeep.forget_memories(home, "sky", ["b"])
    upkeep.forget_memories(home, "sky", ["c"])
    at += 31 * DAY
    detail, _ = home.run_job("compact", accept_clock=True)
    assert (detail["compacted"], detail["skipped"]) == (0, {"superseded": 2})
    assert active(home) == ["d"]
    upkeep.forget_memories(home, "sky", ["a"])
    at += 31 * DAY
    assert home.run_job("compact", accept_clock=True)[0]["compacted"] == 3
    assert (active(home), list(home.shelf("sky").trash.all())) == (["d"], [])


def summary(**more: Any) -> bytes:
    more |= {"supersedes": ["one", "two"], "evidence_ids": ["one", "two"]}
    return line("one and two", 0.9, id="sum", stability="volatile", **more)


def test_a_summary_that_expires_goes_with_what_it_was_made_of(desk: Desk, home: app.Home) -> None:
    desk.echo(line("one", 0.9, id="one"), line("two", 0.9, id="two"), summary(ttl_days=7))
    desk.run("promote")
    desk.clock = START + 5 * DAY
    assert desk.run("prune")["acted"] == 0  # its evidence stays while it lives
    desk.clock = START + 40 * DAY
    while desk.run("prune")["acted"]:
        pass

    assert {held.id for held in home.shelf("sky").trash.all()} == {"one", "two", "sum"}


def test_evidence_in_trash_is_compacted_when_its_summary_is_over(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = START + 10.0
    monkeypatch.setattr(app, "now", lambda: at)
    desk.echo(line("one", 0.9, id="one"), summary(ttl_days=60))
    upkeep.forget_memories(home, "sky", ["one"])
    home.run_job("promote")
    at += 31 * DAY
    assert home.run_job("compact", accept_clock=True)[0]["skipped"] == {"evidence": 1}
    at += 60 * DAY
    assert home.run_job("compact", accept_clock=True)[0]["compacted"] == 1
