"""What a search of LangGraph's store may ask of values and namespaces."""

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from skymem.adapters.refusal import UnfitCallError, quoted

ANY: Final = "*"

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = MappingProxyType(
    {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}
)


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter wants it: each name in it, each operator, each element.

    Numbers are ordered as numbers, texts as texts; what can't be compared is not in order.

    Raises:
        UsageError: there is no such operator.
    """
    if isinstance(wanted, Mapping):
        if any(isinstance(key, str) and key.startswith("$") for key in wanted):
            return all(_holds(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(
            fits(value.get(key), other) for key, other in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list) and len(value) == len(wanted) and all(map(fits, value, wanted))
        )
    return bool(value == wanted)


def matches(namespace: Sequence[str], how: str, path: Sequence[str]) -> bool:
    """Whether a namespace begins, or ends, as a path does; `*` is any label.

    Raises:
        UsageError: it is to be matched in another way.
    """
    if how not in ("prefix", "suffix"):
        raise UnfitCallError(f"match type {quoted(how)} is unknown; give prefix or suffix")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if how == "prefix" else namespace[len(namespace) - len(path) :]
    return all(want in (ANY, label) for label, want in zip(part, path, strict=True))


def _holds(value: Any, name: str, other: Any) -> bool:
    if name == "$eq":
        return bool(value == other)
    if name == "$ne":
        return bool(value != other)
    if name not in _ORDERS:
        raise UnfitCallError(
            f"operator {quoted(name)} is unknown; give $eq, $ne, {', '.join(_ORDERS)}"
        )
    return ordered(_ORDERS[name], value, other)


def ordered(compare: Callable[[Any, Any], bool], value: Any, other: Any) -> bool:
    """Whether two values stand in an order: two texts, or two numbers, spelled as text or not."""
    if isinstance(value, str) and isinstance(other, str) and not _is_number(value, other):
        return compare(value, other)
    try:
        return compare(_number(value), _number(other))
    except (TypeError, ValueError):
        return False


def _is_number(*texts: str) -> bool:
    try:
        return bool([float(text) for text in texts])
    except ValueError:
        return False


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) else float(value)
