"""Index: what the tiers hold and the vector index does not, is handed to the engine (rows R8, P11).

The catalog says where each memory lies and how far the index has come; the engine says which it
has, embeds the rest and answers once they are durable. No lock is held meanwhile: the engine's
writes are upserts by id, and what long-term has stays there, so two runs at once do the same work
twice and nothing wrong.
"""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from skymem.engine.items import Item
from skymem.errors import DiskError, SkymemError
from skymem.jobs.indexed import Indexed, batches
from skymem.jobs.stale import let_go, take_out_stale
from skymem.jobs.workplace import Workplace
from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.spelling import read_line
from skymem.model.strict_json import BOM, LineDamage
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import IndexCursors, Piece, index_epoch, places_of
from skymem.stores.files import disk_errors
from skymem.stores.naming import Naming
from skymem.stores.shelf import Shelf
from skymem.stores.vectorless import LetGo, vectorless, vectors_due

if TYPE_CHECKING:  # what needs no vectors must not pay for them
    from skymem.engine.client import Engine

ASKED_AT_ONCE: Final = 1000
"""Ids in one question of what is missing."""

BATCH: Final = 256
"""Memories handed over at once: enough to sort by length, few enough to stop between two."""

EPOCHS_TRIED: Final = 3
FOLLOW_UP_SECONDS: Final = 8.0
"""How long a job that moved memories stays to index them: the engine's start and some hundreds.
What is left comes with the schedule's `index` entry; `rag_pending` tells it, and it is no fault."""

TIME_UP: Final = "index: its time was up; the rest follows with the next run"

COLLECTIONS: Final = {"long": "memory", "archive": "recent", "short": "recent"}


