"""One JSON line ↔ `Memory`: read in every spelling, written back as it came.

A line that moves is edited in place: the bytes of every field we do not set stay, with their order,
their spaces and the spelling of their numbers (rows P5, M2).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from skymem.model.memory import TIER_MARKS, UNUSABLE_ID, Memory
from skymem.model.strict_json import BOM, members, parse_object


def read_line(raw: bytes) -> Memory:
    """Read one line, with or without its newline, carriage return or surrounding spaces.

    Raises:
        LineDamage: it is not one memory; the message says why.
    """
    return Memory(parse_object(raw))


def moved(raw: bytes, memory: Memory, memory_id: str) -> bytes:
    """Spell the line as it stands in another tier: the same, with its id last.

    A foreign id that is taken by another memory gives way to `memory_id` and stays as `source_id`.
    """
    return _with_id(_body(raw), memory, memory_id).encode("utf-8") + b"\n"


def promoted(raw: bytes, memory: Memory, memory_id: str, promoted_at: int) -> bytes:
    """Spell the line as it stands in long-term: its tier mark set, its id last.

    Args:
        raw: the line as it stands in short-term.
        memory: the same, read.
        memory_id: its id.
        promoted_at: epoch seconds; written in the `ts` spelling only (row P5).
    """
    text = _body(raw)
    if memory.spelling == "timestamp":
        text = _set(text, "committed", "true")
    else:
        mark = memory.fields.get("type", "short")
        if isinstance(mark, str) and mark in TIER_MARKS:
            text = _set(text, "type", '"long"')
        text = _set(text, "promoted_at", str(promoted_at))
    return _with_id(text, memory, memory_id).encode("utf-8") + b"\n"


def replaced(raw: bytes, fields: Mapping[str, Any], wanted: Mapping[str, Any]) -> bytes:
    """Spell the line with other values in some of its fields; the others stay as they are."""
    text = _body(raw)
    if not wanted.keys() >= fields.keys():  # the name of a field has changed as well
        return compose(wanted)
    for name, value in wanted.items():
        if name not in fields or fields[name] != value:
            text = _set(text, name, compose_value(value))
    return text.encode("utf-8") + b"\n"


def compose_value(value: Any) -> str:
    """Spell a value; text stays readable, and what UTF-8 can't hold is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate: escaped, it survives (hazard A9)
        return json.dumps(value, allow_nan=False)
    return text


def former(raw: bytes) -> Iterator[bytes]:
    """Yield how a line that moved may have stood in short-term, likeliest first.

    Moving adds or changes its tier mark, `promoted_at` and `id`, and trims spaces around it. Who
    has a hash of the line as it was knows which it is.
    """
    text = _body(raw)
    for one in _unmarked(text):
        for two in _unnamed(one):
            for three in (two, f"{two[:-1]} }}"):
                yield three.encode()
                yield three.encode() + b"\r"


def _unmarked(text: str) -> Iterator[str]:
    """Take back what `promoted` sets; a line that it did not touch is as it was."""
    names = [member[0] for member in members(text)]
    if "committed" in names:
        yield _without(text, "committed")
        yield _set(text, "committed", "false")
    if "promoted_at" in names:
        text = _without(text, "promoted_at")
        if "type" in names:
            yield _set(text, "type", '"short"')
            yield _without(text, "type")
    yield text


def _unnamed(text: str) -> Iterator[str]:
    """Take back the id a line got, or the place of one that gave way."""
    names = [member[0] for member in members(text)]
    if "id" not in names:
        yield text
        return
    bare = _without(text, "id")
    for kept in ("source_id", UNUSABLE_ID):
        if kept in names:
            start, end = _key_span(bare, kept)
            yield f'{bare[:start]}"id"{bare[end:]}'
    yield bare
    yield text


def compose(fields: Mapping[str, Any]) -> bytes:
    """Spell a new line; text stays readable, and what UTF-8 can't hold is escaped."""
    return compose_value(fields).encode() + b"\n"


def new_fields(
    content: str,
    *,
    ts: float,
    tags: Sequence[str] = (),
    importance: float | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Order the fields of a new memory in the `ts` spelling (row P5)."""
    fields: dict[str, Any] = {"ts": ts, "type": "short", "content": content}
    if tags:
        fields["tags"] = list(tags)
    if importance is not None:
        fields["importance"] = importance
    return {**fields, **(extra or {})}


def _body(raw: bytes) -> str:
    return raw.removeprefix(BOM).strip(b" \t\r\n").decode("utf-8")


def _with_id(text: str, memory: Memory, memory_id: str) -> str:
    if memory.source_id == memory_id:
        return text
    if memory.fields.get("id") is not None:
        text = _yield_id(text, memory)
    return _set(text, "id", json.dumps(memory_id))


def _yield_id(text: str, memory: Memory) -> str:
    """Turn the writer's `id` into `source_id`, as it was spelled, where the spelling keeps it."""
    if memory.source_id is None:
        key_start, key_end = _key_span(text, "id")
        return text[:key_start] + json.dumps(UNUSABLE_ID) + text[key_end:]
    id_start, id_end = _value_span(text, "id") or (0, 0)
    spelled = text[id_start:id_end]
    if memory.spelling == "ts" or not memory.metadata:
        if "source_id" in memory.fields:
            return _set(_without(text, "id"), "source_id", spelled)
        key_start, key_end = _key_span(text, "id")
        return text[:key_start] + '"source_id"' + text[key_end:]
    text = _without(text, "id")
    start, end = _value_span(text, "metadata") or (0, 0)
    return text[:start] + _set(text[start:end], "source_id", spelled) + text[end:]


def _set(text: str, name: str, spelled: str) -> str:
    span = _value_span(text, name)
    if span is not None:
        return text[: span[0]] + spelled + text[span[1] :]
    closing = text.rindex("}")
    separator = ", " if members(text) else ""
    return f"{text[:closing].rstrip()}{separator}{json.dumps(name)}: {spelled}}}"


def _value_span(text: str, name: str) -> tuple[int, int] | None:
    for key, _, start, end in members(text):
        if key == name:
            return start, end
    return None


def _key_span(text: str, name: str) -> tuple[int, int]:
    for key, key_start, value_start, _ in members(text):
        if key == name:
            return key_start, key_start + text[key_start:value_start].rindex('"') + 1
    raise KeyError(name)


def _without(text: str, name: str) -> str:
    found = members(text)
    position = next(i for i, member in enumerate(found) if member[0] == name)
    _, key_start, _, value_end = found[position]
    if position + 1 < len(found):
        return text[:key_start] + text[found[position + 1][1] :]
    start = found[position - 1][3] if position else key_start
    return text[:start] + text[value_end:]


def spelled(value: Any) -> str:
    """Spell a value of a line's field as text, to compare it with what was typed."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
