"""Recall and the list of the newest, asked about a moment that is past: standing is judged then."""

import json
from pathlib import Path

import pytest

import skymem
from skymem import app, upkeep
from skymem.errors import EngineUnavailableError, UsageError
from skymem.recall.listing import recent
from skymem.recall.request import Filters, filters_of
from skymem.recall.request import ask as question
from skymem.recall.search import recall
from tests.cli.conftest import Shell, boundary_left_clean, shell
from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings, no_engine

__all__ = ["boundary_left_clean", "shell"]

DAY = 86_400.0


def us(days: float) -> int:
    """So many days after the start, in microseconds."""
    return round((START + days * DAY) * 1_000_000)


def found(desk: Desk, days: float, query: str = "report") -> list[str]:
    """What recall and the list return as of so many days after the start; they agree."""
    asked = question(query, 50, "deterministic", at_us=us(days))
    by_words = [one.content for one in recall(desk.work(), "sky", asked, no_engine)]
    listed = recent(desk.work(), "sky", Filters(), 50, at_us=us(days))
    assert sorted(one["content"] for one in listed) == sorted(by_words)
    return sorted(by_words)


@pytest.fixture(params=["in-short", "in-long", "in-archive"])
def told(desk: Desk, request: pytest.FixtureRequest) -> Desk:
    """A life of ten days, looked at twenty days after it began, in each tier."""
    desk.echo(
        line("report at 7", 0.9, id="seven"),
        line("report for two days", 0.9, ttl_days=2),
        line("report at 8", 0.9, ts=START + 3 * DAY, id="eight", supersedes=["seven"]),
        line("report calmly", 0.9, ts=START + 1 * DAY, kind="soul"),
        line("report loudly", 0.9, ts=START + 5 * DAY, kind="soul"),
    )
    with desk.short_term.open("ab") as stream:
        stream.write(b'{"content": "report, some day", "importance": 0.9}\n')
    desk.clock = START + 20 * DAY
    if request.param == "in-long":
        desk.run("promote")
    if request.param == "in-archive":
        desk.limit(1, threshold=1.0)
        desk.run("rotate")
        assert len(desk.contents("archive")) == 5
    return desk


def test_each_moment_has_what_held_then_and_nothing_later(told: Desk) -> None:
    assert found(told, -1) == []
    assert found(told, 0) == ["report at 7", "report for two days"]
    assert found(told, 1) == ["report at 7", "report calmly", "report for two days"]
    assert found(told, 2) == ["report at 7", "report calmly"]
    assert found(told, 3) == ["report at 8", "report calmly"]
    assert found(told, 5) == ["report at 8", "report loudly"]


def test_without_a_moment_it_is_now(told: Desk) -> None:
    asked = question("report", 50, "deterministic")
    now = [one.content for one in recall(told.work(), "sky", asked, no_engine)]
    assert sorted(now) == ["report at 8", "report loudly", "report, some day"]


def test_age_is_reckoned_from_that_moment(desk: Desk) -> None:
    desk.echo(line("report"), line("report again", ts=START + 1 * DAY))
    desk.clock = START + 20 * DAY
    asked = question("report", mode="deterministic", at_us=us(1 / 24))
    (one,) = recall(desk.work(), "sky", asked, no_engine)

    assert one.parts.recency == 0.5
    early = recent(desk.work(), "sky", Filters(), 9, since_us=us(0) + 1, at_us=us(2))
    assert [each["content"] for each in early] == ["report again"]


def test_what_was_forgotten_since_is_not_back(desk: Desk) -> None:
    app.init_home(desk.paths.root)
    desk.echo(line("report at 7", id="seven"), line("report at 9", id="nine"))
    upkeep.forget_memories(app.open_home(str(desk.paths.root)), "sky", ["seven"])

    assert found(desk, 1) == ["report at 9"]


def test_a_superseder_without_a_time_may_have_been_there(desk: Desk) -> None:
    desk.echo(
        line("report at 7", id="seven"),
        b'{"content": "report at 9", "importance": 0.9, "supersedes": ["seven"]}\n',
    )

    assert found(desk, 1) == []


def test_meaning_brings_back_nothing_later(desk: Desk, ask: Ask) -> None:
    desk.echo(line("a ship", 0.9, id="then"), line("a boat", 0.9, ts=START + DAY, id="later"))
    desk.run("promote")
    meanings = Meanings({"then": 0.5, "later": 0.9})
    for mode in ("semantic", "hybrid", "fusion"):
        answer = ask("vessel", engine=meanings, mode=mode, at_us=us(0.5))
        assert [one.id for one in answer] == ["then"]


