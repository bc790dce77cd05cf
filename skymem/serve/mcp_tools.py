"""The tools of MCP: what each promises a model, and the one code path it goes (row M7).

What was recorded is given back quoted, with where it came from and how far it is believed: whoever
wrote it may have meant it to be read as a command (hazard H1).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from skymem import doors
from skymem.app import Home, now
from skymem.errors import NotAllowedError
from skymem.explain import explain as explained
from skymem.jobs.detail import raise_failure
from skymem.jobs.finding import standing_of
from skymem.model.memory import Memory
from skymem.overview import status_overview
from skymem.policy.quoting import entry, entry_of, fenced
from skymem.policy.trust import most, trust_of
from skymem.prompting import Beside
from skymem.prompting import context as make_context
from skymem.recall import listing, request
from skymem.recalling import recall_and_note
from skymem.serve import mcp_shapes as shapes
from skymem.stores.shelf import Kept
from skymem.upkeep import correct_memory, forget_memories

AGENT: Final = "agent"
"""Where what comes through this door comes from."""

ORIGINS: Final = frozenset({"user", AGENT, "tool", "document", "import"})
LINE_LETTERS: Final = 240
"""Of a text in a list; `memory_get` has all of it."""

DECIMALS: Final = 3


class Desk(NamedTuple):
    """A home bound to the one agent."""

    home: Home
    agent: str


class Answer(NamedTuple):
    """What a tool gives: for programs, and the text for a model."""

    told: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    title: str
    description: str
    takes: type[BaseModel]
    gives: type[BaseModel]
    do: Callable[[Desk, Any], Answer]
    reads: bool = False
    """It changes nothing."""

    destroys: bool = False
    """It takes away, or changes, what was there."""

    repeats: bool = False
    """Twice is as once."""

    appends: bool = False
    """A member of the home's group may use it."""


def search(desk: Desk, asked: shapes.Search) -> Answer:
    """Find memories, a line each."""
    home, at_us = desk.home, round(now() * 1_000_000)
    filters = request.filters_of(
        tiers=asked.tiers,
        kind=asked.kind,
        tags=asked.tags,
        since_us=request.hours_before(at_us, asked.hours),
    )
    found = recall_and_note(
        home, desk.agent, request.ask(asked.query, asked.limit, filters=filters)
    )
    degraded = [*found.degraded, *home.faults]
    results = [
        _glanced(home, Kept(one.id, one.tier, "", one.memory), one.score)
        for one in found
        if one.memory is not None
    ]
    told = {"results": results, "mode": found.mode, "degraded": degraded}
    head = [f"{len(results)} found, by {found.mode}", *(f"degraded: {one}" for one in degraded)]
    return Answer(told, _quoted(head, results))


def recent(desk: Desk, asked: shapes.Listing) -> Answer:
    """List the newest, a line each."""
    home, at_us = desk.home, round(now() * 1_000_000)
    found = listing.newest(
        home.workplace(),
        desk.agent,
        request.filters_of(kind=asked.kind, tags=asked.tags),
        asked.limit,
        since_us=request.hours_before(at_us, asked.hours),
    )
    results = [_glanced(home, kept) for kept in found]
    return Answer({"results": results}, _quoted([f"{len(results)}, newest first"], results))


def get(desk: Desk, asked: shapes.Get) -> Answer:
    """Give one memory whole."""
    kept = desk.home.find(desk.agent, asked.id)
    memory = kept.memory
    stands = standing_of(desk.home.workplace(), desk.agent, kept)
    beside = {"tags": list(memory.tags), "metadata": memory.metadata, "payload": memory.payload}
    lines = [entry_of(kept.id, memory, kept.tier)]
    lines += [entry(name, _spelled(value)) for name, value in beside.items() if value]
    lines += [entry("superseded, read instead", stands.survivor)] if stands.survivor else []
    text = fenced(lines)
    about = _about(desk.home, kept) | stands.as_json()
    return Answer({**about, "importance": memory.importance, "quoted": text}, text)


