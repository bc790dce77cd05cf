"""The names people import: one memory, and the source documents' own functions.

Each opens the home that the command line would find, as the agent this process is bound to.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from skymem.agent import AgentMemory, open_memory, texts, warned_of, written

if TYPE_CHECKING:
    from skymem.app import Home
    from skymem.notes import Note
    from skymem.profiles import Known
    from skymem.recall.result import Listed, Recall

__all__ = [
    "AgentMemory",
    "after_model_call",
    "before_model_call",
    "build_agent_context",
    "compress_short_to_long",
    "get_notes",
    "merge_notes",
    "open_memory",
    "prune_expired",
    "query_recent",
    "query_relevant",
    "query_relevant_hybrid",
    "recall_similar",
    "remember_short",
    "run_once",
    "upsert_user_profile",
    "write_note",
]


def remember_short(content: str, tags: Sequence[str] = (), importance: float | None = None) -> str:
    """Write one memory to short-term, as the source document spells it (row P9)."""
    return open_memory().remember(content, tags=tags, importance=importance)


def recall_similar(query: str, top_k: int = 5) -> list[str]:
    """Find the memories nearest to a text in meaning; returns their texts, best first (row P8).

    Those that are not indexed follow, by words: all of them where the engine can't be had.

    Raises:
        HomeNotFoundError, NotAllowedError, UsageError.
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


def query_relevant(text: str, limit: int = 10, recency_bias: float = 0.35) -> "Recall":
    """Find memories by shared words, recency and importance, best first (row R2).

    Raises:
        HomeNotFoundError, NotAllowedError, UsageError.
    """
    return open_memory().recall(text, limit=limit, recency_bias=recency_bias, mode="deterministic")


def query_recent(
    hours: float | None = None, tags: str | Sequence[str] = (), limit: int = 20
) -> "list[Listed]":
    """The newest memories of so many hours, newest first; those with any of the tags (row R4).

    Raises:
        HomeNotFoundError, NotAllowedError, UsageError.
    """
    return open_memory().recent(hours=hours, tags=tags, limit=limit)


def query_relevant_hybrid(
    text: str,
    limit: int = 10,
    recency_bias: float = 0.35,
    semantic_weight: float = 0.5,
    mode: str = "hybrid",
) -> "Recall":
    """Find memories by words and meaning, best first (row R5); without meaning, by words (row R6).

    The result's `mode` says what answered, and `degraded` why not all that was asked for did.

    Raises:
        HomeNotFoundError, NotAllowedError, UsageError.
    """
    from skymem.errors import BusyError, DiskError, EngineUnavailableError

    recall = partial(open_memory().recall, text, limit=limit, recency_bias=recency_bias)
    try:
        return recall(mode=mode, semantic_weight=semantic_weight)
    except (BusyError, DiskError, EngineUnavailableError) as error:
        found = recall(mode="deterministic")
        found.degraded.append(f"by words only: {error}")
        return found


def build_agent_context(user_id: str | None = None, message: str | None = None) -> str:
    """Make the block to put into a prompt for a user's message; see `AgentMemory` (row N11).

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError, UsageError.
    """
    return open_memory().context(message or "", user_id=user_id).text


def before_model_call(message: str, user_id: str | None = None) -> str:
    """Give what is to be put into the prompt for a message; "" when switched off (row R13).

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError.
    """
    return open_memory().hooks().before(message, user_id=user_id)


def after_model_call(response: str, user_id: str | None = None) -> str | None:
    """Remember a model's reply where the environment says so; its id, or None (row R13).

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError.
    """
    return open_memory().hooks().after(response, user_id=user_id)


def run_once() -> dict[str, Any]:
    """Promote, then rotate, now; returns the result with `promoted` (row P9).

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError.
    """
    from skymem.app import open_home

    detail, _ = open_home().run_job("memory_rotate_check")
    return detail


def write_note(  # noqa: PLR0913  (row N4's)
    kind: str,
    content: str,
    *,
    scope: str = "user",
    user_id: str | None = None,
    tags: str | Sequence[str] = (),
    confidence: float = 1.0,
    stability: str = "stable",
    ttl_days: float | None = None,
    sensitivity: str = "normal",
    evidence: str | Sequence[str] = (),
    job_id: str | None = None,
) -> "Note":
    """Write a note to short-term, as the source document spells it; see `AgentMemory` (row N4)."""
    from skymem.notes import NewNote

    new = NewNote(
        kind, content, scope, user_id, texts(tags), confidence=confidence, stability=stability,
        ttl_days=ttl_days, sensitivity=sensitivity, evidence=texts(evidence), job_id=job_id,
    )  # fmt: skip
    home, agent = _opened(appending=True)
    return written(home, agent, new)


def get_notes(
    user_id: str | None = None,
    kind: str | None = None,
    scope: str | None = None,
    tags: str | Sequence[str] = (),
    limit: int = 50,
) -> "list[Note]":
    """The notes that hold now, of every tier, newest first (row N5)."""
    return open_memory().get_notes(user_id=user_id, kind=kind, scope=scope, tags=tags, limit=limit)


def prune_expired() -> int:
    """Move to trash what has expired, and nothing else; returns the count (row N6).

    Raises:
        SkymemError: what kept it from being done, by its own class.
    """
    from skymem import notes

    home, agent = _opened()
    return int(notes.prune_expired(home, agent)["pruned"])


def merge_notes(ids: "Sequence[str | Note]") -> "Note":
    """Merge two notes or more into one summary, which supersedes them; returns it (row N7).

    Raises:
        UnknownMemoryError: one is not there.
        InvalidMemoryError: they can't be one; says why.
    """
    from skymem import notes

    home, agent = _opened()
    names = [one if isinstance(one, str) else one.id for one in ids]
    return notes.merge_notes(home, agent, names).note


def upsert_user_profile(
    *,
    evidence_ids: Sequence[str],
    user_id: str | None = None,
    preferences: Sequence[str] = (),
    stable_facts: Sequence[str] = (),
    do_not_assume: Sequence[str] = (),
) -> "Known":
    """Add to a user's profile what memories bear out; returns it as it is then (row R10).

    Raises:
        InvalidMemoryError: there is no evidence, or it does not bear a statement.
        UnknownMemoryError: a memory that is cited is not there.
    """
    from skymem import profiles

    home, agent = _opened()
    return profiles.upsert_user_profile(
        home,
        agent,
        evidence_ids=evidence_ids,
        user_id=user_id,
        preferences=preferences,
        stable_facts=stable_facts,
        do_not_assume=do_not_assume,
    )


def compress_short_to_long(cutoff_hours: float = 48) -> dict[str, Any]:
    """Compress what is older than so many hours; returns the result (row R9).

    Raises:
        UsageError: the hours are no number from 0 on.
    """
    from skymem import profiles

    home, agent = _opened()
    return profiles.compress_short_to_long(home, agent, cutoff_hours)


def _opened(*, appending: bool = False) -> "tuple[Home, str]":
    """The home, and the agent this process is bound to."""
    from skymem.app import agent_from_environment, open_home

    home = warned_of(open_home(appending=appending, lenient=appending), stacklevel=4)
    agent = agent_from_environment()
    return home.bind(agent), agent
