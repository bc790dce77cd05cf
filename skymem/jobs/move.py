"""Carrying out a plan: lines change their tier, and new ones are made of them (design §4).

Order: ledger `begin` with every decision, durable → quarantine → new memories and the lines' new
place, durable → the old place: the swap of short-term, then the rewrite of the others → ledger
`end`. A kill at any point leaves a line in its old place, or in both, never in none; ids tell the
second from the first, and the next run finishes (`jobs.recover`).
"""

import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, count
from typing import Any, Final

from skymem.errors import DiskError
from skymem.jobs.seen import remember_known, seen
from skymem.jobs.taking import elsewhere, taken_elsewhere, taken_from_short
from skymem.jobs.workplace import Workplace
from skymem.model.memory import Memory
from skymem.model.plan import STAYING, Damage, Decision, Plan
from skymem.stores.catalog import Catalog
from skymem.stores.catalog_cut import cut
from skymem.stores.counts import note_redacted
from skymem.stores.edits import Edit
from skymem.stores.ledger import in_batches
from skymem.stores.shelf import Reading, Shelf
from skymem.stores.swap import drain_name

_SERIAL: Final = count(1)

DECISION_BYTES: Final = 300
"""What one decision takes in ledger and catalog, with its line's new fields."""

APPEND_BYTES: Final = 1024 * 1024
"""New memories that are appended at once, beyond the first."""

SPARE_BYTES: Final = 64 * 1024
"""For cursors, status files and the names of new files."""

Spell = Callable[[bytes, Memory, Decision], bytes]
"""How a line that moves is spelled at its new place, given as it stands at the old."""

Store = Callable[[Iterator[bytes]], None]
"""Writes the moved lines to their new tier, durably; a kill may leave some, and ids tell which."""


