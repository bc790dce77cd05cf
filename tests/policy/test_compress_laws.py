"""What holds of every compression: each line once, no order, nothing twice, only quotations."""

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skymem.model.memory import Memory
from skymem.model.records import (
    ProjectRecord,
    sections,
)
from skymem.model.rules import CompressRules
from skymem.policy.living import Living, RecordKey
from tests.policy.compressing import (
    COMPRESSIBLE,
    NOTHING,
    NOW,
    NOW_US,
    OLD,
    RULES,
    after,
    compress,
    entries,
    entry,
)

WORDS = st.lists(
    st.sampled_from(["user", "likes", "tea", "not", "7am", "Oslo", ".", "\n", "- x", "a"]),
    max_size=6,
).map(" ".join)
FIELDS = st.fixed_dictionaries(
    {"content": WORDS, "ts": st.sampled_from([OLD, OLD + 1, OLD - 9, NOW, NOW + 99, None])},
    optional={
        "kind": st.sampled_from([*sorted(COMPRESSIBLE), "log"]),
        "tags": st.lists(
            st.sampled_from(
                ["project:x", "project:X", "project:y", "goal", "blocker", "do_not_assume"]
            ),
            max_size=3,
        ),
        "user_id": st.sampled_from(["ann", "bob"]),
        "sensitivity": st.just("sensitive"),
        "pinned": st.booleans(),
        "ttl_days": st.just(9),
        "trust": st.sampled_from([0.1, 0.9]),
    },
)
LINES = st.lists(FIELDS, max_size=12)


@given(LINES, st.sets(st.integers(0, 11)), st.integers(1, 20), st.randoms(use_true_random=False))
def test_every_line_is_decided_once_whatever_their_order(
    items: list[dict[str, Any]], gone: set[int], items_max: int, shuffled: random.Random
) -> None:
    lines = entries(*items)
    lapsed = {f"m{place}" for place in gone}
    rules = RULES._replace(compress=CompressRules(items_max=items_max))
    plan = compress(lines, lapsed=lapsed, rules=rules)
    shuffled.shuffle(lines)
    other = compress(lines, lapsed=lapsed, rules=rules)

    assert (other.decisions, other.additions, other.kept) == (
        plan.decisions,
        plan.additions,
        plan.kept,
    )
    starts = [one.start for one in plan.decisions]
    assert len(starts) == len(set(starts))
    left = sum(plan.kept.values()) + len(plan.decisions)
    assert left == plan.lines or (plan.unfinished and left < plan.lines)


@given(st.lists(LINES, max_size=3))
def test_what_is_written_is_quoted_cited_and_never_written_again(
    days: list[list[dict[str, Any]]],
) -> None:
    records = NOTHING
    sources: dict[str, Memory] = {}
    for day, items in enumerate(days):
        lines: Any = [
            entry(place, **{**fields, "id": f"d{day}m{place}"})
            for place, fields in enumerate(items)
        ]
        sources |= {line.id: line.memory for line in lines}
        plan = compress(lines, records, now_us=NOW_US + day)
        rest, later = after(plan, lines, records)
        again = compress(rest, later, now_us=NOW_US + day + 1)
        assert (again.decisions, again.additions) == ([], [])

        cited = {name for one in plan.additions for name in one.evidence}
        for decision in plan.decisions:
            assert decision.action == "archive"
            assert not sources[decision.id].pinned
            if decision.reason.gate == "compressed":
                assert decision.id in cited
        _check_records(later, sources)
        records = later


def _check_records(records: Living, sources: dict[str, Memory]) -> None:
    for key, parts in records.parts.items():
        (part,) = parts
        for section, found in sections(part.record):
            assert section
            assert len({one.text for one in found}) == len(found)
            for one in found:
                source = sources[one.source]
                assert source.content[slice(*one.span)] == one.text
                assert source.time_us == one.ts_us
                assert source.scope.get("user_id", "") == key.user_id
                assert (source.sensitivity == "sensitive") == key.sensitive
        assert part.memory.fields.get("sensitivity") == ("sensitive" if key.sensitive else None)
        trusts = [t for n in part.memory.evidence_ids if (t := sources[n].trust) is not None]
        assert part.memory.trust == min(trusts, default=None)
        if isinstance(part.record, ProjectRecord):
            assert part.record.name.casefold() == key.project
        else:
            assert key == RecordKey(user_id=key.user_id, sensitive=key.sensitive)
