"""Mode `fusion`: words by their rarity, meaning, what stands around a memory, in one order (R5)."""

import json
import os
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skymem.model.spelling import read_line
from skymem.policy import fusion
from skymem.recall import tiers
from skymem.recall.result import Recall, Recalled
from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings
from tests.recall.test_the_order import ARCHIVE

MINUTE, DAY = 60.0, 86_400.0
LONG_AGO = START - 900 * DAY


def put(desk: Desk, *lines: bytes) -> None:
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(b"".join(lines))


def said(name: str, content: str, ts: float = LONG_AGO, **more: Any) -> bytes:
    return line(content, id=name, ts=ts, **more)


def ids(found: Recall) -> list[str]:
    return [one.id for one in found]


def fused(one: Recalled) -> fusion.Fused:
    assert one.fused is not None
    return one.fused


def by_id(found: Recall) -> dict[str, fusion.Fused]:
    return {one.id: fused(one) for one in found}


# -- words and meaning -----------------------------------------------------------------------------


def test_a_rare_word_counts_for_more_than_common_ones(desk: Desk, ask: Ask) -> None:
    common = [said(f"i{n}", f"green tea and number{n}", LONG_AGO + n * DAY) for n in range(20)]
    put(desk, *common, said("rare", "a trip to zanzibar", LONG_AGO - DAY))
    found = ask("green tea zanzibar", engine=Meanings())

    assert found.mode == "fusion"
    assert ids(found)[0] == "rare"
    assert 2 * len(ids(found)) == 20
    assert ask("green tea zanzibar", mode="deterministic")[0].id != "rare"


def test_words_of_one_stem_count_as_the_word(desk: Desk, ask: Ask) -> None:
    put(desk, said("one", "she goes camping"), said("other", "she goes home", LONG_AGO - DAY))
    found = ask("they camped", engine=Meanings(), limit=1)

    assert ids(found) == ["one"]
    assert fused(found[0]).words == pytest.approx(0.5 / fusion.HIGHEST)


def test_what_is_near_by_meaning_answers_without_a_word(desk: Desk, ask: Ask) -> None:
    put(desk, said("near", "a feline"), said("far", "a lorry"), said("word", "the cat"))
    found = ask("cat", engine=Meanings({"near": 0.9, "far": 0.1}))
    parts = by_id(found)

    assert set(ids(found)) == {"near", "far", "word"}
    assert parts["near"].meaning == pytest.approx(0.45 / fusion.HIGHEST)
    assert parts["near"].words == 0.0
    assert parts["word"].meaning == pytest.approx(0.25 / fusion.HIGHEST)  # half of its words
    assert ids(found).index("near") < ids(found).index("far")


# -- what stands around ----------------------------------------------------------------------------


def around_of(desk: Desk, ask: Ask, *, gap: float, one: str | None, other: str | None) -> float:
    """What a text without a word of the query has of a hit that was said `gap` seconds earlier."""
    sessions = [{} if name is None else {"session": name} for name in (one, other)]
    put(
        desk,
        said("hit", "my trip to zanzibar", LONG_AGO, **sessions[0]),
        said("beside", "it was lovely there", LONG_AGO + gap, **sessions[1]),
        *(said(f"i{n}", "it was lovely there", LONG_AGO - (n + 1) * DAY) for n in range(3)),
    )
    engine = Meanings(dict.fromkeys(("beside", "i0", "i1", "i2"), 0.1))
    return by_id(ask("zanzibar", engine=engine))["beside"].around * fusion.HIGHEST


def test_what_stands_beside_a_hit_in_its_conversation_rises(desk: Desk, ask: Ask) -> None:
    assert around_of(desk, ask, gap=5 * DAY, one="s", other="s") == pytest.approx(0.5 * 0.75)


def test_without_a_conversation_nothing_is_beside(desk: Desk, ask: Ask) -> None:
    assert around_of(desk, ask, gap=1.0, one=None, other=None) == 0.0


def test_another_conversation_is_not_beside(desk: Desk, ask: Ask) -> None:
    assert around_of(desk, ask, gap=1.0, one="s", other="t") == 0.0


def test_one_that_names_no_conversation_is_in_none(desk: Desk, ask: Ask) -> None:
    assert around_of(desk, ask, gap=1.0, one="s", other=None) == 0.0


