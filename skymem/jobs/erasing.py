"""Carrying out an erasure that has begun, under the agent's job lock: place by place (row X5).

Tombstones first, so that nothing comes back behind our back. Then short-term, by the swap that
loses no writer's line; the drains, whose old bytes hold what was taken over; long-term and
archives, by the one rewrite; trash; quarantine; and what is derived. Each step can be done twice: a
kill costs a step. Vectors have an owner, who is asked when no lock is held (`jobs.scrub`).
"""

import os
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final

from skymem.jobs.erase_derived import (
    shred_catalog,
    take_out_of_agent_md,
    take_out_of_counts,
    take_out_of_pins,
    take_out_others,
    take_out_words,
)
from skymem.jobs.erase_find import (
    ARCHIVES,
    LONG,
    QUARANTINE,
    SHORT,
    TRASH,
    lines_of,
    memory_of,
    pieces,
)
from skymem.jobs.gone import REWRITTEN, Gone, name_of
from skymem.jobs.move import run_id
from skymem.jobs.put_back import remember_short
from skymem.jobs.rehearse import open_reading
from skymem.jobs.seen import remember_known, seen
from skymem.jobs.workplace import Workplace
from skymem.model.identity import digest
from skymem.model.plan import Damage, Plan
from skymem.stores.catalog import Catalog
from skymem.stores.edits import Edit
from skymem.stores.erasures import Erasure, Erasures, Target
from skymem.stores.ledger import in_batches
from skymem.stores.rewrite import TierChangedError, rewrite
from skymem.stores.shelf import Shelf
from skymem.stores.swap import ShortTermChangedError
from skymem.stores.tiers import tier_files, tier_of
from skymem.stores.tombstones import Marker
from skymem.stores.trash import Held, opened

TOMBSTONES: Final = "tombstones"
DRAINS: Final = "drains"
PROTECTED: Final = "pins and graces"
RECALLED: Final = "recall counts"
AGENT_MD: Final = "agent.md"
WORDS: Final = "word index"
CATALOG: Final = "catalog"
OTHERS: Final = "other files of the agent"
VECTORS: Final = "vectors"

EDITED_TRIES: Final = 3
"""Somebody editing by hand makes us read a file again, this often."""


def resume(work: Workplace, shelf: Shelf, catalog: Catalog) -> list[str]:
    """End what was begun of an agent's erasures, but for vectors; returns the runs."""
    erasures = Erasures(work.paths, shelf.files, shelf.paths.name)
    if not erasures.directory.is_dir():
        return []
    erasures.tidy()
    begun = [one for one in erasures.open() if not is_carried_out(one)]
    for erasure in begun:
        Erasing(work, shelf, catalog, erasure, erasures).carry_out()
    return [one.run for one in begun]


def is_carried_out(erasure: Erasure) -> bool:
    """Whether all but the vectors is done."""
    return erasure.count(OTHERS).done


