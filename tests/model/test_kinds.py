"""One table of kinds: every source's types are in it, and what it says of each fits together."""

import pytest

from skymem.model.kinds import KINDS, UNKNOWN, Kind
from skymem.model.memory import TIER_MARKS, Memory
from skymem.model.rules import AgentRules
from skymem.policy.importance import worth

SOURCES = {
    "R1": {"fact", "preference", "project", "decision", "crumb", "request", "result"},
    "M6": {"action", "insight", "error", "escalation", "user_interaction", "data"},
    "N1": {"log", "summary", "rule", "soul", "agent", "user"},
    "P5": {"goal", "configuration"},
}


def each_kind() -> list[object]:
    return [pytest.param(kind, id=name) for name, kind in KINDS.items()]


@pytest.mark.parametrize(("row", "names"), SOURCES.items(), ids=SOURCES)
def test_every_type_of_a_source_is_a_kind_that_names_it(row: str, names: set[str]) -> None:
    assert names == {name for name, kind in KINDS.items() if row in kind.rows.split(", ")}


@pytest.mark.parametrize(
    ("name", "stability", "ttl_days"),
    [
        ("log", "volatile", 30),
        ("summary", "volatile", 7),
        ("rule", "stable", None),
        ("soul", "permanent", None),
        ("agent", "permanent", None),
        ("user", "permanent", None),
    ],
)
def test_what_is_usual_for_a_note_is_as_its_source_says(
    name: str, stability: str, ttl_days: float | None
) -> None:
    assert (KINDS[name].stability, KINDS[name].ttl_days) == (stability, ttl_days)


@pytest.mark.parametrize("kind", each_kind())
def test_what_is_said_of_a_kind_fits_together(kind: Kind) -> None:
    assert KINDS[kind.name] is kind
    assert kind.name not in TIER_MARKS
    assert kind.meaning.endswith(".")
    assert 0 <= kind.importance <= 1
    assert kind.stability != "permanent" or kind.ttl_days is None
    assert not (kind.single and (kind.merge or kind.compress))


def test_only_what_a_source_compresses_is_compressed_and_only_one_of_these_counts() -> None:
    assert {name for name, kind in KINDS.items() if kind.compress} == SOURCES["R1"]
    assert KINDS.single() == {"soul", "agent", "user"}


@pytest.mark.parametrize(
    ("least", "most", "names"),
    [
        (0.0, 0.2, {"crumb", "action", "log"}),
        (0.3, 0.4, {"request", "data", "summary", "user_interaction"}),
        (0.5, 0.6, {"fact", "preference", "project", "result", "error"}),
        (0.7, 0.8, {"decision", "goal", "configuration", "insight", "rule", "soul"}),
        (0.9, 1.0, {"escalation"}),
    ],
)
def test_a_kind_is_worth_what_the_scoring_guide_says(
    least: float, most: float, names: set[str]
) -> None:
    assert all(least <= KINDS[name].importance <= most for name in names)


def test_what_speaks_of_lasting_things_is_promoted_by_its_kind_alone() -> None:
    threshold = AgentRules().promote_threshold
    promoted = {name for name, kind in KINDS.items() if kind.importance >= threshold}
    lasting = {"decision", "goal", "configuration", "insight", "escalation", "rule"}
    assert promoted == lasting | {"soul", "agent", "user"}


@pytest.mark.parametrize("name", [None, "", "recipe", "short", "Fact"])
def test_what_is_in_no_table_is_worth_a_normal_action_and_is_only_promoted(
    name: str | None,
) -> None:
    kind = KINDS.of(name)
    assert kind is UNKNOWN
    assert (kind.importance, kind.promote) == (0.3, True)
    assert (kind.compress, kind.merge, kind.single) == (False, False, False)


def test_another_table_is_a_new_one_and_the_built_in_stays() -> None:
    more = KINDS.with_kind(KINDS["fact"]._replace(importance=0.9))
    assert (more["fact"].importance, KINDS["fact"].importance) == (0.9, 0.5)
    assert list(more) == list(KINDS)
    assert more != KINDS
    assert more.with_kind(KINDS["fact"]) == KINDS


@pytest.mark.parametrize(
    ("fields", "importance", "source"),
    [
        ({"importance": 0.25, "kind": "fact"}, 0.25, "given"),
        ({"score": 7, "kind": "fact"}, 0.7, "given"),
        ({"kind": "recipe"}, 0.6, "none given; recipe in the scoring guide"),
        ({"kind": "other"}, 0.3, "none given; unknown kind in the scoring guide"),
        ({"type": "short"}, 0.3, "none given; no kind"),
        ({"metadata": {"type": "escalation"}, "ts": 1}, 0.9, "none given; escalation in"),
    ],
)
def test_a_memory_is_worth_what_its_writer_says_else_what_this_homes_kinds_say(
    fields: dict[str, object], importance: float, source: str
) -> None:
    kinds = KINDS.with_kind(Kind("recipe", "How to cook something.", 0.6))
    found = worth(Memory({"content": "c", **fields}), kinds)
    assert found.importance == importance
    assert found.source.startswith(source)
