"""Putting lines back where they were: what `restore` and `undo` share.

A line goes back behind the one it stood behind, or to the end when that has gone as well. In
short-term that is a swap, in the other tiers the one rewrite (promise 10).
"""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from skymem.jobs.rehearse import open_reading
from skymem.jobs.seen import digests_of
from skymem.jobs.workplace import Workplace
from skymem.model.identity import digest
from skymem.model.plan import Damage
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM
from skymem.stores.catalog import Catalog
from skymem.stores.edits import Edit
from skymem.stores.files import disk_errors
from skymem.stores.ledger import in_batches
from skymem.stores.lifecycle import Lifecycle
from skymem.stores.protection import read_protection, write_protection
from skymem.stores.rewrite import rewrite
from skymem.stores.shelf import Shelf
from skymem.stores.trash import Held


@dataclass(frozen=True, slots=True)
class Returning:
    """A line on its way back."""

    id: str
    line: bytes
    """With its newline."""

    after: str | None = None
    """Behind which memory; None puts it first."""

    at: int = -1
    """Before which line of short-term, by its number then; -1 goes by `after`."""


@dataclass(slots=True)
class Return:
    """Everything that comes back at once, and what gives way for it."""

    work: Workplace
    shelf: Shelf
    catalog: Catalog
    short: list[Returning] = field(default_factory=list)
    files: dict[str, list[Returning]] = field(default_factory=dict)
    """By the file of long-term or the archives they come back to."""

    gone: dict[str, list[Edit]] = field(default_factory=dict)
    """What leaves those files, by name: it goes to short-term or to trash."""

    from_trash: set[tuple[str, bytes]] = field(default_factory=set)
    """By their `Held.key`."""

    to_trash: list[Held] = field(default_factory=list)
    gates: dict[str, str] = field(default_factory=dict)
    """Of what comes back, by id, the gate of the rule that had moved it."""

    def add_held(self, held: Held) -> None:
        """Bring one back from trash."""
        line = Returning(held.id, held.line + b"\n", held.after)
        if held.tier == "short":
            self.short.append(line)
        else:
            self.files.setdefault(held.file, []).append(line)
        self.from_trash.add(held.key)
        self.gates[held.id] = held.reason.gate

    def destinations(self) -> dict[str, str]:
        """The file of the agent's directory that each memory comes back to, by id."""
        short = self.shelf.paths.short_term.name
        found = {one.id: name for name, lines in self.files.items() for one in lines}
        return found | {one.id: short for one in self.short}

    def carry_out(self, run: str) -> None:
        """Do it; a kill leaves each memory in its old place or in both, and ids tell which.

        Raises:
            ShortTermChangedError, TierChangedError, DiskError: nothing is lost; do it again.
        """
        shelf, now = self.shelf, self.work.now()
        protection = read_protection(shelf.paths.protected)
        protection.forget((), now - self.work.rules.restore_grace_seconds)
        protection.restore(self.gates, now)
        write_protection(shelf.paths.protected, protection, shelf.files)
        if self.to_trash:
            shelf.trash.keep(run, (held.envelope() for held in self.to_trash))
        self._leave_out_what_is_there()
        into_short(self.work, shelf, self.catalog, run, self.short)
        for name in sorted({*self.files, *self.gone}):
            edits = [*self.gone.get(name, ()), *self._into(name)]
            rewrite(shelf.paths, shelf.files, name, sorted(edits, key=lambda one: one[:2]))
        for path in shelf.trash.names() if self.from_trash else ():
            if path != shelf.trash.file_of(run):
                shelf.trash.without(path, self.from_trash)
        self.catalog.catch_up(shelf.paths)
        remember_short(self.work, shelf, self.catalog, self.gates)

    def _leave_out_what_is_there(self) -> None:
        """What was remembered again since it was removed comes back to no second place."""
        agent = self.shelf.paths.name
        coming = {one.id: one.line for one in chain(self.short, *self.files.values())}
        leaving = {(name, edit.start) for name, edits in self.gone.items() for edit in edits}
        there = {
            name
            for name, place in self.catalog.find(agent, [*coming]).items()
            if place.tier != "trash"
            and (place.file, place.start) not in leaving
            and place.digest == digest(read_line(coming[name]))
        }
        self.short = [one for one in self.short if one.id not in there]
        self.files = {
            name: [one for one in each if one.id not in there] for name, each in self.files.items()
        }

    def _into(self, name: str) -> list[Edit]:
        """Where the lines of one file go: each behind the one it stood behind."""
        life = Lifecycle(self.catalog, self.shelf.paths.name, self.work.rules.kinds)
        path = self.shelf.paths.directory / name
        size = path.stat().st_size if path.exists() else 0
        places: dict[str | None, int] = {None: _first(path)}
        edits: list[Edit] = []
        for one in self.files.get(name, ()):
            if one.after not in places:
                end = life.end_of(name, str(one.after))
                places[one.after] = size if end is None else end
            offset = places[one.after]
            edits.append(Edit(offset, offset, one.line))
            places[one.id] = offset  # the next may stand behind this one
        return edits


