"""Trash keeps a line byte for byte, with whence and why, in a file that grep and jq can read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.plan import Damage, Entry, Reason
from skymem.model.strict_json import LineDamage
from skymem.stores.trash import Held, Trash, opened, trash_entries
from tests.conftest import Desk, line

HELD = Held(
    "a1", "long", "long_term.jsonl", "run1", 5.5, Reason("expired", 3.0, 0.0, "x"), "a0", b"{}"
)
lines = st.one_of(
    st.dictionaries(st.text(), st.text() | st.integers(), max_size=4).map(
        lambda fields: json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
    ),
    st.sampled_from(
        [b'{"content": "a" }', b'{"content":"\\u2028"}  ', b'{"content": "b"}\r', b'  {"a": 1}']
    ),
)


@given(lines, st.none() | st.text(min_size=1, max_size=5))
def test_what_was_put_in_comes_out(text: bytes, after: str | None) -> None:
    held = HELD._replace(line=text, after=after)
    spelled = held.envelope()

    assert opened(spelled) == held
    assert spelled.count(b"\n") == 1
    assert json.loads(spelled)["memory"] == json.loads(text)


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"id": "a"}',
        HELD.envelope().replace(b'"bytes":2', b'"bytes":3'),
        HELD.envelope().replace(b'"bytes":2', b'"bytes":1'),
        HELD.envelope().replace(b'"tier":"long",', b""),
        HELD.envelope()[:-3],
        b"\xff",
    ],
)
def test_what_is_no_entry_is_told_and_not_guessed(raw: bytes) -> None:
    with pytest.raises(LineDamage):
        opened(raw)


def test_a_file_loses_those_that_are_taken_and_goes_with_the_last(desk: Desk) -> None:
    trash = Trash(desk.tiers, desk.files)
    three = [HELD._replace(id=name, line=line(name).rstrip()) for name in "abc"]
    trash.keep("run1", (one.envelope() for one in three))
    path = trash.file_of("run1")
    with path.open("ab") as stream:
        stream.write(b"by hand\n")

    keys = {one.id: one.key for one in three}
    assert trash.without(path, {keys["b"], ("x", b""), ("a", b"another's line")}) == 1
    assert [held.id for held in trash.all()] == ["a", "c"]
    assert path.read_bytes().endswith(b"by hand\n")
    assert trash.without(path, {keys["a"], keys["c"]}) == 2
    assert path.read_bytes() == b"by hand\n"
    trash.keep("run2", [three[0].envelope()])
    trash.without(trash.file_of("run2"), {keys["a"]})
    assert not trash.file_of("run2").exists()


def test_the_catalog_is_given_each_memory_in_its_whole_line(desk: Desk) -> None:
    held = HELD._replace(id="own", line=line("text").rstrip())
    trash = Trash(desk.tiers, desk.files)
    trash.keep("run1", [held.envelope()])
    with trash.file_of("run1").open("ab") as stream:
        stream.write(b"{bad\n\n")
    with trash.file_of("run1").open("rb") as stream:
        size = stream.seek(0, 2)
        entry, damage = trash_entries(stream.fileno(), 0, size)

    assert isinstance(entry, Entry)
    assert (entry.id, entry.start, entry.end) == ("own", 0, len(held.envelope()))
    assert entry.memory.content == "text"
    assert isinstance(damage, Damage)