def test_a_neighbour_that_was_not_found_by_itself_answers(desk: Desk, ask: Ask) -> None:
    talk = {"session": "s"}
    near = [said(f"n{n}", f"about this number{n}", LONG_AGO + n, **talk) for n in range(5)]
    put(desk, *near, said("hit", "zanzibar", LONG_AGO + 2.5, **talk))
    found = ask("zanzibar", engine=Meanings(), limit=5)
    parts = by_id(found)

    assert ids(found)[0] == "hit"
    assert set(ids(found)) == {"hit", "n1", "n2", "n3", "n4"}  # two on either side
    assert parts["n2"].around == parts["n3"].around > parts["n1"].around == parts["n4"].around > 0


# -- time and form ---------------------------------------------------------------------------------


def of(*when: int) -> float:
    return datetime(*when, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]


def test_what_happened_at_the_time_that_is_spoken_of_comes_first(desk: Desk, ask: Ask) -> None:
    may, june = of(2021, 5, 20, 12), of(2021, 6, 20, 12)
    put(desk, said("june", "a tea party", june), said("may", "a tea party", may))

    for query, first in [("tea party in June 2021", "june"), ("tea party on 20 May 2021", "may")]:
        found = ask(query, engine=Meanings())
        assert ids(found)[0] == first
        assert fused(found[0]).time == pytest.approx(0.15 / fusion.HIGHEST)
    assert ids(ask("tea party", engine=Meanings()))[0] == "june"  # the newer one


def test_a_text_that_says_when_answers_a_question_of_when(desk: Desk, ask: Ask) -> None:
    put(
        desk,
        said("dated", "the tea party was last friday", LONG_AGO),
        said("plain", "the tea party was great fun", LONG_AGO + DAY),
    )
    found = ask("when was the tea party", engine=Meanings())

    assert ids(found) == ["dated", "plain"]
    assert by_id(found)["dated"].time == pytest.approx(0.06 / fusion.HIGHEST)
    assert ids(ask("the tea party", engine=Meanings())) == ["plain", "dated"]


def test_a_question_answers_less_than_a_statement(desk: Desk, ask: Ask) -> None:
    put(
        desk,
        said("asks", "do you like the tea in zanzibar?", LONG_AGO + DAY),
        said("says", "you do like the tea in zanzibar", LONG_AGO),
    )
    found = ask("tea zanzibar", engine=Meanings())
    lost = by_id(found)["says"].form - by_id(found)["asks"].form

    assert ids(found) == ["says", "asks"]
    assert lost == pytest.approx(fusion.QUESTION / fusion.HIGHEST)


# -- filters ---------------------------------------------------------------------------------------

FEW = [f"w{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("marks", "filters"),
    [
        ({"kind": "decision"}, {"kind": "decision"}),
        ({"tags": ["b", "a"]}, {"tags": ["a", "none"]}),
        ({"metadata": {"project": "x", "n": 3}}, {"meta": [("project", "x"), ("n", "3")]}),
        ({"ts": START - 5}, {"since_us": round((START - 10) * 1_000_000)}),
        ({"tier": "archive"}, {"tiers": ["archive"]}),
    ],
)
def test_the_few_that_pass_a_filter_are_found_among_thousands(
    desk: Desk,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    marks: dict[str, Any],
    filters: dict[str, Any],
) -> None:
    monkeypatch.setattr(tiers, "CATCH_UP_SECONDS", 60.0)
    marks = dict(marks)
    few = [
        said(name, f"coffee {name}", **{"ts": LONG_AGO, "session": name, **marks}) for name in FEW
    ]
    if marks.pop("tier", None):
        (desk.tiers.directory / ARCHIVE).write_bytes(b"".join(few))
        few = []
    put(desk, *(said(f"i{n}", f"tea {n}", LONG_AGO + n) for n in range(3000)), *few)
    engine = Meanings({f"i{n}": 0.9 for n in range(3000)} | {"w3": 0.8})
    found = ask("tea", engine=engine, **filters)

    assert sorted(ids(found)) == FEW
    assert ids(found)[0] == "w3"
    assert {name for asked in engine.asked for name in asked["also"]} >= set(FEW)
    assert [asked["limit"] for asked in engine.asked] == [0] * len(engine.asked)
    assert 1 <= len(engine.asked) <= 2


# -- what may not answer ---------------------------------------------------------------------------


