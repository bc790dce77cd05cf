"""The keeper of AI agents' memory: what people import.

    import skymem

    memory = skymem.open_memory(agent="sky")
    memory.remember("User wants reports at 7am", tags=["preference"], importance=0.9)

Importing costs little: the parts are loaded when they are first used.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skymem.app import Home

__all__ = ["AgentMemory", "open_memory", "remember_short", "run_once"]


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


def _seconds(moment: float | datetime) -> float:
    if not isinstance(moment, datetime):
        return moment
    if moment.tzinfo is None:
        from skymem.errors import InvalidMemoryError

        raise InvalidMemoryError('"ts" has no time zone; use datetime.now(timezone.utc)')
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


def run_once() -> dict[str, Any]:
    """Promote, then rotate, now; returns the result with `promoted` (row P9).

    Raises:
        HomeNotFoundError, NotAllowedError, ConfigurationError.
    """
    from skymem.app import open_home

    detail, _ = open_home().run_job("memory_rotate_check")
    return detail