def into_short(
    work: Workplace, shelf: Shelf, catalog: Catalog, run: str, lines: Sequence[Returning]
) -> None:
    """Put lines back into short-term, among what came since.

    Raises:
        ShortTermChangedError, DiskError: short-term is as before.
    """
    if not lines:
        return
    reading = open_reading(work, shelf, catalog, "undo")
    try:
        there = [entry for entry in reading.entries() if not isinstance(entry, Damage)]
        inputs = reading.inputs("")
        if inputs is None or reading.fd is None:
            shelf.append([one.line for one in lines])
            return
        ends = {entry.id: entry.end for entry in there}
        # A killed undo may have brought them already.
        absent = [one for one in lines if one.id not in ends]
        if not absent:
            return
        last = reading.consumed
        first = len(BOM) if os.pread(reading.fd, len(BOM), 0) == BOM else 0
        edits = _edits([(entry.id, entry.end) for entry in there], absent, first, last)
        if last and os.pread(reading.fd, 1, last - 1) != b"\n":  # a dead writer's last line
            at = next((n for n, edit in enumerate(edits) if edit.start == last), len(edits))
            edits.insert(at, Edit(last, last, b"\n"))
        shelf.swap.edit(reading.fd, inputs, edits, run, work.now())
    finally:
        reading.close()


def _first(path: Path) -> int:
    """Where the first line of a file begins: behind the mark some editors put there (BOM)."""
    with disk_errors(path):
        if not path.exists():
            return 0
        with path.open("rb") as stream:
            return len(BOM) if stream.read(len(BOM)) == BOM else 0


def _edits(
    there: Sequence[tuple[str, int]], lines: Sequence[Returning], first: int, last: int
) -> list[Edit]:
    """Where each line goes in short-term as it is, whose lines begin and end at these offsets.

    A number counts lines as they were before the run that took them; those that come back before
    it are not there yet, and count no more.
    """
    edits: list[Edit] = []
    numbered = sorted((one for one in lines if one.at >= 0), key=lambda one: one.at)
    for rank, one in enumerate(numbered):
        before = min(one.at - rank, len(there))
        offset = there[before - 1][1] if before > 0 else first
        edits.append(Edit(offset, offset, one.line))
    known: dict[str | None, int] = {None: first, **dict(there)}
    for one in lines:
        if one.at < 0:
            offset = known.get(one.after, last)
            known[one.id] = offset
            edits.append(Edit(offset, offset, one.line))
    return sorted(edits, key=lambda edit: edit.start)  # stable: those of one place keep their order


def remember_short(
    work: Workplace, shelf: Shelf, catalog: Catalog, returned: Collection[str]
) -> None:
    """Note what short-term holds now: what came back is no newcomer, what else is new is one."""
    agent = shelf.paths.name
    known = catalog.known(agent)
    before = frozenset(digests_of(known[0])) if known else frozenset()
    reading = open_reading(work, shelf, catalog, "undo")
    came: list[str] = []
    try:
        for entry in reading.entries():
            if isinstance(entry, Damage) or entry.digest in before or entry.id in returned:
                continue
            came.append(entry.id)
        op = "remember" if known else "adopt"
        work.ledger().append(in_batches("ids", came, op=op, agent=agent), work.now())
        catalog.set_known(agent, bytes(reading.digests), dict(reading.named))
    finally:
        reading.close()
