"""What the ledger tells of one memory: every transition, oldest first (rows M8, X1)."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Final

from skymem.model.plan import Reason
from skymem.stores.ledger import Ledger

MOVES_TO: Final = MappingProxyType(
    {"promote": "long", "archive": "archive", "trash": "trash", "quarantine": "quarantine"}
)
"""Which tier an action brings a memory to."""

_OF_SUPERSEDERS: Final = MappingProxyType(
    {"trash": "superseder removed", "restore": "superseder back", "undo": "superseder back"}
)
"""Actions by which a memory ceases to supersede, or does so again."""

SCRATCHPAD: Final = "scratchpad_promote"
"""The job that makes memories of a scratchpad's snippets; it has no run to undo."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to a memory."""

    ts: float
    what: str
    """`came in`, an action of a job, `made`, `cited`, `superseded`, `superseder removed`,
    `superseder back`, `pinned` …"""

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
    """Everything the ledger tells of an agent's memory, and what became of what superseded it.

    Reads the whole ledger, for a memory that was superseded twice, and parses those of its lines
    that have one of the ids in them.
    """
    told: list[tuple[int, Event]] = []
    for entry in ledger.mentioning(_spelled(name)):
        if entry.get("agent") == agent:
            told += ((entry["seq"], event) for event in _events(entry, name))
    superseders = {event.by for _, event in told if event.what == "superseded"}
    runs = {event.run for _, event in told}
    for entry in ledger.mentioning(*map(_spelled, superseders)) if superseders else ():
        if entry.get("agent") == agent and entry["op"] == "decide" and entry["run"] not in runs:
            told += ((entry["seq"], event) for event in _of_superseders(entry, superseders))
    return [event for _, event in sorted(told, key=itemgetter(0))]


def _spelled(name: str) -> bytes:
    return json.dumps(name).encode()


def _of_superseders(entry: Mapping[str, Any], names: Collection[str]) -> Iterator[Event]:
    """Tell what a run did to what superseded a memory: is it in its place no more, or again?"""
    for by in names:
        for event in _decided(entry, by, job_of(entry["run"])):
            if (what := _OF_SUPERSEDERS.get(event.what)) is not None:
                yield replace(event, what=what, to="", by=by)


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


def where_gone(ledger: Ledger, agent: str, name: str) -> str:
    """Where to read on, of a memory that only the ledger knows any more; "" of any other."""
    gone = sorted(ids_beginning(ledger, agent, name)) if name else []
    if len(gone) > 1 and name not in gone:
        return f"; it is the beginning of several that are gone: {', '.join(gone[:5])}"
    return f"; it is gone; what became of it: skymem explain {name}" if gone else ""


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


def _shared(entry: Mapping[str, Any], name: str, _job: str) -> Iterator[Event]:
    if name in entry["ids"]:
        what = "shared with" if entry["op"] == "share" else "withdrawn from"
        yield Event(entry["ts"], f"{what} {entry['with']}", run=entry["of"])


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
            reason = Reason(what, value=float(len(evidence) or len(supersedes)) or None)
            sources = tuple(evidence) or tuple(supersedes)
            yield Event(entry["ts"], "made", run, job, reason, "long", sources=sources)
        if name in evidence:
            yield Event(entry["ts"], "cited", run, job, by=own)
        if name in supersedes:
            yield Event(entry["ts"], "superseded", run, job, by=own)


def _likened(entry: Mapping[str, Any], name: str, job: str) -> Iterator[Event]:
    for own, by, value, threshold in entry["likened"]:
        if own == name:
            reason = Reason("duplicate", value, threshold)
            yield Event(entry["ts"], "likened", str(entry["run"]), job, reason, by=by)


def _outlived(entry: Mapping[str, Any], name: str, _job: str) -> Iterator[Event]:
    """Tell what was made of a snippet of a scratchpad, and by which gate that passed (row W2)."""
    reasons = {own: Reason(*rest[:4]) for _, own, *rest in entry.get("decided", ())}
    for what, own, evidence, _ in entry["added"]:
        if own == name:
            reason = Reason(what, value=float(len(evidence)))
            sources = tuple(evidence)
            yield Event(entry["ts"], "made", "", SCRATCHPAD, reason, "short", sources=sources)
        if name in evidence:
            yield Event(entry["ts"], "cited", "", SCRATCHPAD, reasons.get(name), by=own)


_Teller = Callable[[Mapping[str, Any], str, str], Iterator[Event]]

_TELLERS: Final[Mapping[str, _Teller]] = MappingProxyType(
    {
        "adopt": _came,
        "remember": _came,
        "edited outside": _edited,
        "pin": _pinned,
        "unpin": _pinned,
        "share": _shared,
        "withdraw": _shared,
        "decide": _decided,
        "add": _added,
        "likened": _likened,
        "scratchpad": _outlived,
    }
)
