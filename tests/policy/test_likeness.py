"""Which texts stand together where no model tells."""

import pytest

from skymem.policy.likeness import POSTINGS_MAX, by_words

TEXTS = [
    "The user drinks green tea",
    "Deploy the API on Friday",
    "the user drinks black tea",
    "Deploy the API on Monday",
    "Nothing like the others",
]


def test_texts_that_share_half_their_words_are_paired() -> None:
    assert list(by_words(TEXTS)) == [(0, 2), (1, 3)]


def test_the_nearest_is_taken_and_among_equals_the_first() -> None:
    assert list(by_words(["a b c", "a b d", "a b c"])) == [(0, 1), (0, 2)]


def test_scripts_without_spaces_are_compared_too() -> None:
    assert list(by_words(["東京都に住んでいる", "お茶", "東京都に住んでいた"])) == [(0, 2)]


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["?", "!"]])
def test_what_has_no_words_is_like_nothing(texts: list[str]) -> None:
    assert list(by_words(texts)) == []


def test_a_word_that_all_have_pairs_none() -> None:
    texts = [f"common {number}" for number in range(POSTINGS_MAX + 1)]

    assert list(by_words(texts)) == []
