"""Readers return what is active, from the very moment on (rows N3, N10, design §3)."""

from typing import NoReturn

import pytest

from skymem import app, upkeep
from skymem.recall.listing import recent
from skymem.recall.request import Filters, ask
from skymem.recall.search import recall
from tests.conftest import START, Desk, line

DAY = 86_400.0


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


def found(desk: Desk, query: str = "report reports") -> list[str]:
    """What recall and the list of the newest return; they agree on what there is."""
    asked = ask(query, 50, "deterministic")
    work = desk.work()
    by_words = [one.content for one in recall(work, "sky", asked, _no_engine)]
    listed = [one["content"] for one in recent(work, "sky", Filters(), 50)]
    assert sorted(by_words) == sorted(listed)
    return sorted(by_words)


def _no_engine() -> NoReturn:
    raise AssertionError("words need no engine")


@pytest.mark.parametrize("promoted", [False, True], ids=["in-short", "in-long"])
def test_what_expires_is_gone_at_that_moment_in_every_tier(desk: Desk, promoted: bool) -> None:
    desk.echo(
        line("report for a day", 0.9, ttl_days=1),
        line("report till then", 0.9, expires_at=START + DAY),
        line("report for good", 0.9, ttl_days=1, stability="permanent"),
        line("report", 0.9),
    )
    if promoted:
        desk.run("promote")
    desk.clock = START + DAY - 0.001
    assert len(found(desk)) == 4
    desk.clock = START + DAY
    assert found(desk) == ["report", "report for good"]


def test_what_is_pinned_does_not_expire(desk: Desk, home: app.Home) -> None:
    desk.echo(line("report for a day", 0.9, ttl_days=1, id="a"))
    desk.clock = START + 2 * DAY
    assert found(desk) == []
    upkeep.pin_memory(home, "sky", "a")
    assert found(desk) == ["report for a day"]
    upkeep.pin_memory(home, "sky", "a", pinned=False)
    assert found(desk) == []


@pytest.mark.parametrize("where", ["short", "long", "archive"])
def test_what_is_superseded_is_gone_and_comes_back_with_its_superseder_forgotten(
    desk: Desk, home: app.Home, where: str
) -> None:
    desk.echo(line("report at 7", 0.2, id="old"), line("report at 8", 0.9, id="other"))
    desk.run("promote")
    desk.echo(line("report at 9", 0.9 if where == "long" else 0.3, id="new", supersedes=["old"]))
    if where == "long":
        desk.run("promote")
    if where == "archive":
        desk.limit(1)
        desk.run("rotate")
        desk.echo(line("nothing", 0.1))
        desk.run("rotate")
        assert "report at 9" in desk.contents("archive")
    assert [one for one in found(desk, "report nothing") if one != "nothing"] == [
        "report at 8",
        "report at 9",
    ]
    upkeep.forget_memories(home, "sky", ["new"])
    assert "report at 7" in found(desk, "report nothing")
    upkeep.undo_run(home, None, ["sky"])
    assert "report at 7" not in found(desk, "report nothing")


def test_a_correction_of_a_correction_leaves_one_active(desk: Desk, home: app.Home) -> None:
    desk.echo(line("report at 7", 0.9, id="first"))
    desk.run("promote")
    second, _ = upkeep.correct_memory(home, "sky", "first", "report at 8")
    third, _ = upkeep.correct_memory(home, "sky", second["id"], "report at 9")
    desk.clock = app.now()

    assert found(desk) == ["report at 9"]
    upkeep.forget_memories(home, "sky", [third["id"]])
    assert found(desk) == ["report at 8"]


def test_only_the_newest_soul_of_a_user_is_active(desk: Desk) -> None:
    desk.echo(
        line("report calmly", 0.9, kind="soul", user_id="ann"),
        line("report loudly", 0.2, ts=START + 1, kind="soul", user_id="ann"),
        line("report gladly", 0.9, ts=START - 5, kind="soul", user_id="bob"),
    )
    desk.clock = START + 10
    desk.run("promote")

    assert found(desk) == ["report gladly", "report loudly"]


def test_another_agents_memory_supersedes_nothing_here(desk: Desk) -> None:
    desk.echo(line("report at 7", 0.9, id="old"))
    other = Desk(desk.paths, agent="hobbs")
    other.shelf().ensure()
    other.echo(line("report at 9", 0.9, supersedes=["old"]))

    assert found(desk) == ["report at 7"]


def test_what_has_no_time_is_listed_last_of_the_newest(desk: Desk) -> None:
    desk.echo(b'{"content": "report, some day", "importance": 0.9}\n', line("report", 0.9))
    for _ in range(2):
        listed = [one["content"] for one in recent(desk.work(), "sky", Filters(), 50)]
        assert listed == ["report", "report, some day"]
        since = recent(desk.work(), "sky", Filters(), 50, since_us=0)
        assert [one["content"] for one in since] == ["report"]
        desk.run("promote")
