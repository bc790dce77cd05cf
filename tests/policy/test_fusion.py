"""The score of mode `fusion`, its parts by hand: shares of 2.23, all that there could be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy import fusion
from skymem.policy.fusion import Signs

PLAIN = Signs(50, question=False, names_a_time=False)


def test_the_highest_score_is_the_sum_of_all_weights() -> None:
    assert pytest.approx(0.5 + 0.5 + 0.5 + 0.3 + 0.12 + 0.06 + 0.15 + 0.05 + 0.05) == fusion.HIGHEST


@pytest.mark.parametrize(
    ("having", "memories", "expected"),
    [
        (1, 10, math.log(1 + 9.5 / 1.5)),
        (5, 10, math.log(1 + 5.5 / 5.5)),
        (10, 10, math.log(1 + 0.5 / 10.5)),
        (0, 10, math.log(1 + 10.5 / 0.5)),
        (0, 0, math.log(2)),
    ],
)
def test_a_word_weighs_by_how_few_memories_have_it(
    having: int, memories: int, expected: float
) -> None:
    assert fusion.rarity(having, memories) == pytest.approx(expected)


def test_a_rarer_word_weighs_more_and_every_word_something() -> None:
    weights = [fusion.rarity(having, 1000) for having in range(1001)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0


@pytest.mark.parametrize(
    ("words", "cosine", "expected"),
    [(0.5, 0.8, 0.8), (0.5, -0.2, 0.0), (0.5, 1.0000001, 1.0), (0.8, None, 0.4), (0.0, None, 0.0)],
)
def test_meaning_is_the_cosine_and_without_one_half_of_the_words(
    words: float, cosine: float | None, expected: float
) -> None:
    assert fusion.meaning_of(words, cosine) == expected
    assert fusion.own(words, cosine) == 0.5 * words + 0.5 * expected


def test_of_what_stands_around_the_better_neighbour_counts_the_nearer_for_more() -> None:
    assert fusion.around([[0.4, 0.6], [0.2]]) == pytest.approx(0.5 * 0.6 + 0.3 * 0.2)
    assert fusion.around([[], [1.0]]) == pytest.approx(0.3)
    assert fusion.around([[], []]) == 0.0


@pytest.mark.parametrize(
    ("signs", "expected"),
    [
        (PLAIN, 0.12),
        (Signs(5000, question=False, names_a_time=True), 0.12),
        (Signs(0, question=False, names_a_time=False), 0.0),
        (Signs(5, question=False, names_a_time=False), 0.12 * math.log(6) / math.log(51)),
        (Signs(50, question=True, names_a_time=False), 0.07),
        (Signs(0, question=True, names_a_time=False), -0.05),
    ],
)
def test_a_text_counts_by_how_much_it_can_say(signs: Signs, expected: float) -> None:
    assert fusion.form(signs) == pytest.approx(expected)


def test_a_text_that_says_when_counts_where_the_query_asks_when() -> None:
    dated = Signs(9, question=False, names_a_time=True)
    assert fusion.time(dated, 0.0, asks=True) == 0.06
    assert fusion.time(dated, 0.0, asks=False) == 0.0
    assert fusion.time(PLAIN, 0.0, asks=True) == 0.0
    assert fusion.time(PLAIN, 1.0, asks=False) == 0.15
    assert fusion.time(dated, 0.5, asks=True) == pytest.approx(0.06 + 0.075)


def test_a_score_is_put_together_by_hand() -> None:
    made = fusion.fused(0.5, 0.8, 0.3, 0.12, 0.06, fusion.prior(0.5, 1.0))

    assert made == pytest.approx(
        tuple(part / 2.23 for part in (0.25, 0.4, 0.3, 0.12, 0.06, 0.075)), rel=1e-9
    )
    assert made.score == pytest.approx(1.205 / 2.23)


def test_all_of_everything_is_one_and_none_of_anything_is_nothing() -> None:
    best = fusion.around([[1.0], [1.0]])
    highest = fusion.fused(1.0, 1.0, best, 0.12, 0.06 + 0.15, fusion.prior(1.0, 1.0))
    assert highest.score == pytest.approx(1.0)
    bare = Signs(0, question=True, names_a_time=False)
    assert fusion.fused(0.0, None, 0.0, fusion.form(bare), 0.0, 0.0).score == 0.0


SHARE = st.floats(0, 1)


@given(
    words=SHARE,
    cosine=st.none() | st.floats(-1, 1),
    near=st.lists(st.lists(SHARE, max_size=2), min_size=2, max_size=2),
    signs=st.builds(Signs, st.integers(0, 70_000), st.booleans(), st.booleans()),
    rest=st.tuples(SHARE, st.booleans(), SHARE, SHARE),
)
def test_a_score_is_a_share_and_the_sum_of_its_parts(
    words: float,
    cosine: float | None,
    near: list[list[float]],
    signs: Signs,
    rest: tuple[float, bool, float, float],
) -> None:
    nearness, asks, recency, importance = rest
    made = fusion.fused(
        words,
        cosine,
        fusion.around(near),
        fusion.form(signs),
        fusion.time(signs, nearness, asks=asks),
        fusion.prior(recency, importance),
    )

    assert 0.0 <= made.score <= 1.0 + 1e-12
    assert made.score == max(0.0, sum(made))