class Carrying:
    """One plan being carried out on one agent, whose job lock is held."""

    def __init__(
        self, plan: Plan, work: Workplace, shelf: Shelf, catalog: Catalog, *, reading: Reading
    ) -> None:
        """Take up a plan.

        Args:
            plan: what to do.
            work: the home.
            shelf: the agent's tiers.
            catalog: caught up.
            reading: exhausted, of the very content the plan was made from.
        """
        self.plan = plan
        self.work = work
        self.shelf = shelf
        self.catalog = catalog
        self.reading = reading
        self.now = work.now()
        self.run = run_id(plan.job, self.now)
        self._short = [decision for decision in plan.decisions if not decision.file]
        self._elsewhere = elsewhere(plan.decisions)
        self._moved: list[list[str]] = []
        self.redacted: Counter[str] = Counter()
        """Secrets that were taken out of what moved, by kind."""

    def carry_out(self, spell: Spell, store: Store) -> str:
        """Apply the plan; returns the run's name.

        Args:
            spell: how the lines that move are spelled at their new place.
            store: writes them there.

        Raises:
            ShortTermChangedError, TierChangedError: somebody edited a file meanwhile; what was
                moved by then is finished by the next run, and the rest is where it was.
            DiskError: nothing was lost; the next run finishes or starts over.
        """
        plan, ledger = self.plan, self.work.ledger()
        acts = bool(plan.decisions or plan.additions)
        if acts:
            self._check()
        begun = [self._begin()] if acts else []
        came = seen(plan.agent, self.catalog, self.reading)
        ledger.append(chain(came, begun, self._decided()), self.now)
        if acts:
            self._move(spell, store)
            moved = self._batches("moved", self._moved, op="moved")
            end: dict[str, Any] = {"op": "end", "agent": plan.agent, "run": self.run}
            end["job"] = plan.job
            if self.redacted:
                end["redacted"] = plan.redacted = dict(self.redacted)
            ledger.append(chain(moved, [end]), self.work.now())
            note_redacted(self.work.paths, self.work.files, plan.agent, self.redacted)
        try:
            self.catalog.catch_up(self.shelf.paths)
            remember_known(self.catalog, self.reading, plan)
        except sqlite3.Error as error:  # derived: the next run catches up
            self.work.degrade(f"catalog: {error}")
        return self.run

    # -- before anything moves ------------------------------------------------------------------

    def _check(self) -> None:
        """Refuse, before anything is written, what can't be finished.

        A run that fails half way costs a ledger entry each time it is tried again.
        """
        if self._short:
            assert self.plan.inputs is not None  # noqa: S101  (they come from a file)
            self.shelf.swap.check(self.plan.inputs)
        moved = sum(decision.end - decision.start for decision in self.plan.decisions)
        kept = self.plan.inputs.consumed if self.plan.inputs is not None and self._short else 0
        for name in self._elsewhere:
            kept += (self.shelf.paths.directory / name).stat().st_size
        made = sum(len(one.line) for one in self.plan.additions)
        decisions = len(self.plan.decisions) * DECISION_BYTES
        needed = kept + moved + made + decisions + SPARE_BYTES
        disk = os.statvfs(self.shelf.paths.directory)
        free = disk.f_frsize * (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail)
        if free < needed:
            raise DiskError(
                str(self.shelf.paths.short_term),
                f"{os.strerror(errno.ENOSPC)}: a run needs {needed:,} bytes, {free:,} are free",
            )

    def _begin(self) -> dict[str, Any]:
        plan, long_term = self.plan, self.shelf.paths.long_term
        self.work.batch = self.work.batch or self.run
        short = plan.inputs if self._short else None
        begin: dict[str, Any] = {
            "op": "begin",
            "agent": plan.agent,
            "run": self.run,
            "job": plan.job,
            "batch": self.work.batch,
            "key": self.work.home_key().check,
            "short": [short.device, short.inode] if short else [],
            "consumed": short.consumed if short else 0,
            "long_size": long_term.stat().st_size if long_term.exists() else 0,
            "decisions": len(plan.decisions),
        }
        if plan.additions:
            begin["additions"] = len(plan.additions)
        if plan.judged:
            begin["judged"] = plan.judged
        return begin

    def _decided(self) -> Iterator[dict[str, Any]]:
        decided = (_spell_decision(decision) for decision in self.plan.decisions)
        yield from self._batches("decided", decided, op="decide")
        added = (
            [one.what, one.id, list(one.evidence), list(one.supersedes)]
            for one in self.plan.additions
        )
        yield from self._batches("added", added, op="add")
        yield from self._batches("likened", map(list, self.plan.likened), op="likened")

    def _batches(self, name: str, items: Any, *, op: str) -> Iterator[dict[str, Any]]:
        return in_batches(name, items, op=op, agent=self.plan.agent, run=self.run)

    # -- moving ---------------------------------------------------------------------------------

    def _move(self, spell: Spell, store: Store) -> None:
        self._set_damage_aside()
        self._bring(spell, store)
        self._leave()

    def _bring(self, spell: Spell, store: Store) -> None:
        """Write what is new, then the lines at their new place."""
        for block in _blocks(one.line for one in self.plan.additions):
            self.shelf.files.append(self.shelf.paths.long_term, block)
        if any(decision.action not in STAYING for decision in self.plan.decisions):
            store(self._spelled(spell))

    def _leave(self) -> None:
        """Take the lines out of their old place."""
        if self._short:
            assert self.reading.fd is not None  # noqa: S101  (they come from a file)
            assert self.plan.inputs is not None  # noqa: S101
            gone = [Edit(decision.start, decision.end) for decision in self._short]
            self.shelf.swap.edit(self.reading.fd, self.plan.inputs, gone, self.run, self.now)
            if any(decision.reason.gate == "erased" for decision in self._short):
                self.shelf.drains.blank(self.shelf.paths.drains / drain_name(self.run))
        for name, decisions in self._elsewhere.items():
            gone = [Edit(decision.start, decision.end) for decision in decisions]
            cut(self.shelf.paths, self.shelf.files, self.catalog, name, gone)

    def _set_damage_aside(self) -> None:
        damages = [
            Damage(decision.start, decision.end, decision.reason.note)
            for decision in self._short
            if decision.action == "quarantine"
        ]
        if damages:
            assert self.reading.fd is not None  # noqa: S101  (damage comes from a file)
            name = self.shelf.paths.short_term.name
            self.shelf.quarantine.keep(self.reading.fd, name, damages, self.run, self.now)

    def _spelled(self, spell: Spell) -> Iterator[bytes]:
        """Spell each line that moves as it is to stand, and keep both fingerprints (row M8)."""
        key = self.work.home_key()
        short = [decision for decision in self._short if decision.action not in STAYING]
        for raw, memory, decision in chain(
            taken_from_short(self.shelf, self.reading, short),
            taken_elsewhere(self.shelf, self.catalog, self._elsewhere),
        ):
            if decision.action in STAYING:
                continue
            cleaned = self.shelf.guard.line(raw, memory)
            self.redacted.update(cleaned.kinds)
            line = spell(cleaned.raw, cleaned.memory, decision)
            before = key.fingerprint(raw.rstrip(b"\n"))
            # What goes to trash lies there as it was, but for secrets, inside an envelope.
            stands = cleaned.raw if decision.action == "trash" else line
            after = key.fingerprint(stands.rstrip(b"\n"))
            self._moved.append([decision.id, before.hex(), after.hex()])
            yield line


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Put whole lines together as far as one append takes them: each is made durable once."""
    block: list[bytes] = []
    size = 0
    for line in lines:
        if block and size + len(line) > APPEND_BYTES:
            yield b"".join(block)
            block, size = [], 0
        block.append(line)
        size += len(line)
    if block:
        yield b"".join(block)


def run_id(job: str, now: float) -> str:
    """Name a run: sorts by time, and no other has it, even if the clock stands still or jumps."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return f"{stamp}_{job}_{os.getpid()}_{next(_SERIAL)}"


def _spell_decision(decision: Decision) -> list[Any]:
    """Spell a decision for the ledger: what, whose, why, and where it stood."""
    reason = decision.reason
    name = decision.id or f"bytes {decision.start}-{decision.end}"
    why = [reason.gate, reason.value, reason.threshold, reason.note]
    return [decision.action, name, *why, decision.file, decision.line]
