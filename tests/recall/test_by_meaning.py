"""Modes `semantic`, `hybrid` and `auto`: meaning beside words, and what happens without it."""

import os
from typing import Any

import pytest

from skymem.errors import BusyError, DiskError, EngineUnavailableError, InterruptedRunError
from skymem.recall import meaning, search, tiers
from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings

ARCHIVE = "short_term_archive_20231114.jsonl"


@pytest.fixture
def tea(desk: Desk) -> Desk:
    """Three memories in three tiers, of one time and worth: `s`, `l` and `a`."""
    for name, text in {
        "short_term.jsonl": line("tea at seven", 0.0, id="s"),
        "long_term.jsonl": line("a warm drink", 0.0, id="l"),
        ARCHIVE: line("tax forms", 0.0, id="a"),
    }.items():
        (desk.tiers.directory / name).write_bytes(text)
    return desk


def names(found: Any) -> list[str]:
    return [one.id for one in found]


# -- semantic -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("tea")
def test_meaning_alone_orders_by_cosine(ask: Ask) -> None:
    found = ask("beverage", mode="semantic", engine=Meanings({"s": 0.7, "l": 0.9, "a": -0.2}))

    assert [(one.id, one.tier, one.score) for one in found] == [
        ("l", "long", 0.9),
        ("s", "short", 0.7),
        ("a", "archive", 0.0),
    ]
    assert found[2].parts.semantic == -0.2
    assert (found.mode, found.degraded) == ("semantic", [])


@pytest.mark.usefixtures("tea")
def test_a_query_of_signs_alone_still_has_a_meaning(ask: Ask) -> None:
    assert names(ask("🙂", mode="semantic", engine=Meanings({"s": 0.7}))) == ["s"]
    assert ask(" ", mode="semantic", engine=Meanings({"s": 0.7})) == []


@pytest.mark.usefixtures("tea")
def test_a_hit_that_words_found_too_counts_once(ask: Ask) -> None:
    found = ask("tea", mode="hybrid", limit=2, engine=Meanings({"s": 0.9, "gone": 0.8}))

    assert names(found) == ["s", "a"]


@pytest.mark.usefixtures("tea")
def test_equal_meaning_is_ordered_as_every_tie(desk: Desk, ask: Ask) -> None:
    desk.echo(line("x", 0.9, id="z"), line("y", 0.0, ts=START + 1, id="y"))
    found = ask("q", mode="semantic", engine=Meanings(dict.fromkeys("aslyz", 0.5)))

    assert names(found) == ["z", "y", "a", "l", "s"]


@pytest.mark.usefixtures("tea")
def test_a_hit_that_no_tier_has_any_more_is_passed_over(ask: Ask) -> None:
    stale = {f"gone{n}": 0.99 for n in range(500)}
    engine = Meanings({**stale, "a": 0.5, "l": 0.4})

    assert names(ask("q", mode="semantic", limit=2, engine=engine)) == ["a", "l"]
    assert [call["limit"] for call in engine.asked] == [50, 200, 800]


