"""Preferences found by likeness of the situation, and those that go with them (rows W3, W5)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skymem.model.preference import Preference
from skymem.policy import preferred
from skymem.recall.request import check_limit
from skymem.recall.result import DECIMALS
from skymem.working.likeness import likeness

if TYPE_CHECKING:
    from skymem.app import Home


@dataclass(frozen=True, slots=True)
class FoundPreference:
    """A preference that fits a situation, or goes with one that does."""

    preference: Preference
    score: float
    """How near it is, 0 to 1; of one that goes with another, that one's."""

    source: Preference | None = None
    """The one it goes with, where it is not itself near."""

    by: str = ""
    """`related`, as is declared; or `tag:NAME`, a tag that both have."""

    def as_json(self) -> dict[str, Any]:
        """Spell it."""
        source = None
        if self.source is not None:
            source = {"id": self.source.id, "preference": self.source.name, "by": self.by}
        told = {"score": round(self.score, DECIMALS), "hop": int(source is not None)}
        return {**self.preference.as_json(), **told, "via": source}


class Found(list[FoundPreference]):
    """What fits, nearest first, then what goes with it; it also knows how it was found."""

    def __init__(
        self, found: Iterable[FoundPreference], mode: str, degraded: Iterable[str] = ()
    ) -> None:
        super().__init__(found)
        self.mode = mode
        """`meaning`, or `words` where there is no engine."""

        self.degraded = list(degraded)
        """What did not work as it should, and was done without."""

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem pref find --json` prints it."""
        results = [one.as_json() for one in self]
        return {"results": results, "mode": self.mode, "degraded": self.degraded}


def find(
    home: "Home", agent: str, situation: str, limit: int, preferences: Sequence[Preference]
) -> Found:
    """Rank preferences by how near they are to a situation in words.

    Raises:
        UsageError: the limit is outside its range.
    """
    check_limit(limit)
    near = likeness(home, agent, situation, [one.text for one in preferences])
    scored = [
        FoundPreference(one, score)
        for one, score in zip(preferences, near.scores, strict=True)
        if score > 0
    ]
    scored.sort(key=lambda one: (-one.score, -(one.preference.ts or 0.0), one.preference.id))
    direct = scored[:limit]
    scores = {one.preference.id: one.score for one in direct}
    nearest = [one.preference for one in direct]
    hops = [
        FoundPreference(hop.preference, scores[hop.source.id], hop.source, hop.by)
        for hop in preferred.hops(nearest, preferences, home.rules.preferences)[:limit]
    ]
    return Found([*direct, *hops], near.mode, near.degraded)
