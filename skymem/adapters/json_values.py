"""Values as JSON has them: what comes back is what was put, or nothing was put."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from skymem.errors import InvalidMemoryError
from skymem.model.strict_json import DEPTH_MAX


def plain(value: Any, where: str = "value", depth: int = 0) -> Any:
    """Copy a value as JSON gives it back: of a tuple a list, of a mapping an object.

    Raises:
        InvalidMemoryError: JSON has no such thing, or it is nested too deep; names the place.
    """
    if depth > DEPTH_MAX:
        raise InvalidMemoryError("value: nested too deep")
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        strange = next((key for key in value if type(key) is not str), None)
        if strange is not None:
            raise InvalidMemoryError(f"{where}: key {strange!r:.40} is no text")
        return {key: plain(one, f"{where}.{key:.40}", depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, f"{where}[{n}]", depth + 1) for n, one in enumerate(value)]
    raise InvalidMemoryError(f"{where}: JSON has no {type(value).__name__}")


def readable(value: Mapping[str, Any]) -> str:
    """Say a value in words, one line for each name in it; of a lone text just that."""
    if len(value) == 1:
        (only,) = value.values()
        if isinstance(only, str):
            return only
    return "\n".join(f"{name}: {text}" for name, text in _named(value, "") if text.strip())


def _named(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _named(one, f"{name} {key}".strip())
    elif isinstance(value, list):
        nested = any(isinstance(one, Mapping | list) for one in value)
        if nested:
            for one in value:
                yield from _named(one, name)
        else:
            yield name, ", ".join(map(_spelled, value))
    elif value is not None:
        yield name, _spelled(value)


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
