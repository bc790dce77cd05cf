"""Rows P15 and P16: what looks like a copy and is none stays, and what is made lasts as long."""

from typing import Any

import pytest

from skymem.model.memory import Memory
from skymem.policy.merge import MergeItem
from tests.policy.test_alike import NO_COPIES
from tests.policy.test_merge_laws import DAY, NOW, made, merge


def fact(name: str, text: str, days: float = 2, **more: Any) -> MergeItem:
    fields = {"content": text, "ts": NOW - days * DAY, "kind": "fact", **more}
    return MergeItem(name, Memory(fields), "long")


@pytest.mark.parametrize(("first", "second"), NO_COPIES)
def test_what_is_no_copy_is_not_merged_though_each_has_one(first: str, second: str) -> None:
    plan = merge([fact("a", first, 4), fact("b", first, 3), fact("c", second, 2),
                  fact("d", second, 1)])  # fmt: skip
    groups = [set(one.evidence) for one in plan.additions]
    assert all(group in ({"a", "b"}, {"c", "d"}) for group in groups)


@pytest.mark.parametrize("tags", [["project:x"], ["project:y", "blocker"], ["do_not_assume"], []])
def test_the_same_words_of_another_project_or_place_are_something_else(tags: list[str]) -> None:
    other = fact("b", "Freeze is on", tags=["Project:Y", "goal"], stability="stable")
    assert not merge([fact("a", "Freeze is on", tags=tags), other]).additions


def test_what_means_the_day_it_was_said_is_no_copy_on_another() -> None:
    assert not merge([fact("a", "Demo is tomorrow", 9), fact("b", "Demo is tomorrow", 2)]).additions
    assert merge([fact("a", "Demo is tomorrow"), fact("b", "Demo is tomorrow.")]).additions


def test_what_is_made_is_permanent_when_one_of_them_was() -> None:
    (one,) = merge(
        [fact("a", "Ann is allergic", 9, stability="permanent"), fact("b", "Ann is allergic")]
    ).additions
    assert made(one).stability == "permanent"


@pytest.mark.parametrize("other", [{"trust": 0.2}, {"origin": "document"}, {"trust": 1.0}])
def test_a_copy_from_elsewhere_neither_takes_trust_away_nor_gives_any(
    other: dict[str, Any],
) -> None:
    known: dict[str, Any] = {"trust": 0.9, "origin": "user"}
    items = [fact("a", "Ann is allergic", **known), fact("b", "Ann is allergic", **known | other)]
    assert not merge(items).additions
    again = fact("c", "Ann is allergic", **known)
    (one,) = merge([*items, again]).additions
    assert (one.evidence, made(one).trust, made(one).origin) == (("a", "c"), 0.9, "user")


def test_what_only_its_writer_knows_of_the_newest_is_kept() -> None:
    old = fact("a", "Ann is allergic", 9, ticket=1, metadata={"room": "x"})
    new = fact(
        "b",
        "Ann is allergic",
        ticket=7,
        confidence=0.8,
        score=9,
        metadata={"seat": 3, "ttl_days": 0},
    )
    (one,) = merge([old, new]).additions
    memory = made(one)

    assert memory.others == {"ticket": 7, "confidence": 0.8, "metadata": {"seat": 3}}
    assert (memory.importance, memory.expires_us, "score" in memory.fields) == (0.9, None, False)
    assert [*memory.fields][-1] == "id"


def test_a_volatile_rule_stays_a_rule() -> None:
    rules = [fact(n, f"Never push on a {n}", 30, stability="volatile") for n in "ab"]
    assert merge(rules).additions
    for item in rules:
        item.memory.fields["kind"] = "rule"
    plan = merge(rules)
    assert (plan.additions, plan.kept) == ([], {"kind": 2})
