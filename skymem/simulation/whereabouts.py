"""Where each memory was at a moment, by what the ledger tells up to then."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from skymem.model.plan import Reason
from skymem.stores.protection import BY_A_PERSON
from skymem.stores.tiers import tier_of

SHORT_FILE: Final = "short_term.jsonl"

COUNTED: Final = ("promote", "archive", "trash", "compact")
"""Actions that are held side by side."""

_BRINGS: Final = {"promote": "long", "archive": "archive"}
_RETURNS: Final = ("restore", "undo")


class Spot(NamedTuple):
    """Where a memory is."""

    tier: str
    since: float
    """Epoch seconds."""

    run: str = ""
    """By which it came there."""

    made: bool = False
    """Whether a run made it, and no line brought it."""

    file: str = ""
    """Of what is in trash: where it was."""

    reason: Reason | None = None
    """Likewise: why."""

    after: str | None = None
    """Likewise: behind which memory it stood, of what comes back some time."""

    stood_since: float = 0.0
    """Likewise: since when it was where it was."""

    line: int = -1
    """Of what left short-term for another tier, and comes back some time: which line it was."""


@dataclass(slots=True)
class Whereabouts:
    """Follows the ledger; of each agent's memories, in the order in which they came there."""

    spots: dict[str, dict[str, Spot]] = field(default_factory=dict)
    did: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """By agent and action, whom it was decided about, and what was `made`."""

    pinned: dict[str, dict[str, bool]] = field(default_factory=dict)
    restored: dict[str, dict[str, tuple[float, str]]] = field(default_factory=dict)
    again: dict[str, list[str]] = field(default_factory=dict)
    """By agent, memories that stand in short-term once more."""

    returning: frozenset[tuple[str, str]] = frozenset()
    """Agent and id of what comes back some time: of these it is noted where they stood."""

    gone: dict[str, set[str]] = field(default_factory=dict)
    """By agent, memories of which nobody has the text: they are not counted."""

    def spot(self, agent: str, name: str) -> Spot | None:
        """Where a memory is; None when it is nowhere, or never was."""
        return self.spots.get(agent, {}).get(name)

    def begin_counting(self) -> None:
        """Count from here on."""
        self.did.clear()

    def names(self, agent: str, action: str) -> list[str]:
        """About whom there was a decision of this sort, once for each."""
        return self.did.get(agent, {}).get(action, [])

    def tell(self, entry: Mapping[str, Any]) -> None:
        """Take in an entry of the ledger, one after the other."""
        op = entry["op"]
        if op in ("adopt", "remember"):
            self._came(entry)
        elif op == "decide":
            self._decide(entry)
        elif op == "add":
            for _, name, *_ in entry["added"]:
                self._put(entry["agent"], name, Spot("long", entry["ts"], entry["run"], made=True))
                self._count(entry["agent"], name, "made")
        elif op in ("edited outside", "erase"):
            self._lost(entry["agent"], entry["ids"])
        elif op in ("pin", "unpin"):
            own = self.pinned.setdefault(entry["agent"], {})
            own |= dict.fromkeys(entry["ids"], op == "pin")

    def _decide(self, entry: Mapping[str, Any]) -> None:
        stood = self._stood(entry)
        back = [one for one in entry["decided"] if one[0] in _RETURNS]
        for decision in entry["decided"]:
            if decision[0] not in _RETURNS:
                self._decided(entry, decision, stood)
        if back:
            self._come_back(entry, back)

    def _lost(self, agent: str, names: Iterable[str]) -> None:
        for name in names:
            self.spots.get(agent, {}).pop(name, None)

    def _came(self, entry: Mapping[str, Any]) -> None:
        for name in entry["ids"]:
            there = self.spot(entry["agent"], name)
            if there is None or there.tier == "trash":
                self._put(entry["agent"], name, Spot("short", entry["ts"]))
            else:
                self.again.setdefault(entry["agent"], []).append(name)

    def _put(self, agent: str, name: str, spot: Spot) -> None:
        own = self.spots.setdefault(agent, {})
        own.pop(name, None)  # what comes again comes last
        own[name] = spot

    def _count(self, agent: str, name: str, action: str) -> None:
        if name not in self.gone.get(agent, ()):
            self.did.setdefault(agent, {}).setdefault(action, []).append(name)

    def _stood(self, entry: Mapping[str, Any]) -> dict[str, str | None]:
        """Behind what the memories stand that leave for trash, and come back some time."""
        agent = entry["agent"]
        names = {one[1] for one in entry["decided"] if one[0] == "trash"}
        names = {name for name in names if (agent, name) in self.returning}
        found: dict[str, str | None] = {}
        before: dict[str, str] = {}
        for name, spot in self.spots.get(agent, {}).items() if names else ():
            if name in names:
                found[name] = before.get(spot.tier)
            before[spot.tier] = name
        return found

    def _decided(
        self, entry: Mapping[str, Any], decision: list[Any], stood: Mapping[str, str | None]
    ) -> None:
        agent, at, run = entry["agent"], entry["ts"], entry["run"]
        action, name, *why = decision[:6]
        file = decision[6] if len(decision) > 6 else ""
        was = self.spot(agent, name)
        made = was is not None and was.made
        if action == "repeat" and not file and name in self.again.get(agent, ()):
            self.again[agent].remove(name)
        if action in COUNTED:
            self._count(agent, name, action)
        if action in _BRINGS:
            line = decision[7] if len(decision) > 7 and (agent, name) in self.returning else -1
            self._put(agent, name, Spot(_BRINGS[action], at, run, made, line=line))
        elif action == "trash":
            since = was.since if was is not None else 0.0
            place = (file or SHORT_FILE, Reason(*why), stood.get(name), since)
            self._put(agent, name, Spot("trash", at, run, made, *place))
        elif action == "lift":
            self.restored.get(agent, {}).pop(name, None)
        elif action in ("compact", "erase") and (action == "erase" or _is_in_trash(was)):
            self._lost(agent, [name])

    def _come_back(self, entry: Mapping[str, Any], decisions: list[list[Any]]) -> None:
        """To where they stood, as `jobs.put_back` does it."""
        agent, at = entry["agent"], entry["ts"]
        own = self.spots.setdefault(agent, {})
        coming: dict[str, dict[str, tuple[Spot, Spot | None]]] = {}
        for _, name, gate, *rest in decisions:
            file = rest[3] if len(rest) > 3 else ""
            tier = "short" if file in ("", SHORT_FILE) else tier_of(file)
            was = own.pop(name, None)
            since = was.stood_since if was is not None and was.stood_since else at
            spot = Spot(tier, since, "", was is not None and was.made)
            coming.setdefault(tier, {})[name] = spot, was
            if gate not in BY_A_PERSON:
                self.restored.setdefault(agent, {})[name] = (at, gate)
        for tier, group in coming.items():
            there = [name for name, spot in own.items() if spot.tier == tier]
            spots = {name: own.pop(name) for name in there}
            spots |= {name: spot for name, (spot, _) in group.items()}
            places = _places(there, {name: was for name, (_, was) in group.items()})
            behind = sorted(group, key=places.__getitem__)
            for number, name in enumerate([*there, ""]):
                while behind and places[behind[0]] <= number:
                    back = behind.pop(0)
                    own[back] = spots[back]
                if name:
                    own[name] = spots[name]


def _places(there: list[str], coming: Mapping[str, Spot | None]) -> dict[str, int]:
    """Before the how many-th of those that are there each comes back."""
    lines = {name: -1 if was is None else was.line for name, was in coming.items()}
    numbered = sorted((name for name in coming if lines[name] >= 0), key=lines.__getitem__)
    places = {name: min(lines[name] - rank, len(there)) for rank, name in enumerate(numbered)}
    known = {name: number + 1 for number, name in enumerate(there)}
    for name, was in coming.items():
        if name not in places:
            after = None if was is None else was.after
            places[name] = known[name] = 0 if after is None else known.get(after, len(there))
    return places


def _is_in_trash(spot: Spot | None) -> bool:
    return spot is not None and spot.tier == "trash"