def test_what_is_superseded_or_over_takes_no_place_from_what_is_active(
    desk: Desk, ask: Ask
) -> None:
    old = [f"old{n}" for n in range(150)]
    over = {"expires_at": "2023-01-01T00:00:00Z"}
    put(
        desk,
        *(said(name, "green tea in zanzibar", LONG_AGO + n) for n, name in enumerate(old)),
        *(said(f"over{n}", "green tea in zanzibar", LONG_AGO + n, **over) for n in range(150)),
        said("new", "no more to say", LONG_AGO + 900 * DAY, supersedes=old),
        said("weak", "there is tea for all of us", LONG_AGO - DAY),
    )
    everything = [*old, *(f"over{n}" for n in range(150))]
    engine = Meanings(dict.fromkeys(everything, 0.9) | {"weak": 0.2})

    assert ids(ask("green tea zanzibar", engine=engine, limit=1)) == ["weak"]
    assert set(ids(ask("green tea zanzibar", engine=Meanings(), limit=200))) <= {"weak", "new"}


def test_what_was_removed_leaves_the_places_of_a_pool_to_others(desk: Desk, ask: Ask) -> None:
    gone = [said(f"g{n}", "green tea in zanzibar", LONG_AGO + n) for n in range(200)]
    stays = said("stays", "tea", LONG_AGO - 900 * DAY)
    put(desk, *gone, stays)
    assert len(ask("green tea zanzibar", engine=Meanings(), limit=200)) == 200
    new = desk.tiers.directory / "new"
    new.write_bytes(stays)
    os.replace(new, desk.tiers.long_term)

    found = ask("green tea zanzibar", engine=Meanings())
    assert ids(found) == ["stays"]
    assert 0 < fused(found[0]).words < 0.5 / fusion.HIGHEST


# -- where it stands -------------------------------------------------------------------------------


def test_short_term_and_what_is_not_indexed_yet_compete(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(desk, *(said(f"i{n}", "tea for two", LONG_AGO + n * DAY) for n in range(9)))
    assert len(ask("tea", engine=Meanings())) == 9
    monkeypatch.setattr(tiers, "CATCH_UP_SECONDS", -1.0)
    put(desk, said("later", "tea in zanzibar"))
    desk.echo(said("short", "a boat to zanzibar"))
    found = ask("zanzibar", engine=Meanings())

    assert set(ids(found)[:2]) == {"later", "short"}
    assert {one.tier for one in found[:2]} == {"long", "short"}


WORDS = ["tea", "teas", "report", "zanzibar", "June", "when?", "straße", "茶を飲む"]
LINE = st.fixed_dictionaries(
    {"content": st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)},
    optional={
        "ts": st.integers(0, 40).map(lambda n: START - 15 * MINUTE * n),
        "importance": st.sampled_from([0, 0.5, 1]),
        "session": st.sampled_from(["one", "two"]),
        "tags": st.lists(st.sampled_from(WORDS), max_size=1),
    },
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    lines=st.lists(st.tuples(LINE, st.sampled_from(["long_term.jsonl", ARCHIVE])), max_size=16),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    cosines=st.lists(st.floats(-1, 1), max_size=16),
)
def test_an_answer_is_the_same_from_the_index_and_from_the_lines(
    desk: Desk,
    ask: Ask,
    lines: list[tuple[dict[str, Any], str]],
    query: str,
    cosines: list[float],
) -> None:
    for path in (*desk.tiers.directory.glob("*.jsonl"), *desk.paths.words.glob("*")):
        path.unlink()
    names = []
    for number, (fields, file) in enumerate(lines):
        raw = json.dumps({"id": f"i{number}", **fields}).encode() + b"\n"
        names.append(read_line(raw).source_id or "")
        with (desk.tiers.directory / file).open("ab") as stream:
            stream.write(raw)
    near = dict(zip(names, cosines, strict=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiers, "CATCH_UP_SECONDS", -1.0)
        plain = ask(query, engine=Meanings(near), limit=20)
    found = ask(query, engine=Meanings(near), limit=20)

    assert [(one.id, round(one.score, 12)) for one in found] == [
        (one.id, round(one.score, 12)) for one in plain
    ]
    for one in found:
        assert one.score == max(0.0, sum(fused(one)))
        assert 0.0 <= one.score <= 1.0
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert ids(ask(query, engine=Meanings(near), limit=1)) == ids(found)[:1]


def test_equal_scores_come_in_one_order_and_as_many_as_are_wanted(desk: Desk, ask: Ask) -> None:
    names = [f"i{n:03}" for n in range(300)]
    put(desk, *(said(name, "tea", session=name) for name in reversed(names)))

    assert ids(ask("tea", engine=Meanings(), limit=300)) == names
    assert len(ask("tea", engine=Meanings(), limit=1)) == 1
    assert len(ask("tea", engine=Meanings(), limit=200)) == 200