@pytest.mark.parametrize("promoted", [False, True], ids=["in-short", "in-long"])
def test_what_was_said_later_lends_nothing_to_what_was_before(
    desk: Desk, ask: Ask, promoted: bool
) -> None:
    def score() -> float:
        (one,) = ask("boat", engine=Meanings({"a": 0.5, "b": 0.9}), at_us=us(0))
        return one.score

    desk.echo(line("what a boat", 0.9, id="a", session="s"))
    alone = score()
    desk.echo(line("the boat sank", 0.9, START + 1, id="b", session="s"))
    if promoted:
        desk.run("promote")
    assert score() == alone
    now = ask("boat", engine=Meanings({"a": 0.5, "b": 0.9}))
    assert {one.id: one.fused.around > 0 for one in now if one.fused} == {"a": True, "b": True}


def test_an_earlier_end_of_the_time_asked_for_stays(desk: Desk) -> None:
    desk.echo(line("report"), line("report again", ts=START + 1 * DAY))
    for until, texts in ((us(0.5), ["report"]), (us(9), ["report again", "report"])):
        filters = filters_of(until_us=until)
        listed = recent(desk.work(), "sky", filters, 9, at_us=us(2))
        assert [one["content"] for one in listed] == texts


# -- the command and its Python twin ----------------------------------------------------------


def test_the_command_reads_a_time_or_an_age(shell: Shell) -> None:
    now = app.now()
    shell.agent_directory.mkdir(exist_ok=True)
    shell.short_term.write_bytes(
        line("report at 7", ts=now - 10 * DAY, id="seven")
        + line("report at 8", ts=now - 2 * DAY, supersedes=["seven"])
    )
    for verb in (["recall", "report"], ["recent"]):
        for at in ("5d", f"{now - 5 * DAY:.0f}"):
            told = shell(*verb, "--at", at, "--json")
            assert [one["content"] for one in told.json["results"]] == ["report at 7"]
        told = shell(*verb, "--at", "sometime")
        assert (told.code, told.out) == (2, "")
        assert told.err.startswith("skymem: at 'sometime' is no time")
    assert shell("recent", "--at", "5d", "--hours", "24", "--json").json["results"] == []
    since = shell("recall", "report", "--at", "5d", "--since", "6d", "--json").json["results"]
    assert [one["content"] for one in since] == ["report at 7"]
    assert shell("recall", "report", "--at", "5d", "--since", "4d", "--json").json["results"] == []


def test_a_look_back_is_not_counted_as_a_recall(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYMEM_HOME", str(shell.home))
    shell.agent_directory.mkdir(exist_ok=True)
    shell.short_term.write_bytes(line("report at 7", ts=START))
    memory = skymem.open_memory()
    counted = shell.home / "state/recalled/sky.json"

    assert [one.content for one in memory.recall("report", at=START)] == ["report at 7"]
    assert list(memory.recall("report", at=START - 1)) == []
    assert not counted.exists()
    assert len(memory.recall("report")) == 1
    assert len(json.loads(counted.read_text())["recalled"]) == 1
    for wrong in (float("nan"), -1, 1e12, "today"):
        with pytest.raises(UsageError, match=r"^at "):
            memory.recall("report", at=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "fusion"])
def test_what_was_superseded_since_has_no_vector_and_is_found_by_its_meaning(
    desk: Desk, ask: Ask, mode: str
) -> None:
    desk.echo(
        line("a ship", 0.9, id="then"),
        line("a stone", 0.9, id="other"),
        line("a boat", 0.9, ts=START + DAY, id="later", supersedes=["then"]),
    )
    desk.run("promote")
    cosines = {"later": 0.9, "other": 0.3}
    meanings = Meanings(cosines, likenesses={"a ship": 0.8})
    answer = ask("vessel", engine=meanings, mode=mode, at_us=us(0.5))
    assert [one.id for one in answer] == ["then", "other"]
    assert answer[0].parts.semantic == 0.8
    assert not answer.degraded
    now = ask("vessel", engine=meanings, mode=mode)
    assert next(iter(now)).id == "later"
    assert "then" not in {one.id for one in now}


def test_where_it_can_not_be_compared_it_is_found_by_words_and_that_is_said(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.echo(
        line("a ship", 0.9, id="then"),
        line("a boat", 0.9, ts=START + DAY, id="later", supersedes=["then"]),
    )
    desk.run("promote")
    meanings = Meanings({"later": 0.9})

    def away(*_: object, **__: object) -> dict[str, object]:
        raise EngineUnavailableError("it is away")

    monkeypatch.setattr(meanings, "likeness", away)
    answer = ask("ship", engine=meanings, at_us=us(0.5))
    assert [one.id for one in answer] == ["then"]
    assert answer.degraded == ["1 memories superseded since: by words only"]
