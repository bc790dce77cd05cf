"""What is read for a context: notes of every tier that hold, and what is recalled (row N11)."""

from typing import Any, NoReturn

import pytest

from skymem.errors import EngineUnavailableError, UsageError
from skymem.recall.context import Context, context, want
from tests.conftest import START, Desk, line
from tests.recall.conftest import Meanings, no_engine, pass_cursors

DAY = 86_400.0


def made(desk: Desk, message: str = "", engine: Meanings | None = None, **more: Any) -> Context:
    pass_cursors(desk)
    connect = no_engine if engine is None else lambda: engine
    return context(desk.work(), "sky", want(message, **more), connect, ["a machine"])


def texts(found: Context) -> dict[str, list[str]]:
    """The texts of each layer that has any."""
    return {
        layer.name: [one.memory.searchable for one in layer.pieces]
        for layer in found.layers
        if layer.pieces
    }


@pytest.fixture(params=["in-short", "in-long", "in-archive"])
def told(desk: Desk, request: pytest.FixtureRequest) -> Desk:
    """Notes of each layer, some that hold no more, and a fact, in each tier."""
    desk.echo(
        line("I am Sky", 0.9, kind="agent"),
        line("Think slowly", 0.9, kind="soul"),
        line("Think first", 0.9, ts=START + 1, kind="soul", user_id="ann"),
        line("Think last", 0.9, ts=START + 2, kind="soul", user_id="bob"),
        line("Ann lives in Rome", 0.9, kind="user", user_id="ann"),
        line("Never push on Fridays", 0.9, ts=START + 3, kind="rule", id="friday"),
        line("Push on no Friday", 0.9, ts=START + 4, kind="rule", supersedes=["friday"]),
        line("The vault is 4711", 0.9, ts=START + 5, kind="rule", sensitivity="sensitive"),
        line("Report sent", 0.9, kind="summary", ttl_days=7),
        line("Ann wants the report at 7", 0.9, kind="fact", user_id="ann"),
        line("Bob wants the report at 8", 0.9, kind="fact", user_id="bob"),
    )
    desk.clock = START + 60
    if request.param == "in-long":
        desk.run("promote")
    if request.param == "in-archive":
        desk.limit(1, threshold=1.0)
        desk.run("rotate")
        assert len(desk.contents("archive")) == 10
    return desk


ANNS = {
    "agent": ["I am Sky"],
    "soul": ["Think first"],
    "user": ["Ann lives in Rome"],
    "rules": ["Push on no Friday"],
    "summaries": ["Report sent"],
}


def test_the_notes_that_hold_are_there_whatever_tier_they_are_in(told: Desk) -> None:
    found = made(told, user_id="ann")
    assert texts(found) == ANNS
    assert (found.mode, found.degraded) == ("recency", [])
    told.clock = START + 7 * DAY
    assert "summaries" not in texts(made(told, user_id="ann"))


def test_a_message_recalls_what_has_to_do_with_it_for_the_user_alone(told: Desk) -> None:
    found = made(told, "when is the report due?", user_id="ann")
    assert texts(found) == {**ANNS, "memories": ["Ann wants the report at 7"]}
    assert found.mode == "deterministic"
    assert ["by words only" in reason for reason in found.degraded] == [True]
    assert "memories" not in texts(made(told, "zebras", user_id="ann"))


def test_it_is_as_it_was_at_a_moment(told: Desk) -> None:
    at_us = round((START + 3) * 1_000_000)
    told.clock = START + 60 * DAY
    then = made(told, "report", user_id="ann", at_us=at_us)
    assert texts(then) == {
        **ANNS,
        "rules": ["Never push on Fridays"],
        "memories": ["Ann wants the report at 7"],
    }
    assert then.as_json()["at"] == START + 3
    assert texts(made(told, "report", user_id="ann", at_us=at_us - 10**10)) == {}


# -- by meaning -------------------------------------------------------------------------------


def rules(desk: Desk, count: int = 12) -> None:
    desk.echo(*(line(f"rule {n}", 0.9, START + n, kind="rule", id=f"r{n}") for n in range(count)))


