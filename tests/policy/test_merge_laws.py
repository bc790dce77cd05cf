"""What holds of every merge: no order, nothing twice, nothing mixed, nothing said otherwise."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skymem.model.kinds import KINDS
from skymem.model.memory import Memory
from skymem.model.plan import Addition, Plan
from skymem.model.rules import RetentionRules
from skymem.model.strict_json import parse_object
from skymem.policy.faithful import signature
from skymem.policy.merge import MergeItem, plan_merge

NOW = 1_760_000_000
NOW_US = NOW * 1_000_000
DAY = 86_400
RULES = RetentionRules()
WHOSE = ("user_id", "tenant", "scope", "session")

FIELDS = st.fixed_dictionaries(
    {
        "content": st.sampled_from(
            ["User likes tea", "user likes tea!", "User does not like tea", "Port 8080 is open",
             "Port 8081 is open", "User likes  tea.", "", " "]
        ),
        "ts": st.sampled_from([NOW - 30 * DAY, NOW - 20 * DAY, NOW - DAY, NOW + DAY, None]),
    },
    optional={
        "kind": st.sampled_from(["fact", "preference", "log", "action", "nobody knows"]),
        "stability": st.sampled_from(["volatile", "stable"]),
        "ttl_days": st.just(90),
        "user_id": st.sampled_from(["ann", "bob"]),
        "session": st.sampled_from(["s1", "s2"]),
        "sensitivity": st.just("sensitive"),
        "trust": st.sampled_from([0.1, 0.9]),
        "importance": st.sampled_from([0.2, 0.7]),
        "tags": st.lists(st.sampled_from(["x", "y"]), max_size=2),
        "record_type": st.just("profile"),
    },
)  # fmt: skip
LINES = st.lists(
    st.tuples(FIELDS, st.sampled_from(["short", "long"]), st.booleans(), st.booleans()),
    max_size=14,
)


def items_of(lines: list[tuple[dict[str, Any], str, bool, bool]]) -> list[MergeItem]:
    items = []
    for place, (fields, tier, first, second) in enumerate(lines):
        line = place if tier == "short" else -1
        restored = "merged" if second and not first else ""
        pinned = first and second
        start = place * 10
        items.append(
            MergeItem(f"m{place}", Memory(fields), tier, start, start + 9, line, pinned, restored)
        )
    return items


def merge(items: list[MergeItem]) -> Plan:
    return plan_merge(items, "sky", RULES, now_us=NOW_US)


def made(addition: Addition) -> Memory:
    return Memory(parse_object(addition.line.rstrip(b"\n")))


@given(LINES, st.randoms(use_true_random=False))
def test_the_order_of_what_is_given_does_not_matter(
    lines: list[tuple[dict[str, Any], str, bool, bool]], shuffled: random.Random
) -> None:
    items = items_of(lines)
    plan = merge(items)
    shuffled.shuffle(items)
    other = merge(items)

    assert (other.decisions, other.additions, other.kept) == (
        plan.decisions,
        plan.additions,
        plan.kept,
    )


@given(LINES)
def test_each_goes_into_one_at_most_and_those_of_short_term_leave_it(
    lines: list[tuple[dict[str, Any], str, bool, bool]],
) -> None:
    items = {item.id: item for item in items_of(lines)}
    plan = merge([*items.values()])
    used = [name for one in plan.additions for name in one.evidence]

    assert len(used) == len(set(used))
    assert all(len(one.evidence) >= 2 and one.evidence == one.supersedes for one in plan.additions)
    assert {one.id for one in plan.decisions} == {
        name for name in used if items[name].tier == "short"
    }
    assert all((one.action, one.reason.gate) == ("archive", "merged") for one in plan.decisions)
    by = {name: one.id for one in plan.additions for name in one.evidence}
    assert all(one.reason.note == by[one.id] for one in plan.decisions)


@given(LINES)
def test_what_must_stay_as_it_is_is_in_none(
    lines: list[tuple[dict[str, Any], str, bool, bool]],
) -> None:
    items = {item.id: item for item in items_of(lines)}
    for one in merge([*items.values()]).additions:
        for name in one.evidence:
            item, memory = items[name], items[name].memory
            assert not item.pinned
            assert item.restored != "merged"
            assert memory.expires_us is None
            assert memory.record_type is None
            assert KINDS.of(memory.kind).merge
            assert memory.time_us is not None
            assert memory.time_us <= NOW_US
            assert memory.content.strip()


@given(LINES)
def test_none_mixes_whom_it_concerns_and_none_gains_trust(
    lines: list[tuple[dict[str, Any], str, bool, bool]],
) -> None:
    items = {item.id: item for item in items_of(lines)}
    for one in merge([*items.values()]).additions:
        sources = [items[name].memory for name in one.evidence]
        memory = made(one)
        scopes = [tuple(sorted(source.scope.items())) for source in sources]
        trusts = [source.trust for source in sources if source.trust is not None]

        assert {*scopes} == {tuple(sorted(memory.scope.items()))}
        assert {source.sensitivity for source in sources} == {memory.sensitivity}
        assert memory.trust == min(trusts, default=None)
        assert {*memory.tags} == {tag for source in sources for tag in source.tags}


@given(LINES)
def test_what_it_says_is_what_each_of_them_says(
    lines: list[tuple[dict[str, Any], str, bool, bool]],
) -> None:
    items = {item.id: item for item in items_of(lines)}
    for one in merge([*items.values()]).additions:
        memory = made(one)
        if memory.record_type == "summary":
            for statement in memory.payload["statements"]:
                source = items[statement["source"]].memory.content
                assert source[slice(*statement["span"])] == statement["text"] == source
        else:
            for name in one.evidence:
                assert signature(items[name].memory.content) == signature(memory.content)
                assert items[name].memory.kind == memory.kind


@given(LINES)
def test_merging_again_finds_nothing(
    lines: list[tuple[dict[str, Any], str, bool, bool]],
) -> None:
    items = items_of(lines)
    plan = merge(items)
    gone = {name for one in plan.additions for name in one.supersedes}
    there = [item for item in items if item.id not in gone]
    there += [MergeItem(one.id, made(one), "long") for one in plan.additions]

    assert merge(there).additions == []