class Erasing:
    """One erasure being carried out on one agent, whose job lock is held."""

    def __init__(
        self,
        work: Workplace,
        shelf: Shelf,
        catalog: Catalog,
        erasure: Erasure,
        erasures: Erasures,
    ) -> None:
        self._work = work
        self._shelf = shelf
        self._catalog = catalog
        self._erasure = erasure
        self._erasures = erasures
        self._agent = shelf.paths.name
        self._gone = Gone(erasure, erasures.targets(erasure), Marker(work.home_key()))

    def carry_out(self) -> None:
        """Do what is still to do.

        Raises:
            ShortTermChangedError, TierChangedError: somebody edits by hand over and over.
            DiskError: do it again; it goes on where it was.
            InterruptedRunError: likewise.
        """
        for place, step in self._steps():
            if not self._erasure.count(place).done:
                self._work.check_stop()
                step()
                self._erasure.count(place).done = True
                self._erasures.note(self._erasure)

    def _steps(self) -> Iterator[tuple[str, Callable[[], None]]]:
        what = (self._work, self._shelf, self._erasure, self._gone)
        yield TOMBSTONES, self._bury
        yield SHORT, self._short
        yield DRAINS, self._drains
        yield LONG, lambda: self._tier("long")
        yield ARCHIVES, lambda: self._tier("archive")
        yield TRASH, self._trash
        yield QUARANTINE, self._quarantine
        yield PROTECTED, lambda: take_out_of_pins(*what)
        yield RECALLED, lambda: take_out_of_counts(*what)
        yield AGENT_MD, lambda: take_out_of_agent_md(*what)
        yield WORDS, lambda: take_out_words(*what)
        yield CATALOG, lambda: shred_catalog(*what, self._catalog)
        yield OTHERS, self._finish

    # -- so that it does not come back ----------------------------------------------------------

    def _bury(self) -> None:
        """Put up the tombstones, and tell the ledger what goes, and why."""
        work, erasure = self._work, self._erasure
        targets = [*self._erasures.targets(erasure)]
        marks = [one.mark for one in targets]
        place = erasure.count(TOMBSTONES)
        place.before = len(work.graveyard().of(self._agent).lines)
        work.graveyard().add(self._agent, marks, erasure.run, work.now(), files=work.files)
        place.after = len(work.graveyard().of(self._agent).lines)
        whose = {"agent": self._agent, "run": erasure.run}
        begin: dict[str, Any] = {"op": "begin", **whose, "job": "erase", "batch": erasure.run}
        begin |= {"key": erasure.key, "short": [], "decisions": len(targets)}
        decided = in_batches("decided", map(_spelled, targets), op="decide", **whose)
        work.ledger().append([begin, *decided], work.now())

    # -- where lines stand ----------------------------------------------------------------------

    def _short(self) -> None:
        self._again(self._swap, ShortTermChangedError)

    def _swap(self) -> None:
        """Swap short-term for one without them; late lines are taken over as ever."""
        work, shelf, run = self._work, self._shelf, run_id("erase", self._work.now())
        reading = open_reading(work, shelf, self._catalog, "erase")
        edits: list[Edit] = []
        goes: list[str] = []
        said_again: list[str] = []
        try:
            for item in reading.entries():
                assert reading.fd is not None  # noqa: S101  (entries come from a file)
                damaged = isinstance(item, Damage)
                raw = os.pread(reading.fd, item.end - item.start, item.start) if damaged else b""
                line = self._gone.place_of_item(raw, item)
                if line is not None:
                    edits.append(Edit(item.start, item.end, line))
                if line is not None and not isinstance(item, Damage):
                    (said_again if line else goes).append(name_of(item))
            inputs = reading.inputs("")
            came = seen(self._agent, self._catalog, reading)
            erased = in_batches("ids", goes, op="erase", agent=self._agent)
            work.ledger().append(chain(came, erased), work.now())
            remember_known(self._catalog, reading, Plan("erase", self._agent))
            if not edits or inputs is None or reading.fd is None:
                return
            shelf.swap.edit(reading.fd, inputs, edits, run, work.now())
        finally:
            reading.close()
        for drain in shelf.drains.names():
            shelf.drains.look(drain, {run}, work.now())
        remember_short(work, shelf, self._catalog, said_again)

    def _drains(self) -> None:
        """Blank what was taken over: those bytes hold the text as well."""
        blanked = [self._shelf.drains.blank(drain) for drain in self._shelf.drains.names()]
        self._erasure.count(DRAINS).before += sum(blanked)

    def _tier(self, tier: str) -> None:
        for name, _ in [*tier_files(self._shelf.paths)]:
            if tier_of(name) == tier:
                self._again(lambda file=name: self._rewrite(file), TierChangedError)  # type: ignore[misc]
        self._catalog.catch_up(self._shelf.paths)

    def _rewrite(self, name: str) -> None:
        edits: list[Edit] = []
        moved: list[list[str]] = []
        for raw, item in lines_of(self._shelf.paths.directory / name):
            line = self._gone.place_of_item(raw, item)
            if line is not None:
                edits.append(Edit(item.start, item.end, line))
            if line and not isinstance(item, Damage):
                moved.append(self._moved(name_of(item), raw, line))
        if edits:
            self._tell(moved)
            rewrite(self._shelf.paths, self._shelf.files, name, edits)

    def _trash(self) -> None:
        trash = self._shelf.trash
        for path in trash.names():
            moved = [
                self._moved(held.id, held.line, opened(line).line)
                for raw, held in trash.lines(path)
                if held is not None and (line := self._of_trash(raw, held))
            ]
            self._tell(moved)
            trash.change(path, self._of_trash)
        self._catalog.catch_up(self._shelf.paths)

    def _of_trash(self, raw: bytes, held: Held | None) -> bytes | None:
        """What takes the place of a line of trash."""
        memory = memory_of(held)
        if held is None or memory is None:
            return b"" if self._gone.has_raw(raw) else None
        line = self._gone.place_of(held.id, memory, digest(memory))
        return held.saying(line).envelope() if line else line

    def _quarantine(self) -> None:
        quarantine = self._shelf.quarantine
        for index in quarantine.indexes():
            quarantine.blank(index, self._gone.has_raw)

    # -- at the end -----------------------------------------------------------------------------

    def _finish(self) -> None:
        """See that nothing is left, take away the rest of an agent that goes, tell the ledger."""
        for _ in range(EDITED_TRIES):
            left = self._left()
            if not left.get(SHORT):
                break
            self._short()  # a writer repeated it meanwhile
            self._drains()
        for place in (SHORT, LONG, ARCHIVES, TRASH, QUARANTINE):
            self._erasure.count(place).after = left.get(place, 0)
        if self._gone.everything:
            take_out_others(self._work, self._shelf, self._erasure)
        end = {"op": "end", "agent": self._agent, "run": self._erasure.run, "job": "erase"}
        self._work.ledger().append([end], self._work.now())

    def _left(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for piece in pieces(self._work, self._shelf, self._catalog):
            if piece.memory is None:
                stays = not self._gone.has_raw(piece.raw)
            else:
                stays = self._gone.place_of(piece.id, piece.memory, piece.digest) is None
            if not stays:
                found[piece.place] = found.get(piece.place, 0) + 1
        return found

    def _moved(self, name: str, before: bytes, after: bytes) -> list[str]:
        """Tell a line from what it was, for `fsck`."""
        key = self._work.home_key()
        prints = (key.fingerprint(line.strip(b"\n")).hex() for line in (before, after))
        return [name, *prints]

    def _tell(self, moved: list[list[str]]) -> None:
        whose: dict[str, Any] = {"agent": self._agent, "run": self._erasure.run}
        if moved:
            entries = in_batches("moved", moved, op="moved", **whose)
            self._work.ledger().append(entries, self._work.now())

    def _again(self, attempt: Callable[[], None], error: type[Exception]) -> None:
        for number in range(1, EDITED_TRIES + 1):
            try:
                return attempt()
            except error:
                if number == EDITED_TRIES:
                    raise
        return None


def _spelled(target: Target) -> list[Any]:
    """Spell a decision for the ledger: what, whose, why, and where it stood."""
    action = "rewrite" if target.why == REWRITTEN else "erase"
    return [action, target.name, target.why, None, None, "", target.file, -1]