def test_rules_near_in_meaning_come_before_newer_ones(desk: Desk) -> None:
    rules(desk)
    engine = Meanings({"r1": 0.9, "r0": 0.5, "r2": 0.1})
    found = made(desk, "vessels", engine=engine)
    (layer,) = [one for one in found.layers if one.name == "rules"]

    newest = [f"r{n}" for n in range(11, 3, -1)]
    assert [one.id for one in layer.pieces] == ["r1", "r0", *newest]
    assert [one.by for one in layer.pieces] == ["similarity"] * 2 + ["recency"] * 8
    assert (found.mode, found.degraded) == ("fusion", [])


def test_without_an_engine_rules_are_chosen_by_their_words(desk: Desk) -> None:
    rules(desk)
    desk.echo(line("ships at noon", 0.1, ts=START - DAY, kind="rule", id="old"))
    (layer,) = [one for one in made(desk, "ships").layers if one.name == "rules"]

    assert [one.id for one in layer.pieces][:2] == ["old", "r11"]


@pytest.mark.parametrize("promoted", [False, True], ids=["in-short", "in-long"])
def test_a_users_own_are_not_missed_among_those_of_many(desk: Desk, promoted: bool) -> None:
    others = [line(f"the boat, boat {n}", 0.9, id=f"o{n}", user_id=f"u{n}") for n in range(150)]
    rules = [line(f"boat rule {n}", 0.9, kind="rule", id=f"r{n}") for n in range(2)]
    desk.echo(*others, *rules, line("a boat of Ann's", 0.9, id="own", user_id="ann"))
    if promoted:
        desk.run("promote")
    engine = Meanings({f"o{n}": 0.9 for n in range(150)} | {"own": 0.3, "r0": 0.1, "r1": 0.3})
    found = texts(made(desk, "boat", engine=engine, user_id="ann"))

    assert found["memories"] == ["a boat of Ann's"]
    assert found["rules"] == ["boat rule 1", "boat rule 0"]


def test_an_engine_that_is_away_is_asked_once(desk: Desk) -> None:
    rules(desk, 1)
    asked: list[int] = []

    def connect() -> NoReturn:
        asked.append(1)
        raise EngineUnavailableError("it is away")

    made = context(desk.work(), "sky", want("rule"), connect)
    assert (len(asked), len(made.degraded)) == (1, 1)


def test_without_a_message_no_engine_is_asked(desk: Desk) -> None:
    rules(desk, 1)
    engine = Meanings()
    for message in ("", "  \n"):
        assert texts(made(desk, message, engine=engine))["rules"] == ["rule 0"]
    assert engine.asked == []


def test_a_note_that_stands_twice_counts_once(desk: Desk) -> None:
    desk.echo(*[line("Push on no Friday", kind="rule")] * 2)
    assert texts(made(desk)) == {"rules": ["Push on no Friday"]}


def test_the_same_question_has_the_same_answer_and_ties_are_told_by_id(desk: Desk) -> None:
    desk.echo(*(line(f"boat {n}", id=f"m{n}") for n in (3, 1, 2)))
    first, second = (made(desk, "boat") for _ in range(2))
    assert first.as_json() == second.as_json()
    memories = next(layer for layer in first.layers if layer.name == "memories")
    assert [one.id for one in memories.pieces] == ["m1", "m2", "m3"]


def test_the_room_is_kept_over_all_layers_and_what_is_left_out_is_told(told: Desk) -> None:
    whole = made(told, "report", user_id="ann")
    short = made(told, "report", user_id="ann", chars_max=len(whole.text) - 1)

    assert whole.left_out == 0
    assert short.left_out > 0
    assert len(short.text) < len(whole.text)
    assert {one["name"]: one["left_out"] for one in short.as_json()["layers"]} == {
        layer.name: layer.left_out for layer in short.layers
    }


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"chars_max": 0}, "max-chars 0"),
        ({"chars_max": 1e3}, "max-chars 1000.0"),
        ({"chars_max": 10**9}, "max-chars"),
        ({"limit": 0}, "limit 0"),
        ({"message": "\ud800"}, "query"),
    ],
)
def test_what_can_not_be_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(UsageError, match=named):
        want(**given)
