"""Rows R2, R3 and R5: each number of a score, computed by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy import rank

HOUR_US = 3_600_000_000
NOW_US = 1_700_000_000_000_000

TOKENS = [
    pytest.param("User wants REPORTS, at 7am!", {"user", "wants", "reports", "at", "7am"}, id="en"),
    pytest.param("the the The", {"the"}, id="a set"),
    pytest.param("project:apollo-11 x_1", {"project", "apollo", "11", "x_1"}, id="signs part"),
    pytest.param("Straße", {"strasse"}, id="casefold, not lower"),
    pytest.param("ΟΔΟΣ οδος", {"οδοσ"}, id="final sigma"),
    pytest.param("\u212aelvin", {"kelvin"}, id="a sign that is a letter"),
    pytest.param("", set(), id="empty"),
    pytest.param("?!… – 🙂", set(), id="signs only"),
    pytest.param("東京都", {"東京都", "東京", "京都"}, id="ideographs"),
    pytest.param("私はABCです", {"私はabcです", "私は", "です"}, id="mixed scripts"),
    pytest.param("カフェ", {"カフェ", "カフ", "フェ"}, id="Katakana"),
    pytest.param("서울에서", {"서울에서", "서울", "울에", "에서"}, id="Hangul"),
    pytest.param("กขค", {"กขค", "กข", "ขค"}, id="Thai"),
    pytest.param("ກຂ", {"ກຂ"}, id="Lao"),
    pytest.param("ខគឃ", {"ខគឃ", "ខគ", "គឃ"}, id="Khmer"),
    pytest.param("ကခဂ", {"ကခဂ", "ကခ", "ခဂ"}, id="Myanmar"),
    pytest.param("𠀀𠀁𠀂", {"𠀀𠀁𠀂", "𠀀𠀁", "𠀁𠀂"}, id="beyond 16 bits"),
    pytest.param("茶 x", {"茶", "x"}, id="one ideograph"),
]


@pytest.mark.parametrize(("text", "found"), TOKENS)
def test_words_are_casefolded_runs_and_bigrams_where_no_space_stands(
    text: str, found: set[str]
) -> None:
    assert rank.tokens(text) == found


@given(st.text(st.characters(max_codepoint=127)))
def test_the_words_of_ascii_are_its_runs_in_lower_case(text: str) -> None:
    assert rank.ascii_words(text) == re.findall(r"\w+", text.casefold())


def test_the_words_of_a_memory_are_those_of_its_text_and_its_tags() -> None:
    assert rank.tokens_of("a b", ("c", "d-e")) == {"a", "b", "c", "d", "e"}


@pytest.mark.parametrize(
    ("word", "text"),
    [
        pytest.param("茶", "毎朝お茶を飲む", id="Japanese"),
        pytest.param("水", "我喜欢喝水。", id="Chinese"),
        pytest.param("東京", "明日は東京に行く", id="a word of two"),
        pytest.param("物", "물을 마신다 物", id="an ideograph alone"),
        pytest.param("물", "물을 마신다", id="Korean"),
        pytest.param("น้ำ", "ผมดื่มน้ำทุกวัน", id="Thai"),
    ],
)
def test_a_word_that_is_there_is_found_where_no_space_stands(word: str, text: str) -> None:
    assert rank.text_score(rank.tokens(word), rank.tokens_of(text, ())) > 0


@pytest.mark.parametrize(
    ("query", "memory", "share"),
    [
        pytest.param({"a", "b", "c", "d"}, {"a", "z"}, 0.25, id="one of four"),
        pytest.param({"a"}, {"a", "b", "c"}, 1.0, id="what is not asked for does not count"),
        pytest.param({"a"}, set(), 0.0, id="nothing to find"),
        pytest.param(set(), {"a"}, 0.0, id="nothing to look for"),
    ],
)
def test_text_is_the_share_of_the_query(query: set[str], memory: set[str], share: float) -> None:
    assert rank.text_score(query, memory) == share


@pytest.mark.parametrize(
    ("time_us", "found"),
    [
        pytest.param(NOW_US, 1.0, id="now"),
        pytest.param(NOW_US - HOUR_US, 0.5, id="an hour ago"),
        pytest.param(NOW_US - 3 * HOUR_US, 0.25, id="three hours ago"),
        pytest.param(NOW_US - HOUR_US // 2, 1 / 1.5, id="half an hour ago"),
        pytest.param(NOW_US + 9 * HOUR_US, 1.0, id="ahead of the clock"),
        pytest.param(None, 0.0, id="no time"),
    ],
)
def test_recency_is_one_over_one_plus_hours(time_us: int | None, found: float) -> None:
    assert rank.recency(time_us, NOW_US) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "recent", "importance", "bias", "score"),
    [
        pytest.param(1.0, 1.0, 1.0, 0.35, 1.15, id="the most there is"),
        pytest.param(0.5, 0.25, 0.8, 0.35, 0.5325, id="0.325 + 0.0875 + 0.12"),
        pytest.param(0.5, 0.25, 0.8, 0.0, 0.62, id="no recency"),
        pytest.param(0.5, 0.25, 0.8, 1.0, 0.37, id="nothing but recency"),
        pytest.param(0.0, 0.5, 0.0, 0.35, 0.175, id="no word in common"),
        pytest.param(0.0, 0.0, 0.0, 0.35, 0.0, id="nothing"),
    ],
)
def test_the_deterministic_score_is_the_formula(
    text: float, recent: float, importance: float, bias: float, score: float
) -> None:
    assert rank.deterministic(text, recent, importance, bias) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("score", "cosine", "weight", "found"),
    [
        pytest.param(1.15, 1.0, 0.5, 1.0, id="the most there is"),
        pytest.param(0.575, 0.8, 0.5, 0.65, id="half of 0.5 and of 0.8"),
        pytest.param(0.575, 0.8, 0.0, 0.5, id="no meaning"),
        pytest.param(0.575, 0.8, 1.0, 0.8, id="nothing but meaning"),
        pytest.param(0.575, -0.4, 0.5, 0.25, id="an opposite is nothing"),
        pytest.param(0.575, None, 0.5, 0.25, id="not embedded"),
        pytest.param(0.575, 1.0000001, 1.0, 1.0, id="rounded above 1"),
    ],
)
def test_the_hybrid_score_is_the_formula(
    score: float, cosine: float | None, weight: float, found: float
) -> None:
    assert rank.hybrid(score, cosine, weight) == pytest.approx(found, abs=1e-12)


def test_what_nobody_says_is_as_documented() -> None:
    assert (rank.RECENCY_BIAS, rank.LIMIT, rank.SEMANTIC_WEIGHT) == (0.35, 10, 0.5)


def test_equals_are_ordered_by_importance_then_newest_then_id() -> None:
    best_first = [
        rank.standing(0.6, 0.1, 1, "z"),
        rank.standing(0.5, 0.9, 1, "z"),
        rank.standing(0.5, 0.8, 3, "z"),
        rank.standing(0.5, 0.8, 2, "a"),
        rank.standing(0.5, 0.8, 2, "b"),
        rank.standing(0.5, 0.8, 0, "a"),
        rank.standing(0.5, 0.8, None, "a"),
    ]
    worst_first = best_first[::-1]

    assert sorted(worst_first) == best_first


@given(st.text(), st.text())
def test_a_text_has_the_words_of_each_of_its_lines(one: str, other: str) -> None:
    assert rank.tokens(one + "\n" + other) == rank.tokens(one) | rank.tokens(other)


@given(st.text())
def test_a_text_has_all_of_its_own_words(text: str) -> None:
    words = rank.tokens(text)

    assert rank.text_score(words, words) == (1.0 if words else 0.0)
