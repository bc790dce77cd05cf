"""One agent's memories over HTTP: what the CLI's verbs about one agent do (row M7)."""

import json
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Depends, Query, Request

from skymem import doors
from skymem.app import now
from skymem.explain import explain as explained
from skymem.jobs.detail import raise_failure
from skymem.jobs.finding import standing_of
from skymem.policy.form import Admitted
from skymem.policy.rank import LIMIT, RECENCY_BIAS, SEMANTIC_WEIGHT
from skymem.prompting import Beside
from skymem.prompting import context as make_context
from skymem.recall import listing
from skymem.recall import request as asking
from skymem.recalling import recall_and_note
from skymem.serve.at_hand import Desk, Id, Reading, Writing
from skymem.serve.refusal import Answer, RefusedError
from skymem.serve.shapes import (
    MOST,
    Block,
    Correction,
    Detail,
    Explained,
    Found,
    Memories,
    Mode,
    NewMemory,
    Remembered,
    Shown,
    Tier,
    Wanted,
)
from skymem.upkeep import correct_memory, forget_memories

router = APIRouter(prefix="/v1/agents/{agent}", tags=["memories"])

Tags = Annotated[list[str] | None, Query(alias="tag", description="With any of these labels.")]
Meta = Annotated[list[str] | None, Query(description="KEY=VALUE; with all of this metadata.")]
Kind = Annotated[str | None, Query(description="Only this sort of thing.")]
Limit = Annotated[int, Query(ge=1, le=MOST, description="How many, at most.")]
Time = Annotated[str | None, Query(description="ISO 8601, epoch seconds, or an age: 7d, 12h.")]
Share = Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)]

LINES: Final = "application/x-ndjson"
PROGRAM: Final = "agent"
"""Whose a correction over the API is: a program's, so no text gains trust by being corrected."""

_LINES_BODY: Final[dict[str, Any]] = {
    "requestBody": {"required": True, "content": {LINES: {"schema": {"type": "string"}}}}
}


@router.post("/memories", status_code=201, responses={201: {"model": Remembered}})
def remember(desk: Writing, new: Annotated[NewMemory, Body()]) -> Answer:
    """Write one memory to short-term; it is on disk when this answers."""
    extra = {"kind": new.kind, "ttl_days": new.ttl_days, "metadata": new.metadata}
    line = doors.new_memory(
        desk.home, new.content, now=now() if new.ts is None else new.ts, tags=new.tags,
        importance=new.importance, origin=new.origin, trust=new.trust,
        extra={key: value for key, value in extra.items() if value is not None},
    )  # fmt: skip
    return _taken_in(desk, [line])


async def _whole_body(request: Request) -> bytes:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != LINES:
        raise RefusedError(415, f"memories as lines come as {LINES}")
    return await request.body()


@router.post(
    "/lines", status_code=201, responses={201: {"model": Remembered}}, openapi_extra=_LINES_BODY
)
def remember_lines(desk: Writing, data: Annotated[bytes, Depends(_whole_body)]) -> Answer:
    """Write JSON lines as they are, in either spelling, all or none."""
    admitted = doors.new_lines(desk.home, data, now=now())
    if not admitted:
        raise RefusedError(422, "there is no line in it")
    return _taken_in(desk, admitted)


def _taken_in(desk: Desk, lines: list[Admitted]) -> Answer:
    doors.take_in(desk.home, desk.agent, lines)
    secrets, ids = doors.redacted(lines), [line.id for line in lines]
    told: dict[str, Any] = {"id": ids[0] if len(ids) == 1 else None, "ids": ids}
    return Answer(told | ({"redacted": secrets} if secrets else {}), 201)


@router.get("/memories", responses={200: {"model": Memories}})
def recent(
    desk: Reading,
    hours: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    tag: Tags = None,
    kind: Kind = None,
    meta: Meta = None,
    limit: Limit = 20,
    at: Time = None,
) -> Answer:
    """The newest memories of every tier, newest first."""
    moment, at_us = _moment(at)
    found = listing.recent(
        desk.home.workplace(),
        desk.agent,
        asking.filters_of(kind=kind, tags=tag or (), meta=_pairs(meta)),
        limit,
        since_us=asking.hours_before(round(moment * 1_000_000), hours),
        at_us=at_us,
    )
    return Answer({"results": found})


