"""A home at one moment, as plain values: all that the live view shows is made of one of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from skymem.live_view.decided import Decided


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was found at one look, and what of it could not be had."""

    at: float
    """Epoch seconds of this look."""

    agent: str | None = None
    """The one that is looked at; None for all."""

    daemon: Mapping[str, Any] = field(default_factory=dict)
    """Whether one runs, and its last sign of life, as of this look."""

    status: Mapping[str, Any] = field(default_factory=dict)
    """What `skymem status --json` tells; {} before it could be read."""

    counted: float = 0.0
    """When that was read whole."""

    jobs: tuple[Mapping[str, Any], ...] = ()
    """What `skymem jobs --json` tells."""

    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The last result of each schedule name or verb."""

    decided: tuple[Decided, ...] = ()
    """Newest first."""

    more_before: bool = False
    """There is older in the ledger than what was read of it."""

    problems: tuple[str, ...] = ()
    """Why what is shown is old, or some of it missing."""

    @property
    def agents(self) -> list[str]:
        """The agents it tells of."""
        return [str(one["name"]) for one in self.status.get("agents", ())]
