"""The receipt of an erasure: each place before and after, and what is out of reach (row X5).

Ids, counts and names of places; it goes to the ledger, the status and a person alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from skymem.errors import SkymemError
from skymem.jobs.erase_find import ARCHIVES, LONG, QUARANTINE, SHORT, TRASH, Found
from skymem.jobs.erasing import (
    AGENT_MD,
    CATALOG,
    DRAINS,
    OTHERS,
    PROTECTED,
    RECALLED,
    TOMBSTONES,
    VECTORS,
    WORDS,
)
from skymem.stores.erasures import Erasure

_ACTIONS: Final = MappingProxyType(
    {
        SHORT: "swapped for a file without them",
        DRAINS: "blanked where they were taken over",
        LONG: "rewritten",
        ARCHIVES: "rewritten, or removed with their last line",
        TRASH: "rewritten, or removed with their last line",
        QUARANTINE: "blanked; the index stays",
        PROTECTED: "dropped",
        RECALLED: "dropped",
        AGENT_MD: "its entries dropped; what a person wrote stays",
        WORDS: "removed and made anew",
        CATALOG: "read anew, and its freed pages with it",
        OTHERS: "removed",
        VECTORS: "made anew without them",
        TOMBSTONES: "put up: keyed hashes, so that it does not come back",
    }
)

_UNREACHABLE: Final = (
    ("ledger", "audit/ tells ids, kinds of action and numbers of it, as it did before; never text"),
    ("plans", "saved plans hold ids and numbers only; those about it don't apply any more"),
    (
        "backups",
        "backups, exports, reports and copies of this home: delete them, or erase there as well",
    ),
    ("journal", "what other programs wrote of it: the system's journal, an agent's own logs"),
    ("disk", "blocks that the disk has freed, snapshots of the file system, and its journal"),
    ("processes", "what running processes hold in memory, and files they have open still"),
)


@dataclass(slots=True)
class Receipt:
    """What an erasure did."""

    agent: str
    started: float
    ended: float = 0.0
    run: str = ""
    dry_run: bool = False
    erased: dict[str, list[str]] = field(default_factory=dict)
    """Ids by why they went."""

    rewritten: list[str] = field(default_factory=list)
    already: Mapping[str, float] = field(default_factory=dict)
    """Ids that were erased before, and when."""

    places: list[dict[str, Any]] = field(default_factory=list)
    left: list[dict[str, Any]] = field(default_factory=list)
    """What is not done yet, and why."""

    quoting: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    servers: list[str] = field(default_factory=list)
    shared: list[dict[str, str]] = field(default_factory=list)
    """Copies that others had of it by a rule of sharing, and that went: whose, which, by which
    run."""

    pieces: int = 0
    proof: dict[str, Any] | None = None
    exit_code: int = 0

    def found(self, found: Found, already: Mapping[str, float]) -> None:
        """Take in what it is about."""
        for one in found.targets:
            if one.why != "rewritten":
                self.erased.setdefault(one.why, [])
                if one.name not in self.erased[one.why]:
                    self.erased[one.why].append(one.name)
        self.rewritten = found.ids("rewritten")
        self.already, self.quoting, self.same = already, found.quoting, sorted({*found.same})
        self.pieces = len(found.raws)
        self.places = [
            {"place": name, "before": count, "after": None, "action": _ACTIONS[name]}
            for name, count in sorted(found.places.items())
        ]

    def done(self, erasure: Erasure) -> None:
        """Take in what was done."""
        self.servers = erasure.remote
        self.places = [
            {
                "place": name,
                "before": one.before,
                "after": one.after if one.done else None,
                "action": one.action or _ACTIONS[name],
            }
            for name, one in erasure.places.items()
        ]

    def pending(self, erasure: Erasure, error: SkymemError) -> None:
        """Note that something waits for another time."""
        self.left.append({"run": erasure.run, "place": VECTORS, "why": str(error)})
        self.exit_code = self.exit_code or error.exit_code

    @property
    def ids(self) -> list[str]:
        """All ids that went."""
        return [name for names in self.erased.values() for name in names]

    @property
    def complete(self) -> bool:
        """Whether nothing waits."""
        return not self.left

    def unreachable(self) -> list[dict[str, str]]:
        """What is out of reach."""
        found = [{"what": what, "why": why} for what, why in _UNREACHABLE]
        for url in self.servers:
            why = "deleted on the Chroma server; what that keeps on its disk can't be looked at"
            found.append({"what": url, "why": why})
        return found

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem erase --json` does."""
        told: dict[str, Any] = {
            "run": self.run or None,
            "agent": self.agent,
            "started": self.started,
            "duration_s": round(self.ended - self.started, 6),
            "complete": self.complete,
            "erased": self.ids,
            "why": self.erased,
            "rewritten": self.rewritten,
            "shared": self.shared,
            "pieces": self.pieces,
            "already": dict(self.already),
            "places": self.places,
            "pending": self.left,
            "still_said_by": sorted({*self.quoting, *self.same}),
            "unreachable": self.unreachable(),
            "proof": self.proof,
        }
        return {**told, "dry_run": True} if self.dry_run else told

    def detail(self) -> dict[str, Any]:
        """What the status and the history tell of it."""
        return {
            "ok": self.complete,
            "job": "erase",
            "started": self.started,
            "duration_s": round(self.ended - self.started, 6),
            "acted": len(self.ids) + len(self.rewritten),
            "agent": self.agent,
            "erased": len(self.ids),
            "rewritten": len(self.rewritten),
            "complete": self.complete,
            **({"runs": [self.run]} if self.run else {}),
            **({"error": self.left[0]["why"]} if self.left else {}),
        }
