"""A conversation as it comes in: JSON lines, a JSON array, or objects of a program (row W11).

All that is wrong with it is told at once, each with file, line and field; then none of it counts.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from skymem.errors import InvalidMemoryError
from skymem.model.conversation import SNIPPET, Turn
from skymem.model.strict_json import BOM, LineDamage, parse_object

COMPLAINTS_MAX: Final = 20
"""Told of one input; who gave the wrong file needs no more to see it."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()


def turns_of(given: Iterable[Any]) -> list[Turn]:
    """Take turns as a program has them: `Turn`, or mappings as chat APIs spell them.

    Raises:
        InvalidMemoryError: names every one that is none, and its field.
    """
    return _read((f"turn {number}", one) for number, one in enumerate(given, start=1))


def turns_in(data: bytes, file: str) -> list[Turn]:
    """Read turns, one JSON object on a line, or all in one array.

    Args:
        data: the bytes of the file.
        file: its name, for complaints.

    Raises:
        InvalidMemoryError: names every place that holds no turn, as file:line.
    """
    plain = data.removeprefix(BOM)
    if plain.lstrip()[:1] == b"[":
        return _read(_elements(plain, file))
    return _read(
        (f"{file}:{number}", raw)
        for number, raw in enumerate(plain.split(b"\n"), start=1)
        if raw.strip()
    )


def snippets_of(given: Any) -> list[Turn]:
    """Take what was written down on the way: texts, or what a scratchpad's `read()` gives.

    Raises:
        InvalidMemoryError: one is neither.
    """
    read = getattr(given, "read", None)
    found = read() if callable(read) else given
    return [_snippet(one, number) for number, one in enumerate(found or (), start=1)]


def _snippet(value: Any, number: int) -> Turn:
    if isinstance(value, str):
        return Turn.of(SNIPPET, value)
    text = getattr(value, "text", None)
    name = getattr(value, "id", None)
    if not isinstance(text, str) or not isinstance(name, str):
        raise InvalidMemoryError(f"snippet {number}: neither text nor a snippet of a scratchpad")
    turn = Turn.of(SNIPPET, text, name, memory=True)
    return replace(turn, origin=getattr(value, "origin", None), trust=getattr(value, "trust", None))


def _read(given: Iterable[tuple[str, Any]]) -> list[Turn]:
    found: list[Turn] = []
    complaints: list[str] = []
    for place, value in given:
        try:
            found.append(_turn(value))
        except (InvalidMemoryError, LineDamage) as error:
            complaints.append(f"{place}: {error}")
    if complaints:
        raise InvalidMemoryError("\n".join(_some(complaints)))
    return found


def _turn(value: Any) -> Turn:
    if isinstance(value, Turn):
        return value
    return Turn.from_json(parse_object(value.strip()) if isinstance(value, bytes) else value)


def _some(complaints: Sequence[str]) -> Iterator[str]:
    yield from complaints[:COMPLAINTS_MAX]
    if len(complaints) > COMPLAINTS_MAX:
        yield f"and {len(complaints) - COMPLAINTS_MAX} more"


def _elements(data: bytes, file: str) -> Iterator[tuple[str, Any]]:
    """Give each element of an array, and where it begins.

    Raises:
        InvalidMemoryError: it is no whole array.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidMemoryError(f"{file}:{line}: not UTF-8") from None
    position, line, seen = _after_space(text, text.index("[") + 1), 1, 0
    while text[position : position + 1] != "]":
        line += text.count("\n", seen, position)
        seen = position
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            at = getattr(error, "lineno", line)
            raise InvalidMemoryError(f"{file}:{at}: no JSON; is the array whole?") from None
        yield f"{file}:{line}", value
        position = _next_element(text, end, file)
    if text[position + 1 :].strip():
        line = text.count("\n", 0, position + 1) + 1
        raise InvalidMemoryError(f"{file}:{line}: something stands behind the array")


def _next_element(text: str, end: int, file: str) -> int:
    position = _after_space(text, end)
    sign = text[position : position + 1]
    if sign == ",":
        following = _after_space(text, position + 1)
        if text[following : following + 1] != "]":
            return following
    elif sign == "]":
        return position
    line = text.count("\n", 0, position) + 1
    raise InvalidMemoryError(f"{file}:{line}: no JSON; is the array whole?")


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return position if match is None else match.end()
