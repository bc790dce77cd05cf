"""What stands in a context, in which order, and what gives way where the room ends (row N11)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.memory import Memory
from skymem.policy.context import (
    CHARS_OF,
    LAYERS,
    Audience,
    Composed,
    Layer,
    Piece,
    Subject,
    compose,
    layers,
)
from skymem.policy.rank import Parts

NOBODY = Audience()
ANN = Audience("ann")


def piece(name: str, kind: str | None = None, ts: float = 0, **more: Any) -> Piece:
    fields = {"ts": ts, "content": f"text of {name}", **({"kind": kind} if kind else {}), **more}
    return Piece(name, "long", Memory(fields))


def chosen(
    notes: Sequence[Piece],
    similar: Sequence[Piece] = (),
    recalled: Sequence[Piece] = (),
    audience: Audience = NOBODY,
) -> dict[str, list[str]]:
    """The ids in each layer that has any."""
    found = layers(notes, similar, recalled, ["a machine"], audience)
    assert [layer.name for layer in found] == [name for name in LAYERS if name not in CHARS_OF]
    return {layer.name: [one.id for one in layer.pieces] for layer in found if layer.pieces}


def test_the_layers_stand_in_the_rows_order_whatever_the_notes_do() -> None:
    notes = [piece(kind, kind) for kind in ("summary", "rule", "user", "soul", "agent")]
    found = layers(notes, (), [piece("recalled")], ["a machine"], NOBODY)
    made = compose(found, chars_max=4000)
    order = ["agent", "soul", "environment", "user", "rules", "summaries", "memories"]

    assert [layer.name for layer in made.layers] == order
    headings = [line[2:].split(":")[0] for line in made.text.split("\n") if line.startswith("# ")]
    assert headings == order


def test_a_user_has_their_own_notes_and_else_what_is_nobodys() -> None:
    notes = [
        piece("soul of bob", "soul", 4, user_id="bob"),
        piece("soul of nobody", "soul", 3),
        piece("soul of ann", "soul", 2, user_id="ann"),
        piece("agent of nobody", "agent", 1),
    ]
    assert chosen(notes, audience=ANN) == {"soul": ["soul of ann"], "agent": ["agent of nobody"]}
    assert chosen(notes) == {"soul": ["soul of nobody"], "agent": ["agent of nobody"]}


def test_another_users_and_what_is_sensitive_stand_in_no_layer() -> None:
    notes = [
        piece("a", "rule", user_id="ann"),
        piece("b", "rule", user_id="bob"),
        piece("c", "rule"),
        piece("d", "rule", sensitivity="sensitive"),
        piece("e", "rule", sensitivity="secret of a kind nobody knows"),
        piece("f", "soul", sensitivity="sensitive"),
        piece("g", "summary", metadata={"sensitivity": "sensitive"}),
        piece("h", "user", sensitivity="normal"),
    ]
    assert chosen(notes, audience=ANN) == {"user": ["h"], "rules": ["a", "c"]}
    assert chosen(notes) == {"user": ["h"], "rules": ["c"]}


def test_rules_and_summaries_are_the_similar_first_and_then_the_newest() -> None:
    rules = [piece(f"r{n}", "rule", 100 - n) for n in range(20)]
    summaries = [piece(f"s{n}", "summary", 100 - n) for n in range(9)]
    newest = chosen([*rules, *summaries])
    assert newest["rules"] == [f"r{n}" for n in range(10)]
    assert newest["summaries"] == [f"s{n}" for n in range(5)]

    similar = [rules[15], summaries[8], rules[12]]
    fitting = chosen([*rules, *summaries], similar)
    assert fitting["rules"] == ["r15", "r12", *(f"r{n}" for n in range(8))]
    assert fitting["summaries"] == ["s8", "s0", "s1", "s2", "s3"]


def test_a_rule_that_nobody_is_sure_of_is_none_to_go_by() -> None:
    sure: list[tuple[str, dict[str, Any]]] = [
        ("a", {"trust": 0.79}),
        ("b", {"trust": 0.8}),
        ("c", {}),
        ("d", {"trust": 0}),
    ]
    rules = [piece(name, "rule", **more) for name, more in sure]
    summaries = [piece("s", "summary", trust=0.1)]
    assert chosen([*rules, *summaries], rules) == {"rules": ["b", "c"], "summaries": ["s"]}


def test_of_the_similar_fifteen_count() -> None:
    rules = [piece(f"r{n}", "rule", 100 - n) for n in range(30)]
    summaries = [piece(f"s{n}", "summary", 100 - n) for n in range(9)]
    similar = [*rules[10:25], summaries[8]]
    found = chosen([*rules, *summaries], similar)
    assert found["rules"] == [f"r{n}" for n in range(10, 20)]
    assert found["summaries"] == ["s0", "s1", "s2", "s3", "s4"]  # s8 is the sixteenth


def test_what_is_recalled_is_of_no_kind_with_a_layer() -> None:
    assert NOBODY.admits_beside_notes(piece("a", "fact").memory)
    assert not NOBODY.admits_beside_notes(piece("a", "rule").memory)
    assert not NOBODY.admits_beside_notes(piece("a", "fact", sensitivity="sensitive").memory)
    assert len(chosen([], (), [piece(f"m{n}") for n in range(12)])["memories"]) == 10


@pytest.mark.parametrize(
    ("message", "text", "cosine", "does"),
    [
        pytest.param("when is the report due", "on reporting", None, True, id="a word's stem"),
        pytest.param("when is the report due", "the cat is due", 0.0, True, id="another"),
        pytest.param("when is the report due", "the cat is on it", None, False, id="common words"),
        pytest.param("when is the report due", "the cat", 0.19, False, id="hardly by meaning"),
        pytest.param("when is the report due", "the cat", 0.2, True, id="by meaning"),
        pytest.param("会议", "会议改到星期四", None, True, id="Chinese"),
        pytest.param("who is it", "it is", None, False, id="nothing but common words"),
    ],
)
def test_age_importance_and_common_words_have_nothing_to_do_with_a_message(
    message: str, text: str, cosine: float | None, does: bool
) -> None:
    parts = Parts(1.0, 1.0, 1.0, 1.0, cosine)
    assert Subject.of(message).concerns(Memory({"content": text}), parts) is does


# -- the room ---------------------------------------------------------------------------------


def rooms(chars: int, *pieces: Piece, limit: int | None = None) -> Composed:
    return compose([Layer("rules", pieces)], chars_max=chars, limit=limit)


def test_what_fits_to_the_letter_is_in_and_one_less_is_out_whole() -> None:
    one, two = piece("one", "rule"), piece("two", "rule")
    whole = rooms(9999, one, two)
    exact = rooms(len(whole.text), one, two)
    assert exact == whole
    short = rooms(len(whole.text) - 1, one, two)
    (layer,) = short.layers

    assert [each.id for each in layer.pieces] == ["one"]
    assert layer.left_out == 1
    assert short.text == rooms(9999, one).text


def test_a_shorter_one_stands_instead_of_one_that_does_not_fit() -> None:
    long = piece("long", "rule", content="x" * 500)
    made = rooms(600, long, piece("short", "rule"))
    assert [one.id for one in made.layers[0].pieces] == ["short"]
    assert (made.layers[0].left_out, "xxx" in made.text) == (1, False)


def test_where_nothing_fits_there_is_no_text_and_all_is_counted() -> None:
    made = rooms(30, piece("one", "rule"), piece("two", "rule"))
    assert (made.text, made.layers[0].left_out) == ("", 2)
    assert rooms(9999).text == ""


def test_the_limit_counts_memories_in_the_order_of_the_layers() -> None:
    found = layers(
        [piece("s", "soul"), piece("r1", "rule", 2), piece("r2", "rule", 1)],
        (), [piece("m")], ["a machine"], NOBODY,
    )  # fmt: skip
    made = compose(found, chars_max=4000, limit=2)
    there = {layer.name: [one.id for one in layer.pieces] for layer in made.layers if layer.pieces}
    assert there == {"soul": ["s"], "rules": ["r1"]}
    assert {layer.name: layer.left_out for layer in made.layers if layer.left_out} == {
        "rules": 1, "memories": 1,
    }  # fmt: skip
    assert "a machine" in made.text


TEXTS = st.lists(st.text(max_size=90), max_size=12)


@given(TEXTS, st.integers(1, 1500), st.none() | st.integers(1, 5))
def test_no_room_is_exceeded_and_none_is_lost(
    texts: list[str], chars: int, limit: int | None
) -> None:
    pieces = [piece(f"p{n}", "rule", content=text) for n, text in enumerate(texts)]
    made = rooms(chars, *pieces, limit=limit)
    (layer,) = made.layers

    assert len(made.text) <= chars
    assert len(layer.pieces) + layer.left_out == len(pieces)
    assert limit is None or len(layer.pieces) <= limit
    assert made.text.count("\n- [") == len(layer.pieces)
    assert made == rooms(chars, *pieces, limit=limit)
