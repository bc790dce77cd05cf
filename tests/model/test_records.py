"""Rows R9, R10 and R12, promise 7: what a record says, rests on, and is read back as."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.errors import InvalidMemoryError
from skymem.model.identity import derived_id, digest
from skymem.model.marks import inherited
from skymem.model.memory import Memory
from skymem.model.records import (
    Profile,
    ProjectRecord,
    Statement,
    content,
    from_payload,
    record_line,
    record_of,
    statements,
    to_payload,
)
from skymem.model.spelling import read_line

NOW_US = 1_700_000_000_000_000
TEA = Statement("User prefers tea.", "a1", (0, 17), NOW_US)
SHIP = Statement("Ship v2.1.", "b2", (4, 14), NOW_US + 1)
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)
STATEMENTS = st.builds(
    Statement,
    TEXTS,
    TEXTS,
    st.tuples(st.integers(0, 99), st.integers(100, 999)),
    st.none() | st.integers(0, 4_000_000_000_000_000),
)
LISTS = st.lists(STATEMENTS, max_size=3).map(tuple)
RECORDS = st.builds(Profile, LISTS, LISTS, LISTS) | st.builds(
    ProjectRecord, TEXTS, LISTS, LISTS, LISTS
)


@given(RECORDS)
def test_a_payload_reads_back_as_the_record_it_was(record: Profile | ProjectRecord) -> None:
    payload = json.loads(json.dumps(to_payload(record)))

    assert from_payload(record.RECORD_TYPE, payload) == record


@given(RECORDS)
def test_a_line_reads_back_as_its_record_with_every_source_as_evidence(
    record: Profile | ProjectRecord,
) -> None:
    made = record_line(record, now_us=NOW_US, evidence_ids=["z9"])
    memory = read_line(made.line)

    assert record_of(memory) == record
    assert {one.source for one in statements(record)} | {"z9"} == set(memory.evidence_ids)
    assert memory.source_id == made.id == derived_id(digest(memory))
    assert list(memory.fields)[-1] == "id"


def test_a_profile_is_a_line_of_long_term_that_people_can_read() -> None:
    made = record_line(
        Profile(preferences=(TEA,), do_not_assume=(SHIP,)),
        now_us=NOW_US,
        evidence_ids=["c3"],
        supersedes=["old"],
        fields={"trust": 0.5, "user_id": "u1"},
    )

    assert json.loads(made.line) == {
        "ts": 1_700_000_000,
        "type": "long",
        "content": "Preferences:\n- User prefers tea.\n\nDo not assume:\n- Ship v2.1.",
        "record_type": "profile",
        "payload": {
            "preferences": [
                {"text": "User prefers tea.", "source": "a1", "span": [0, 17], "ts": 1_700_000_000}
            ],
            "stable_facts": [],
            "do_not_assume": [
                {"text": "Ship v2.1.", "source": "b2", "span": [4, 14], "ts": 1700000000.000001}
            ],
        },
        "evidence_ids": ["c3", "a1", "b2"],
        "supersedes": ["old"],
        "trust": 0.5,
        "user_id": "u1",
        "id": made.id,
    }
    assert made.line.endswith(b"}\n")
    assert read_line(made.line).kind is None


def test_a_project_is_found_by_its_tag_and_its_name() -> None:
    made = record_line(ProjectRecord("apollo", goals=(SHIP,)), now_us=NOW_US, evidence_ids=[])
    memory = read_line(made.line)

    assert memory.tags == ("project:apollo",)
    assert memory.content == "Project apollo\n\nGoals:\n- Ship v2.1."
    assert memory.payload["name"] == "apollo"


def test_a_text_of_several_lines_stays_one_point_of_the_list() -> None:
    record = Profile(preferences=(Statement("a\nb", "x", (0, 3)),))

    assert content(record) == "Preferences:\n- a\n  b"


def test_no_record_is_written_without_evidence() -> None:
    with pytest.raises(InvalidMemoryError, match="evidence_ids"):
        record_line(Profile(), now_us=NOW_US, evidence_ids=[])


GOOD = {"text": "x", "source": "a", "span": [0, 1]}


@pytest.mark.parametrize(
    ("record_type", "payload", "field"),
    [
        ("chunk", {}, "record_type"),
        ("profile", {"goals": []}, "payload.goals"),
        ("profile", {"name": "x"}, "payload.name"),
        ("profile", {"preferences": {}}, "payload.preferences"),
        ("profile", {"preferences": ["x"]}, r"payload.preferences\[0\]"),
        ("profile", {"preferences": [GOOD, {**GOOD, "text": " "}]}, r"\[1\].*text"),
        ("profile", {"preferences": [{**GOOD, "text": 5}]}, "text"),
        ("profile", {"preferences": [{**GOOD, "source": ""}]}, "source"),
        ("profile", {"preferences": [{**GOOD, "source": 7}]}, "source"),
        ("profile", {"preferences": [{**GOOD, "span": [1, 1]}]}, "span"),
        ("profile", {"preferences": [{**GOOD, "span": [-1, 1]}]}, "span"),
        ("profile", {"preferences": [{**GOOD, "span": [0, 1, 2]}]}, "span"),
        ("profile", {"preferences": [{**GOOD, "span": [0.0, 1]}]}, "span"),
        ("profile", {"preferences": [{**GOOD, "span": [False, True]}]}, "span"),
        ("profile", {"preferences": [{**GOOD, "span": "01"}]}, "span"),
        ("profile", {"preferences": [{**GOOD, "ts": "now"}]}, "ts"),
        ("profile", {"preferences": [{**GOOD, "ts": -1}]}, "ts"),
        ("profile", {"preferences": [{**GOOD, "ts": 1e15}]}, "ts"),
        ("profile", {"preferences": [{**GOOD, "ts": True}]}, "ts"),
        ("profile", {"preferences": [{**GOOD, "by": "me"}]}, "by"),
        ("project", {}, "payload.name"),
        ("project", {"name": "  "}, "payload.name"),
        ("project", {"name": "x", "preferences": []}, "payload.preferences"),
        ("project", {"name": "x", "blockers": None}, "payload.blockers"),
    ],
)
def test_what_is_no_record_is_refused_by_its_field(
    record_type: str, payload: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidMemoryError, match=field):
        from_payload(record_type, payload)


def test_a_statement_whose_source_is_no_evidence_makes_no_record() -> None:
    fields = {"ts": 1, "record_type": "profile", "payload": {"preferences": [GOOD]}}

    with pytest.raises(InvalidMemoryError, match="evidence_ids"):
        record_of(Memory({**fields, "evidence_ids": ["b"]}))
    whole = record_of(Memory({**fields, "evidence_ids": ["b", "a"]}))
    assert [one.source for one in statements(whole)] == ["a"]


@pytest.mark.parametrize("payload", [None, [], "x", 7])
def test_a_payload_that_is_none_is_no_empty_record(payload: Any) -> None:
    fields = {"ts": 1, "content": "x", "record_type": "profile", "payload": payload}

    with pytest.raises(InvalidMemoryError, match="payload"):
        record_of(Memory(fields))


@pytest.mark.parametrize(
    ("sources", "fields"),
    [
        ([{}], {}),
        ([{"origin": "user", "trust": 0.9}], {"origin": "user", "trust": 0.9}),
        ([{"origin": "user"}, {"origin": "tool"}], {"origin": "tool"}),
        ([{"origin": "tool"}, {"origin": "user"}, {"origin": "import"}], {"origin": "import"}),
        ([{"origin": "user"}, {}], {}),
        ([{"origin": "agent"}, {}], {}),
        ([{"origin": "tool"}, {}], {"origin": "tool"}),
        ([{"origin": "import"}, {"origin": "from mars"}], {"origin": "from mars"}),
        ([{"trust": 0.9}, {"trust": 0.2}, {}], {"trust": 0.2}),
        ([{"trust": 0}, {"trust": 1}], {"trust": 0.0}),
        ([{"sensitivity": "sensitive"}, {}], {"sensitivity": "sensitive"}),
        ([{"sensitivity": "normal"}, {}], {}),
        ([], {}),
    ],
)
def test_what_is_made_of_others_is_trusted_no_more_than_the_least_of_them(
    sources: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    for order in (sources, sources[::-1]):
        assert inherited(Memory({"ts": 1, "content": "x", **one}) for one in order) == fields
