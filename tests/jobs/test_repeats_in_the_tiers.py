"""A line that a hand put twice into long-term or the archives leaves with its twin."""

from pathlib import Path

import pytest

from skymem import app, upkeep
from skymem.stores.catalog import TierCount
from skymem.stores.files import Files
from tests.conftest import Desk, line

DAY = 86_400.0
TWICE = line("said twice", 0.9, id="m-1")
ONCE = line("said once", 0.9, id="m-2")


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


@pytest.fixture
def archive(desk: Desk) -> Path:
    """An archive and a long-term file that share a line; the archive has it twice."""
    desk.tiers.directory.mkdir(parents=True, exist_ok=True)
    desk.tiers.long_term.write_bytes(TWICE + ONCE)
    made = desk.tiers.directory / "short_term_archive_20251108T000000Z.jsonl"
    made.write_bytes(TWICE + line("archived", 0.1, id="m-3") + TWICE)
    return made


def counted(home: app.Home) -> list[TierCount]:
    with home.workplace().catalog() as catalog:
        catalog.catch_up(home.paths.agent("sky"))
        return catalog.counts("sky")


def texts(desk: Desk) -> list[str]:
    return sorted([*desk.contents("long"), *desk.contents("archive")])


@pytest.mark.parametrize("how", ["named", "matched"])
def test_what_is_forgotten_is_in_no_file_any_more(
    desk: Desk, home: app.Home, archive: Path, how: str
) -> None:
    if how == "named":
        detail, _ = upkeep.forget_memories(home, "sky", ["m-1"])
    else:
        detail, _ = upkeep.forget_memories(home, "sky", [], "twice")

    assert (detail["acted"], detail["repeats"]) == (1, 2)
    assert texts(desk) == ["archived", "said once"]
    restored = upkeep.restore_memories(home, "sky", ["m-1"])
    assert restored["restored"] == [{"id": "m-1", "tier": "long", "standing": "active"}]
    assert texts(desk) == ["archived", "said once", "said twice"]
    assert desk.tiers.long_term.read_bytes() == TWICE + ONCE


def test_what_a_hand_puts_back_while_it_lies_in_trash_is_there_and_can_be_forgotten_again(
    desk: Desk, home: app.Home, archive: Path
) -> None:
    upkeep.forget_memories(home, "sky", ["m-1"])
    with archive.open("ab") as stream:
        stream.write(TWICE)
    assert home.find("sky", "m-1").tier == "archive"
    counts = {one.tier: one.memories for one in counted(home)}
    assert counts == {"long": 1, "archive": 2, "trash": 0}
    upkeep.forget_memories(home, "sky", ["m-1"])

    assert texts(desk) == ["archived", "said once"]
    upkeep.restore_memories(home, "sky", ["m-1"])
    assert texts(desk) == ["archived", "said once", "said twice"]
    assert not list(home.shelf("sky").trash.all())


def test_a_pinned_one_keeps_its_repeats(desk: Desk, home: app.Home, archive: Path) -> None:
    upkeep.pin_memory(home, "sky", "m-1")
    upkeep.forget_memories(home, "sky", ["m-1"])

    assert texts(desk).count("said twice") == 3


def test_what_is_pruned_goes_with_its_repeats(desk: Desk, home: app.Home, archive: Path) -> None:
    over = line("over", 0.9, id="m-4", ttl_days=1)
    desk.clock += 3 * DAY
    for path in (desk.tiers.long_term, archive):
        with path.open("ab") as stream:
            stream.write(over)
    detail = desk.run("prune")

    assert (detail["acted"], detail["repeats"]) == (1, 1)
    assert "over" not in texts(desk)
    assert desk.run("prune")["acted"] == 0


def test_a_removal_that_was_killed_is_finished_in_every_file(
    desk: Desk, home: app.Home, archive: Path
) -> None:
    class Cut(BaseException):
        pass

    class Dying(Files):
        def rename(self, source: Path, target: Path) -> None:
            if target.name == archive.name:
                raise Cut
            super().rename(source, target)

    home.files = Dying()
    with pytest.raises(Cut):
        upkeep.forget_memories(home, "sky", ["m-1"])
    assert texts(desk).count("said twice") >= 2  # in trash as well
    home.files = Files()
    desk.run("rotate")

    assert texts(desk) == ["archived", "said once"]
    assert [held.id for held in home.shelf("sky").trash.all()] == ["m-1"]


def test_an_undone_promotion_leaves_no_copy_that_would_drop_what_came_back(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("promoted", 0.9))
    run = desk.run("promote")["agents"]["sky"]["runs"][0]
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(desk.tiers.long_term.read_bytes())
    upkeep.undo_run(home, run, ["sky"])

    assert desk.contents("long") == []
    desk.run("promote")
    assert desk.contents("short") == ["promoted"]


def test_two_memories_that_lie_in_trash_under_one_id_are_not_taken_for_one(
    desk: Desk, home: app.Home
) -> None:
    desk.tiers.directory.mkdir(parents=True, exist_ok=True)
    for text in ("the first", "the second"):
        desk.tiers.long_term.write_bytes(line(text, 0.9, id="same"))
        assert upkeep.forget_memories(home, "sky", ["same"])[0]["acted"] == 1
    upkeep.restore_memories(home, "sky", ["same"])

    assert desk.contents("long") == ["the second"]
    assert [held.memory.content for held in home.shelf("sky").trash.all()] == ["the first"]