class Indexing:
    """One run over one agent."""

    def __init__(
        self,
        work: Workplace,
        catalog: Catalog,
        engine: "Engine",
        agent: str,
        *,
        batch: int = BATCH,
        deadline: float = float("inf"),
    ) -> None:
        """Prepare a run.

        Args:
            work: the home.
            catalog: of the home.
            engine: started by its first call.
            agent: whose memories.
            batch: memories handed over at once, at most.
            deadline: `time.monotonic()` after which no further batch is begun.
        """
        self._work = work
        self._catalog = catalog
        self._engine = engine
        self._agent = agent
        self._batch = batch
        self._deadline = deadline
        self._begun = time.monotonic()
        self._handed = 0
        self._short: set[str] = set()
        self._spared: frozenset[str] = frozenset()
        self.result = Indexed(agent)

    def run(self) -> Indexed:
        """Hand over what is missing, until it is all there or time is up.

        Raises:
            EngineUnavailableError: there is no engine to be had.
            DiskError: no room for the index; the lines are untouched.
            InterruptedRunError: a signal came; what was handed over stays.
        """
        self._shelf = self._work.shelf(self._agent)
        self._work.ask(self._catalog, self._shelf, lambda: None)
        for _ in range(EPOCHS_TRIED):
            epoch = self._engine.missing(self._agent, "memory", [])["epoch"]
            self._cursors = IndexCursors(self._catalog, self._agent, epoch)
            noted, going = self._see_who_goes(epoch)
            self.result.eligible = max(self.result.eligible, self._owed())
            try:
                self._take_out_trash()
                self._hand_back(noted)
                self._hand_over_tier("long")
                if self._work.rules.engine.recent:
                    self._hand_over_tier("archive")
                    self._hand_over_short()
                what = (self._work, self._engine, noted, self._agent)
                self.result.let_go += let_go(*what, going)  # once what stands for them is there
                noted.settle()
                self._take_out_stale()
            except _OtherwiseNowError:  # ask again about what the cursors are not beyond
                continue
            except _TimeUpError:
                self._work.degrade(TIME_UP)
            break
        self.result.pending = self._cursors.owed("long")
        return self.result

    def _owed(self) -> int:
        tiers = ("long", "archive") if self._work.rules.engine.recent else ("long",)
        return sum(self._cursors.owed(tier) for tier in tiers)

    def _see_who_goes(self, epoch: str) -> tuple[LetGo, list[str]]:
        """Look who should have no vector; gives whom the index has yet to let go."""
        noted = LetGo(self._catalog, self._agent, epoch)
        self._spared = noted.look()
        going = noted.left(self._spared)
        noted.note(going, gone=False)
        return noted, going

    def _hand_back(self, noted: LetGo) -> None:
        """Hand over again what the index had let go: the cursors are beyond it."""
        back = noted.back(self._spared)
        for start in range(0, len(back), ASKED_AT_ONCE):
            lot = back[start : start + ASKED_AT_ONCE]
            for (tier, file), places in places_of(self._catalog, self._agent, lot).items():
                if tier == "long" or self._work.rules.engine.recent:
                    self._hand_over(COLLECTIONS[tier], Piece(0, file, 0, places, 0))
            noted.forget(lot)

    def _hand_over(self, collection: str, piece: Piece) -> None:
        lacking = self._lacking(collection, [(one.id, one.digest) for one in piece.places])
        items = [*self._read(piece, lacking)]
        for _ in self._put(collection, iter(items)):
            continue
        if len(items) < len(lacking):
            raise _OtherwiseNowError  # of lines that are others by now nothing is forgotten

    def _hand_over_tier(self, tier: str) -> None:
        for piece in self._cursors.pieces(tier, ASKED_AT_ONCE):
            due = [place for place in piece.places if place.id not in self._spared]
            known = [(place.id, place.digest) for place in due]
            lacking = self._lacking(COLLECTIONS[tier], known)
            ends = {place.id: place.end for place in piece.places}
            for last in self._put(COLLECTIONS[tier], self._read(piece, lacking)):
                self._pass(piece, ends[last])
            self._pass(piece, piece.reaches)

    def _take_out_trash(self) -> None:
        """What was removed has no vector any more; `restore` has it embedded again, from cache."""
        for piece in self._cursors.pieces("trash", ASKED_AT_ONCE):
            self._work.check_stop()
            if piece.places:
                self._engine.drop(self._agent, [place.id for place in piece.places])
            self._pass(piece, piece.reaches)

    def _take_out_stale(self) -> None:
        """What stands on no line any more; looked for where the index has more than the lines."""
        held = self._engine.missing(self._agent, "memory", [])["held"]
        long, archived = (
            vectors_due(self._catalog, self._agent, tier) for tier in ("long", "archive")
        )
        grown = ["memory"] if held[0] > long else []
        if self._work.rules.engine.recent and held[1] > archived + len(self._short):
            grown.append("recent")
        taken = 0
        for collection in grown:
            self._work.check_stop()
            what = (self._work, self._catalog, self._engine, self._shelf)
            taken += take_out_stale(*what, collection, self._ids_of_short)
        if taken:  # one may have been brought back, and passed by another run, before it was out
            self.result.taken_out += taken
            self._cursors.begin_again()
            raise _OtherwiseNowError

    def _ids_of_short(self) -> set[str]:
        there = {entry.id for entry in every_short(self._shelf, self._catalog)}
        return there - vectorless(self._catalog, self._agent)

    def _pass(self, piece: Piece, reaches: int) -> None:
        if not self._cursors.passed(piece, reaches):
            raise _OtherwiseNowError

    def _hand_over_short(self) -> None:
        """Short-term has no cursor: its lines leave from anywhere."""
        self._short.clear()
        self._work.ask(self._catalog, self._shelf, lambda: None)
        digests = bytearray()
        for batch in _in_lots(every_short(self._shelf, self._catalog)):
            self._hand_over_entries(batch)
            digests += b"".join(entry.digest for entry in batch)
        self._cursors.short_passed(hash_of(bytes(digests)))

    def _hand_over_entries(self, batch: list[Entry]) -> None:
        batch = [entry for entry in batch if entry.id not in self._spared]
        here = {entry.id: entry for entry in batch if not entry.elsewhere}
        self._short |= here.keys()
        known = [(name, entry.digest.hex()) for name, entry in here.items()]
        lacking = self._lacking("recent", known)
        self.result.eligible += len(lacking)
        items = (
            Item(name, here[name].digest.hex(), here[name].memory.searchable)
            for name in here
            if name in lacking
        )
        for _ in self._put("recent", items):
            continue

    def _lacking(self, collection: str, known: Sequence[tuple[str, str]]) -> set[str]:
        if not known:
            return set()
        self._work.check_stop()
        answer = self._engine.missing(self._agent, collection, known)
        self._check_epoch(answer)
        return set(answer["missing"])

    def _put(self, collection: str, items: Iterator[Item]) -> Iterator[str]:
        """Hand over in batches; yields the last id of each, once all of it is durable."""
        for batch in batches(items, self._batch):
            self._work.check_stop()
            if time.monotonic() > self._deadline:
                raise _TimeUpError
            answer = self._engine.put(self._agent, collection, batch)
            self.result.embedded += len(answer["done"])
            self.result.chunks += answer["embedded"]
            self._handed += len(batch)
            self._tell()
            self._check_epoch(answer)
            yield batch[-1].id

    def _check_epoch(self, answer: dict[str, Any]) -> None:
        if answer["epoch"] != self._cursors.epoch:
            raise _OtherwiseNowError

    def _tell(self) -> None:
        rate = self._handed / max(time.monotonic() - self._begun, 1e-9)
        left = max(0, self.result.eligible - self._handed)
        self._work.tell(
            f"index {self._agent}: {self._handed:,} of {self.result.eligible:,}, "
            f"{rate:,.0f}/s, {left / max(rate, 1e-9):,.0f} s left"
        )

    def _read(self, piece: Piece, lacking: set[str]) -> Iterator[Item]:
        """Read the texts of those the index lacks; a line that has changed since is left out."""
        if not lacking:
            return
        path = self._shelf.paths.directory / piece.name
        with disk_errors(path):
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            for place in piece.places:
                if place.id not in lacking:
                    continue
                raw = os.pread(fd, place.end - place.start, place.start)
                memory = _memory(raw.removeprefix(BOM) if place.start == 0 else raw)
                if memory is not None and digest(memory).hex() == place.digest:
                    read = self._shelf.guard.clean(raw, memory)
                    yield Item(place.id, place.digest, read.searchable)
        finally:
            os.close(fd)


