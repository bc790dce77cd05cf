"""Which pieces of a conversation are quoted, and which of them matter (rows W11, X7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.faithful import check
from skymem.policy.telling import IMPORTANT, answers, units, weight

SHORT = [
    "Ship it on 3 May.",
    "But not in Berlin.",
    "It costs 40.",
    "Why?\n",
    "Rejected:\n",
    "- ann\n",
]


@pytest.mark.parametrize(
    "text",
    [
        "We decided to use Postgres.",
        "I will send the contract.",
        "The rent is 1,250 a month.",
        "The review is on Friday.",
        "My sister is called Ada.",
        "I am Bob.",
        "My favourite colour is red.",
        "The config is in /etc/app.toml.",
        "Wir haben uns auf Rot geeinigt, beschlossen ist es.",
    ],
)
def test_decisions_promises_numbers_dates_names_and_ids_matter(text: str) -> None:
    assert weight(text) >= IMPORTANT


@pytest.mark.parametrize(
    "text",
    [
        "Hello there!",
        "Thanks a lot, Bob!",
        "ok cool",
        "Hi Ann!",
        "Totally agree, Mel.",
        "🙂",
        "Bye :)",
    ],
)
def test_small_talk_weighs_nothing(text: str) -> None:
    assert weight(text) == 0


def test_a_question_tells_less_than_a_statement_and_a_tool_less_than_a_person() -> None:
    assert 0 < weight("Shall we ship on 3 May?") < IMPORTANT
    assert weight("rows 12", "tool") < weight("rows 12", "user")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Ship it. But not in Berlin.", ["Ship it. But not in Berlin."]),
        ("Apollo is late. It costs 40.", ["Apollo is late. It costs 40."]),
        ("Rejected:\n- red\n- blue", ["Rejected:\n- red\n- blue"]),
        ("Rejected:\n- red\n\nWe take green.", ["Rejected:\n- red", "We take green."]),
        ("Ship it. Ann agrees.", ["Ship it.", "Ann agrees."]),
        ("", []),
    ],
)
def test_a_piece_holds_what_it_would_mean_something_else_without(
    text: str, pieces: list[str]
) -> None:
    assert [unit.text for unit in units(text)] == pieces


def test_a_long_list_is_quoted_line_by_line_each_under_its_title() -> None:
    lines = [f"- supplier number {number} of Lower Saxony" for number in range(40)]
    found = units("Rejected:\n" + "\n".join(lines))
    assert len(found) > 1
    assert all(unit.text.startswith("Rejected:") and unit.quotable for unit in found)
    assert all(any(line[2:] in unit.text for unit in found) for line in lines)


def test_what_stands_behind_a_very_long_beginning_is_one_piece_that_is_not_quoted() -> None:
    *_, last = found = units("It was said. " * 9 + "Ann pays 40. " * 9_000)
    assert len(found) < 2_000
    assert not last.quotable
    assert last.span[1] == len("It was said. " * 9 + "Ann pays 40. " * 9_000)


@given(st.lists(st.sampled_from(SHORT) | st.text(max_size=30), max_size=12).map(" ".join))
def test_every_piece_says_what_its_turn_says(text: str) -> None:
    for unit in units(text):
        start, end = unit.span
        assert 0 <= start < end <= len(text)
        assert check(unit.text, [text[start:end]]) == []


@pytest.mark.parametrize("text", ["yes", "No.", "Ok, do it", "ja, bitte", "да"])
def test_a_short_yes_or_no_is_an_answer(text: str) -> None:
    assert answers(text)


@pytest.mark.parametrize("text", ["", "Berlin", "yes " + "and so on " * 10])
def test_nothing_else_is(text: str) -> None:
    assert not answers(text)
