"""Where sentences end: a table of what looks like an end, then the laws of spans."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.sentences import around, lead, sentences

CASES = [
    ("one", "A cat. A dog.", ["A cat.", "A dog."]),
    ("ask and shout", "Why? No! Really?! Yes.", ["Why?", "No!", "Really?!", "Yes."]),
    ("title", "Dr. Smith met Mrs. Jones. They left.", ["Dr. Smith met Mrs. Jones.", "They left."]),
    ("initials", "J. R. Tolkien wrote. We read.", ["J. R. Tolkien wrote.", "We read."]),
    ("latin", "Use tools, e.g. Redis, i.e. a cache.", ["Use tools, e.g. Redis, i.e. a cache."]),
    ("decimal", "It is 1.5 GB. It is 3. Then 4.", ["It is 1.5 GB.", "It is 3.", "Then 4."]),
    ("version", "Use v2.10.3. It works.", ["Use v2.10.3.", "It works."]),
    ("URL", "See https://a.b/c.d?e=f. Then go.", ["See https://a.b/c.d?e=f.", "Then go."]),
    ("file", "Edit main.py. Run it.", ["Edit main.py.", "Run it."]),
    ("address", "Ping 10.0.0.1. It answers.", ["Ping 10.0.0.1.", "It answers."]),
    ("ellipsis inside", "Well ... maybe. Yes.", ["Well ... maybe.", "Yes."]),
    ("ellipsis ends", "Well… Then go.", ["Well…", "Then go."]),
    ("small letter", "It is approx. five. Ok.", ["It is approx. five.", "Ok."]),
    ("noon", "Come at 7 a.m. Monday is fine.", ["Come at 7 a.m. Monday is fine."]),
    (
        "a number",
        "See no. 5 first. He said no. Then.",
        ["See no. 5 first.", "He said no.", "Then."],
    ),
    ("quoted", 'He said "No." Then he left.', ['He said "No."', "Then he left."]),
    ("brackets", "It failed (again.) Then it ran.", ["It failed (again.)", "Then it ran."]),
    ("Chinese", "他喜欢茶。她不喜欢！真的？是", ["他喜欢茶。", "她不喜欢！", "真的？", "是"]),
    ("Japanese quote", "「行く。」と言った。", ["「行く。」", "と言った。"]),
    ("Hindi", "वह आया। वह गया।", ["वह आया।", "वह गया।"]),
    ("Urdu", "وہ آیا۔ وہ گیا۔", ["وہ آیا۔", "وہ گیا۔"]),
    ("Spanish", "¿Qué? ¡No! Bien.", ["¿Qué?", "¡No!", "Bien."]),
    ("wrapped", "a long line\nthat goes on. End.", ["a long line\nthat goes on.", "End."]),
    ("paragraphs", "one\n\ntwo", ["one", "two"]),
    ("lines", "First line\nSecond line", ["First line", "Second line"]),
    ("CRLF", "One.\r\nTwo.\r\n", ["One.", "Two."]),
    ("bullets", "List:\n- one\n- two\n* three", ["List:", "one", "two", "three"]),
    ("numbered", "1. First thing\n2. Second thing", ["First thing", "Second thing"]),
    ("code", "Run `a. B. c` now. Done.", ["Run `a. B. c` now.", "Done."]),
    ("block", "Do:\n```\nA. B\nC. D\n```\nEnd.", ["Do:", "```\nA. B\nC. D\n```", "End."]),
    ("open block", "Do it.\n```\nA. B", ["Do it.", "```\nA. B"]),
    ("minus is no bullet", "It is\n-5 outside", ["It is", "-5 outside"]),
    ("blank", " \n\t ", []),
    ("empty", "", []),
    ("signs", "...", ["..."]),
]


@pytest.mark.parametrize(("text", "found"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_a_text_is_parted_where_it_says_something_whole(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == found


TEXT = st.text(
    st.one_of(st.sampled_from("aB1.!?…。\n -*`'\"():,"), st.characters(codec="utf-8")), max_size=80
)


@given(TEXT)
def test_spans_are_in_order_apart_and_without_space_around(text: str) -> None:
    spans = sentences(text)
    pieces = [text[start:end] for start, end in spans]

    assert all(start < end for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert all(piece == piece.strip() for piece in pieces)


@given(TEXT)
def test_nothing_but_space_and_bullets_is_between_spans(text: str) -> None:
    at = 0
    for start, end in [*sentences(text), (len(text), len(text))]:
        between = text[at:start].split()
        assert all(len(one) <= 4 for one in between)
        assert all(one[-1] in "-*+•‣▪–—.)" for one in between)
        at = end


@given(TEXT, st.integers(1, 60))
def test_a_lead_is_the_whole_or_ends_with_a_sentence(text: str, limit: int) -> None:
    found = lead(text, limit)

    if found is None:
        assert not text.strip() or len(text.strip()) > limit
        return
    start, end = found
    assert end - start <= limit
    assert text[:start].strip() == ""
    assert text[start:end] == text.strip() or end in {end for _, end in sentences(text)}


@given(TEXT, st.data())
def test_a_span_widens_to_whole_sentences(text: str, data: st.DataObject) -> None:
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    left, right = around(text, start, end)
    spans = sentences(text)

    for span in spans:
        if span[0] < end and start < span[1]:
            assert left <= span[0]
            assert span[1] <= right
    if any(span[0] < end and start < span[1] for span in spans):
        assert left in {span[0] for span in spans}
        assert right in {span[1] for span in spans}


@pytest.mark.parametrize(
    "text",
    ["It is up. However, only at night.", "彼は来る。しかし遅れる。", "It is up.\n- Not in test."],
)
def test_what_takes_a_sentence_back_is_not_left_off(text: str) -> None:
    assert lead(text, len(text) - 1) is None
    assert lead(text, len(text)) == (0, len(text))
    assert lead("Tea is hot. " + text, len(text) + 5) == (0, 11)
    assert around(text, 0, 2) == (0, len(text))


LISTED = "Notes.\n\nRejected ideas:\n- Use Mongo.\n- Use Redis.\n\nThe backup server is down. Ok."


@pytest.mark.parametrize(
    ("quote", "widened"),
    [
        ("server is down", "The backup server is down."),
        ("Redis", "Rejected ideas:\n- Use Mongo.\n- Use Redis."),
        ("Use Mongo.", "Rejected ideas:\n- Use Mongo."),
        ("down. O", "The backup server is down. Ok."),
        ("Ok.", "Ok."),
    ],
)
def test_a_quote_keeps_its_sentence_and_its_heading(quote: str, widened: str) -> None:
    start = LISTED.index(quote)
    left, right = around(LISTED, start, start + len(quote))

    assert LISTED[left:right] == widened
