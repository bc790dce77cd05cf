"""What the ledger tells of one memory: every transition, oldest first (rows M8, X1)."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from skymem.model.plan import Reason
from skymem.stores.ledger import Ledger

MOVES_TO: Final = MappingProxyType(
    {"promote": "long", "archive": "archive", "trash": "trash", "quarantine": "quarantine"}
)
"""Which tier an action brings a memory to."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a memory."""

    ts: float
    what: str
    """`came in`, an action of a job, `made`, `cited`, `superseded`, `restored`, `pinned` …"""

    run: str = ""
    job: str = ""
    reason: Reason | None = None
    to: str = ""
    """The tier it came to, where it changed it."""

    by: str = ""
    """The id of another memory that had part in it."""

    sources: tuple[str, ...] = ()
    """Of a memory that was made: of which."""

    def as_json(self) -> dict[str, Any]:
        """Spell it as `skymem explain --json` does."""
        told: dict[str, Any] = {"ts": self.ts, "what": self.what}
        told |= {
            key: getattr(self, key) for key in ("run", "job", "to", "by") if getattr(self, key)
        }
        if self.reason is not None:
            told |= self.reason._asdict()
        if self.sources:
            told["sources"] = list(self.sources)
        return told


def history_of(ledger: Ledger, agent: str, name: str) -> list[Event]:
    """Everything the ledger tells of an agent's memory.

    Reads the whole ledger, and parses those of its lines that have the id in them.
    """
    events: list[Event] = []
    wanted = json.dumps(name).encode()
    for entry in ledger.mentioning(wanted):
        if entry.get("agent") == agent:
            events += _events(entry, name)
    return events


def ids_beginning(ledger: Ledger, agent: str, letters: str) -> set[str]:
    """The ids that begin so of an agent's memories, those that are gone as well.

    Reads the whole ledger, and parses those of its lines that have such an id in them.
    """
    found: set[str] = set()
    for entry in ledger.mentioning(json.dumps(letters).encode()[:-1]):
        if entry.get("agent") == agent:
            named = [*entry.get("ids", ()), *(one[1] for one in entry.get("decided", ()))]
            for _, own, evidence, supersedes in entry.get("added", ()):
                named += [own, *evidence, *supersedes]
            found.update(name for name in named if name.startswith(letters))
    return found


def _events(entry: Mapping[str, Any], name: str) -> Iterator[Event]:
    tell = _TELLERS.get(entry["op"])
    if tell is not None:
        yield from tell(entry, name, job_of(str(entry.get("run", ""))))


def job_of(run: str) -> str:
    """The job in a run's name."""
    parts = run.split("_")
    return "_".join(parts[1:-2]) if len(parts) > 3 else ""


def _came(entry: Mapping[str, Any], name: str, _job: str) -> Iterator[Event]:
    if name in entry["ids"]:
        what = "was there" if entry["op"] == "adopt" else "came in"
        yield Event(entry["ts"], what, to="short")


def _edited(entry: Mapping[str, Any], name: str, _job: str) -> Iterator[Event]:
    if name in entry["ids"]:
        yield Event(entry["ts"], "edited outside", to="gone")


def _pinned(entry: Mapping[str, Any], name: str, _job: str) -> Iterator[Event]:
    if name in entry["ids"]:
        yield Event(entry["ts"], "pinned" if entry["op"] == "pin" else "unpinned")


def _decided(entry: Mapping[str, Any], name: str, job: str) -> Iterator[Event]:
    for action, own, *rest in entry["decided"]:
        if own != name:
            continue
        reason = Reason(*[*rest, None, None, ""][:4]) if len(rest) < 4 else Reason(*rest[:4])
        to = MOVES_TO.get(action, "")
        yield Event(entry["ts"], action, str(entry["run"]), job, reason, to)


def _added(entry: Mapping[str, Any], name: str, job: str) -> Iterator[Event]:
    run = str(entry["run"])
    for what, own, evidence, supersedes in entry["added"]:
        if own == name:
            reason = Reason(what, value=float(len(evidence) or len(supersedes)))
            sources = tuple(evidence) or tuple(supersedes)
            yield Event(entry["ts"], "made", run, job, reason, "long", sources=sources)
        if name in evidence:
            yield Event(entry["ts"], "cited", run, job, by=own)
        if name in supersedes:
            yield Event(entry["ts"], "superseded", run, job, by=own)


_Teller = Callable[[Mapping[str, Any], str, str], Iterator[Event]]

_TELLERS: Final[Mapping[str, _Teller]] = MappingProxyType(
    {
        "adopt": _came,
        "remember": _came,
        "edited outside": _edited,
        "pin": _pinned,
        "unpin": _pinned,
        "decide": _decided,
        "add": _added,
    }
)
