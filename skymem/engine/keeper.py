"""Keeps an agent's Chroma generation like its register: opens, verifies, fills, replaces it.

All of it happens in slices of `step`, between requests. Until a generation is verified, answers
come from the matrix alone, so nothing here can make one wrong; what goes wrong here is a problem to
be shown and a generation to be made anew, which encodes nothing (hazards D1, D3, D12).
"""

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from skymem.engine import probe
from skymem.engine.at_work import AtWork
from skymem.engine.generations import CRASHES_MAX, MISSING, UNFINISHED, Generations
from skymem.engine.items import COLLECTIONS
from skymem.engine.register import Owed, piece
from skymem.engine.room import limit_file_size, require_room
from skymem.engine.store import Store
from skymem.engine.vectors import IndexAwayError, IndexDamageError, VectorIndex, Vectors
from skymem.errors import DiskError

SLICE_SECONDS: Final = 0.25
SLICE_ROWS: Final = (64, 1000)
"""A waiting query waits for one slice: its rows follow from how long the last took."""

SAMPLE: Final = (16, 96)  # the second when the first is not found whole
MISSES_MAX: Final = 0.1
"""HNSW misses one in a hundred of texts that are much alike. Rarely a graph comes out in pieces
(Chroma takes rows in an order of chance; one missed three in ten): it is made anew."""
CHECK_SECONDS: Final = 600.0
CHECK_QUERIES: Final = 1000
PAUSE_SECONDS: Final = 10.0
PAUSE_SECONDS_MAX: Final = 600.0
AWAY_SECONDS: Final = 2.0
AWAY_SECONDS_MAX: Final = 45.0
"""A server that is away is left alone for twice as long each time, and less than the minute after
which an index at rest is looked at."""

PROBE_WAIT_SECONDS: Final = 0.2


