"""What mem0's filters ask of a memory: scopes, metadata, operators, AND, OR and NOT."""

import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from skymem.adapters.conditions import ANY, ordered
from skymem.adapters.refusal import UnfitCallError, quoted

IDS: Final = ("user_id", "agent_id", "run_id")
"""Whom a memory concerns: each call names one of them at least."""

_NEEDED: Final = (
    "filters must contain at least one of: user_id, agent_id, run_id. "
    "Example: filters={'user_id': 'u1'}"
)


def scope_of(**ids: Any) -> dict[str, str]:
    """Check ids as mem0 does: those that are given, as text without spaces around.

    Raises:
        UsageError: one is empty or has a space in it.
    """
    found: dict[str, str] = {}
    for name, value in ids.items():
        if value is None:
            continue
        text = str(value).strip()
        if not text:
            raise UnfitCallError(f"Invalid {name}: cannot be empty or whitespace-only")
        if any(letter.isspace() for letter in text):
            raise UnfitCallError(f"Invalid {name}: cannot contain whitespace")
        found[name] = text
    return found


def named(**ids: Any) -> dict[str, str]:
    """Check the ids of a call that needs one.

    Raises:
        UsageError: none is given, or one can't be.
    """
    found = scope_of(**ids)
    if not found:
        raise UnfitCallError("At least one of 'user_id', 'agent_id', or 'run_id' must be provided.")
    return found


def scoped(filters: Mapping[str, Any] | None, others: Mapping[str, Any]) -> dict[str, Any]:
    """Check the filters of a call that has to say whose memories it is about.

    Raises:
        UsageError: they name nobody, or that is said beside them.
    """
    beside = [name for name in IDS if name in others]
    if beside:
        raise UnfitCallError(
            f"Top-level entity parameters {beside} are not supported. "
            "Use filters={'user_id': '...'} instead."
        )
    found = dict(filters or {})
    found |= scope_of(**{name: found[name] for name in IDS if name in found})
    if not any(name in found for name in IDS):
        raise UnfitCallError(_NEEDED)
    check(found)
    return found


def check(filters: Mapping[str, Any]) -> None:
    """Check that there are such operators.

    Raises:
        UsageError: there is none like it, or it can't be said so.
    """
    for key, wanted in filters.items():
        if key in _LOGICAL:
            if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
                raise UnfitCallError(f"{key} operator requires a list of conditions")
            if not wanted and key != "AND":
                raise UnfitCallError(f"{key} operator requires a non-empty list of conditions")
            for one in wanted:
                check(one)
        elif isinstance(wanted, dict) and (unknown := [one for one in wanted if one not in _TESTS]):
            raise UnfitCallError(f"Unsupported metadata filter operator: {quoted(unknown[0])}")


def fits(payload: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """Whether a memory, as mem0 would keep it, is as checked filters want it."""
    return all(_fits(payload, key, wanted) for key, wanted in filters.items())


def _fits(payload: Mapping[str, Any], key: str, wanted: Any) -> bool:
    if key in _LOGICAL:
        return _LOGICAL[key](fits(payload, one) for one in wanted)
    value = payload.get(key)
    if isinstance(wanted, dict):
        return all(_TESTS[name](value, other) for name, other in wanted.items())
    if isinstance(wanted, list):
        return _any_of(value, wanted)
    return wanted == ANY or _is(value, wanted)


def _is(value: Any, wanted: Any) -> bool:
    """Whether it is that, or a list that has that."""
    return bool(value == wanted) or (isinstance(value, list) and wanted in value)


def _any_of(value: Any, wanted: Any) -> bool:
    return any(_is(value, one) for one in wanted)


def _other(value: Any, wanted: Any) -> bool:
    """Whether it is something, and not that: what is not said is not another thing."""
    return value is not None and not _is(value, wanted)


def _none_of(value: Any, wanted: Any) -> bool:
    return value is not None and not _any_of(value, wanted)


def _holds(value: Any, wanted: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(one, str) and str(wanted) in one for one in parts)


def _holds_in_any_case(value: Any, wanted: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return any(isinstance(one, str) and str(wanted).casefold() in one.casefold() for one in parts)


def _order(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, wanted: ordered(compare, value, wanted)


_LOGICAL: Final[Mapping[str, Callable[[Any], bool]]] = MappingProxyType(
    {"AND": all, "OR": any, "NOT": lambda held: not any(held)}
)
_TESTS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {
        "eq": _is,
        "ne": _other,
        "in": _any_of,
        "nin": _none_of,
        "gt": _order(operator.gt),
        "gte": _order(operator.ge),
        "lt": _order(operator.lt),
        "lte": _order(operator.le),
        "contains": _holds,
        "icontains": _holds_in_any_case,
    }
)
