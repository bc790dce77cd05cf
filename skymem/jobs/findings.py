"""What `fsck` found: problems, what is worth knowing, and how to go on about each (row X6)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from skymem.jobs.fate import Fate

NAMED_MAX: Final = 1000
"""So many memories of one agent are named for one sort of trouble; the rest is counted."""

_ON_RECORD: Final = "skymem --agent NAME forget ID, then skymem --agent NAME restore ID"

REMEDIES: Final = MappingProxyType(
    {
        "ledger": "a hand or a failing disk changed the record: compare audit/ with a backup; "
        "no memory is touched by it, and skymem goes on",
        "key": "put audit/key back from a backup; without it nobody can tell by these hashes "
        "whether a line was changed by hand, and what was erased may come back; all else goes on",
        "lost": "put its line back from a backup, into the tier the ledger says; a line that is "
        "told as unreadable may be it; to be rid of a memory, forget it instead",
        "doubled": "it is one memory: leave its line in one place, where the ledger says, "
        "and take the others out with an editor",
        "moved outside": f"if you moved it, put that on the record: {_ON_RECORD}; "
        "if not, move its line back with an editor",
        "changed outside": f"if you changed it, put that on the record: {_ON_RECORD}; "
        "if not, put its line back from a backup",
        "unreadable": "skymem leaves it as it is: mend the line with an editor, or take it out",
        "unrecorded": "nothing needs to be done: it counts as one that came in",
    }
)
"""How to go on, by what is wrong; what is not here is mended already."""

_WORDS: Final = MappingProxyType(
    {
        "short": "short-term",
        "long": "long-term",
        "archive": "an archive",
        "trash": "trash",
        "compacted": "it was compacted",
        "edited outside": "it was edited outside",
        "erased": "it was erased",
    }
)

SERIOUS: Final = ("ledger", "key", "lost", "doubled", "moved outside", "changed outside")
"""What must not be; whatever else is told is worth knowing."""

_ORDER: Final = (*SERIOUS, "unrecorded")


@dataclass(slots=True)
class Findings:
    """What was found."""

    entries: int = 0
    """Of the ledger."""

    problems: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    memories: dict[str, dict[str, int]] = field(default_factory=dict)
    """By agent, how many are in which state, and how many came in."""

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def remedies(self) -> dict[str, str]:
        """How to go on, by what was found."""
        found = [one["what"] for one in (*self.problems, *self.notes)]
        return {what: REMEDIES[what] for what in dict.fromkeys(found) if what in REMEDIES}

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem fsck --json` does."""
        return {
            "valid": self.valid,
            "entries": self.entries,
            "problems": self.problems,
            "notes": self.notes,
            "remedies": self.remedies(),
            "memories": self.memories,
        }

    def say(self, what: str, agent: str, message: str, **more: Any) -> None:
        """Add one finding."""
        found = {"what": what, "agent": agent, **more, "message": message}
        (self.problems if what in SERIOUS else self.notes).append(found)


class Named:
    """Memories of one agent that something is wrong with, or that are worth telling of."""

    def __init__(self) -> None:
        self._found: dict[str, list[tuple[str, str]]] = {}
        self._more: Counter[str] = Counter()

    def add(self, fate: Fate) -> None:
        """Take in what is to be told of one memory."""
        for what, about in _wrong(fate):
            found = self._found.setdefault(what, [])
            if len(found) < NAMED_MAX:
                found.append((fate.id, about))
            else:
                self._more[what] += 1

    def say(self, findings: Findings, agent: str) -> None:
        """Name them, by what is wrong."""
        for what in _ORDER:
            for name, about in self._found.get(what, ()):
                findings.say(what, agent, f"{name} {about}", id=name)
            if more := self._more[what]:
                findings.say(what, agent, f"and {more:,} more", more=more)


def _wrong(fate: Fate) -> Iterator[tuple[str, str]]:
    """What is wrong with a memory, or worth telling of it."""
    says = _by_ledger(fate)
    if fate.state == "lost":
        yield "lost", f"is in no file; the ledger says {says}"
    elif fate.state == "doubled":
        yield "doubled", f"stands in {' and in '.join(fate.files)}; the ledger says {says}"
    elif fate.elsewhere:
        yield "moved outside", f"is in {fate.files[0]}; the ledger says {says}"
    if fate.changed:
        yield "changed outside", f"in {fate.files[0]} is not what was put there"
    if not fate.says:
        yield "unrecorded", f"in {fate.files[0]} came in by hand"


def _by_ledger(fate: Fate) -> str:
    """Where a memory is by the ledger, for a person."""
    says = [one for one in _WORDS if one in fate.says]
    words = " or ".join(_WORDS[one] for one in says) or "nothing of it"
    return f"{words} ({fate.run})" if fate.run else words
