"""A condition is compared with a situation, never run; what is no condition says where and why."""

from typing import Any

import pytest

from skymem.model.preference import Declared
from skymem.policy.conditions import (
    condition_faults,
    count_tests,
    effect_faults,
    holds,
    in_words,
    situation_faults,
)

ANALYST = {"persona": "analyst"}
REPORT = {"persona": "analyst", "flow": {"in": ["report", "brief"]}}


@pytest.mark.parametrize(
    ("condition", "situation", "applies"),
    [
        pytest.param(None, {}, True, id="none always"),
        pytest.param(ANALYST, {"persona": "analyst"}, True, id="same"),
        pytest.param(ANALYST, {"persona": "Analyst"}, False, id="case counts"),
        pytest.param(ANALYST, {}, False, id="nothing said"),
        pytest.param(ANALYST, {"persona": ["buyer", "analyst"]}, True, id="one of a list"),
        pytest.param(ANALYST, {"persona": {"analyst": 1}}, False, id="an object is no text"),
        pytest.param(REPORT, {"persona": "analyst", "flow": "brief"}, True, id="both hold"),
        pytest.param(REPORT, {"persona": "analyst", "flow": "chat"}, False, id="one does not"),
        pytest.param({"n": 1}, {"n": 1.0}, True, id="1 is 1.0"),
        pytest.param({"n": 1}, {"n": True}, False, id="true is not 1"),
        pytest.param({"n": 0}, {"n": False}, False, id="false is not 0"),
        pytest.param({"ok": True}, {"ok": True}, True, id="true is true"),
        pytest.param({"n": {"equals": 2}}, {"n": 2}, True, id="equals"),
        pytest.param({"n": {"at_least": 3}}, {"n": 3}, True, id="at least"),
        pytest.param({"n": {"at_least": 3}}, {"n": 2.9}, False, id="less"),
        pytest.param({"n": {"at_most": 3}}, {"n": 3}, True, id="at most"),
        pytest.param({"n": {"at_least": 3, "at_most": 5}}, {"n": 6}, False, id="between"),
        pytest.param({"n": {"at_least": 0}}, {"n": True}, False, id="true is no number"),
        pytest.param({"n": {"at_least": 0}}, {"n": "7"}, False, id="text is no number"),
        pytest.param({"n": {"at_least": 0}}, {"n": float("nan")}, False, id="nan is no number"),
        pytest.param({"flow": {"not": "chat"}}, {"flow": "report"}, True, id="not"),
        pytest.param({"flow": {"not": "chat"}}, {}, True, id="not what is not said"),
        pytest.param({"flow": {"not": {"in": ["a", "b"]}}}, {"flow": "b"}, False, id="not in"),
        pytest.param({"not": ANALYST}, {"persona": "buyer"}, True, id="not a condition"),
        pytest.param({"any": [ANALYST, {"vip": True}]}, {"vip": True}, True, id="any"),
        pytest.param({"any": [ANALYST, {"vip": True}]}, {"vip": False}, False, id="none of any"),
        pytest.param({"all": [ANALYST, {"vip": True}]}, {"vip": True}, False, id="all"),
        pytest.param({"user.role": "cfo"}, {"user": {"role": "cfo"}}, True, id="inside"),
        pytest.param({"user.role": "cfo"}, {"user.role": "cfo"}, True, id="a name with a dot"),
        pytest.param({"user.role": "cfo"}, {"user": "cfo"}, False, id="nothing inside"),
    ],
)
def test_a_condition_applies_or_does_not(
    condition: Any, situation: dict[str, Any], applies: bool
) -> None:
    assert condition is None or condition_faults(condition) == []
    assert holds(condition, situation) is applies


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        inner = {"not": inner}
    return inner