@pytest.mark.usefixtures("tea")
def test_an_index_full_of_what_is_gone_is_looked_through_so_far(ask: Ask) -> None:
    engine = Meanings({f"gone{n:05}": 0.9 for n in range(meaning.NEAREST_MAX)} | {"a": 0.1})
    found = ask("q", mode="semantic", limit=1, engine=engine)

    assert found == []
    assert found.degraded == ["by meaning: only the nearest 20000 were looked through"]


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "fusion"])
def test_few_that_pass_the_filters_are_found_among_many(desk: Desk, ask: Ask, mode: str) -> None:
    desk.echo(*(line(f"n{n}", id=f"{n:03}", kind="log") for n in range(300)))
    desk.echo(line("wanted", id="w", kind="fact"))
    engine = Meanings({f"{n:03}": 0.9 for n in range(300)} | {"w": 0.1})

    assert names(ask("q", mode=mode, kind="fact", engine=engine)) == ["w"]
    assert [(call["limit"], call["also"]) for call in engine.asked] == [(0, ("w",))]


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "fusion"])
def test_of_more_that_pass_than_are_wanted_the_nearest_answer(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(meaning, "ALSO_MAX", 50)
    facts = [f"f{n:03}" for n in range(180)]
    lines = [line("tea", 0.0, id=one, kind="fact") for one in facts]
    lines += [line("tea", id=f"n{n:03}", kind="log") for n in range(200)]
    desk.tiers.long_term.write_bytes(b"".join(lines))
    engine = Meanings({f"n{n:03}": 0.9 for n in range(200)} | {"f179": 0.8, "f077": 0.7})
    found = ask("drink", mode=mode, kind="fact", engine=engine, limit=2)

    assert names(found) == ["f179", "f077"]
    assert [one.parts.semantic for one in found] == [0.8, 0.7]
    assert {call["limit"] for call in engine.asked} == {0}
    assert max(len(call["also"]) for call in engine.asked) == meaning.ALSO_MAX
    named = {one for call in engine.asked for one in call["also"]}
    assert named == set(facts)


@pytest.mark.parametrize("mode", ["semantic", "hybrid", "fusion"])
def test_more_that_pass_are_looked_for(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(meaning, "FEW_MAX", 4)
    monkeypatch.setattr(search, "FEW_MAX", 4)
    desk.tiers.long_term.write_bytes(
        b"".join(line("tea", id=f"i{n}", kind="fact" if n else "log") for n in range(6))
    )
    engine = Meanings({f"i{n}": n / 10 for n in range(6)})
    found = ask("drink", mode=mode, kind="fact", engine=engine, limit=3)

    assert names(found) == ["i5", "i4", "i3"]
    assert engine.asked[0]["limit"] >= 50


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_lines_the_word_index_has_not_come_to_are_looked_for_by_meaning(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(tiers, "CATCH_UP_SECONDS", -1.0)
    lines = [line("tea for you", 1.0, id=f"i{n}", kind="fact") for n in range(60)]
    lines.append(line("a trip", 0.0, id="far", kind="fact", ts=START - 10**7))
    desk.tiers.long_term.write_bytes(b"".join(lines))
    engine = Meanings({"far": 1.0} | {f"i{n}": 0.0 for n in range(60)})
    found = ask("holiday", mode=mode, kind="fact", engine=engine, limit=1)

    assert names(found) == ["far"]


@pytest.mark.usefixtures("tea")
def test_of_equally_near_ones_the_weightiest_answer(desk: Desk, ask: Ask) -> None:
    lines = [line("x", n / 100, id=f"{n:02}", kind="fact") for n in range(60)]
    desk.tiers.long_term.write_bytes(b"".join(lines))
    engine = Meanings({f"{n:02}": -0.1 - n / 1000 for n in range(60)})

    found = ask("q", mode="semantic", kind="fact", limit=2, engine=engine)
    assert names(found) == ["59", "58"]


@pytest.mark.usefixtures("tea")
@pytest.mark.parametrize(
    ("tiers", "collections", "found"),
    [
        pytest.param([], ("memory", "recent"), {"s", "l", "a"}, id="all"),
        pytest.param(["long"], ("memory",), {"l"}, id="long"),
        pytest.param(["short"], ("recent",), {"s"}, id="short"),
        pytest.param(["archive"], ("recent",), {"a"}, id="archive"),
        pytest.param(["short", "long"], ("memory", "recent"), {"s", "l"}, id="two"),
    ],
)
def test_a_tier_is_looked_for_where_it_is_indexed(
    ask: Ask, tiers: list[str], collections: tuple[str, ...], found: set[str]
) -> None:
    engine = Meanings(dict.fromkeys("sla", 0.5))

    assert set(names(ask("q", mode="semantic", tiers=tiers, engine=engine))) == found
    assert engine.asked[0]["collections"] == collections


def test_what_a_drain_holds_is_found_by_meaning(desk: Desk, ask: Ask) -> None:
    desk.echo(line("promoted", 0.9))
    with desk.short_term.open("ab", buffering=0) as writer:
        desk.run()
        writer.write(line("written late", id="late"))
        assert len(desk.rests()) == 1

        assert names(ask("q", mode="semantic", engine=Meanings({"late": 0.5}))) == ["late"]


def test_a_place_whose_line_was_replaced_is_passed_over(tea: Desk, ask: Ask) -> None:
    place = tea.tiers.long_term
    ask("tea", mode="deterministic")  # the catalog has seen it
    status = place.stat()
    place.write_bytes(place.read_bytes().replace(b"warm", b"cold"))
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert ask("q", mode="semantic", engine=Meanings({"l": 0.5})) == []


# -- hybrid and auto ------------------------------------------------------------------------------


@pytest.mark.usefixtures("tea")
def test_words_and_meaning_are_weighed_together(ask: Ask) -> None:
    found = ask("tea", mode="hybrid", engine=Meanings({"s": 0.2, "l": 0.9, "a": 0.1}))

    # halves of 1 / 1.15 and 0.2, of 0.35 / 1.15 and 0.9, of 0.35 / 1.15 and 0.1
    assert [(one.id, round(one.score, 6)) for one in found] == [
        ("l", 0.602174),
        ("s", 0.534783),
        ("a", 0.202174),
    ]
    assert found[0].parts == (0.0, 1.0, 0.0, 0.35, 0.9)
    assert (found.mode, found.degraded) == ("hybrid", [])


@pytest.mark.parametrize(
    ("weight", "order"), [(0.0, ["s", "a", "l"]), (1.0, ["l", "s", "a"])], ids=["words", "meaning"]
)
@pytest.mark.usefixtures("tea")
def test_the_weight_is_the_share_of_meaning(ask: Ask, weight: float, order: list[str]) -> None:
    engine = Meanings({"s": 0.2, "l": 0.9, "a": 0.1})

    assert names(ask("tea", mode="hybrid", semantic_weight=weight, engine=engine)) == order


@pytest.mark.usefixtures("tea")
def test_what_is_not_embedded_yet_competes_by_its_words(ask: Ask) -> None:
    found = ask("tea", mode="hybrid", engine=Meanings({"l": 0.3, "a": 0.3}))

    assert found[0].id == "s"
    assert found[0].parts.semantic is None
    assert found[0].score == pytest.approx(1.0 / 1.15 / 2)


def test_the_best_by_meaning_compete_with_no_word_in_common(desk: Desk, ask: Ask) -> None:
    desk.echo(*(line(f"tea {n}", 0.5, id=f"{n:03}") for n in range(200)))
    desk.echo(line("a warm drink", 0.0, ts=START - 10**7, id="w"))
    engine = Meanings({"w": 1.0} | {f"{n:03}": 0.01 for n in range(100)})
    weighed = {"mode": "hybrid", "semantic_weight": 0.9, "engine": engine}
    found = ask("tea", limit=200, **weighed)

    assert names(ask("tea", limit=1, **weighed)) == ["w"]
    assert found[0].id == "w"
    assert len(found) == 200


@pytest.mark.usefixtures("tea")
def test_the_engine_is_asked_once_with_the_best_by_words_beside(ask: Ask) -> None:
    engine = Meanings({"s": 0.2})
    ask("tea", mode="hybrid", engine=engine)

    assert [(call["agent"], call["text"], call["also"]) for call in engine.asked] == [
        ("sky", "tea", ("s", "a", "l"))
    ]


def test_a_question_stays_small_whatever_ids_and_query_are(desk: Desk, ask: Ask) -> None:
    desk.echo(line("tea", id="x" * 1_000_000), line("tea", 0.2, id="y"))
    engine = Meanings({"y": 0.5})
    found = ask("tea " * 100_000, mode="hybrid", engine=engine)

    assert names(found) == ["y", "x" * 1_000_000]
    assert engine.asked[0]["also"] == ("y",)
    assert len(engine.asked[0]["text"]) == meaning.QUERY_LETTERS_MAX


@pytest.mark.parametrize(("runs", "seconds"), [(True, 2.0), (False, 10.0)])
@pytest.mark.usefixtures("tea")
def test_an_engine_that_has_to_be_started_is_given_longer(
    ask: Ask, runs: bool, seconds: float
) -> None:
    engine = Meanings(runs=runs)
    ask("tea", engine=engine)

    assert engine.asked[0]["deadline_seconds"] == seconds


@pytest.mark.usefixtures("tea")
def test_what_the_engine_did_without_is_passed_on_once(ask: Ask) -> None:
    found = ask("tea", engine=Meanings({"s": 0.5}, degraded=["index: 3 of 9 built"] * 2))

    assert (found.mode, found.degraded) == ("fusion", ["index: 3 of 9 built"])


# -- without an engine ----------------------------------------------------------------------------

FAILURES = [
    pytest.param(EngineUnavailableError("no model"), id="no model"),
    pytest.param(BusyError("the engine", "64 requests"), id="busy"),
    pytest.param(DiskError("rag", "no space left"), id="disk"),
]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("mode", ["hybrid", "fusion", "auto"])
@pytest.mark.usefixtures("tea")
def test_without_meaning_words_answer_and_the_result_says_so(
    ask: Ask, mode: str, failure: Any
) -> None:
    engine = Meanings({"l": 1.0}, fails=failure)
    found = ask("tea", mode=mode, engine=engine)
    plain = ask("tea", mode="deterministic")

    assert len(engine.asked) == 1
    assert list(found) == list(plain)
    assert found.mode == "deterministic"
    assert found.degraded == [f"by words only: {failure}"]


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.usefixtures("tea")
def test_meaning_alone_is_not_replaced_by_something_else(ask: Ask, failure: Any) -> None:
    with pytest.raises(type(failure)):
        ask("tea", mode="semantic", engine=Meanings(fails=failure))
    with pytest.raises(EngineUnavailableError):
        ask("tea", mode="semantic")


@pytest.mark.usefixtures("tea")
def test_an_interrupt_is_not_taken_for_an_engine_that_is_away(ask: Ask) -> None:
    with pytest.raises(InterruptedRunError):
        ask("tea", engine=Meanings(fails=InterruptedRunError("SIGINT")))


@pytest.mark.usefixtures("tea")
def test_words_alone_never_ask_the_engine(ask: Ask) -> None:
    engine = Meanings({"l": 1.0})
    ask("tea", mode="deterministic", engine=engine)
    ask("?!", mode="auto", engine=engine)

    assert engine.asked == []


@pytest.mark.parametrize("mode", ["auto", "semantic"])
@pytest.mark.usefixtures("tea")
def test_an_index_that_lacks_long_term_is_told_of_and_never_passes_for_whole(
    ask: Ask, mode: str
) -> None:
    found = ask("tea", mode=mode, engine=Meanings({"s": 0.2}), indexed=False)

    assert found.degraded == ["1 long-term memories are not indexed yet: by words only"]
    assert names(found)[0] == "s"
