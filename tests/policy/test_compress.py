"""Rows R9 and R10: what is compressed, where it goes, and what is said of it."""

import random
from typing import Any

import pytest

from skymem.model.memory import Memory
from skymem.model.plan import Damage, Entry
from skymem.model.records import (
    Profile,
    Statement,
    record_line,
)
from skymem.model.rules import CompressRules
from skymem.model.spelling import read_line
from skymem.policy.living import Living
from skymem.policy.summary import SourceGroup, Summary
from tests.policy.compressing import (
    HOUR,
    NOTHING,
    NOW,
    NOW_US,
    RULES,
    WIDTH,
    after,
    compress,
    entries,
    entry,
    fates,
    said,
)

PLACES = [
    ({"kind": "preference"}, "profile", "preferences"),
    ({"kind": "fact"}, "profile", "stable_facts"),
    ({"kind": "decision"}, "profile", "stable_facts"),
    ({"kind": "fact", "tags": ["do_not_assume"]}, "profile", "do_not_assume"),
    ({"kind": "preference", "tags": ["Do-Not-Assume"]}, "profile", "do_not_assume"),
    ({"kind": "fact", "tags": ["project:"]}, "profile", "stable_facts"),
    ({"kind": "fact", "tags": ["blocker"]}, "profile", "stable_facts"),
    ({"kind": "fact", "tags": ["project:x"]}, "project", "next_steps"),
    ({"kind": "fact", "tags": ["project:x", "blocker"]}, "project", "blockers"),
    ({"kind": "fact", "tags": ["next", "project:x"]}, "project", "next_steps"),
    ({"kind": "fact", "tags": ["next_step", "Project:x"]}, "project", "next_steps"),
    ({"kind": "fact", "tags": ["goal", "project:x"]}, "project", "goals"),
    ({"kind": "project", "tags": ["project:x"]}, "project", "goals"),
    ({"kind": "project", "tags": ["project:x", "blocker"]}, "project", "blockers"),
    ({"kind": "crumb", "tags": ["project:x"]}, "project", "next_steps"),
    ({"type": "preference"}, "profile", "preferences"),
]


@pytest.mark.parametrize(("fields", "what", "section"), PLACES)
def test_a_memory_goes_where_its_kind_and_tags_say(
    fields: dict[str, Any], what: str, section: str
) -> None:
    plan = compress(entries(fields))
    (addition,) = plan.additions

    assert addition.what == what
    assert said(addition) == {section: ["Thing 0 is so."]}
    assert addition.evidence == ("m0",)
    assert fates(plan) == {"m0": f"archive compressed {what}"}


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"kind": "crumb"}, "fits no record"),
        ({"kind": "request"}, "fits no record"),
        ({"kind": "result"}, "fits no record"),
        ({"kind": "project"}, "fits no record"),
        ({"kind": "fact", "ttl_days": 365}, "it expires"),
        ({"kind": "fact", "expires_at": NOW + 9}, "it expires"),
        ({"kind": "fact", "content": " "}, "no text, or no sentence that is short enough"),
        ({"kind": "fact", "content": "x" * 601}, "no text, or no sentence that is short enough"),
    ],
)
def test_what_fits_no_record_is_archived_without_a_statement(
    fields: dict[str, Any], note: str
) -> None:
    plan = compress(entries(fields))

    assert fates(plan) == {"m0": f"archive no_summary {note}"}
    assert plan.additions == []


@pytest.mark.parametrize(
    ("fields", "gate"),
    [
        ({"kind": "fact", "ts": NOW - 48 * HOUR + 1}, "too_young"),
        ({"kind": "fact", "ts": None}, "too_young"),
        ({"kind": "fact", "ts": NOW + 1}, "future"),
        ({"kind": "fact", "pinned": True}, "pinned"),
        ({}, "kind"),
        ({"kind": "log"}, "kind"),
        ({"kind": "made up"}, "kind"),
    ],
)
def test_what_stays_says_why(fields: dict[str, Any], gate: str) -> None:
    plan = compress(entries(fields))

    assert plan.decisions == []
    assert plan.kept == {gate: 1}


@pytest.mark.parametrize(
    ("gate", "stays"), [("compressed", True), ("no_summary", True), ("line_limit", False)]
)
def test_what_was_brought_back_is_left_alone_when_it_was_compress_that_had_moved_it(
    gate: str, stays: bool
) -> None:
    (back,) = entries({"kind": "fact"})
    assert isinstance(back, Entry)
    back.restored = gate
    plan = compress([back])

    assert plan.kept == ({"restored": 1} if stays else {})
    assert plan.count("archive") == (0 if stays else 1)


def test_the_threshold_is_met_to_the_second() -> None:
    plan = compress(entries({"kind": "fact", "ts": NOW - 48 * HOUR}))

    assert plan.count("archive") == 1
    assert plan.decisions[0].reason.value == plan.decisions[0].reason.threshold == 2.0


