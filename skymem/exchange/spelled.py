"""Exports as other programs read them: what is active of an agent, in their words (X12).

These leave behind what has no place there: trash, quarantine, pins, and what has expired or was
superseded. What goes back and forth whole is our own format.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from skymem.app import Home
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.spelling import compose
from skymem.stores.lines import entries_of
from skymem.stores.naming import Naming
from skymem.stores.shelf import Kept
from skymem.stores.standings import Standings


def active(home: Home, agent: str, now: float) -> Iterator[Kept]:
    """Yield each memory of an agent that a reader would return, once."""
    work = home.workplace()
    shelf = work.shelf(agent)
    seen: set[str] = set()
    with work.catalog() as catalog:
        moment = round(now * 1_000_000)
        kinds = work.rules.kinds
        standings = work.ask(catalog, shelf, lambda: Standings.of(shelf, catalog, moment, kinds))
        for kept in _all(home, agent, Naming(agent, catalog)):
            if kept.id not in seen and standings.let(kept.id, kept.memory):
                seen.add(kept.id)
                yield kept


def _all(home: Home, agent: str, naming: Naming) -> Iterator[Kept]:
    shelf = home.shelf(agent)
    for tier, file, lines in shelf.tier_lines({"long", "archive"}, {}):
        for offset, raw, end in lines:
            for item in entries_of(offset, raw or b"", end, shelf.guard.clean):
                if isinstance(item, Entry):
                    own = item.memory.source_id or item.digest.hex()
                    yield Kept(own, tier, file, item.memory)
    for item in shelf.short_entries():
        if isinstance(item, Entry):
            naming.name([item])
            if not item.elsewhere:
                yield Kept(item.id, "short", shelf.paths.short_term.name, item.memory)


def as_jsonl(_agent: str, found: Iterable[Kept]) -> Iterator[bytes]:
    """Each as its line says, with its id."""
    for kept in found:
        yield compose({**kept.memory.fields, "id": kept.id})


def as_mem0(agent: str, found: Iterable[Kept]) -> Iterator[bytes]:
    """One document, as mem0 gives all of its memories."""
    yield b'{"results":['
    between = b"\n"
    for kept in found:
        memory = kept.memory
        entry: dict[str, Any] = {"id": kept.id, "memory": memory.searchable, "agent_id": agent}
        entry |= {"created_at": moment(memory), "categories": list(memory.tags)}
        if "user_id" in memory.scope:
            entry["user_id"] = memory.scope["user_id"]
        entry["metadata"] = memory.others | {"kind": memory.kind, "tier": kept.tier}
        yield between + compose(entry).rstrip(b"\n")
        between = b",\n"
    yield b"\n]}\n"


def as_mcp(_agent: str, found: Iterable[Kept]) -> Iterator[bytes]:
    """Entities with their observations, then relations, as an MCP memory server keeps them."""
    entities: dict[tuple[str, str], list[str]] = {}
    relations: list[dict[str, Any]] = []
    for kept in found:
        about = kept.memory.fields.get("source")
        about = about if isinstance(about, dict) else {}
        if isinstance(about.get("relationType"), str):
            ends = {one: str(about.get(one, "")) for one in ("from", "to", "relationType")}
            relations.append({"type": "relation", **ends})
        elif isinstance(about.get("entity"), str):
            key = (about["entity"], str(about.get("entityType") or ""))
            told = entities.setdefault(key, [])
            if isinstance(about.get("observation"), str):
                told.append(about["observation"])
        else:
            key = (kept.id, kept.memory.kind or "memory")
            entities.setdefault(key, []).append(kept.memory.searchable)
    for (name, kind), observations in entities.items():
        entity = {"type": "entity", "name": name, "entityType": kind, "observations": observations}
        yield compose(entity)
    yield from map(compose, relations)


def as_markdown(_agent: str, found: Iterable[Kept]) -> Iterator[tuple[str, bytes]]:
    """A file for each, named by its id, with what is known of it as front matter."""
    for kept in found:
        memory = kept.memory
        about: dict[str, Any] = {"id": kept.id, "created": moment(memory)}
        about |= {"tags": list(memory.tags), "kind": memory.kind, "importance": memory.importance}
        about |= {"origin": memory.origin, "trust": memory.trust}
        lines = [
            f"{name}: {json.dumps(one)}" for name, one in about.items() if one not in (None, [])
        ]
        text = "\n".join(["---", *lines, "---", memory.searchable, ""])
        yield _file_name(kept.id), text.encode("utf-8", "replace")


def _file_name(own: str) -> str:
    """A name that is one on any disk, whatever a writer called its memory."""
    plain = own.isascii() and own.replace("-", "").replace("_", "").isalnum() and len(own) <= 64
    return f"{own if plain else own.encode('utf-8', 'replace').hex()[:64]}.md"


def moment(memory: Memory) -> str | None:
    """Its time in ISO 8601."""
    if memory.time_us is None:
        return None
    found = datetime.fromtimestamp(memory.time_us // 1_000_000, UTC)
    return found.replace(microsecond=memory.time_us % 1_000_000).isoformat()


Spell = Callable[[str, Iterable[Kept]], Iterator[bytes]]

SPELLINGS: Final[Mapping[str, Spell]] = MappingProxyType(
    {"jsonl": as_jsonl, "mcp": as_mcp, "mem0": as_mem0}
)
"""What goes into one file; Markdown makes a directory of files."""

FORMATS: Final = ("skymem", *SPELLINGS, "markdown")
