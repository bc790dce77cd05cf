"""Which lines are one memory: what they say decides, not how they are spelled or where they are."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skymem.model.identity import derived_id, digest
from skymem.model.spelling import compose, moved, promoted, read_line

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just("\ud800")),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
NAMES = ["a", "b", "tags", "kind", "type", "promoted_at", "committed", "source_id", "user_id"]
extra = st.dictionaries(st.sampled_from(NAMES), json_values, max_size=4)
seconds = st.integers(0, 253_402_300_799)
ids = st.one_of(st.none(), st.text(min_size=1, max_size=8), st.integers(0, 99))


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A readable line in either spelling, with whatever else a writer may put there."""
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        fields["ts"] = draw(st.one_of(seconds, st.none(), seconds.map(lambda s: s / 8)))
    else:
        fields["timestamp"] = datetime.fromtimestamp(draw(seconds), UTC).isoformat()
        fields["metadata"] = draw(st.one_of(extra, json_values))
    fields |= {"content": draw(st.text()), **draw(extra)}
    if draw(st.booleans()):
        fields["type"] = draw(st.sampled_from(["short", "long", "insight"]))
    if (own := draw(ids)) is not None:
        fields["id"] = own
    return compose(dict(draw(st.permutations(list(fields.items())))))


def digest_of(fields: dict[str, Any]) -> bytes:
    return digest(read_line(compose(fields)))


@pytest.mark.parametrize(
    "fields",
    [
        {"ts": 1699999995},
        {"ts": 1699999995.0},
        {"timestamp": "2023-11-14T22:13:15Z"},
        {"timestamp": "2023-11-14T22:13:15.000000+00:00"},
        {"timestamp": "2023-11-15T00:13:15+02:00"},
    ],
)
def test_one_moment_is_one_moment_however_it_is_spelled(fields: dict[str, Any]) -> None:
    same = digest_of({"ts": 1699999995, "content": "x"})
    assert digest_of({**fields, "content": "x"}) == same


@given(lines(), st.sampled_from([0, 1_700_000_000]))
@example(b'{"ts":1,"content":"x","id":"w"}', 1)
@example(b'{"ts":1,"content":"x","type":["a"]}', 1)
@example(b'{"timestamp":"2020-01-01","type":"long","metadata":{"a":1},"content":"x","id":"w"}', 1)
def test_neither_promotion_nor_a_move_changes_what_a_memory_is(raw: bytes, now: int) -> None:
    memory = read_line(raw)
    before = digest(memory)
    for memory_id in (memory.source_id or derived_id(before), derived_id(before)):
        for after in (moved(raw, memory, memory_id), promoted(raw, memory, memory_id, now)):
            again = read_line(after)
            assert digest(again) == before
            assert again.source_id == memory_id
            assert again.content == memory.content


@given(lines())
def test_a_second_move_changes_not_a_byte(raw: bytes) -> None:
    memory = read_line(raw)
    name = derived_id(digest(memory))
    once = promoted(raw, memory, name, 1_700_000_000)
    assert promoted(once, read_line(once), name, 1_700_000_000) == once
    assert moved(once, read_line(once), name) == once


@given(lines())
def test_the_order_of_fields_does_not_matter(raw: bytes) -> None:
    turned = dict(reversed(list(json.loads(raw).items())))
    assert digest_of(turned) == digest(read_line(raw))


@given(lines(), st.sampled_from(["a", "b", "content", "tags", "new"]), json_values)
def test_two_lines_that_differ_in_a_field_are_two_memories(
    raw: bytes, name: str, value: Any
) -> None:
    fields = json.loads(raw)
    assume(name != "content" or isinstance(value, str))
    other = {**fields, name: value}
    assume(json.dumps(other, sort_keys=True) != json.dumps(fields, sort_keys=True))
    assert digest_of(other) != digest_of(fields)


def test_a_line_with_both_times_keeps_the_second_as_a_field_of_its_own() -> None:
    once = {"ts": 1, "content": "x"}
    assert digest_of({**once, "timestamp": "2020-01-01T00:00:00Z"}) != digest_of(once)


def test_a_fraction_of_a_second_makes_another_memory() -> None:
    assert digest_of({"ts": 1.000001, "content": "x"}) != digest_of({"ts": 1, "content": "x"})


def test_true_and_one_are_two_values() -> None:
    assert digest_of({"ts": 1, "content": "x", "a": True}) != digest_of(
        {"ts": 1, "content": "x", "a": 1}
    )
