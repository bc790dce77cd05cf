"""The keeper of AI agents' memory: what people import.

    import skymem

    memory = skymem.open_memory(agent="sky")
    memory.remember("User wants reports at 7am", tags=["preference"], importance=0.9)

Importing costs little: the parts are loaded when they are first used.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.recall.request import Request
    from skymem.recall.result import Recall

__all__ = ["AgentMemory", "open_memory", "recall_similar", "remember_short", "run_once"]


class AgentMemory:
    """One agent's memory, as its code sees it; bound to that agent for good (row M7)."""

    def __init__(self, home: "Home", agent: str) -> None:
        self._home = home
        self.agent = agent

    def remember(
        self,
        content: str,
        *,
        tags: Sequence[str] = (),
        importance: float | None = None,
        ts: float | datetime | None = None,
        kind: str | None = None,
        ttl_days: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Write one memory to short-term; returns its id once it is on disk.

        Args:
            content: the text.
            tags: labels.
            importance: 0 to 1; left out, it counts as the scoring guide says of its kind.
            ts: when it happened, epoch seconds or an aware datetime; now when left out.
            kind: what sort of thing it is.
            ttl_days: days it is good for.
            metadata: anything else; filterable.

        Raises:
            InvalidMemoryError: a field is outside its range.
            DiskError: it could not be written; nothing of it stays.
        """
        from skymem.app import now
        from skymem.policy.form import admit_fields

        extra = {"kind": kind, "ttl_days": ttl_days, "metadata": metadata}
        line = admit_fields(
            content,
            limit=self._home.rules.line_bytes_max,
            now=now() if ts is None else _seconds(ts),
            tags=tags,
            importance=importance,
            extra={key: value for key, value in extra.items() if value is not None},
        )
        self._home.remember(self.agent, [line.raw])
        return line.id

    def recall(  # noqa: PLR0913  (all but the first are filters by name)
        self,
        query: str,
        *,
        limit: int = 10,
        mode: str = "auto",
        tier: str | Sequence[str] = (),
        kind: str | None = None,
        tags: str | Sequence[str] = (),
        meta: Mapping[str, Any] | None = None,
        since: float | datetime | None = None,
        recency_bias: float = 0.35,
        semantic_weight: float = 0.5,
    ) -> "Recall":
        """Find this agent's memories of every tier by words and meaning, best first.

        Args:
            query: what to look for, in your own words.
            limit: how many, at most.
            mode: `auto` and `hybrid` weigh words and meaning, and do without meaning where there is
                no engine; `deterministic` or `semantic` asks for one of them alone.
            tier: only `short`, `long` or `archive`, or any of several.
            kind: only this sort of thing.
            tags: only with any of these labels.
            meta: only with all of this metadata, compared as text.
            since: not older, epoch seconds or an aware datetime.
            recency_bias: share of recency against words, 0 to 1.
            semantic_weight: share of meaning against the rest, 0 to 1.

        Returns:
            A list of `skymem.recall.result.Recalled`; its `mode` says what answered, its
            `degraded` what did not work.

        Raises:
            UsageError, NotAllowedError, DiskError.
            EngineUnavailableError: mode `semantic` without an engine.
        """
        from skymem.recall import request

        filters = request.filters_of(
            tiers=(tier,) if isinstance(tier, str) else tier,
            kind=kind,
            tags=(tags,) if isinstance(tags, str) else tags,
            meta=[(key, request.spelled(value)) for key, value in (meta or {}).items()],
            since_us=None if since is None else round(_seconds(since, "since") * 1_000_000),
        )
        return self._recall(
            request.ask(query, limit, mode, recency_bias, semantic_weight, filters=filters)
        )

    def _recall(self, asked: "Request") -> "Recall":
        from skymem.canaries import recall_and_note
        from skymem.errors import NotAllowedError

        if not self._home.owned:
            raise NotAllowedError("only the home's owner may recall; its group may remember")
        return recall_and_note(self._home, self.agent, asked)


def _seconds(moment: float | datetime, field: str = "ts") -> float:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        from skymem.errors import InvalidMemoryError

        raise InvalidMemoryError(f'"{field}" has no time zone; use datetime.now(timezone.utc)')
    return moment.timestamp()


def open_memory(agent: str | None = None, *, home: str | None = None) -> AgentMemory:
    """Open one agent's memory; the home is found as the CLI finds it.

    Args:
        agent: its name; `$SKYMEM_AGENT`, else `sky`, when left out.
        home: the home's directory.

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError, AgentNameError.
    """
    from skymem.app import agent_from_environment, open_home
    from skymem.policy.admit import check_agent_name

    name = check_agent_name(agent if agent is not None else agent_from_environment())
    return AgentMemory(open_home(home, appending=True), name)


def remember_short(content: str, tags: Sequence[str] = (), importance: float | None = None) -> str:
    """Write one memory to short-term, as the source document spells it (row P9)."""
    return open_memory().remember(content, tags=tags, importance=importance)


def recall_similar(query: str, top_k: int = 5) -> list[str]:
    """Find the memories nearest to a text in meaning; returns their texts, best first (row P8).

    Those that are not indexed follow, by words: all of them where the engine can't be had.

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError, UsageError.
    """
    from skymem.errors import BusyError, DiskError, EngineUnavailableError

    memory = open_memory()
    try:
        found = list(memory.recall(query, limit=top_k, mode="semantic"))
    except (BusyError, DiskError, EngineUnavailableError):
        found = []
    if len(found) < top_k:  # what is not indexed yet is found by its words
        met = {one.id for one in found}
        by_words = memory.recall(query, limit=top_k, mode="deterministic")
        found += [one for one in by_words if one.id not in met]
    return [one.content for one in found[:top_k]]


def run_once() -> dict[str, Any]:
    """Promote, then rotate, now; returns the result with `promoted` (row P9).

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError.
    """
    from skymem.app import open_home

    detail, _ = open_home().run_job("memory_rotate_check")
    return detail
