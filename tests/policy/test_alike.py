"""Rows P15 and P16: what is a copy by its words, and what only looks like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.alike import copy_key, is_of_its_moment, word_key

COPIES = [
    ("The server listens on port 8080.", "the server listens on port 8080"),
    ("Reports at seven", "reports at seven!"),
    ("User  likes\ttea", "User likes tea"),
    ("User likes tea \n", "User likes tea"),
    ("It wraps\nhere", "It wraps here"),
    ("It wraps\r\nhere", "It wraps here"),
    ("It’s “fine”", 'It\'s "fine"'),
    ("A cafe\u0301 is near", "A café is near"),
    ("用户喜欢茶。", "用户喜欢茶"),
]

NO_COPIES = [
    # a sign that says something
    ("Bash(ls -la diary/day-008.md)", "Bash(ls -la diary/day-008.md*)"),
    ("Bash(git status)", "Bash(git status)…"),
    ("Wait for it", "Wait for it..."),
    ("It is -5 outside", "It is 5 outside"),
    ("Run it with --force", "Run it with force"),
    ("It grew by 5%", "It grew by 5"),
    ("The limit is 5!", "The limit is 5"),
    ("Clean up .", "Clean up"),
    ("Is it down?", "Is it down"),
    ("[x] deploy", "[ ] deploy"),
    ("x = 1; y", "x = 1 y"),
    ("a*b is known", "a b is known"),
    ("Call foo()", "Call foo"),
    ("Call f(1, 2)", "Call f(12)"),
    ("Use foo-bar", "Use foo bar"),
    ("See x.y", "See x. y"),
    ("See /tmp/a/", "See /tmp/a"),
    # what a comma or a full stop parts
    ("No, Alice comes", "No Alice comes"),
    ("Stop. Not now", "Stop not now"),
    ("Spare him, not kill him", "Spare him not, kill him"),
    ("Ask Ann, Bob and Cy", "Ask Ann Bob and Cy"),
    # a capital that names, or is part of a secret
    ("He loves Turkey", "He loves turkey"),
    ("The password is Hunter", "The password is hunter"),
    ("The password is hunter", "The password is HUNTER"),
    ("Hunter", "hunter"),
    ("PIN is set", "pin is set"),
    ("X axis is log", "x axis is log"),
    ("Ask US", "ask us"),
    # words that are as good as silent elsewhere
    ("He left because she stayed", "He left although she stayed"),
    ("He left and she stayed", "He left but she stayed"),
    ("Set the axis to y", "Set the axis to"),
    ("The users' rights", "The users rights"),
    ("Thanks", ";)"),
    # white space that says something
    ("if a:\n    b\nc", "if a:\n    b\n    c"),
    ("Rejected:\nuse Redis", "Rejected: use Redis"),
    ("One\n\ntwo", "One two"),
    ("List\n- a", "List - a"),
    ("👍🏻 from them", "👍🏿 from them"),
    ("Zoë left", "Zoe left"),
    ("Аlice left", "Alice left"),
]


@pytest.mark.parametrize(("first", "second"), COPIES)
def test_copies_have_one_key(first: str, second: str) -> None:
    assert copy_key(first) == copy_key(second)


@pytest.mark.parametrize(("first", "second"), NO_COPIES)
def test_what_differs_in_meaning_has_two_keys(first: str, second: str) -> None:
    assert copy_key(first) != copy_key(second)


def test_words_in_order_are_found_whatever_their_case_and_punctuation() -> None:
    assert word_key("No, Alice: COMES!") == word_key("no alice comes")
    assert word_key("Café au lait") == word_key("Cafe\u0301 au lait")
    assert word_key("cats chase dogs") != word_key("dogs chase cats")


@pytest.mark.parametrize(
    "text",
    ["Due tomorrow", "The demo is on Monday", "It broke 3 days ago", "It is failing again",
     "Currently on leave", "Trip in March", "明天开会"],
)  # fmt: skip
def test_some_texts_mean_another_thing_on_another_day(text: str) -> None:
    assert is_of_its_moment(text)


@pytest.mark.parametrize(
    "text", ["User likes tea", "Reports at 7am", "Syncs daily at noon", "Released on 2025-03-04"]
)
def test_others_mean_the_same_on_any_day(text: str) -> None:
    assert not is_of_its_moment(text)


TEXT = st.text(alphabet="aB z.,!*-\n\t5é’…:", max_size=24)


@given(TEXT)
def test_a_text_has_the_key_of_its_own_copy(text: str) -> None:
    assert copy_key(copy_key(text)) == copy_key(text)
    assert copy_key(f" {text}\n") == copy_key(text)


@given(TEXT, st.sampled_from('*-,;…?5"(['), st.integers(0, 24))
def test_no_sign_goes_unnoticed(text: str, sign: str, place: int) -> None:
    assert copy_key(text[:place] + sign + text[place:]) != copy_key(text)


@given(TEXT)
def test_any_text_can_be_looked_at(text: str) -> None:
    assert isinstance(is_of_its_moment(text), bool)
    assert len(word_key(text)) == 8