@pytest.mark.parametrize(
    ("condition", "fault"),
    [
        pytest.param({}, "condition: not an object of names", id="empty"),
        pytest.param([], "condition: not an object of names", id="a list"),
        pytest.param("persona == 'x'", "condition: not an object of names", id="code"),
        pytest.param(None, "condition: not an object of names", id="nothing"),
        pytest.param({1: "x"}, "condition: 1 is no name", id="a number for a name"),
        pytest.param({"a\nb": "x"}, '"a\\nb" is no name', id="a control character"),
        pytest.param({"a" * 200: "x"}, "a name of more than 128", id="a long name"),
        pytest.param({"a": None}, "condition.a: null is no text", id="null"),
        pytest.param({"a": ["x"]}, 'condition.a: a list needs its test, such as {"in"', id="list"),
        pytest.param({"a": {}}, "condition.a: no test", id="no test"),
        pytest.param({"a": {"at_leest": 3}}, '"at_leest" (did you mean "at_least"?)', id="typo"),
        pytest.param({"a": {"$where": "1"}}, 'condition.a: unknown test "$where"', id="foreign"),
        pytest.param({"a": {"in": []}}, "condition.a.in: [] is no list of values", id="in nothing"),
        pytest.param({"a": {"in": "xyz"}}, "condition.a.in:", id="in a text"),
        pytest.param({"a": {"in": [{}]}}, "condition.a.in:", id="in objects"),
        pytest.param({"a": {"at_least": "3"}}, 'condition.a.at_least: "3" is no number', id="text"),
        pytest.param({"a": {"at_most": True}}, "condition.a.at_most:", id="true"),
        pytest.param({"a": {"at_most": float("nan")}}, "condition.a.at_most:", id="nan"),
        pytest.param({"a": 10**30}, "condition.a:", id="a number beyond floats"),
        pytest.param({"a": "x" * 501}, "condition.a:", id="a long text"),
        pytest.param({"a": b"x"}, "condition.a: bytes (no JSON)", id="bytes"),
        pytest.param({"a": lambda: True}, "condition.a: function (no JSON)", id="a function"),
        pytest.param({"any": ANALYST}, "condition.any: not a list of conditions", id="any of one"),
        pytest.param({"any": []}, "condition.any: not a list of conditions", id="any of none"),
        pytest.param({"any": [{"a": {"x": 1}}]}, "condition.any[0].a: unknown test", id="inside"),
        pytest.param({"not": "x"}, "condition.not: not an object", id="not a text"),
        pytest.param(nested(9), "nested more than 8 deep", id="deep"),
        pytest.param(nested(5000), "nested more than 8 deep", id="very deep"),
        pytest.param({f"f{n}": 1 for n in range(101)}, "more than 100 tests", id="wide"),
        pytest.param({"all": [{f"f{n}": 1} for n in range(101)]}, "more than 100", id="many"),
        pytest.param(
            {"all": [{f"f{n}": 1 for n in range(60)}] * 2}, "more than 100 tests", id="together"
        ),
    ],
)
def test_what_is_no_condition_says_where_and_why(condition: Any, fault: str) -> None:
    assert fault in "\n".join(condition_faults(condition))


def test_every_fault_of_a_condition_is_told_at_once() -> None:
    faults = condition_faults({"a": None, "b": {"in": 3}, "any": [{"c": {"lt": 3}}]})

    assert [fault.partition(": ")[0] for fault in faults] == [
        "condition.a",
        "condition.b.in",
        "condition.any[0].c",
    ]


@pytest.mark.parametrize(
    ("effect", "fault"),
    [
        pytest.param({}, "effect: not an object", id="empty"),
        pytest.param(["x"], "effect: not an object", id="a list"),
        pytest.param({"depth": {"a": 1}}, "effect.depth:", id="an object inside"),
        pytest.param({"depth": None}, "effect.depth: null", id="null"),
        pytest.param({"verbosity": "ters"}, 'did you mean "terse"?', id="not a declared value"),
        pytest.param({2: "x"}, "2 is no name", id="a number for a name"),
    ],
)
def test_what_is_no_effect_says_where_and_why(effect: Any, fault: str) -> None:
    declared = {"verbosity": Declared("verbosity", "word", ("terse", "full"))}

    assert fault in "\n".join(effect_faults(effect, declared))


def test_an_effect_may_name_what_nothing_declares() -> None:
    declared = {"verbosity": Declared("verbosity", "word", ("terse", "full"))}

    assert effect_faults({"verbosity": "full", "slots": ["a", 2, True]}, declared) == []


def test_a_situation_is_an_object_of_names() -> None:
    assert situation_faults({"a": object()}) == []
    assert situation_faults([]) == ["situation: not an object of names with their values"]
    assert situation_faults({3: 1}) == ["situation: 3 is no name"]


def test_a_condition_is_said_in_words_and_counts_its_tests() -> None:
    condition = {
        "persona": "analyst",
        "flow": {"in": ["report", "brief"]},
        "pages": {"at_least": 3, "not": 7},
        "any": [{"vip": True}, {"not": {"region": "eu"}}],
    }

    assert in_words(condition) == (
        "persona is analyst and flow is report or brief and pages is at least 3 and "
        "pages is not 7 and (vip is true or not (region is eu))"
    )
    assert count_tests(condition) == 6
