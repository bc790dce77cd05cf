"""What other programs keep, as lines of ours to be: one reader for each of their shapes (X12).

Each takes what one line or one entry says and gives fields in the `ts` spelling, with the foreign
id as `source_id`. Nothing is believed here: what may come in, and how far it is trusted, is the
door's to say (`intake`). What the shape holds besides is kept under `source`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from skymem.model.memory import read_time
from skymem.model.strict_json import LineDamage

Fields = dict[str, Any]

SPEAKERS: Final = ("user", "assistant")


def line_fields(found: Fields) -> Iterator[Fields]:
    """A line in either spelling of ours, or of a peer that writes the like."""
    yield found


def mcp_fields(found: Fields) -> Iterator[Fields]:
    """An entity of an MCP memory server, one memory for each observation; or a relation."""
    if found.get("type") == "relation":
        ends = [_text(found, name) for name in ("from", "relationType", "to")]
        about: Fields = {"from": ends[0], "relationType": ends[1], "to": ends[2]}
        yield _memory(" ".join(ends), found, " → ".join(ends), about)
        return
    name = _text(found, "name")
    kind = found.get("entityType")
    about = {"entity": name, "entityType": kind}
    observations = found.get("observations") or []
    if not isinstance(observations, list) or not all(isinstance(one, str) for one in observations):
        raise LineDamage('field "observations": not a list of texts')
    if not observations:
        yield _memory(f"{name} ({kind})" if kind else name, found, name, about)
    for one in observations:
        yield _memory(f"{name}: {one}", found, name, {**about, "observation": one})


def mem0_fields(found: Fields) -> Iterator[Fields]:
    """An entry of a mem0 export."""
    fields = _memory(_text(found, "memory"), found, found.get("id"), {})
    for name in ("user_id", "session"):
        value = found.get("run_id" if name == "session" else name)
        if isinstance(value, str) and value:
            fields[name] = value
    tags = found.get("categories")
    if isinstance(tags, list) and (texts := [one for one in tags if isinstance(one, str) and one]):
        fields["tags"] = texts
    if isinstance(found.get("metadata"), dict) and found["metadata"]:
        fields["source"] = {"metadata": found["metadata"]}
    yield fields


def transcript_fields(found: Fields) -> Iterator[Fields]:
    """A message of a coding agent's transcript; its other lines say nothing to remember."""
    inner = found.get("message") or found.get("payload")
    said = inner if isinstance(inner, dict) else found
    role = said.get("role")
    text = _spoken(said.get("content"))
    if role not in SPEAKERS or not text.strip() or found.get("isMeta") is True:
        return
    fields = _memory(text, found, found.get("uuid") or said.get("id"), {})
    fields |= {"kind": "log", "tags": ["transcript", str(role)]}
    if isinstance(found.get("sessionId"), str) and found["sessionId"]:
        fields["session"] = found["sessionId"]
    yield fields


def _spoken(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    texts = [one.get("text") for one in blocks if str(one.get("type")).endswith("text")]
    return "\n".join(text for text in texts if isinstance(text, str))


def _memory(content: str, found: Fields, foreign: Any, about: Fields) -> Fields:
    fields: Fields = {"type": "short", "content": content}
    moment = next((found[one] for one in TIMES if found.get(one) is not None), None)
    if moment is not None:
        time_us = read_time("timestamp", moment)
        if time_us is not None:
            whole, rest = divmod(time_us, 1_000_000)
            fields = {"ts": time_us / 1_000_000 if rest else whole, **fields}
    if isinstance(foreign, str | int) and not isinstance(foreign, bool) and str(foreign):
        fields["source_id"] = str(foreign)
    return {**fields, "source": about} if about else fields


TIMES: Final = ("timestamp", "createdAt", "created_at", "ts")


def _text(found: Fields, name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value.strip():
        raise LineDamage(f'field "{name}": no text')
    return value


def is_line(found: Fields) -> bool:
    """Whether it looks like a line of ours: a text, and no speaker."""
    return isinstance(found.get("content"), str) and "role" not in found and "message" not in found


def is_mcp(found: Fields) -> bool:
    """Whether it looks like an entity or a relation."""
    return (found.get("type") == "entity" and "name" in found) or (
        found.get("type") == "relation" and "relationType" in found
    )


def is_mem0(found: Fields) -> bool:
    """Whether it looks like an entry of mem0's."""
    return isinstance(found.get("memory"), str) and "content" not in found


def is_transcript(found: Fields) -> bool:
    """Whether it looks like a line of a transcript."""
    inner = found.get("message") or found.get("payload")
    if isinstance(inner, dict) and "role" in inner:
        return True
    return found.get("role") in SPEAKERS and "content" in found


Read = Callable[[Fields], Iterator[Fields]]

READERS: Final[Mapping[str, tuple[Callable[[Fields], bool], Read]]] = MappingProxyType(
    {
        "jsonl": (is_line, line_fields),
        "mcp": (is_mcp, mcp_fields),
        "mem0": (is_mem0, mem0_fields),
        "transcript": (is_transcript, transcript_fields),
    }
)
"""Of each shape: how it is known, and how it is read."""

ENTRIES: Final = ("results", "memories", "entities", "relations")
"""Where one document holds its entries, that is not a line for each."""


def entries_of_document(data: bytes) -> list[Fields]:
    """The entries of a file that is one JSON document: a list, or an object with lists of them.

    Raises:
        LineDamage: it is not JSON, or holds no entries.
    """
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise LineDamage("not JSON as a whole") from None
    if isinstance(found, list):
        return [one for one in found if isinstance(one, dict)]
    entries: list[Fields] = []
    for name in ENTRIES if isinstance(found, dict) else ():
        sort = {"entities": {"type": "entity"}, "relations": {"type": "relation"}}.get(name, {})
        listed = found.get(name)
        objects = listed if isinstance(listed, list) else ()
        entries += [{**sort, **one} for one in objects if isinstance(one, dict)]
    if not entries:
        raise LineDamage("no entries in it that are known")
    return entries