def store(desk: Desk, new: shapes.Store) -> Answer:
    """Write one memory."""
    rules = desk.home.rules.trust
    if most(new.origin, rules) > most(AGENT, rules):
        raise NotAllowedError(
            f"origin {new.origin} is believed more than agent here, and only less can be claimed"
        )
    extra = {"kind": new.kind, "ttl_days": new.ttl_days, "metadata": new.metadata}
    line = doors.new_memory(
        desk.home, new.content, now=now() if new.ts is None else new.ts, tags=new.tags,
        importance=new.importance, origin=new.origin, trust=new.trust,
        extra={key: value for key, value in extra.items() if value is not None},
    )  # fmt: skip
    doors.take_in(desk.home, desk.agent, [line])
    trust = most(new.origin, rules) if new.trust is None else new.trust
    told = {"id": line.id, "origin": new.origin, "trust": trust}
    return _plain({**told, "redacted": doors.redacted([line])})


def update(desk: Desk, right: shapes.Update) -> Answer:
    """Put a correction in the place of a memory."""
    old = desk.home.find(desk.agent, right.id).id
    detail, outcomes = correct_memory(desk.home, desk.agent, old, right.content, origin=AGENT)
    raise_failure(outcomes)
    return _plain({"id": detail["id"], "supersedes": old})


def forget(desk: Desk, asked: shapes.Forget) -> Answer:
    """Move memories to trash."""
    detail, outcomes = forget_memories(desk.home, desk.agent, asked.ids, dry_run=asked.dry_run)
    raise_failure(outcomes)
    gone, skipped = detail["forgotten"], dict(detail["skipped"])
    if not gone and skipped.get("pinned"):
        raise NotAllowedError("it is pinned, and left; its owner can unpin it: skymem unpin ID")
    return _plain({"forgotten": gone, "skipped": skipped, "dry_run": asked.dry_run})


def context(desk: Desk, asked: shapes.Wanted) -> Answer:
    """Make the block for a prompt."""
    made = make_context(
        desk.home, desk.agent, asked.message, user_id=asked.user_id, max_chars=asked.max_chars,
        beside=Beside(asked.session),
    )  # fmt: skip
    told = {"text": made.text, "chars": len(made.text), "left_out": made.left_out}
    text = made.text or "nothing is remembered that fits"
    return Answer({**told, "mode": made.mode, "degraded": made.degraded}, text)


def explain(desk: Desk, asked: shapes.Get) -> Answer:
    """Say how a memory came where it is."""
    return _plain(explained(desk.home, desk.agent, asked.id).as_json())


def status(desk: Desk, _: shapes.Nothing) -> Answer:
    """Tell what there is, and how well it is."""
    found = status_overview(desk.home, desk.agent)
    engine = {name: found["engine"][name] for name in ("running", "problem", "rag_pending")}
    tiers = found["agents"][0]["tiers"]
    return _plain(
        {
            "agent": desk.agent,
            "health": found["health"],
            "tiers": {name: one["count"] for name, one in tiers.items()},
            "daemon_running": found["daemon"]["running"],
            "engine": engine,
            "alarms": found["alarms"],
            "notes": found["notes"],
        }
    )


def promote(desk: Desk, asked: shapes.Promote) -> Answer:
    """Move what is worth it to long-term, or rehearse it."""
    detail, outcomes = desk.home.run_job("promote", agent=desk.agent, dry_run=asked.dry_run)
    raise_failure(outcomes)
    return _plain({**detail, "dry_run": asked.dry_run})


def _about(home: Home, kept: Kept) -> dict[str, Any]:
    memory = kept.memory
    return {
        "id": kept.id,
        "tier": kept.tier,
        "origin": memory.origin if memory.origin in ORIGINS else "unknown",
        "trust": trust_of(memory, home.rules.trust),
        "ts": None if memory.time_us is None else memory.time_us / 1_000_000,
    }


def _glanced(home: Home, kept: Kept, score: float | None = None) -> dict[str, Any]:
    shown = kept.tier if score is None else f"{kept.tier}, score {score:.{DECIMALS}f}"
    line = entry_of(kept.id, kept.memory, shown, _one_line(kept.memory))
    about = {**_about(home, kept), "quoted": line}
    return about if score is None else {**about, "score": round(score, DECIMALS)}


def _one_line(memory: Memory) -> str:
    text = " ".join(memory.searchable.split())
    return text if len(text) <= LINE_LETTERS else text[: LINE_LETTERS - 1] + "…"


def _quoted(head: Sequence[str], results: Sequence[dict[str, Any]]) -> str:
    block = [fenced([one["quoted"] for one in results])] if results else []
    return "\n".join([*head, *block])


def _spelled(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=dict)


def _plain(told: dict[str, Any]) -> Answer:
    return Answer(told, json.dumps(told, ensure_ascii=True))