class Keeper:
    """The state of one agent's generation, in this process."""

    def __init__(
        self,
        agent: str,
        generations: Generations,
        at_work: AtWork,
        *,
        now: Callable[[], float],
        room_rows: Callable[[], int],
    ) -> None:
        """Use `room_rows` for the rows of the home's largest agent: files may grow that far."""
        self.agent = agent
        self.generations = generations
        self.name = ""
        """The generation that is open or being probed."""

        self.problems: list[str] = []
        """What was found and not yet made good, in words."""

        self.healed: list[str] = []
        """What was found and has been made good since this process began, the last few."""

        self.away_because = ""
        """Why the server that has the index can't be reached; "" where it can, or there is none."""

        self.index: VectorIndex | None = None
        self.verified = False
        self.complete = False
        self._at_work = at_work
        self._now = now
        self._room_rows = room_rows
        self._child: subprocess.Popen[bytes] | None = None
        self._probed = ""
        self._set_aside = ""
        self._rows = 256
        self._paused_until = 0.0
        self._failures = self._absences = 0
        self._filled = False
        self._queries = 0
        self._checked_at = 0.0
        self._began: tuple[float, int] = (0.0, 0)

    # -- for queries ----------------------------------------------------------------------------

    @property
    def usable(self) -> bool:
        """Whether queries may go through the generation."""
        return self.index is not None and self.verified and self.complete

    @property
    def is_waiting(self) -> bool:
        """Whether it holds back until there is room, or after damage that came again."""
        return time.monotonic() < self._paused_until

    def nearest(self, collection: str, vectors: Vectors, limit: int) -> list[str]:
        """Ask the generation.

        Raises:
            IndexDamageError: it is broken; it is already being replaced.
            IndexAwayError: it can't be reached; `away` has to be told.
        """
        if self.index is None:
            raise IndexDamageError("it is not open")
        self._queries += 1
        try:
            with self._doing("query"):
                return self.index.nearest(collection, vectors, limit)
        except (IndexDamageError, DiskError) as error:
            self.damaged(str(error))
            raise IndexDamageError(str(error)) from error

    def building(self, store: Store) -> dict[str, Any] | None:
        """How far a new generation is; None when there is none in the making."""
        if self.complete or self.name in {"", self._probed} or self._child is not None:
            return None
        of = store.register.pieces_count()
        left = store.register.owed_count()
        began, left_then = self._began
        taken = time.monotonic() - began
        speed = (left_then - left) / taken if began and taken > 0 else 0.0
        return {
            "done": of - left,
            "of": of,
            "per_second": round(max(0.0, speed), 1),
            "left_s": round(left / speed, 1) if speed > 0 else None,
        }

    def announce(self, store: Store) -> None:
        """Say beside the index which epoch clients' cursors are about, Chroma filled or not yet.

        A generation that was taken away is not announced: what it had is owed until it is back.
        """
        name = store.register.get("generation")
        if not name or self.generations.is_there(name):
            self.generations.make_current(name, store.register.epoch)

    # -- slices ---------------------------------------------------------------------------------

    def step(self, store: Store) -> bool:
        """One slice; True while there is more to do now."""
        if self.is_waiting:
            return False
        limit_file_size(max(self._room_rows(), store.size), store.dimension)
        try:
            return self._step(store)
        except IndexDamageError as error:
            self.damaged(str(error))
        except IndexAwayError as error:
            self.away(str(error))
        except DiskError as error:
            self._pause(f"{self.agent}: indexing waits: {error}", PAUSE_SECONDS)
            # A write Chroma could not end is not to be trusted; there is no harm in a new one.
            if self.index is not None:
                self._let_go()
                self._probed = ""
            return False
        return not self.is_waiting

    def _step(self, store: Store) -> bool:
        if self.index is None:
            return self._find(store)
        if not self.generations.is_there(self.name):
            raise IndexDamageError("its files were taken away")
        if self._catch_up(store):
            return True
        if not self.verified:
            self._verify(store)
            return True
        if not self.complete:
            self.generations.complete(self.name, store.register.epoch)
            self.complete = True
            self._failures = 0
            self._all_is_well()
            return True
        due = self._is_due()
        if due:
            self._verify(store)
        if due or self._filled:  # what was lost from the matrix has been put again
            self._filled = False
            self._all_is_well()
        return False

    def _find(self, store: Store) -> bool:
        """Find the generation the register tells of, or begin one where there is work for it."""
        self.name = store.register.get("generation")
        why = self.generations.why_not(self.name)
        if why:
            return self._begin(store, why)
        crashes = self.generations.crashes(self.name)
        if crashes > CRASHES_MAX:
            raise IndexDamageError("the engine died twice with it open")
        suspect = crashes or not self.generations.is_as_closed(self.name)
        if suspect and self._probed != self.name:
            return self._probe()
        self._open(complete=True)
        self.generations.make_current(self.name, store.register.epoch)
        self.generations.delete_others(self.name)
        return True

    def _begin(self, store: Store, why: str) -> bool:
        known = bool(self.name)
        if not known and not store.register.owed_count():
            return False
        if known and why not in (MISSING, UNFINISHED):
            self._tell(f"{self.agent}: index {self.name} is made anew: {why}")
        elif known and why == MISSING and self.name != self._set_aside:
            self._tell(f"{self.agent}: index {self.name} is made anew: it was gone")
        if known and "manifest" in why:
            self.generations.set_aside(self.name, why)
        elif why == UNFINISHED:
            self.generations.delete(self.name)
        self._make(store)
        return True

    def _make(self, store: Store) -> None:
        require_room(self.generations.directory, store.size * store.matrix.stride)
        self.name = self.generations.begin(self._now())
        store.register.owe_everything(self.name)
        self._began = (0.0, 0)
        self._open(complete=False)

    def _open(self, *, complete: bool) -> None:
        self.verified = False
        self.complete = complete
        with self._doing("open"):
            self.index = self.generations.open(self.name)

    def _probe(self) -> bool:
        """Have a child look at it first: it was not closed by us, or changed since."""
        if self._child is None:
            self._child = probe.start(self.generations.path(self.name), self.agent)
            self._began = (time.monotonic(), 0)
        try:
            code = self._child.wait(PROBE_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() < self._began[0] + probe.TIMEOUT_SECONDS:
                return True
            self._end_child()
            raise IndexDamageError("opening it did not end") from None
        self._child = None
        if code:
            died = f"killed the process that opened it (signal {-code})"
            raise IndexDamageError(died if code < 0 else "it does not find what it holds")
        self._probed = self.name
        return True

    def _end_child(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    # -- filling --------------------------------------------------------------------------------

    def _catch_up(self, store: Store) -> bool:
        """Give the generation some of what the register has; False when it has everything."""
        register = store.register
        gone = register.gone(self._rows)
        owed = [] if gone else register.owed(self._rows)
        if not gone and not owed:
            return False
        require_room(self.generations.directory, len(owed) * store.matrix.stride)
        began = time.monotonic()
        if not self._began[0]:
            self._began = (began, register.owed_count())
        for code, name in enumerate(COLLECTIONS, 1):
            with self._doing("write"):
                names = [found for of, found in gone if of == code]
                self._give(store, name, names, [one for one in owed if one.collection == code])
        if gone:
            register.forgotten(gone)
        else:
            register.stored(owed)
            self._filled = True
        self.away_because, self._absences = "", 0
        taken = max(1e-3, time.monotonic() - began)
        wanted = int(max(len(owed), 64) * SLICE_SECONDS / taken)
        self._rows = min(max(wanted, SLICE_ROWS[0]), SLICE_ROWS[1], 2 * self._rows)
        return True

    def _give(self, store: Store, collection: str, gone: list[str], owed: list[Owed]) -> None:
        if gone and self.index is not None:
            self.index.delete(collection, gone)
        if owed and self.index is not None:
            vectors = store.vectors([one.row for one in owed])
            self.index.upsert(collection, [piece(one) for one in owed], vectors)

    # -- verification ---------------------------------------------------------------------------

    def _is_due(self) -> bool:
        return time.monotonic() > self._checked_at + CHECK_SECONDS or self._queries >= CHECK_QUERIES

    def _verify(self, store: Store) -> None:
        """Compare counts, and have sampled pieces find themselves; else it is damaged."""
        if self.index is None:
            return
        expected = dict(zip(COLLECTIONS, store.register.piece_counts(), strict=True))
        with self._doing("verify"):
            counted = {name: self.index.count(name) for name in COLLECTIONS}
            if counted != expected:
                raise IndexDamageError(f"it holds {counted}, not {expected}")
            for size in SAMPLE:
                asked, hits = self.sample(store, size)
                if hits == asked:
                    break
        if asked - hits > asked * MISSES_MAX:
            raise IndexDamageError(f"{asked - hits} of {asked} vectors do not find themselves")
        self.verified = True
        self.away_because, self._absences = "", 0
        self._queries = 0
        self._checked_at = time.monotonic()

    def sample(self, store: Store, size: int) -> tuple[int, int]:
        """Have up to `size` pieces look for themselves; how many did, and how many were found."""
        if self.index is None:
            return 0, 0
        hits = 0
        picked = store.picked(size)
        for code, name in enumerate(COLLECTIONS, 1):
            rows = [row for row, collection in picked if collection == code]
            if rows:  # another text may have the same vector: what counts is that it is as near
                found = self.index.closest(name, store.vectors(rows))
                hits += sum(cosine > probe.COSINE_MIN for cosine in found)
        return len(picked), hits

    # -- when it goes wrong ---------------------------------------------------------------------

    def damaged(self, why: str) -> None:
        """Set the generation aside; the next step begins a new one, later and later."""
        name = self.name
        self._let_go()
        self._failures += 1
        self._tell(f"{self.agent}: index {name} was damaged ({why}); it is made anew")
        if self._failures > 1:
            seconds = min(PAUSE_SECONDS_MAX, PAUSE_SECONDS * 2 ** (self._failures - 2))
            self._paused_until = time.monotonic() + seconds
        self._set_aside = name
        try:
            self.generations.set_aside(name, why)
        except DiskError as error:
            self._pause(f"{self.agent}: {error}", PAUSE_SECONDS)

    def away(self, why: str) -> None:
        """Leave a server alone, longer and longer; what it holds is verified once it is back."""
        self.away_because = why
        self.verified = False
        self._rows = SLICE_ROWS[0]
        seconds = min(AWAY_SECONDS_MAX, AWAY_SECONDS * 2 ** min(self._absences, 8))
        self._paused_until = time.monotonic() + seconds
        self._absences += 1

    def _tell(self, problem: str) -> None:
        self.problems = [*self.problems, problem][-5:]

    def _all_is_well(self) -> None:
        self.healed = [*self.healed, *self.problems][-5:]
        self.problems = []

    def _pause(self, problem: str, seconds: float) -> None:
        if problem not in self.problems:
            self._tell(problem)
        self._paused_until = time.monotonic() + seconds

    @contextlib.contextmanager
    def _doing(self, operation: str) -> Iterator[None]:
        with self._at_work.doing(self.agent, self.name, operation):
            yield

    def renew(self, store: Store) -> None:
        """Begin a new generation; the old one stays until the new one is whole."""
        self.close()
        self._paused_until = 0.0
        self._make(store)

    def _let_go(self) -> bool:
        """Close the client; whether it went cleanly."""
        self._end_child()
        index, self.index = self.index, None
        self.verified = self.complete = False
        if index is None:
            return False
        try:
            with self._doing("close"):
                index.close()
        except (IndexDamageError, DiskError):
            return False
        return True

    def close(self) -> None:
        """Close the generation, and remember how it looked."""
        whole = self.usable
        if self._let_go() and whole:
            with contextlib.suppress(DiskError, OSError):  # then it is probed the next time
                self.generations.note_closed(self.name)
        self._probed = ""
