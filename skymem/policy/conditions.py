"""When does a rule apply? Its condition is data that is compared with a situation (row W5).

    {"persona": "analyst", "flow": {"in": ["report", "brief"]}, "pages": {"at_least": 3}}

Every test of a condition has to hold. A test is a value that must be the same, or an object of
`equals`, `in`, `not`, `at_least` and `at_most`. `any`, `all` and `not` join conditions. Nothing in
it is ever run: what is none of these is refused, with the place it stands at.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from skymem.model.preference import Declared, meant, shown, spoken

DEPTH_MAX: Final = 8
TESTS_MAX: Final = 100
"""Tests of one condition: nobody reads more, and all are made at every turn."""

NAME_CHARACTERS_MAX: Final = 128
TEXT_CHARACTERS_MAX: Final = 500
NUMBER_MAX: Final = 2.0**53
"""Beyond it a whole number and its float are no longer the same."""

TESTS: Final = ("equals", "in", "not", "at_least", "at_most")

_MISSING: Final = object()


def condition_faults(condition: Any) -> list[str]:
    """Say what is wrong with a condition, each with its place; nothing when it can be used."""
    faults = [*_condition(condition, "condition", 1)]
    if not faults and count_tests(condition) > TESTS_MAX:
        faults.append(f"condition: more than {TESTS_MAX} tests")
    return faults


def effect_faults(effect: Any, declared: Mapping[str, Declared]) -> list[str]:
    """Say what is wrong with an effect: names with plain values, a declared one with its own."""
    if not isinstance(effect, Mapping) or not effect:
        return ["effect: not an object of names with their values"]
    if len(effect) > TESTS_MAX:
        return [f"effect: more than {TESTS_MAX} names"]
    faults = []
    for name, value in effect.items():
        fault = _name_fault(name)
        if not fault and name in declared:
            fault = declared[name].fault(value)
        if not fault and not _is_plain(value) and not _is_list(value):
            fault = f"{shown(value)} is no text, number, true or false, nor a list of these"
        if fault:
            faults.append(f"effect.{name}: {fault}" if isinstance(name, str) else fault)
    return faults


def situation_faults(situation: Any) -> list[str]:
    """Say what is wrong with a situation; its values may be any."""
    if not isinstance(situation, Mapping):
        return ["situation: not an object of names with their values"]
    return [f"situation: {shown(name)} is no name" for name in situation if type(name) is not str]


def holds(condition: Mapping[str, Any] | None, situation: Mapping[str, Any]) -> bool:
    """Whether a condition without faults applies; None always does.

    What the situation does not say is no value: it only passes a `not`. A list in the situation
    stands for several values, of which one has to fit.
    """
    if condition is None:
        return True
    return all(_holds(name, test, situation) for name, test in condition.items())


def count_tests(condition: Mapping[str, Any] | None) -> int:
    """How many tests a condition makes: the more, the closer it fits what it applies to."""
    count = 0
    for name, test in (condition or {}).items():
        if name in ("any", "all"):
            count += sum(count_tests(each) for each in test)
        elif name == "not":
            count += count_tests(test)
        else:
            count += len(test) if isinstance(test, Mapping) else 1
    return count


def in_words(condition: Mapping[str, Any]) -> str:
    """A condition as a sentence has it: "persona is analyst and pages is at least 3"."""
    return " and ".join(_said(name, test) for name, test in condition.items())


def _condition(condition: Any, place: str, depth: int) -> Iterator[str]:
    if depth > DEPTH_MAX:
        yield f"{place}: nested more than {DEPTH_MAX} deep"
    elif not isinstance(condition, Mapping) or not condition:
        yield f"{place}: not an object of names with their tests"
    elif len(condition) > TESTS_MAX:
        yield f"{place}: more than {TESTS_MAX} tests"
    else:
        for name, test in condition.items():
            yield from _named(name, test, place, depth)


def _named(name: Any, test: Any, place: str, depth: int) -> Iterator[str]:
    fault = _name_fault(name)
    if fault:
        yield f"{place}: {fault}"
    elif name == "not":
        yield from _condition(test, f"{place}.not", depth + 1)
    elif name in ("any", "all"):
        yield from _joined(test, f"{place}.{name}", depth)
    else:
        yield from _test(test, f"{place}.{name}", depth)


def _joined(conditions: Any, place: str, depth: int) -> Iterator[str]:
    if not isinstance(conditions, list) or not conditions:
        yield f"{place}: not a list of conditions"
        return
    if len(conditions) > TESTS_MAX:
        yield f"{place}: more than {TESTS_MAX} conditions"
        return
    for at, each in enumerate(conditions):
        yield from _condition(each, f"{place}[{at}]", depth + 1)


def _test(test: Any, place: str, depth: int) -> Iterator[str]:
    if not isinstance(test, Mapping):
        yield from _plain_test(test, place)
        return
    if not test:
        yield f"{place}: no test; there are {', '.join(TESTS)}"
    for name, wanted in test.items():
        if name not in TESTS:
            yield f"{place}: unknown test {shown(name)}{meant(name, TESTS) or _known()}"
        elif name == "not":
            yield from _negated(wanted, f"{place}.not", depth + 1)
        elif fault := _FORMS[name](wanted):
            yield f"{place}.{name}: {shown(wanted)} is {fault}"


def _plain_test(test: Any, place: str) -> Iterator[str]:
    if isinstance(test, list):
        yield f'{place}: a list needs its test, such as {{"in": {shown(test)}}}'
    elif not _is_plain(test):
        yield f"{place}: {shown(test)} is no text, number, true or false"


def _negated(test: Any, place: str, depth: int) -> Iterator[str]:
    if depth > DEPTH_MAX:
        yield f"{place}: nested more than {DEPTH_MAX} deep"
    else:
        yield from _test(test, place, depth)


def _known() -> str:
    return f" (there are {', '.join(TESTS)})"


def _name_fault(name: Any) -> str:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        return f"{shown(name)} is no name"
    return f"a name of more than {NAME_CHARACTERS_MAX} characters" * (
        len(name) > NAME_CHARACTERS_MAX
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= TEXT_CHARACTERS_MAX
    if type(value) is float:
        return math.isfinite(value)
    return isinstance(value, bool) or (type(value) is int and abs(value) <= NUMBER_MAX)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= TESTS_MAX and all(map(_is_plain, value))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and _is_plain(value)


def _form(fits: Callable[[Any], bool], fault: str) -> Callable[[Any], str]:
    return lambda value: "" if fits(value) else fault


_FORMS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "equals": _form(_is_plain, "no text, number, true or false"),
        "in": _form(lambda value: _is_list(value) and bool(value), "no list of values"),
        "at_least": _form(_is_number, "no number"),
        "at_most": _form(_is_number, "no number"),
    }
)


def _holds(name: str, test: Any, situation: Mapping[str, Any]) -> bool:
    if name == "any":
        return any(holds(each, situation) for each in test)
    if name == "all":
        return all(holds(each, situation) for each in test)
    if name == "not":
        return not holds(test, situation)
    return _passes(test, _values(situation, name))


def _passes(test: Any, values: Sequence[Any]) -> bool:
    if not isinstance(test, Mapping):
        return any(_same(value, test) for value in values)
    return all(_PASSES[name](wanted, values) for name, wanted in test.items())


_PASSES: Final[Mapping[str, Callable[[Any, Sequence[Any]], bool]]] = MappingProxyType(
    {
        "equals": lambda wanted, values: any(_same(one, wanted) for one in values),
        "in": lambda wanted, values: any(_same(one, each) for one in values for each in wanted),
        "not": lambda wanted, values: not _passes(wanted, values),
        "at_least": lambda wanted, values: any(one >= wanted for one in _numbers(values)),
        "at_most": lambda wanted, values: any(one <= wanted for one in _numbers(values)),
    }
)


def _numbers(values: Iterable[Any]) -> Iterator[float]:
    return (one for one in values if type(one) in (int, float))


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same; true is not 1, and 1 is 1.0."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _values(situation: Mapping[str, Any], name: str) -> Sequence[Any]:
    """What a situation says under a name, or by dots inside it; nothing, one, or a list's."""
    found: Any = situation.get(name, _MISSING)
    if found is _MISSING and "." in name:
        found = situation
        for part in name.split("."):
            found = found.get(part, _MISSING) if isinstance(found, Mapping) else _MISSING
    if found is _MISSING:
        return ()
    return found if isinstance(found, list | tuple) else (found,)


def _said(name: str, test: Any) -> str:
    if name == "any":
        return f"({' or '.join(in_words(each) for each in test)})"
    if name == "all":
        return " and ".join(in_words(each) for each in test)
    if name == "not":
        return f"not ({in_words(test)})"
    subject = name.replace("_", " ")
    if not isinstance(test, Mapping):
        return f"{subject} is {spoken(test)}"
    return " and ".join(_test_said(subject, each, wanted) for each, wanted in test.items())


def _test_said(subject: str, test: str, wanted: Any) -> str:
    if test == "not":
        inner = _said(subject, wanted)
        plain = not isinstance(wanted, Mapping)
        return f"{subject} is not {spoken(wanted)}" if plain else f"not ({inner})"
    if test == "in":
        return f"{subject} is {' or '.join(map(spoken, wanted))}"
    words = {"equals": "is", "at_least": "is at least", "at_most": "is at most"}
    return f"{subject} {words[test]} {spoken(wanted)}"
