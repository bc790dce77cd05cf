"""Undo: a whole run of a job is taken back, from what the ledger says it did (promise 5).

Lines return to where they stood, byte for byte; new memories that the run made go to trash. What
has moved on since, or is gone, is left and told. Dropped repeats stay dropped, as their memory is
elsewhere, and so does damage: its bytes are in quarantine.
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final

from skymem.errors import UsageError
from skymem.jobs.lift import lift
from skymem.jobs.move import run_id
from skymem.jobs.prepare import ready, settle
from skymem.jobs.put_back import Return, Returning
from skymem.jobs.workplace import Workplace
from skymem.model.identity import derived_id, digest
from skymem.model.plan import STAYING, Reason
from skymem.model.spelling import former, read_line
from skymem.model.strict_json import BOM
from skymem.stores.catalog import Catalog, Found
from skymem.stores.edits import Edit
from skymem.stores.files import disk_errors
from skymem.stores.history import job_of
from skymem.stores.ledger import Ledger, in_batches
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import BY_A_PERSON, read_protection
from skymem.stores.shelf import Shelf
from skymem.stores.trash import Held

LOOKED_AT: Final = 20
"""All of what was done last may have moved on: so many commands back something is looked for."""

UNREADABLE: Final = "unreadable in trash"

UNDOABLE = (
    *("promote", "rotate", "compress", "merge", "prune", "share", "ingest"),
    *("forget", "correct", "profile"),
)


@dataclass(slots=True)
class Recorded:
    """A run as the ledger has it."""

    run: str
    agent: str
    job: str
    decided: list[list[Any]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    """Ids of the memories it made."""

    undone_by: str = ""
    """The run that took it back, whole."""

    before: dict[str, bytes] = field(default_factory=dict)
    """Fingerprints of the lines that moved, as they stood, by id."""


def recorded(ledger: Ledger, run: str, agents: Collection[str]) -> Recorded:
    """Find a run by its name.

    Raises:
        UsageError: there is none, or it is one that can't be taken back.
    """
    found: Recorded | None = None
    undone = _Undone()
    for _, entry in ledger.read_from(0):
        undone.take(entry)
        if entry.get("run") != run:
            continue
        if entry["op"] == "begin" and entry["agent"] in agents:
            found = Recorded(entry["run"], entry["agent"], entry["job"])
        elif found is not None:
            _take(found, entry)
    if found is None:
        whose = ", ".join(sorted(agents))
        raise UsageError(f"the ledger has no run {run!r:.80} of {whose}; see: skymem audit log")
    if found.job not in UNDOABLE:
        what = "what was erased" if found.job == "erase" else f"a {found.job}"
        raise UsageError(f"{found.run} is no run of a job: {what} can't be undone")
    found.undone_by = undone.by.get(run, "")
    return found


class _Undone:
    """Which runs were taken back; an undo that was killed took back nothing for sure."""

    def __init__(self) -> None:
        self.by: dict[str, str] = {}
        """By the run, the undo that came to its end."""

        self._begun: dict[str, str] = {}

    def take(self, entry: Mapping[str, Any]) -> None:
        """Note what an entry of the ledger says of it."""
        if entry.get("op") == "begin" and "of" in entry:
            self._begun[entry["run"]] = entry["of"]
        elif entry.get("op") == "end" and entry["run"] in self._begun:
            run = self._begun.pop(entry["run"])
            if not entry.get("recovered"):
                self.by[run] = entry["run"]


def last_runs(ledger: Ledger, agents: Collection[str]) -> Iterator[list[str]]:
    """What was done and not undone yet, the last first: one command's runs, or one due entry's."""
    batches: dict[str, list[str]] = {}
    undone = _Undone()
    for _, entry in ledger.read_from(0):
        undone.take(entry)
        if entry.get("op") == "begin" and entry["agent"] in agents and entry["job"] in UNDOABLE:
            batches.setdefault(entry.get("batch", entry["run"]), []).append(entry["run"])
    for runs in reversed(batches.values()):
        if left := [run for run in reversed(runs) if run not in undone.by]:
            yield left


def _take(found: Recorded, entry: dict[str, Any]) -> None:
    if entry["op"] == "decide":
        found.decided += entry["decided"]
    elif entry["op"] == "add":
        found.added += [one[1] for one in entry["added"]]
    elif entry["op"] == "moved":
        found.before |= {one[0]: bytes.fromhex(one[1]) for one in entry["moved"]}


def undo(
    work: Workplace, run: str | None, agents: Collection[str], *, dry_run: bool = False
) -> dict[str, Any]:
    """Take a run back; returns the detail, with the ids under `restored`.

    Args:
        work: the home.
        run: its name, as `skymem audit log` and the status tell it; of an undo, see `lift`. None:
            what was done last, all of its runs.
        agents: whose runs count.
        dry_run: only say what would come back.

    Raises:
        UsageError: there is no such run.
        BusyError, DiskError: nothing is lost; do it again.
    """
    started = work.now()
    ledger = work.ledger()
    undoing = partial(_undo, work, agents=agents, dry_run=dry_run)
    each: list[dict[str, Any]] = []
    with work.catalog() as catalog:
        last = islice(last_runs(ledger, agents), LOOKED_AT)
        for names in [[run]] if run is not None else last:
            each = [undoing(catalog, name) for name in names]
            if any(one["acted"] for one in each):
                break
    if not each:
        raise UsageError("no run has done anything that could be undone, or all of them were")
    detail = each[0] if len(each) == 1 else _together(each)
    detail |= {"started": started, "duration_s": round(work.now() - started, 6)}
    return {**detail, "dry_run": True} if dry_run else detail


def _undo(
    work: Workplace, catalog: Catalog, run: str, *, agents: Collection[str], dry_run: bool
) -> dict[str, Any]:
    if job_of(run) == "undo":
        return lift(work, catalog, run, agents, dry_run=dry_run)
    _refuse_others(work, run, agents)
    record = recorded(work.ledger(), run, agents)
    if record.undone_by:
        return _undone_already(record)
    if dry_run:
        shelf = work.shelf(record.agent)
        looking = partial(_Undoing, work, shelf, catalog, record, "")
        return work.ask(catalog, shelf, lambda: looking().prepared()).detail()
    with ready(work, catalog, record.agent, "undo") as (shelf, _):
        own = run_id("undo", work.now())
        undoing = _Undoing(work, shelf, catalog, record, own).prepared()
        undoing.carry_out()
    settle(work, shelf, {own})
    detail = undoing.detail()
    return {**detail, "runs": [own]} if detail["acted"] else detail


def _refuse_others(work: Workplace, run: str, agents: Collection[str]) -> None:
    """A run of an agent out of reach is refused to who is bound, and on record (row M7)."""
    if work.bound is None:
        return
    for entry in work.ledger().mentioning(json.dumps(run).encode()):
        if entry["op"] == "begin" and entry["run"] == run and entry["agent"] not in agents:
            raise work.crossing(entry["agent"])


def _undone_already(record: Recorded) -> dict[str, Any]:
    return {
        "ok": True,
        "job": "undo",
        "of": record.run,
        "agent": record.agent,
        "acted": 0,
        "restored": [],
        "removed": [],
        "left": {},
        "why": f"it was undone already, by {record.undone_by}",
    }


def _together(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The detail of several runs that were taken back, the newest first."""
    left = sum((Counter(one["left"]) for one in each), Counter[str]())
    whole: dict[str, Any] = {
        "ok": True,
        "job": "undo",
        "of": ", ".join(one["of"] for one in each),
        "agent": ", ".join(sorted({one["agent"] for one in each})),
        "acted": sum(one["acted"] for one in each),
        "left": dict(left),
    }
    for name in ("restored", "removed", "runs"):
        whole[name] = [item for one in each for item in one.get(name, ())]
    alone = [one["left_alone"] for one in each if "left_alone" in one]
    if alone:
        gates = {gate for one in alone for gate in one["by"]}
        whole["left_alone"] = {"by": sorted(gates), "until": max(one["until"] for one in alone)}
    if respelled := sum(one.get("respelled", 0) for one in each):
        whole["respelled"] = respelled
    return whole if whole["acted"] else {**whole, "why": each[0]["why"]}