def test_a_permanent_memory_does_not_expire_and_is_said() -> None:
    fields = {"kind": "fact", "ttl_days": 1, "stability": "permanent"}

    assert len(compress(entries(fields)).additions) == 1


def test_what_holds_no_more_is_not_said() -> None:
    plan = compress(entries({"kind": "fact"}, {"kind": "fact"}), lapsed={"m0"})

    assert fates(plan)["m0"] == "archive no_summary expired or superseded"
    assert plan.additions[0].evidence == ("m1",)


def test_a_record_takes_up_what_is_there_and_repeats_nothing() -> None:
    first = compress(entries({"kind": "fact", "content": "User lives in Oslo."}))
    _, records = after(first, [], NOTHING)
    lines = [
        entry(5, id="n5", kind="fact", content="The user lives in Oslo"),
        entry(6, id="n6", kind="fact", content="User works in Oslo."),
        entry(7, id="n7", kind="preference", content="User lives in Oslo."),
    ]
    (addition,) = compress(lines, records).additions

    assert said(addition) == {
        "stable_facts": ["User lives in Oslo.", "User works in Oslo."],
        "preferences": ["User lives in Oslo."],
    }
    assert addition.evidence == ("m0", "n5", "n6", "n7")
    assert addition.supersedes == (first.additions[0].id,)


def test_what_is_evidence_already_is_archived_and_nothing_is_written() -> None:
    lines = entries({"kind": "fact"})
    _, records = after(compress(lines), lines, NOTHING)
    again = compress(lines, records)

    assert fates(again) == {"m0": "archive compressed profile"}
    assert again.additions == []


def test_a_correction_takes_the_old_statement_out_of_the_record() -> None:
    lines = entries({"kind": "fact", "content": "User is 41."}, {"kind": "fact"})
    _, records = after(compress(lines), lines, NOTHING)
    plan = compress([], records, lapsed={"m0"})
    (addition,) = plan.additions

    assert said(addition) == {"stable_facts": ["Thing 1 is so."]}
    assert addition.evidence == ("m1",)
    _, later = after(plan, [], records)
    assert compress([], later, lapsed={"m0"}).additions == []


def test_a_record_of_which_nothing_holds_gives_way_to_an_empty_one() -> None:
    lines = entries({"kind": "fact"})
    _, records = after(compress(lines), lines, NOTHING)
    plan = compress([], records, lapsed={"m0"})

    assert said(plan.additions[0]) == {}
    assert plan.additions[0].evidence == ("m0",)
    _, later = after(plan, [], records)
    assert compress([], later, lapsed={"m0"}).additions == []


LIKE_BUT_NOT_THE_SAME = [
    ("User prefers dark mode", "User prefers light mode"),
    ("Wake at 7am", "Wake at 7pm"),
    ("John likes tea", "Joan likes tea"),
    ("Use v2.1", "Use v2.10"),
    ("User drinks milk", "User never drinks milk"),
    ("Team migrates", "Team might migrate"),
]


@pytest.mark.parametrize(("one", "other"), LIKE_BUT_NOT_THE_SAME)
def test_what_is_much_alike_is_said_beside_it(one: str, other: str) -> None:
    lines = entries({"kind": "fact", "content": one}, {"kind": "fact", "content": other})
    plan = compress(lines, likeness=lambda texts: [(0, 1)] if len(texts) == 2 else [])

    assert said(plan.additions[0]) == {"stable_facts": [one, other]}


def test_alike_ones_stand_together() -> None:
    texts = ["Tea is hot", "Oslo is north", "Tea is very nice"]
    lines = entries(*({"kind": "fact", "content": text} for text in texts))
    plan = compress(lines, likeness=lambda texts: [(0, 2)])

    assert said(plan.additions[0]) == {"stable_facts": [texts[0], texts[2], texts[1]]}


def test_users_tenants_and_scopes_never_mix() -> None:
    owners = [
        {},
        {"user_id": "ann"},
        {"user_id": "bob"},
        {"user_id": "ann", "tenant": "t"},
        {"user_id": "ann", "scope": "work"},
        {"user_id": "ann", "sensitivity": "sensitive"},
    ]
    plan = compress(entries(*({"kind": "fact", **owner} for owner in owners)))
    found = {addition.evidence: read_line(addition.line) for addition in plan.additions}

    assert set(found) == {(f"m{place}",) for place in range(len(owners))}
    for place, owner in enumerate(owners):
        memory = found[f"m{place}",]
        assert {
            **memory.scope,
            **({"sensitivity": memory.sensitivity} if memory.sensitivity else {}),
        } == owner


def test_sessions_of_one_user_share_a_profile() -> None:
    plan = compress(entries({"kind": "fact", "session": "1"}, {"kind": "fact", "session": "2"}))

    assert [one.evidence for one in plan.additions] == [("m0", "m1")]


