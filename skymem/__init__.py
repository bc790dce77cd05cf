"""The keeper of AI agents' memory: what people import.

    import skymem

    memory = skymem.open_memory(agent="sky")
    memory.remember("User wants reports at 7am", tags=["preference"], importance=0.9)

Importing costs next to nothing: the parts are loaded when they are first used.
"""

TYPE_CHECKING = False  # `typing` would cost more than all of this

if TYPE_CHECKING:
    from skymem.names import (
        AgentMemory,
        after_model_call,
        before_model_call,
        build_agent_context,
        compress_short_to_long,
        get_notes,
        merge_notes,
        open_memory,
        prune_expired,
        query_recent,
        query_relevant,
        query_relevant_hybrid,
        recall_similar,
        remember_short,
        run_once,
        upsert_user_profile,
        write_note,
    )

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


def __getattr__(name: str) -> object:
    """Load the names people import when the first of them is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from skymem import names

    return getattr(names, name)


def __dir__() -> list[str]:
    """What a prompt completes."""
    return [*globals(), *__all__]
