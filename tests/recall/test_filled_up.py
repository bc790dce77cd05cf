"""As many answer as are wanted: what has neither a word nor a vector yet follows the rest (R5)."""

from math import log1p

import pytest

from skymem.policy import fusion
from skymem.recall import tiers
from skymem.recall.result import Recall
from tests.conftest import START, Desk, line
from tests.recall.conftest import Ask, Meanings
from tests.recall.test_the_order import ARCHIVE

HOUR, DAY = 3_600.0, 86_400.0
LONG_AGO = START - 900 * DAY


def put(desk: Desk, *lines: bytes, file: str = "long_term.jsonl") -> None:
    with (desk.tiers.directory / file).open("ab") as stream:
        stream.write(b"".join(lines))


def ids(found: Recall) -> list[str]:
    return [one.id for one in found]


@pytest.mark.parametrize("mode", ["auto", "fusion"])
def test_what_was_promoted_a_moment_ago_answers_though_it_shares_no_word(
    desk: Desk, ask: Ask, mode: str
) -> None:
    put(desk, line("Ann likes trains", 0.8, id="new", ts=START - HOUR))
    found = ask("which hobby?", mode=mode, engine=Meanings(), indexed=False)

    assert (ids(found), found.mode) == (["new"], "fusion")
    assert found.degraded == ["1 long-term memories are not indexed yet: by words only"]
    form = 0.12 * log1p(3) / log1p(50)  # three words, of which fifty say all there is to say
    prior = 0.05 * 0.5 + 0.05 * 0.8  # an hour is half
    assert found[0].score == pytest.approx((form + prior) / 2.23)
    assert round(found[0].score, 4) == 0.0481
    assert found[0].fused == pytest.approx((0, 0, 0, form / 2.23, 0, prior / 2.23))
    assert found[0].parts.semantic is None


@pytest.mark.parametrize("where", ["short_term.jsonl", "long_term.jsonl", ARCHIVE])
def test_in_every_tier(desk: Desk, ask: Ask, where: str) -> None:
    put(desk, line("Ann likes trains", id="new"), file=where)
    put(desk, *(line("zanzibar", id=f"i{n}") for n in range(2)))
    found = ask("zanzibar", engine=Meanings(), limit=3)

    assert {*ids(found)[:2]} == {"i0", "i1"}
    assert ids(found)[2:] == ["new"]


def test_of_many_the_newest_answer(desk: Desk, ask: Ask) -> None:
    put(desk, *(line("it was nice", id=f"{n:03}", ts=START - n * HOUR) for n in range(200)))
    found = ask("zanzibar", engine=Meanings(), limit=4)

    assert ids(found) == ["000", "001", "002", "003"]
    assert ids(ask("zanzibar", engine=Meanings(), limit=2)) == ids(found)[:2]
    assert len(ask("zanzibar", engine=Meanings(), limit=200)) == 200


def test_they_stand_among_the_rest_by_their_score(desk: Desk, ask: Ask) -> None:
    put(
        desk,
        line("zanzibar", 0.0, id="word", ts=LONG_AGO),
        line("a boat", 0.0, id="near", ts=LONG_AGO),
        line("a boat?", 0.0, id="far", ts=LONG_AGO),
        line("a long tale of all that was and of all that will be", 1.0, id="new"),
    )
    found = ask("zanzibar", engine=Meanings({"near": 0.9, "far": 0.01}))

    assert ids(found) == ["word", "near", "new", "far"]
    assert [one.score for one in found] == [max(0.0, sum(one.fused or ())) for one in found]


def test_filters_and_standing_hold_for_what_follows(desk: Desk, ask: Ask) -> None:
    put(
        desk,
        line("one", id="fact", kind="fact"),
        line("two", id="log", kind="log"),
        line("three", id="over", kind="fact", ts=LONG_AGO, expires_at="2023-01-01T00:00:00Z"),
        line("four", id="old", kind="fact"),
        line("five", id="later", kind="fact", ts=START - HOUR, supersedes=["old"]),
    )

    assert sorted(ids(ask("zanzibar", engine=Meanings(), kind="fact"))) == ["fact", "later"]
    assert sorted(ids(ask("zanzibar", engine=Meanings()))) == ["fact", "later", "log"]
    assert ids(ask("zanzibar", engine=Meanings(), kind="rule")) == []


def test_lines_the_word_index_has_not_come_to_follow_too(
    desk: Desk, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "CATCH_UP_SECONDS", -1.0)
    put(desk, *(line(f"number{n}", id=f"i{n}", ts=START - n * HOUR) for n in range(40)))

    for kind in ({}, {"kind": "none"}):
        found = ask("zanzibar", engine=Meanings(), limit=5, **kind)
        assert set(ids(found)) == (set() if kind else {"i0", "i1", "i2", "i3", "i4"})


def test_with_enough_found_nothing_more_is_asked(desk: Desk, ask: Ask) -> None:
    put(desk, *(line(f"tea {n}", id=f"i{n}") for n in range(9)))
    engine = Meanings({f"i{n}": 0.5 for n in range(9)})

    assert len(ask("tea", engine=engine, limit=9)) == 9
    assert len(engine.asked) <= 2
    assert ask("zanzibar", engine=Meanings(), limit=3)[0].score <= 1 / fusion.HIGHEST


def test_where_there_is_nothing_nothing_answers(ask: Ask) -> None:
    assert ask("zanzibar", engine=Meanings()) == []
