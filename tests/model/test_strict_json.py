"""One line is one JSON object or damage, and the fast way never differs from the careful one."""

import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skymem.model import strict_json
from skymem.model.strict_json import LineDamage, canonical, members, parse_object, split_glued

DAMAGED = "damaged"

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(),
    st.sampled_from(["\ud800", '": ', '"a":1', "\u2028", "\x7f"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(max_size=4), inner)),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=4), values, max_size=6)
separators = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " \r\t: "), (",", "\n:")])


@st.composite
def json_bytes(draw: st.DrawFn) -> bytes:
    """An object in any spelling the standard parser writes."""
    text = json.dumps(draw(objects), ensure_ascii=draw(st.booleans()), separators=draw(separators))
    return text.encode("utf-8", errors="surrogatepass")


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The same with a few bytes cut, doubled or put in."""
    raw = draw(json_bytes())
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(raw)))
        stop = draw(st.integers(start, min(len(raw), start + 6)))
        piece = draw(st.sampled_from([b"", raw[start:stop] * 2, *PIECES]))
        raw = raw[:start] + piece + raw[stop:]
    return raw


PIECES = [
    b'"a":1,"a" \t:2',
    b'{"k":1,"k"\r\n:1}',
    b'"a":1,"\\u0061":2',
    b"NaN",
    b"-Infinity",
    b"1e400",
    b"-0",
    b"-0.0",
    b"01",
    b"12345678901234567890123",
    b"1.00000000000000000000001",
    b"9007199254740993.0",
    b'"\\ud83d\\ude00"',
    b'"\\ud83d"',
    b"\xed\xa0\x80",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\x1f",
    b"\x0b",
    b" \t\r\n",
    b'"',
    b"\\",
    b",",
    b"{",
    b"]",
]


def outcome(parse: Any, raw: bytes) -> str:
    """What a parser makes of a line: with types and signs, `1`, `1.0` and `true` are different."""
    try:
        return repr(parse(raw))
    except LineDamage:
        return DAMAGED


@given(st.one_of(json_bytes(), mutated(), st.binary(max_size=30)))
@example(b'{"a":1,"a":2}')
@example(b'{"a":1,"a" \t\r\n:2}')
@example(b'{"a":"\\"b\\":", "a":1}')
@example(b'{"a":{"b":[{"c":1,"c":1}]}}')
@example(b'{"a":"x\\":", "b":{"c":1, "c":2}}')
@example(b'{"a":1234567890123456789}')
@example(b'{"a":-9223372036854775809}')
@example(b'{"a":0.1000000000000000055511151231257827}')
@example(b'{"a":5e-324,"b":2.2250738585072011e-308}')
@example(b'{"a":-0}')
@example(b'\xef\xbb\xbf{"a":1}')
@example(b'{"a":"\\ud800"}')
def test_the_fast_way_and_the_careful_way_agree_on_every_input(raw: bytes) -> None:
    assert outcome(parse_object, raw) == outcome(strict_json._parse_slowly, raw)


@given(objects.filter(lambda value: "nan" not in repr(value) and "inf" not in repr(value)))
def test_what_the_standard_parser_wrote_is_read_back_the_same(value: dict[str, Any]) -> None:
    assert repr(parse_object(json.dumps(value).encode())) == repr(value)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        pytest.param(b'{"a":1,"a":1}', "twice", id="key twice"),
        pytest.param(b'{"a":[{"b":{"c":1,"c":2}}]}', "twice", id="key twice, deep inside"),
        pytest.param(b'{"a":1,"\\u0061":1}', "twice", id="key twice, once escaped"),
        pytest.param(b'{"a":NaN}', "NaN", id="NaN"),
        pytest.param(b'{"a":-Infinity}', "Infinity", id="Infinity"),
        pytest.param(b'{"a":1e400}', "too large", id="1e400"),
        pytest.param(b'{"a":' + b"9" * 5000 + b"}", "too long", id="5,000 digits"),
        pytest.param(b'{"a":"\xff"}', "not UTF-8 at byte 6", id="bad UTF-8"),
        pytest.param(b'{"a":"\x01"}', "control character", id="raw control character"),
        pytest.param('{"a":1}'.encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(b"[1]", "a list", id="list"),
        pytest.param(b"5", "a number", id="number"),
        pytest.param(b'"x"', "a string", id="string"),
        pytest.param(b"true", "true or false", id="boolean"),
        pytest.param(b"null", "null", id="null"),
        pytest.param(b'{"id":"x","te', "not JSON", id="torn"),
        pytest.param(b'{"a":1}{"b":2}', "not JSON", id="glued"),
        pytest.param(b'{"a":' + b"[" * 100_000, "deep|JSON", id="100,000 brackets"),
    ],
)
def test_damage_says_why_without_the_text(raw: bytes, reason: str) -> None:
    with pytest.raises(LineDamage, match=reason):
        parse_object(raw)


@pytest.mark.parametrize("depth", [2, 127, 128])
@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_a_line_may_be_nested_as_deep_as_anyone_needs(
    depth: int, opened: bytes, closed: bytes
) -> None:
    inner = depth - 1
    raw = b'{"a":' + opened * (inner - 1) + b"[]" + closed * (inner - 1) + b"}"
    assert canonical(parse_object(raw))
    assert outcome(parse_object, raw) == outcome(strict_json._parse_slowly, raw)


@pytest.mark.parametrize("depth", [129, 254, 500, 960, 1000, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize(("opened", "closed"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_deeper_nesting_is_damage_and_never_runs_out_of_stack(
    depth: int, opened: bytes, closed: bytes
) -> None:
    raw = b'{"a":' + opened * (depth - 2) + b"[]" + closed * (depth - 2) + b"}"
    for parse in (parse_object, strict_json._parse_slowly):
        with pytest.raises(LineDamage, match="nested too deep"):
            parse(raw)


@given(st.lists(objects, min_size=2, max_size=4), st.sampled_from(["", " ", " \t"]))
def test_objects_on_one_line_are_told_apart(parts: list[dict[str, Any]], space: str) -> None:
    texts = [json.dumps(part, ensure_ascii=False) for part in parts]
    raw = space.join(texts).encode(errors="replace")
    spans = split_glued(space.encode() + raw + space.encode())
    pieces = [(space.encode() + raw)[start:stop] for start, stop in spans]
    assert pieces == [text.encode(errors="replace") for text in texts]


@pytest.mark.parametrize("raw", [b'{"a":1}', b'{"a":1}x', b'{"a":1}[2]', b'{"a":1}{"b":', b"\xff"])
def test_what_is_not_several_objects_is_not_taken_apart(raw: bytes) -> None:
    assert split_glued(raw) == []


def test_a_long_line_of_many_objects_is_taken_apart_in_time() -> None:
    started = time.process_time()
    assert len(split_glued(b"{}" * 300_000)) == 300_000
    assert time.process_time() - started < 5


@given(json_bytes())
def test_members_are_where_they_are_said_to_be(raw: bytes) -> None:
    try:
        value = parse_object(raw)
    except LineDamage:
        return
    text = raw.decode()
    found = {key: json.loads(text[start:stop]) for key, _, start, stop in members(text)}
    assert repr(found) == repr(value)
