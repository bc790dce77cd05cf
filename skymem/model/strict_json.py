"""One JSON object from one line: what the standard allows, nothing more, and no field lost.

orjson reads nearly every line. It does not tell of duplicate keys and rounds integers beyond 64
bits, so a line where either could be is read again by the standard parser with every check on. Both
ways agree on every input; a property test holds them to it (hazards A4, A9, A10, A13).
"""

import json
import math
import re
from json import JSONDecodeError
from typing import Any, Final, NoReturn

import orjson

# Matches once for each key, and more often only where a string holds the like: a count above the
# keys' own sends the line the slow way.
_PAIR: Final = re.compile(rb'"[ \t\r\n]*:')

# A run of 19 digits could be an integer that orjson rounds.
_DIGITS_TO_ZERO: Final = bytes.maketrans(b"123456789", b"000000000")
_BIG_NUMBER: Final = b"0" * 19

BOM: Final = b"\xef\xbb\xbf"

DEPTH_MAX: Final = 128
"""Objects and lists inside each other: far below where either parser or the stack gives up."""


class LineDamage(ValueError):  # noqa: N818  (damage is what the program and its users call it)
    """Why a line is not one memory; the text names no content, only field, place and form."""


def parse_object(raw: bytes) -> dict[str, Any]:
    """Read one line as one JSON object.

    Raises:
        LineDamage: not UTF-8, not JSON, not an object, a key twice, nested beyond `DEPTH_MAX`,
            NaN or a number without end.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _parse_slowly(raw)
    if type(value) is not dict:
        raise LineDamage(f"not an object but {_json_type(value)}")
    if len(_PAIR.findall(raw)) != _count_keys(value):
        return _parse_slowly(raw)
    if _BIG_NUMBER in raw.translate(_DIGITS_TO_ZERO):
        return _parse_slowly(raw)
    return value


def canonical(value: Any) -> bytes:
    """Spell a value in one way only: sorted keys, no spaces; for hashing."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # a lone surrogate, an integer beyond 64 bits, or very deep nesting
        try:
            return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        except RecursionError:
            raise LineDamage("nested too deep") from None


def split_glued(raw: bytes) -> list[tuple[int, int]]:
    """Find the objects of a line that holds several and nothing else: start and end of each.

    A writer that forgot its newline, and the next one after it, leave such a line (hazard A4).
    Empty when the line is anything else.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return []
    decoder = json.JSONDecoder()
    spans: list[tuple[int, int]] = []
    position = offset = _skip_space(text, 0)
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        following = _skip_space(text, end)
        length = len(text[position:end].encode())
        spans.append((offset, offset + length))
        offset += length + following - end  # the spaces between are a byte each
        position = following
    return spans if len(spans) > 1 else []


def members(text: str) -> list[tuple[str, int, int, int]]:
    """Find the top-level members of one object: key, start of key, start and end of value."""
    decoder = json.JSONDecoder()
    found: list[tuple[str, int, int, int]] = []
    position = _skip_space(text, text.index("{") + 1)
    while text[position] != "}":
        key, key_end = decoder.raw_decode(text, position)
        value_start = _skip_space(text, _skip_space(text, key_end) + 1)
        _, value_end = decoder.raw_decode(text, value_start)
        found.append((key, position, value_start, value_end))
        position = _skip_space(text, value_end)
        if text[position] == ",":
            position = _skip_space(text, position + 1)
    return found


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _count_keys(value: dict[str, Any], depth: int = 1) -> int:
    """Count the keys of an object and of every object inside it, as deep as is allowed."""
    count = len(value)
    for item in value.values():
        kind = type(item)
        if kind is dict:
            count += _count_keys(item, _deeper(depth))
        elif kind is list:
            count += _count_keys_in(item, _deeper(depth))
    return count


def _count_keys_in(items: list[Any], depth: int) -> int:
    count = 0
    for item in items:
        if type(item) is dict:
            count += _count_keys(item, _deeper(depth))
        elif type(item) is list:
            count += _count_keys_in(item, _deeper(depth))
    return count


def _deeper(depth: int) -> int:
    if depth >= DEPTH_MAX:
        raise LineDamage("nested too deep")
    return depth + 1


def _parse_slowly(raw: bytes) -> dict[str, Any]:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise LineDamage(f"not UTF-8 at byte {error.start}") from None
    if text.startswith("\ufeff"):
        raise LineDamage("a byte order mark inside the file")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_refuse_duplicates,
            parse_constant=_refuse_constant,
            parse_float=_refuse_infinite,
        )
    except JSONDecodeError as error:
        raise LineDamage(
            f"not JSON: {error.msg.removesuffix(' at')} at character {error.pos}"
        ) from None
    except RecursionError:
        raise LineDamage("nested too deep") from None
    except LineDamage:
        raise
    except ValueError:  # an integer of thousands of digits
        raise LineDamage("a number too long to read") from None
    if not isinstance(value, dict):
        raise LineDamage(f"not an object but {_json_type(value)}")
    _count_keys(value)  # as deep as the fast way allows, and no deeper
    return value


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise LineDamage("a key stands twice in one object")
    return found


def _refuse_constant(_name: str) -> NoReturn:
    raise LineDamage("NaN and Infinity are not JSON")


def _refuse_infinite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise LineDamage("a number too large to hold")
    return number


def _json_type(value: Any) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