class _OtherwiseNowError(Exception):
    """The index, or the lines, are others than those the cursors are about."""


class _TimeUpError(Exception):
    """The run has had its time."""


def every_short(shelf: Shelf, catalog: Catalog) -> Iterator[Entry]:
    """Yield every line of short-term with its id, elsewhere or not; `catalog` is caught up.

    A reader is given less: see `stores.short_lines.named_short`.
    """
    naming = Naming(shelf.paths.name, catalog)
    readable = (entry for entry in shelf.short_entries() if isinstance(entry, Entry))
    for lot in _in_lots(readable):
        naming.name(lot)
        yield from lot


def _in_lots(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while lot := list(islice(entries, ASKED_AT_ONCE)):
        yield lot


def hash_of(digests: bytes) -> bytes:
    """Hash what short-term held, as `Catalog.known` spells it."""
    return blake2b(digests, digest_size=16).digest()


def follow_up(work: Workplace, catalog: Catalog, agents: Sequence[str]) -> None:
    """Index what a job has just moved and agents have written; never fails the job (row P11)."""
    if work.engine is None or work.stop():
        return
    try:
        owing = [agent for agent in agents if is_owed(work, catalog, agent)]
    except sqlite3.Error as error:
        work.degrade(f"catalog: {error}")
        return
    if not owing:
        return
    deadline = time.monotonic() + FOLLOW_UP_SECONDS
    for result in index_agents(work, catalog, owing, work.engine(), deadline=deadline):
        if result.error:
            work.degrade(f"index: {result.error}")
    if TIME_UP in work.degraded:
        work.degraded.remove(TIME_UP)


def follow_back(work: Workplace, agents: Sequence[str]) -> None:
    """Index what was brought back, and what no more stands for anything let go; never fails."""
    if work.engine is None:
        return
    with work.catalog() as catalog:
        try:
            for agent in agents:
                work.ask(catalog, work.shelf(agent), lambda: None)
        except (SkymemError, sqlite3.Error) as error:
            work.degrade(f"index: {error}")
            return
        follow_up(work, catalog, agents)


def is_owed(work: Workplace, catalog: Catalog, agent: str) -> bool:
    """Whether the index lacks anything it should have, as far as the catalog knows."""
    cursors = IndexCursors(catalog, agent, index_epoch(work.paths, agent))
    if cursors.owed("long") or cursors.owed("trash"):
        return True
    if LetGo(catalog, agent, cursors.epoch).is_owed():
        return True
    if not work.rules.engine.recent:
        return False
    known = catalog.known(agent)
    short = None if known is None else known[0]
    # Where short-term is empty there need be no index; but one that is may hold what is gone.
    if short or (short is not None and cursors.epoch):
        return not cursors.short_known(hash_of(short)) or bool(cursors.owed("archive"))
    return bool(cursors.owed("archive"))


def index_agents(
    work: Workplace,
    catalog: Catalog,
    agents: Sequence[str],
    engine: "Engine",
    *,
    force: bool = False,
    batch: int = BATCH,
    deadline: float = float("inf"),
) -> list[Indexed]:
    """Index each agent; one's failure is recorded and does not stop the next, but `deadline` does.

    The result of an agent that was not come to is left out.
    """
    results: list[Indexed] = []
    for agent in agents:
        if results and time.monotonic() > deadline:  # an engine that hangs costs one of them
            work.degrade(TIME_UP)
            break
        indexing = Indexing(work, catalog, engine, agent, batch=batch, deadline=deadline)
        try:
            if force:
                engine.rebuild(agent)
            indexing.run()
        except SkymemError as error:
            indexing.result.error, indexing.result.exit_code = str(error), error.exit_code
        except sqlite3.Error as error:  # derived: the next run makes it anew
            failure = DiskError("state/catalog.db", str(error))
            indexing.result.error, indexing.result.exit_code = str(failure), failure.exit_code
        results.append(indexing.result)
    return results


def _memory(raw: bytes) -> Memory | None:
    try:
        return read_line(raw)
    except LineDamage:
        return None