def test_one_memory_may_belong_to_two_projects_and_spelling_makes_none() -> None:
    tags = ["project:Apollo", "project:apollo", "project:zeus"]
    plan = compress(entries({"kind": "fact", "tags": tags}))

    assert len(plan.additions) == 2
    assert [read_line(one.line).payload["name"] for one in plan.additions] == ["apollo", "zeus"]


def test_trust_is_the_lowest_and_importance_the_highest() -> None:
    lines = entries(
        {"kind": "fact", "trust": 0.9, "origin": "user", "importance": 0.2},
        {"kind": "fact", "trust": 0.3, "origin": "tool", "importance": 0.8},
    )
    memory = read_line(compress(lines).additions[0].line)

    assert (memory.trust, memory.origin, memory.importance) == (0.3, "tool", 0.8)
    _, records = after(compress(lines), lines, NOTHING)
    more = compress([entry(9, kind="fact", trust=1, origin="user")], records)
    memory = read_line(more.additions[0].line)
    assert (memory.trust, memory.origin, memory.importance) == (0.3, "tool", 0.8)


def test_damage_repeats_and_twins_are_decided_as_by_every_job() -> None:
    first = entry(0, id="a", kind="fact")
    damage = Damage(WIDTH, 2 * WIDTH, "not JSON")
    twin = entry(0, id="a", kind="fact")
    twin.start, twin.end, twin.line = 2 * WIDTH, 3 * WIDTH, 1
    there = entry(3, id="b", kind="log")
    there.elsewhere = "long"
    plan = compress([first, damage, twin, there])

    assert [one.action for one in plan.decisions] == ["archive", "quarantine", "repeat", "repeat"]


def test_a_round_takes_the_oldest_and_says_that_there_is_more() -> None:
    lines = [entry(place, id=f"m{place}", kind="fact") for place in range(40)]
    random.Random(5).shuffle(lines)
    plan = compress(lines, rules=RULES._replace(compress=CompressRules(items_max=7)))

    assert plan.unfinished
    assert {one.id for one in plan.decisions} == {f"m{place}" for place in range(7)}
    assert not compress(
        lines[:7], rules=RULES._replace(compress=CompressRules(items_max=7))
    ).unfinished


def test_a_record_never_grows_beyond_a_line() -> None:
    texts = [
        f"Thing {place}\n" + "\n".join("é\u0001😀" * 9 for _ in range(9)) for place in range(60)
    ]
    lines = entries(*({"kind": "fact", "content": text} for text in texts))
    limit = 20_000
    plan = compress(lines, rules=RULES._replace(line_bytes_max=limit))
    (addition,) = plan.additions

    assert limit / 4 < len(addition.line) <= limit
    full = [one for one in plan.decisions if one.reason.note == "the record is full"]
    assert len(full) + len(addition.evidence) == 60
    _, records = after(plan, lines, NOTHING)
    assert compress([], records, rules=RULES._replace(line_bytes_max=limit)).additions == []


def test_a_model_that_says_too_much_gives_way_to_quotations() -> None:
    def chatty(group: SourceGroup) -> Summary:
        return Summary(
            [
                Statement(text, source.id, (0, len(source.content)), None)
                for source in group.sources
                for text in (
                    source.content,
                    *(source.content.swapcase() + "!" * n for n in range(99)),
                )
            ]
        )

    texts = [f"Thing{place} " + "is so " * 50 for place in range(9)]
    lines = entries(*({"kind": "fact", "content": text} for text in texts))
    plan = compress(lines, rules=RULES._replace(line_bytes_max=20_000), summarize=chatty)

    assert len(plan.additions[0].line) <= 20_000


def test_a_damaged_record_is_left_as_it_is_and_another_stands_beside_it() -> None:
    damaged = Memory({"ts": 1, "record_type": "profile", "payload": {"preferences": 7}})
    records = Living.of([("bad", damaged)])
    plan = compress(entries({"kind": "fact"}), records)

    assert not records.parts
    assert plan.additions[0].supersedes == ()


def test_two_records_of_one_user_become_one() -> None:
    made = [
        record_line(
            Profile(preferences=(Statement(text, source, (0, 3)),)),
            now_us=NOW_US + number,
            evidence_ids=[],
        )
        for number, (text, source) in enumerate([("Tea.", "a"), ("The tea!", "b"), ("Milk.", "c")])
    ]
    records = Living.of((one.id, read_line(one.line)) for one in reversed(made))
    plan = compress([], records)

    assert said(plan.additions[0]) == {"preferences": ["Tea.", "Milk."]}
    assert plan.additions[0].evidence == ("a", "b", "c")
    assert set(plan.additions[0].supersedes) == {one.id for one in made}