@router.get("/search", responses={200: {"model": Found}})
def search(
    desk: Reading,
    q: Annotated[str, Query(description="What to look for, in your own words.")],
    limit: Limit = LIMIT,
    mode: Mode = "auto",
    tier: Annotated[list[Tier] | None, Query()] = None,
    kind: Kind = None,
    tag: Tags = None,
    meta: Meta = None,
    since: Time = None,
    recency_bias: Share = RECENCY_BIAS,
    semantic_weight: Share = SEMANTIC_WEIGHT,
    at: Time = None,
) -> Answer:
    """Find memories of every tier by words and meaning, best first; without an engine by words."""
    moment, at_us = _moment(at)
    filters = asking.filters_of(
        tiers=tier or (),
        kind=kind,
        tags=tag or (),
        meta=_pairs(meta),
        since_us=None if since is None else asking.since(since, moment),
    )
    weights = (recency_bias, semantic_weight)
    found = recall_and_note(
        desk.home, desk.agent, asking.ask(q, limit, mode, *weights, filters=filters, at_us=at_us)
    )
    found.degraded += desk.home.faults
    return Answer(found.as_json())


@router.get("/memories/{id}", responses={200: {"model": Shown}})
def show(desk: Reading, id: Id) -> Answer:  # noqa: A002  (the path's own word)
    """The whole of one memory, and where it is."""
    kept = desk.home.find(desk.agent, id)
    return Answer(
        {
            "id": kept.id,
            "agent": desk.agent,
            "tier": kept.tier,
            "file": f"memory/{desk.agent}/{kept.file}",
            **standing_of(desk.home.workplace(), desk.agent, kept).as_json(),
            "memory": kept.memory.fields,
        }
    )


@router.get("/memories/{id}/explain", responses={200: {"model": Explained}})
def explain(desk: Reading, id: Id) -> Answer:  # noqa: A002
    """How a memory came where it is, and what comes next; also of one that is gone."""
    return Answer(explained(desk.home, desk.agent, id).as_json())


@router.delete("/memories/{id}", responses={200: {"model": Detail}})
def forget(desk: Reading, id: Id) -> Answer:  # noqa: A002
    """Move a memory to trash; `skymem restore` brings it back."""
    detail, outcomes = forget_memories(desk.home, desk.agent, [id])
    raise_failure(outcomes)
    if not detail["forgotten"]:
        raise RefusedError(409, f"{id} is pinned, and left", hint="first: skymem unpin ID")
    return Answer(detail)


@router.patch("/memories/{id}", responses={200: {"model": Detail}})
def correct(desk: Reading, id: Id, right: Correction) -> Answer:  # noqa: A002
    """Put a correction in the place of a memory, believed no more than that was; it is history."""
    detail, outcomes = correct_memory(desk.home, desk.agent, id, right.content, origin=PROGRAM)
    raise_failure(outcomes)
    return Answer(detail)


@router.post("/context", responses={200: {"model": Block}})
def context(desk: Reading, wanted: Wanted) -> Answer:
    """Make the block to put into a prompt, quoted as data, with origin and trust."""
    _, at_us = _moment(wanted.at)
    made = make_context(
        desk.home, desk.agent, wanted.message, user_id=wanted.user_id, max_chars=wanted.max_chars,
        limit=wanted.limit, at_us=at_us,
        beside=Beside(wanted.session, wanted.situation, wanted.documents),
    )  # fmt: skip
    return Answer(made.as_json())


@router.get("/context", responses={200: {"model": Block}})
def read_context(
    desk: Reading,
    message: str = "",
    user_id: str | None = None,
    max_chars: Annotated[int | None, Query(ge=1, le=10_000_000)] = None,
    limit: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    at: Time = None,
    session: str | None = None,
    documents: Annotated[int, Query(ge=0, le=100)] = 3,
) -> Answer:
    """The same, for who can't send a body."""
    return context(
        desk,
        Wanted(
            message=message, user_id=user_id, max_chars=max_chars, limit=limit, at=at,
            session=session, documents=documents,
        ),
    )  # fmt: skip


def _moment(at: str | None) -> tuple[float, int | None]:
    if at is None:
        return now(), None
    at_us = asking.since(at, now(), "at")
    return at_us / 1_000_000, at_us


def _pairs(given: list[str] | None) -> list[tuple[str, str]]:
    pairs = [one.partition("=") for one in given or ()]
    if wrong := next((one for one in pairs if not one[0] or not one[1]), None):
        raise RefusedError(
            422, f"meta {json.dumps(''.join(wrong))[:60]} is no pair; give KEY=VALUE"
        )
    return [(key, value) for key, _, value in pairs]
