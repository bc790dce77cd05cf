"""How the gates of a promotion go together, in one table; and what holds of all of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.kinds import KINDS
from skymem.model.memory import Memory
from skymem.model.promotion import DecayRules, PromotionRules, RecalledRules
from skymem.model.rules import AgentRules
from skymem.policy.due import DAY_US
from skymem.policy.earning import Known, Recalled, earned, opens_us, threshold_at
from skymem.policy.importance import Worth

START = 1_700_000_000
NOW_US = START * 1_000_000

OFTEN = Known(recalled=Recalled(3, 2))
ALWAYS, NEVER = ["critical"], ["draft"]
RULES = AgentRules(
    0.70,
    promotion=PromotionRules(
        DecayRules(0.01, 0.5),
        always_tags=("critical",),
        never_tags=("draft",),
        always_kinds=("goal",),
        never_kinds=("log",),
    ),
)


def memory(days: float | None = 0.0, **fields: Any) -> Memory:
    """A memory so many days old; None is without a time."""
    ts = {} if days is None else {"ts": START - days * 86_400}
    return Memory({"content": "x", **ts, **fields})


# importance, age in days, tags, kind, recalled often → the gate, and whether it promotes
TABLE = [
    # the score alone
    (0.70, 0, [], None, False, "importance", True),
    (0.69, 0, [], None, False, "importance", False),
    (None, 0, [], "decision", False, "importance", True),
    (None, 0, [], None, False, "importance", False),
    # the score and its age
    (0.62, 7, [], None, False, "importance", False),
    (0.62, 8.01, [], None, False, "importance", True),
    (0.50, 20, [], None, False, "importance", True),
    (0.49, 9999, [], None, False, "importance", False),
    (0.62, None, [], None, False, "importance", False),
    (0.62, -9999, [], None, False, "importance", False),
    # recalled often, before its score does
    (0.10, 0, [], None, True, "recalled", True),
    (0.62, 9, [], None, True, "importance", True),
    (0.90, 0, [], None, True, "importance", True),
    # always goes before the score
    (0.10, 0, ALWAYS, None, False, "always_tag", True),
    (0.90, 0, ALWAYS, None, False, "always_tag", True),
    (0.10, 0, ALWAYS, None, True, "always_tag", True),
    (0.10, 0, [], "goal", False, "always_kind", True),
    (0.10, 0, ALWAYS, "goal", False, "always_tag", True),
    (0.10, 0, ["Critical"], None, False, "always_tag", True),
    (0.10, 0, ["critical-path"], None, False, "importance", False),
    (0.10, 0, [], "GOAL", False, "always_kind", True),
    # never goes before all
    (0.99, 0, NEVER, None, False, "never_tag", False),
    (0.99, 99, NEVER, None, True, "never_tag", False),
    (0.99, 0, [*ALWAYS, *NEVER], None, True, "never_tag", False),
    (0.99, 0, ALWAYS, "log", True, "never_kind", False),
    (0.99, 0, NEVER, "goal", False, "never_tag", False),
    (0.99, 0, NEVER, "log", False, "never_tag", False),
    (0.99, 0, [], "log", False, "never_kind", False),
    (0.99, 0, ["DRAFT"], None, False, "never_tag", False),
]


@pytest.mark.parametrize(("worth", "days", "tags", "kind", "often", "gate", "promotes"), TABLE)
def test_the_gates_go_together_as_the_table_says(  # noqa: PLR0917  (a row of it)
    worth: float | None,
    days: float | None,
    tags: list[str],
    kind: str | None,
    often: bool,
    gate: str,
    promotes: bool,
) -> None:
    given: dict[str, Any] = {} if worth is None else {"importance": worth}
    given |= {} if kind is None else {"kind": kind}
    known = OFTEN if often else Known()
    verdict = earned(memory(days, tags=tags, **given), RULES, KINDS, known, now_us=NOW_US)
    assert (verdict.reason is not None) is promotes
    assert (verdict.reason.gate if verdict.reason else verdict.kept) == gate


def test_a_threshold_that_fell_says_by_what() -> None:
    verdict = earned(memory(12, importance=0.62), RULES, now_us=NOW_US)
    assert verdict.reason is not None
    told = "importance 0.62 against 0.58 (given; 0.7 less 12.0 days of decay)"
    assert verdict.reason.words() == told


@pytest.mark.parametrize(
    ("times", "queries", "promotes"), [(3, 2, True), (9, 1, False), (2, 2, False), (3, 3, True)]
)
def test_it_takes_both_recalls_and_questions(times: int, queries: int, promotes: bool) -> None:
    known = Known(recalled=Recalled(times, queries))
    verdict = earned(memory(importance=0.1), AgentRules(), KINDS, known)
    assert (verdict.reason is not None) is promotes


def test_recall_may_be_told_to_teach_nothing() -> None:
    rules = AgentRules(promotion=PromotionRules(recalled=RecalledRules(times=0)))
    assert earned(memory(importance=0.1), rules, KINDS, OFTEN).kept == "importance"


def test_what_a_model_predicts_counts_where_none_was_given() -> None:
    known = Known(predicted=Worth(0.8, "predicted"))
    verdict = earned(memory(), AgentRules(), KINDS, known)
    assert verdict.reason is not None
    assert (verdict.reason.value, verdict.reason.note) == (0.8, "predicted")
    assert earned(memory(importance=0.1), AgentRules(), KINDS, known).kept == "importance"


def test_with_no_key_set_the_score_alone_decides() -> None:
    plain = AgentRules()
    for score in range(101):
        old = memory(9999, importance=score / 100, tags=["critical", "draft"], kind="log")
        verdict = earned(old, plain, now_us=NOW_US)
        assert (verdict.reason is not None) is (score >= 70)


shares = st.floats(0, 1)
decays = st.builds(DecayRules, st.floats(0, 1), shares)
ages = st.floats(-100, 10_000)


@given(decays, shares, ages)
def test_decay_never_falls_below_its_floor_nor_rises_above_the_threshold(
    decay: DecayRules, threshold: float, days: float
) -> None:
    rules = AgentRules(threshold, promotion=PromotionRules(decay))
    found = threshold_at(rules, memory(days), NOW_US)
    assert min(decay.floor, threshold) <= found <= threshold


@given(decays, shares, shares, ages, shares)
def test_a_lower_threshold_never_promotes_less(
    decay: DecayRules, one: float, other: float, days: float, worth: float
) -> None:
    low, high = (
        earned(
            memory(days, importance=worth),
            AgentRules(threshold, promotion=PromotionRules(decay)),
            now_us=NOW_US,
        ).reason
        for threshold in (min(one, other), max(one, other))
    )
    assert high is None or low is not None


@given(decays, shares, shares, st.floats(0, 10_000), st.floats(0, 10_000))
def test_what_is_promoted_young_would_be_when_older(
    decay: DecayRules, threshold: float, worth: float, one: float, other: float
) -> None:
    rules = AgentRules(threshold, promotion=PromotionRules(decay))
    young, old = (
        earned(memory(days, importance=worth), rules, now_us=NOW_US).reason
        for days in (min(one, other), max(one, other))
    )
    assert young is None or old is not None


@given(st.lists(st.sampled_from(["draft", "Draft", "critical", "x"])), shares, shares, ages)
def test_what_is_never_to_be_promoted_never_is(
    tags: list[str], worth: float, threshold: float, days: float
) -> None:
    rules = AgentRules(threshold, promotion=RULES.promotion)
    about = memory(days, importance=worth, tags=[*tags, "draft"])
    assert earned(about, rules, KINDS, OFTEN, now_us=NOW_US).kept == "never_tag"


@given(st.floats(1e-6, 1), shares, shares, shares)
def test_it_opens_at_the_very_moment_that_is_told(
    per_day: float, floor: float, threshold: float, worth: float
) -> None:
    rules = AgentRules(threshold, promotion=PromotionRules(DecayRules(per_day, floor)))
    about = memory(importance=worth)
    opens = opens_us(rules, about, worth)
    if opens is None:
        far = NOW_US + 10**7 * DAY_US
        assert earned(about, rules, now_us=far).reason is None
        return
    assert earned(about, rules, now_us=opens).reason is not None
    near_us = round(DAY_US * 1e-9 / per_day) + 2
    early = earned(about, rules, now_us=opens - near_us).reason
    assert early is None or worth >= threshold
