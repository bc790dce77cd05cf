"""A memory as mem0 shows it, and mem0's fields as a line has them.

`user_id` and `run_id` are the line's own `user_id` and `session`; what mem0 alone knows is in the
line's metadata under `mem0`. The metadata of mem0's callers is the line's metadata, but for names
that mean something on a line: a caller's `pinned` or `supersedes` is not meant as ours.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from hashlib import md5
from typing import Any, Final

from skymem.adapters.json_values import plain
from skymem.adapters.refusal import UnfitCallError
from skymem.adapters.states import name_of
from skymem.model.memory import IN_THE_TABLE, SECONDS_MAX, Memory
from skymem.stores.shelf import Kept

OURS: Final = "mem0"
"""Where a line's metadata has what mem0 alone knows."""

_SHOWN: Final = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")
_KNOWN: Final = ("agent_id", "actor_id", "role", "expiration_date")
_NEVER_SET: Final = frozenset({"user_id", "agent_id", "run_id", "actor_id"})
_DAY: Final = timedelta(days=1)
_EPOCH: Final = date(1970, 1, 1)


def fields_of(about: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line.

    Args:
        about: what mem0 knows of a memory beside its text: `payload_of` without its metadata.
        metadata: the caller's.

    Raises:
        InvalidMemoryError: the metadata is not JSON's.
    """
    metadata = plain(metadata, "metadata")
    beside = {name: one for name, one in metadata.items() if name in IN_THE_TABLE | {OURS}}
    ours = {name: about[name] for name in (*_KNOWN, "created_at") if about.get(name) is not None}
    ours |= {"metadata": beside} if beside else {}
    found: dict[str, Any] = {
        "metadata": {
            **{name: one for name, one in metadata.items() if name not in beside},
            OURS: ours,
        }
    }
    for name, line_name in (("user_id", "user_id"), ("run_id", "session")):
        if about.get(name) is not None:
            found[line_name] = about[name]
    last = about.get("expiration_date")
    if last is not None and _EPOCH.isoformat() <= last < date.max.isoformat():
        ends = datetime.combine(date.fromisoformat(last) + _DAY, time(tzinfo=UTC))
        found["expires_at"] = ends.timestamp()
    return found


def about_of(memory: Memory) -> dict[str, Any]:
    """What mem0 knows of a memory, whoever wrote it: ids, who said it, until when it is good."""
    ours, scope = _ours(memory), memory.scope
    found = {name: ours[name] for name in _KNOWN if isinstance(ours.get(name), str)}
    if not _is_date(found.get("expiration_date", "")):
        found.pop("expiration_date", None)
    found |= {"user_id": scope["user_id"]} if "user_id" in scope else {}
    found |= {"run_id": scope["session"]} if "session" in scope else {}
    return found


def metadata_of(memory: Memory) -> dict[str, Any]:
    """The metadata of mem0's callers; of what `skymem import` took from mem0 as well."""
    source = memory.fields.get("source")
    came = source.get("metadata") if isinstance(source, dict) else None
    beside = _ours(memory).get("metadata")
    plainly = {
        name: value
        for name, value in memory.metadata.items()
        if name != OURS and name not in IN_THE_TABLE
    }
    parts = [one for one in (came, plainly, beside) if isinstance(one, dict)]
    return {name: value for part in parts for name, value in part.items()}


def payload_of(memory: Memory) -> dict[str, Any]:
    """All that filters may ask of a memory."""
    return {**metadata_of(memory), **about_of(memory), "data": memory.searchable}


def item(kept: Kept, **more: Any) -> dict[str, Any]:
    """A memory as `get` and lists give it."""
    memory = kept.memory
    about, metadata = about_of(memory), metadata_of(memory)
    return {
        "id": name_of(kept.id),
        "memory": memory.searchable,
        "hash": md5(memory.searchable.encode(), usedforsecurity=False).hexdigest(),
        "metadata": metadata or None,
        **more,
        "created_at": spelled(born(memory)),
        "updated_at": spelled(changed(memory)),
        **{name: about[name] for name in _SHOWN if name in about},
    }


def born(memory: Memory) -> float | None:
    """When mem0's memory was made, epoch seconds: this may be a later state of it."""
    own: Any = _ours(memory).get("created_at")
    meant = isinstance(own, int | float) and 0 < own < SECONDS_MAX
    return float(own) if meant else changed(memory)


def changed(memory: Memory) -> float | None:
    """When it came to be as it is, epoch seconds."""
    return None if memory.time_us is None else memory.time_us / 1_000_000


def spelled(moment: float | None) -> str | None:
    """Spell a moment as mem0 does."""
    return None if moment is None else datetime.fromtimestamp(moment, UTC).isoformat()


def told(memory_id: str, lines: Mapping[str, Memory]) -> list[dict[str, Any]]:
    """The states of a memory as mem0 tells them, oldest first."""
    found: list[dict[str, Any]] = []
    for own in sorted(lines, key=lambda one: (lines[one].time_us or 0, one)):
        memory = lines[own]
        about = about_of(memory)
        found.append(
            {
                "id": own,
                "memory_id": memory_id,
                "old_memory": found[-1]["new_memory"] if found else None,
                "new_memory": memory.searchable,
                "event": "UPDATE" if found else "ADD",
                "created_at": spelled(born(memory)),
                "updated_at": spelled(changed(memory)),
                "is_deleted": False,
                "actor_id": about.get("actor_id"),
                "role": about.get("role"),
            }
        )
    return found


def deleted(last: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Tell that a memory was moved to trash, after its last state."""
    gone = {"old_memory": last["new_memory"], "new_memory": None, "event": "DELETE"}
    moment = spelled(at)
    return {**last, **gone, "id": f"{last['id']}.deleted", "updated_at": moment, "is_deleted": True}


def settable(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A caller's metadata without what only the call's own arguments may say."""
    return {name: value for name, value in metadata.items() if name not in _NEVER_SET}


def expiration(value: Any) -> str | None:
    """Read a date: the last day on which a memory is good.

    Raises:
        UsageError: it is none.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise UnfitCallError("expiration_date must be a valid date in YYYY-MM-DD format.") from None


def is_over(memory: Memory, now: float) -> bool:
    """Whether its last day is over, in UTC: one that was over when it was written is as well."""
    last = about_of(memory).get("expiration_date")
    return last is not None and last < datetime.fromtimestamp(now, UTC).date().isoformat()


def _ours(memory: Memory) -> Mapping[str, Any]:
    value = memory.metadata.get(OURS)
    return value if isinstance(value, dict) else {}


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
