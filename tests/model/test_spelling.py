"""A line that moves keeps every byte but those we set (rows P5, M2)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.spelling import compose, former, moved, new_fields, promoted, read_line

AT = 1700000000
ID = "0123456789abcdef01234567"


def promote(raw: str, memory_id: str = ID) -> str:
    memory = read_line(raw.removeprefix("\ufeff").encode())
    return promoted(raw.encode(), memory, memory_id, AT).decode()


def move(raw: str, memory_id: str = ID) -> str:
    return moved(raw.encode(), read_line(raw.encode()), memory_id).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            (
                '{"ts": 1699999995, "type": "short", "content": "important insight", '
                '"importance": 0.85}\n'
            ),
            (
                '{"ts": 1699999995, "type": "long", "content": "important insight", '
                f'"importance": 0.85, "promoted_at": 1700000100, "id": "{ID}"}}\n'
            ),
        ),
        (
            (
                '{"ts": 1700000000, "type": "short", "content": "critical decision", '
                '"importance": 0.92}\n'
            ),
            (
                '{"ts": 1700000000, "type": "long", "content": "critical decision", '
                f'"importance": 0.92, "promoted_at": 1700000100, "id": "{ID}"}}\n'
            ),
        ),
    ],
)
def test_the_worked_example_of_row_p5_holds_exactly_with_the_id_last(
    before: str, after: str
) -> None:
    raw = before.encode()
    assert promoted(raw, read_line(raw), ID, 1700000100).decode() == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            '{"ts":1,"type":"short","content":"x"}',
            f'{{"ts":1,"type":"long","content":"x", "promoted_at": {AT}, "id": "{ID}"}}\n',
            id="compact",
        ),
        pytest.param(
            '{ "content" : "x" , "ts" : 1.50e0 }\r\n',
            '{ "content" : "x" , "ts" : 1.50e0, "type": "long", '
            f'"promoted_at": {AT}, "id": "{ID}"}}\n',
            id="spaced, number as written, no type",
        ),
        pytest.param(
            '{"ts":1,"type":"insight","content":"x"}',
            f'{{"ts":1,"type":"insight","content":"x", "promoted_at": {AT}, "id": "{ID}"}}\n',
            id="a type that is a kind stays",
        ),
        pytest.param(
            '{"ts":1,"type":["odd"],"content":"x"}',
            f'{{"ts":1,"type":["odd"],"content":"x", "promoted_at": {AT}, "id": "{ID}"}}\n',
            id="a type that is no text stays",
        ),
        pytest.param(
            '{"timestamp":"2025-11-08T12:34:56.789Z","content":"x","score":8,"metadata":{"z":1}}',
            '{"timestamp":"2025-11-08T12:34:56.789Z","content":"x","score":8,"metadata":{"z":1}, '
            f'"committed": true, "id": "{ID}"}}\n',
            id="the second spelling carries committed",
        ),
        pytest.param(
            '{"timestamp":"2025-11-08","content":"x","committed": false}',
            f'{{"timestamp":"2025-11-08","content":"x","committed": true, "id": "{ID}"}}\n',
            id="committed false becomes true",
        ),
        pytest.param(
            '\ufeff{"ts":1,"type":"short","content":"x","id":"' + ID + '","y":"é\\u00e9\\/"}',
            f'{{"ts":1,"type":"long","content":"x","id":"{ID}","y":"é\\u00e9\\/", '
            f'"promoted_at": {AT}}}\n',
            id="an id of its own stays where it is; escapes stay as they are",
        ),
        pytest.param(
            '{"ts":1,"\\u0074ype":"short","content":"\\"type\\": \\"short\\""}',
            '{"ts":1,"\\u0074ype":"long","content":"\\"type\\": \\"short\\"", '
            f'"promoted_at": {AT}, "id": "{ID}"}}\n',
            id="a key in escapes is the key; text that looks like one is not",
        ),
    ],
)
def test_promotion_sets_the_tier_mark_and_nothing_else(before: str, after: str) -> None:
    assert promote(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            '{"ts":1,"content":"x"}', f'{{"ts":1,"content":"x", "id": "{ID}"}}\n', id="added last"
        ),
        pytest.param(
            '{"id":"w1","ts":1,"content":"x"}',
            f'{{"source_id":"w1","ts":1,"content":"x", "id": "{ID}"}}\n',
            id="a taken id becomes source_id in its place",
        ),
        pytest.param(
            '{"id": 7, "ts":1,"content":"x"}',
            f'{{"source_id": 7, "ts":1,"content":"x", "id": "{ID}"}}\n',
            id="a number as id",
        ),
        pytest.param(
            '{"ts":1,"content":"x","id":"w1","source_id":"old"}',
            f'{{"ts":1,"content":"x","source_id":"w1", "id": "{ID}"}}\n',
            id="source_id never stands twice",
        ),
        pytest.param(
            '{"timestamp":"2025-01-01","id":"w1","content":"x","metadata":{"tags":["a"]}}',
            '{"timestamp":"2025-01-01","content":"x","metadata":{"tags":["a"], '
            f'"source_id": "w1"}}, "id": "{ID}"}}\n',
            id="second spelling: source_id goes to metadata",
        ),
        pytest.param(
            '{"timestamp":"2025-01-01","content":"x","id":"w1"}',
            f'{{"timestamp":"2025-01-01","content":"x","source_id":"w1", "id": "{ID}"}}\n',
            id="second spelling without metadata",
        ),
    ],
)
def test_a_move_adds_the_id_and_keeps_a_foreign_one(before: str, after: str) -> None:
    assert move(before) == after
    fields = json.loads(after)
    assert fields["id"] == ID


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=6,
).filter(lambda value: "inf" not in repr(value))
unknown = st.dictionaries(st.text().map(lambda name: "x" + name), values, max_size=4)


@given(unknown, st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]), st.booleans())
def test_every_byte_before_what_we_add_stays(
    more: dict[str, Any], separators: tuple[str, str], plain: bool
) -> None:
    text = json.dumps({"content": "x", **more, "ts": 5}, ensure_ascii=plain, separators=separators)
    raw = text.encode(errors="replace")
    memory = read_line(raw)
    assert moved(raw, memory, ID) == raw[:-1] + f', "id": "{ID}"}}\n'.encode()
    added = f', "type": "long", "promoted_at": {AT}, "id": "{ID}"}}\n'
    assert promoted(raw, memory, ID, AT) == raw[:-1] + added.encode()


@given(st.text(), st.lists(st.text(), max_size=3), st.none() | st.floats(0, 1), unknown)
def test_a_line_we_compose_reads_back_as_it_was_meant(
    content: str, tags: list[str], importance: float | None, more: dict[str, Any]
) -> None:
    raw = compose(new_fields(content, ts=5.5, tags=tags, importance=importance, extra=more))
    assert raw.count(b"\n") == 1
    memory = read_line(raw)
    assert (memory.content, memory.importance, list(memory.tags)) == (content, importance, tags)
    assert memory.time_us == 5_500_000


def test_a_lone_surrogate_is_stored_and_read_back() -> None:
    raw = compose(new_fields("\ud800", ts=1))
    assert raw.isascii()
    assert read_line(raw).content == "\ud800"
    assert promoted(raw, read_line(raw), ID, AT).startswith(raw.strip()[:10])


def test_numbers_that_are_no_json_are_never_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        compose({"content": "x", "importance": float("nan")})


ORIGINALS = [
    b'{"ts": 1, "type": "short", "content": "a"}',
    b'{"ts": 1, "content": "a"}',
    b'{"ts": 1, "type": "short", "content": "a", "id": "mine"}',
    b'{"id":"mine","ts":1,"content":"a"}',
    b'{"ts": 1, "type": "short", "content": "a" }',
    b'{"ts": 1, "type": "short", "content": "a"}\r',
    b'{"ts": 1, "type": "fact", "content": "a", "n": 1.50}',
    b'{"ts": 1, "id": {"a": 1}, "content": "a"}',
    b'{"timestamp": "2025-11-08T12:34:56Z", "content": "a", "score": 8}',
    b'{"timestamp": "2025-11-08T12:34:56Z", "content": "a", "committed": false}',
    b'{"timestamp": "2025-11-08T12:34:56Z", "content": "a", "metadata": {"type": "insight"}}',
]


@pytest.mark.parametrize("move", ["promoted", "archived"])
@pytest.mark.parametrize("taken", [False, True], ids=["its-name", "a-name-that-was-taken"])
@pytest.mark.parametrize("raw", ORIGINALS)
def test_how_a_moved_line_stood_before_is_among_its_former_spellings(
    raw: bytes, taken: bool, move: str
) -> None:
    memory = read_line(raw)
    name = "given" if taken or memory.source_id is None else memory.source_id
    line = promoted(raw, memory, name, 5) if move == "promoted" else moved(raw, memory, name)

    assert raw in former(line)
