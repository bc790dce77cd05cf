"""Regret: what was recalled, and under other rules would not have been where it was."""

from typing import Any, NamedTuple

from skymem.simulation.steps import Recalled
from skymem.simulation.whereabouts import Spot, Whereabouts


class Regret(NamedTuple):
    """A memory that was recalled."""

    at: float
    agent: str
    id: str
    what: str
    """What it would have been by then: `removed`, `archived` or `not_promoted`."""

    since: float | None
    """Since when, epoch seconds; None where it would be gone for good."""

    def as_json(self) -> dict[str, Any]:
        """Spell it for `skymem simulate --json`."""
        return self._asdict()


def regret_of(recalled: Recalled, at: float, old: Whereabouts, new: Whereabouts) -> list[Regret]:
    """Hold both pasts against each other, at the moment of an answer.

    What a run made has another id in every past: of that nothing is said.
    """
    found = []
    for name in recalled.ids:
        was, would = old.spot(recalled.agent, name), new.spot(recalled.agent, name)
        known = name not in old.gone.get(recalled.agent, ())
        what = _worse(was, would) if known and was is not None and not was.made else ""
        if what:
            since = would.since if would is not None else None
            found.append(Regret(at, recalled.agent, name, what, since))
    return found


def _worse(was: Spot | None, would: Spot | None) -> str:
    if was is None or was.tier == "trash":
        return ""
    if would is None or would.tier == "trash":
        return "removed"
    if would.tier == "archive" and was.tier in ("short", "long"):
        return "archived"
    return "not_promoted" if would.tier == "short" and was.tier == "long" else ""
