"""The steps of the past, in their order: what came, which jobs ran, what was done by hand."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from skymem.jobs.table import JOBS

REPLAYED: Final = (*JOBS, "compact", "train")
"""Jobs that decide by rules: they are run again. Of the others it is told what they did."""


class Came(NamedTuple):
    """Lines that a run found new."""

    agent: str
    ids: tuple[str, ...]


class Ran(NamedTuple):
    """A job that ran on one agent."""

    agent: str
    job: str
    runs: tuple[str, ...] = ()
    """What the ledger calls what it did, where it did anything."""


class ByHand(NamedTuple):
    """What a person or a program did to memories by name, and what it made."""

    agent: str
    job: str
    run: str
    trashed: tuple[tuple[Any, ...], ...]
    """Decisions, as the ledger has them."""

    added: tuple[tuple[Any, ...], ...]


class Restored(NamedTuple):
    """What came back from trash."""

    agent: str
    run: str
    ids: tuple[str, ...]


class Undone(NamedTuple):
    """A run that was taken back."""

    agent: str
    run: str
    of: str


class Pinned(NamedTuple):
    """What was protected from every job, or is so no more."""

    agent: str
    ids: tuple[str, ...]
    pinned: bool


class Imported(NamedTuple):
    """What came straight into a tier."""

    agent: str
    run: str
    decided: tuple[tuple[Any, ...], ...]


class Recalled(NamedTuple):
    """What an answer had."""

    agent: str
    query: str
    ids: tuple[str, ...]


What: TypeAlias = Came | Ran | ByHand | Restored | Undone | Pinned | Imported | Recalled


class Step(NamedTuple):
    """One thing that happened."""

    at: float
    seq: int
    """The entry of the ledger that tells of it, or before which it was."""

    rank: int
    """Among those of one entry: what came before what was done with it."""

    what: What


@dataclass(slots=True)
class Told:
    """What the ledger tells of one run."""

    at: float
    seq: int
    agent: str
    run: str
    job: str
    of: str = ""
    decided: list[list[Any]] = field(default_factory=list)
    added: list[list[Any]] = field(default_factory=list)


def runs_of(entries: Iterable[Mapping[str, Any]]) -> dict[str, Told]:
    """Every run that began, by its name."""
    found: dict[str, Told] = {}
    for entry in entries:
        if entry["op"] == "begin":
            at, seq = entry["ts"], entry["seq"]
            found[entry["run"]] = Told(
                at, seq, entry["agent"], entry["run"], entry["job"], entry.get("of", "")
            )
        elif entry["op"] in ("decide", "add") and entry["run"] in found:
            told = found[entry["run"]]
            told.decided += entry.get("decided", ())
            told.added += entry.get("added", ())
    return found


def steps_told(entries: Iterable[Mapping[str, Any]], runs: Mapping[str, Told]) -> Iterator[Step]:
    """What the ledger tells, but for the jobs that are run again."""
    returning: dict[str, int] = {}
    """By agent, where a run began that brings something back: what it finds was there before."""
    for entry in entries:
        op, at, seq = entry["op"], entry["ts"], entry["seq"]
        if op in ("begin", "end") and entry["job"] in ("restore", "undo"):
            returning[entry["agent"]] = seq if op == "begin" else 0
        if op in ("adopt", "remember"):
            first = returning.get(entry["agent"]) or seq
            yield Step(at, first, 0, Came(entry["agent"], tuple(entry["ids"])))
        elif op in ("pin", "unpin"):
            yield Step(at, seq, 2, Pinned(entry["agent"], tuple(entry["ids"]), op == "pin"))
        elif op == "begin" and (what := _by_hand(runs[entry["run"]])) is not None:
            yield Step(at, seq, 2, what)
        elif op == "decide" and entry["run"] not in runs:
            decided = tuple(tuple(one) for one in entry["decided"] if one[2] == "import")
            if decided:
                yield Step(at, seq, 2, Imported(entry["agent"], entry["run"], decided))


def _by_hand(told: Told) -> What | None:
    if told.job in REPLAYED or told.job == "erase":
        return None
    if told.job == "undo":
        return Undone(told.agent, told.run, told.of)
    if told.job == "restore":
        names = tuple(one[1] for one in told.decided if one[0] == "restore")
        return Restored(told.agent, told.run, names)
    trashed = tuple(tuple(one) for one in told.decided if one[0] == "trash")
    added = tuple(tuple(one) for one in told.added)
    return ByHand(told.agent, told.job, told.run, trashed, added)
