"""Every field of the table is read in both spellings, and what is out of range is named."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.memory import Memory, read_time
from skymem.model.strict_json import LineDamage

DAY_US = 86_400_000_000


def first(**fields: Any) -> Memory:
    return Memory({"ts": 10, "content": "x", **fields})


def second(**metadata: Any) -> Memory:
    fields = {"timestamp": "1970-01-01T00:00:10Z", "content": "x", "metadata": metadata}
    return Memory(fields)


@pytest.mark.parametrize("make", [first, second], ids=["ts", "timestamp"])
@pytest.mark.parametrize(
    ("name", "value", "attribute", "meaning"),
    [
        ("tags", ["a", "b", 3], "tags", ("a", "b")),
        ("tags", "alone", "tags", ("alone",)),
        ("tags", 5, "tags", ()),
        ("kind", "decision", "kind", "decision"),
        ("type", "insight", "kind", "insight"),
        ("kind", 5, "kind", None),
        ("stability", "stable", "stability", "stable"),
        ("ttl_days", 2, "ttl_days", 2.0),
        ("ttl_days", 0.5, "expires_us", 10_000_000 + DAY_US // 2),
        ("ttl_days", "soon", "ttl_days", None),
        ("ttl_days", 1e308, "ttl_days", None),
        ("ttl_days", 10**400, "expires_us", None),
        ("expires_at", 99, "expires_us", 99_000_000),
        ("expires_at", "1970-01-02T00:00:00Z", "expires_us", DAY_US),
        ("expires_at", "never", "expires_us", None),
        ("supersedes", ["i1", "i2"], "supersedes", ("i1", "i2")),
        ("supersedes", "i1", "supersedes", ("i1",)),
        ("evidence", ["a.py"], "evidence", ("a.py",)),
        ("evidence_ids", ["i1"], "evidence_ids", ("i1",)),
        ("origin", "tool", "origin", "tool"),
        ("trust", 0.5, "trust", 0.5),
        ("trust", 7, "trust", None),
        ("sensitivity", "sensitive", "sensitivity", "sensitive"),
        ("sensitivity", "SECRET", "sensitivity", "sensitive"),
        ("sensitivity", True, "sensitivity", "sensitive"),
        ("sensitivity", ["pii"], "sensitivity", "sensitive"),
        ("sensitivity", "normal", "sensitivity", None),
        ("sensitivity", False, "sensitivity", None),
        ("sensitivity", None, "sensitivity", None),
        ("pinned", True, "pinned", True),
        ("pinned", "yes", "pinned", False),
        ("scope", "team", "scope", {"scope": "team"}),
        ("user_id", "u1", "scope", {"user_id": "u1"}),
        ("session", "s1", "scope", {"session": "s1"}),
        ("tenant", "t1", "scope", {"tenant": "t1"}),
        ("source_id", "w1", "foreign_id", "w1"),
    ],
)
def test_a_field_of_the_table_is_read_in_both_spellings(
    make: Any, name: str, value: Any, attribute: str, meaning: Any
) -> None:
    assert getattr(make(**{name: value}), attribute) == meaning


@pytest.mark.parametrize(
    ("fields", "attribute", "meaning"),
    [
        ({"ts": 1, "content": "x", "importance": 0.25}, "importance", 0.25),
        ({"timestamp": "2025-01-01", "content": "x", "score": 8}, "importance", 0.8),
        ({"ts": 1, "content": "x"}, "importance", None),
        ({"ts": 1, "content": "x", "type": "short"}, "kind", None),
        ({"ts": 1, "content": "x", "type": "short", "kind": "rule"}, "kind", "rule"),
        ({"ts": 1, "content": "x", "id": "w1"}, "source_id", "w1"),
        ({"ts": 1, "content": "x", "id": 7}, "source_id", "7"),
        ({"ts": 1, "content": "x", "id": ""}, "source_id", None),
        ({"content": "x"}, "time_us", None),
        ({"content": "x", "metadata": {}}, "spelling", "timestamp"),
        ({"content": "x"}, "spelling", "ts"),
        ({"ts": 1, "record_type": "profile", "payload": {"a": 1}}, "payload", {"a": 1}),
        ({"ts": 1, "record_type": "profile", "payload": {"a": 1}}, "content", ""),
        ({"ts": 1, "record_type": "chunk", "payload": {}}, "record_type", "chunk"),
    ],
)
def test_a_field_with_its_own_place_is_read_there(
    fields: dict[str, Any], attribute: str, meaning: Any
) -> None:
    assert getattr(Memory(fields), attribute) == meaning


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ts": 1}, 'field "content" is missing'),
        ({"ts": 1, "content": None}, 'field "content" is missing'),
        ({"ts": 1, "content": 5}, 'field "content": not text'),
        ({"ts": 1, "record_type": "profile"}, 'field "content" is missing'),
        ({"content": "x", "importance": 7}, 'field "importance": 7 is not in 0 to 1'),
        ({"content": "x", "importance": -0.1}, 'field "importance": -0.1 is not in 0 to 1'),
        ({"content": "x", "importance": True}, 'field "importance": True is not in 0 to 1'),
        ({"content": "x", "importance": "secret"}, "a value that is no number is not in 0 to 1"),
        ({"content": "x", "score": 11}, 'field "score": 11 is not in 0 to 10'),
        ({"content": "x", "score": 7.5}, 'field "score": 7.5 is no whole number'),
        ({"content": "x", "ts": -1}, 'field "ts": -1 is no time in epoch seconds'),
        ({"content": "x", "ts": 1699999995000}, "is it in milliseconds?"),
        ({"content": "x", "ts": "yesterday"}, 'field "ts": not a time in ISO 8601'),
        ({"content": "x", "ts": []}, 'field "ts": neither epoch seconds nor ISO 8601'),
        ({"content": "x", "timestamp": "0001-01-01T00:00:00+01:00"}, "years 1970 to 9999"),
        ({"content": "x", "timestamp": "9999-12-31T23:59:59-01:00"}, "years 1970 to 9999"),
        ({"content": "x", "timestamp": "1969-12-31T23:59:59Z"}, "years 1970 to 9999"),
    ],
)
def test_a_complaint_names_the_field_and_the_value_but_no_text(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(LineDamage) as caught:
        Memory(fields)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


@given(st.integers(0, 253_402_300_799_999_999))
def test_both_spellings_of_a_time_agree_to_the_microsecond(time_us: int) -> None:
    moment = datetime.fromtimestamp(time_us // 1_000_000, UTC).replace(
        microsecond=time_us % 1_000_000
    )
    assert read_time("timestamp", moment.isoformat()) == time_us
    assert read_time("ts", time_us // 1_000_000) == time_us - time_us % 1_000_000


@given(
    st.dictionaries(
        st.sampled_from(
            ["ts", "timestamp", "content", "importance", "score", "type", "metadata", "tags", "id"]
        ),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
            lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
            max_leaves=4,
        ),
    )
)
def test_any_object_is_a_memory_whose_every_field_can_be_asked_or_damage(
    fields: dict[str, Any],
) -> None:
    try:
        memory = Memory(json.loads(json.dumps(fields)))
    except LineDamage:
        return
    names = [name for name in vars(Memory) if not name.startswith("_")]
    for name in names:
        if name != "field":
            getattr(memory, name)
    assert memory.time_us is None or memory.time_us >= 0