class _Undoing:
    """One run being taken back."""

    def __init__(
        self, work: Workplace, shelf: Shelf, catalog: Catalog, record: Recorded, own: str
    ) -> None:
        self._work = work
        self._shelf = shelf
        self._record = record
        self._own = own
        self._catalog = catalog
        self._back = Return(work, shelf, catalog)
        self._life = Lifecycle(catalog, record.agent, work.rules.kinds)
        self._pinned = read_protection(shelf.paths.protected).pinned
        self._left: Counter[str] = Counter()
        self._respelled = 0

    def prepared(self) -> "_Undoing":
        """Find where everything is now."""
        self._from_trash()
        self._from_tiers()
        self._additions()
        return self

    def carry_out(self) -> None:
        """Do it, between its own entries in the ledger; nothing to do leaves no entry."""
        if not (self._back.gates or self._back.to_trash):
            return
        whose = {"agent": self._record.agent, "run": self._own}
        begin = {"op": "begin", **whose, "job": "undo", "short": [], "of": self._record.run}
        files = self._back.destinations()
        returning = [["undo", name, gate, files[name]] for name, gate in self._back.gates.items()]
        removed = [["trash", held.id, "undone", held.file] for held in self._back.to_trash]
        spelled = (
            [*one, None, None, self._record.run, file, -1] for *one, file in (*returning, *removed)
        )
        batches = in_batches("decided", spelled, op="decide", **whose)
        self._work.ledger().append([begin, *batches], self._work.now())
        self._back.carry_out(self._own)
        self._work.ledger().append([{"op": "end", **whose, "job": "undo"}], self._work.now())

    def detail(self) -> dict[str, Any]:
        """What came back, what went, and what had moved on."""
        back = self._back
        detail: dict[str, Any] = {
            "ok": True,
            "job": "undo",
            "of": self._record.run,
            "agent": self._record.agent,
            "acted": len(back.gates) + len(back.to_trash),
            "restored": [*back.gates],
            "removed": [held.id for held in back.to_trash],
            "left": dict(self._left),
        }
        if by_rule := sorted({*back.gates.values()} - {*BY_A_PERSON}):
            until = self._work.now() + self._work.rules.restore_grace_seconds
            detail["left_alone"] = {"by": by_rule, "until": until}
        if self._respelled:
            detail["respelled"] = self._respelled
        if not detail["acted"]:
            detail["why"] = "all of it was taken back, or has moved on, already"
        if unreadable := self._left[UNREADABLE]:
            detail["why"] = f"{unreadable} line(s) of its trash can't be read: skymem trash list"
        return detail

    def _from_trash(self) -> None:
        trash, file = self._shelf.trash, self._shelf.trash.file_of(self._record.run)
        lying = {held.id: held for held in trash.read(file)}
        trashed = {name for action, name, *_ in self._record.decided if action == "trash"}
        for name, held in lying.items():  # in their order, as each says what it stood behind
            if name in trashed:
                self._back.add_held(held)
        gone = len(trashed - lying.keys())
        unreadable = min(gone, trash.unreadable(file)) if gone else 0
        self._left += Counter({UNREADABLE: unreadable, "no longer in trash": gone - unreadable})

    def _from_tiers(self) -> None:
        """Lines that the run took from short-term to another tier."""
        moved = [one for one in self._record.decided if one[0] not in (*STAYING, "trash")]
        places = self._catalog.find(self._record.agent, [one[1] for one in moved])
        for _, name, gate, _, _, _, _, line in moved:
            place = places.get(name)
            if place is None or place.tier == "trash":
                self._left["moved on"] += 1
                continue
            self._back.short.append(Returning(name, self._as_it_was(name, place), at=line))
            self._leaves(place)
            self._back.gates[name] = gate
        returning = [name for name in places if name in self._back.gates]
        for name, again in self._catalog.repeats(self._record.agent, returning):
            if again.digest == places[name].digest:
                self._leaves(again)

    def _leaves(self, place: Found) -> None:
        edit = Edit(place.start, place.end)
        self._back.gone.setdefault(place.file, []).append(edit)

    def _as_it_was(self, name: str, place: Found) -> bytes:
        """The line as it stood in short-term: the one spelling that has its fingerprint.

        A run that was killed noted none: then the likeliest that is the same memory, for a writer's
        own id must not be taken for one of ours.
        """
        raw = self._raw(place)
        wanted = self._record.before.get(name)
        key = self._work.home_key()
        likely = b""
        for line in former(raw):
            if key.fingerprint(line) == wanted:
                return line + b"\n"
            if not likely and _name(line) == name:
                likely = line
        self._respelled += wanted is not None
        return (likely or raw) + b"\n"

    def _raw(self, place: Found) -> bytes:
        path = self._shelf.paths.directory / place.file
        with disk_errors(path):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                raw = os.pread(fd, place.end - place.start, place.start)
            finally:
                os.close(fd)
        return (raw.removeprefix(BOM) if place.start == 0 else raw).strip(b"\n")

    def _additions(self) -> None:
        """Memories the run made go to trash, unless somebody pinned them."""
        places = self._catalog.find(self._record.agent, self._record.added)
        now = self._work.now()
        for name, place in places.items():
            if place.tier == "trash":
                continue
            # A correction is pinned because what it corrects was; its own undoing outranks that.
            if name in self._pinned and self._record.job != "correct":
                self._left["pinned"] += 1
                continue
            reason = Reason("undone", note=self._record.run)
            after = self._life.before(place.file, place.start)
            where = (place.tier, place.file, self._own, now, reason, after)
            self._back.to_trash.append(Held(name, *where, self._raw(place)))
            self._leaves(place)


def _name(line: bytes) -> str:
    memory = read_line(line)
    return memory.source_id or derived_id(digest(memory))
