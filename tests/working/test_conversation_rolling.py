"""A summary of a summary of a summary: nothing of importance fades (row W11)."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from skymem.model.conversation import Conversation, Turn, content
from skymem.model.rules import ConversationRules
from skymem.policy.faithful import check
from skymem.policy.rolling import new_turns, not_due, roll

PLANTED = [
    "We decided to host Apollo in Lisbon.",
    "The budget is 12,500 euros.",
    "Ann's birthday is on 4 July 1990.",
    "I will send Bob the contract by Friday.",
    "Never deploy on a Friday.",
    "The staging host is stage-07.example.com.",
    "My sister is called Ada.",
    "We rejected the Berlin offer, as it lacks parking.",
    "The flight is LH-1172 and leaves at 7:45.",
    "The customer requires invoices in PDF.",
]
CHATTER = [
    "Hello again!", "Thanks, that sounds good.", "How are you today?", "Nice weather outside.",
    "I had lunch and it was tasty.", "The music is pleasant.", "Let me look around a little.",
]  # fmt: skip


def turn(text: str, role: str = "user", at: int | None = None) -> Turn:
    return Turn.of(role, text, ts_us=at)


def said(conversation: Conversation) -> list[str]:
    return [quote.said.text for quote in conversation.quotes()]


def test_facts_of_the_beginning_survive_fifty_rolls_within_the_budget() -> None:
    made: Conversation | None = None
    for number in range(50):
        planted = PLANTED if number == 0 else []
        chatter = [f"{one} {'really ' * number}so" for one in CHATTER]
        turns = [turn(text, at=number) for text in (*planted, *chatter)]
        made = roll(made, turns, [], 2_000).conversation
        assert len(content(made)) <= 2_000
    assert made is not None
    kept = [fact for fact in PLANTED if fact in said(made)]
    assert kept == PLANTED
    assert made.left_out == 0
    assert made.turns == len(PLANTED) + 50 * len(CHATTER)


def test_facts_planted_along_the_way_survive_too_each_quoted_with_its_own_turn() -> None:
    facts = [
        f"Decision {number}: we approved vendor {number * 7} for Mars." for number in range(50)
    ]
    made: Conversation | None = None
    for number, fact in enumerate(facts):
        made = roll(made, [turn(fact), *map(turn, CHATTER)], [], 4_000).conversation
        assert len(content(made)) <= 4_000
        assert [text for text in said(made) if text in facts] == facts[: number + 1]
    assert made is not None
    sources = {quote.said.text: quote.said.source for quote in made.quotes()}
    assert all(sources[fact] == turn(fact).id for fact in facts)


def test_what_there_is_no_room_for_is_named_and_counted() -> None:
    facts = [f"We decided that machine {number} gets {number} gears." for number in range(30)]
    first = roll(None, [turn(fact) for fact in facts], [], 500)
    kept = said(first.conversation)
    lost = [fact[0].said.text for fact in first.left_out]
    assert kept == facts[: len(kept)]
    assert kept + lost == facts
    assert first.conversation.left_out == len(lost) > 0
    second = roll(first.conversation, [turn("We decided on 9 more wheels.")], [], 500)
    assert said(second.conversation)[: len(kept)] == kept
    assert second.conversation.left_out == len(lost) + len(second.left_out)


def test_small_talk_goes_first_then_the_oldest_of_what_matters_little() -> None:
    plain = [f"The sky looked {colour} outside." for colour in ("red", "grey", "pink", "blue")]
    made = roll(None, [*map(turn, plain), turn("Hello!"), turn("We decided on 3 May.")], [], 150)
    assert said(made.conversation) == [*plain[2:], "We decided on 3 May."]
    assert made.left_out == []
    assert made.passed_over == 2


def test_an_answered_question_is_one_fact_and_outweighs_an_open_one() -> None:
    asked = [turn("Shall we go to Lisbon?", "assistant"), turn("Yes."), turn("Is it far?", "user")]
    made = roll(None, asked, [], 90)
    assert [[one.said.text for one in fact] for fact in made.conversation.facts] == [
        ["Shall we go to Lisbon?", "Yes."]
    ]


def test_the_same_said_again_is_said_once_and_a_correction_stays_beside_it() -> None:
    made = roll(None, [turn("The budget is 500."), turn("the budget is 500", "assistant")], [], 900)
    again = roll(made.conversation, [turn("The budget is 600.")], [], 900)
    assert said(again.conversation) == ["The budget is 500.", "The budget is 600."]


def test_snippets_weigh_more_than_the_same_said() -> None:
    noted = [Turn.of("scratchpad", "Margins fell as fuel rose.", "s-1", memory=True)]
    chat = [turn(f"Margins were discussed {'at length ' * number}there.") for number in range(9)]
    made = roll(None, chat, noted, 140).conversation
    assert "Margins fell as fuel rose." in said(made)


def test_a_programs_own_turns_and_what_is_too_long_are_not_quoted() -> None:
    log = "error 7 " * 200
    made = roll(None, [turn("Obey rule 7.", "system"), turn(log, "tool")], [], 2_000)
    assert said(made.conversation) == []
    assert len(made.left_out) + made.passed_over == 1


def test_turns_that_a_summary_stands_for_are_known_again() -> None:
    turns = [turn(f"line {number}") for number in range(30)]
    made = roll(None, turns[:20], [], 900).conversation
    assert new_turns(made, turns[:20]) == []
    assert new_turns(made, turns) == turns[20:]
    assert new_turns(made, turns[15:]) == turns[20:]
    assert new_turns(made, turns[20:]) == turns[20:]


def test_a_passage_that_comes_again_is_not_taken_for_the_one_that_is_known() -> None:
    turns = [turn("a"), turn("b"), turn("ok")]
    made = roll(None, turns, [], 900).conversation
    whole = [*turns, turn("We pay 40."), *turns]
    assert new_turns(made, whole) == whole[3:]


@given(st.lists(st.text(max_size=20), max_size=20), st.integers(0, 20), st.integers(100, 400))
def test_the_budget_holds_and_every_quotation_stands_in_its_turn(
    texts: Sequence[str], cut: int, chars: int
) -> None:
    turns = [turn(text, at=number) for number, text in enumerate(texts)]
    first = roll(None, turns[:cut], [], chars).conversation
    made = roll(first, new_turns(first, turns), [], chars).conversation
    assert made.turns == len(turns)
    assert len(content(made)) <= chars
    by_id = {one.id: one.content for one in turns}
    for quote in made.quotes():
        start, end = quote.said.span
        assert check(quote.said.text, [by_id[quote.said.source][start:end]]) == []
    assert roll(first, new_turns(first, turns), [], chars).conversation == made


def test_it_is_time_by_turns_or_by_size() -> None:
    rules = ConversationRules(after_turns=3, after_chars=50)
    assert "2 new turns of 3, 2 characters of 50" in not_due([turn("a"), turn("b")], rules)
    assert not_due([turn("a"), turn("b"), turn("c")], rules) == ""
    assert not_due([turn("a" * 50)], rules) == ""
