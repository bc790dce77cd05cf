"""Every memory of one agent, for a reader: by words, line by line, or by id."""

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import Final

from skymem.model.identity import digest
from skymem.model.memory import Memory
from skymem.model.plan import Entry
from skymem.model.strict_json import LineDamage, parse_object
from skymem.recall.best import Best
from skymem.recall.candidate import UNKNOWN, Candidate, Contender, Scale, Sketch
from skymem.recall.fusion import Loose
from skymem.recall.glance import Glance
from skymem.recall.lexicon import Lexicon
from skymem.recall.request import Filters
from skymem.stores.catalog import Catalog
from skymem.stores.cursors import IndexCursors
from skymem.stores.lines import Clean, entries_of
from skymem.stores.shelf import Kept, Shelf
from skymem.stores.short_lines import named_short
from skymem.stores.standings import Standings
from skymem.stores.tiers import tier_files
from skymem.stores.unchanged import still_there
from skymem.stores.vectorless import vectorless
from skymem.stores.word_file import WordIndexBusyError
from skymem.stores.words import Doc, WordIndex

CATCH_UP_SECONDS: Final = 1.0
"""What a reader may take to bring the word index up to date; the jobs do it without a limit."""

LOOKED_UP_TIMES: Final = 2
"""Memories that the word index names, for each that is wanted: some of them are not active."""


class Tiers:
    """Short-term with its drains' rests, long-term and archives, read as one.

    The order is that of `Shelf`: a line on its way from one tier to the next may be seen twice, and
    counts once, and is never missed.
    """

    def __init__(self, shelf: Shelf, catalog: Catalog, standings: Callable[[], Standings]) -> None:
        """Use `catalog`, caught up, to tell where a memory has its place.

        `standings` tells, when it is first needed, which memories are active: no other answers.
        """
        self._shelf = shelf
        self._catalog = catalog
        self._agent = shelf.paths.name
        self._ask_standings = standings
        self._lexicon: Lexicon | None = None
        self._sketches = False
        """Whether the word index says what the lines do."""

        self._as_read = catalog.as_read(self._agent)

    def catch_up(self, words: WordIndex) -> None:
        """Bring a word index up to date, as far as a moment allows.

        Raises:
            WordIndexError: it can't be written to.
        """
        ends = time.monotonic() + CATCH_UP_SECONDS
        self._sketches = False
        with contextlib.suppress(WordIndexBusyError):  # somebody else does it
            self._sketches = words.catch_up(
                self._shelf, self._catalog, lambda: time.monotonic() > ends
            )

    def read_all(self) -> None:
        """Believe no index any more: every line is read before it is weighed."""
        self._sketches = False

    @contextlib.contextmanager
    def looking_up(self, words: WordIndex) -> Iterator[None]:
        """Use a word index, in the state it is in now."""
        with words.reading():
            self._lexicon = Lexicon(words)
            yield
            self._lexicon = None

    @property
    def lexicon(self) -> Lexicon:
        """The word index that is looked up; lines it has not come to are looked through."""
        assert self._lexicon is not None  # noqa: S101  (only asked for within `looking_up`)
        return self._lexicon

    @cached_property
    def _standings(self) -> Standings:
        return self._ask_standings()

    @cached_property
    def _short(self) -> list[Entry]:
        """The lines of short-term that no other tier has, each with its id.

        As they were when they were first asked for, before any of the tiers that lines go to.
        """
        return [*named_short(self._shelf, self._catalog)]

    @property
    def indexed_by_words(self) -> bool:
        """Whether the word index has come to all that the catalog knows of."""
        counts = self._catalog.counts(self._agent)
        return self.lexicon.count == sum(one.memories for one in counts if one.tier != "trash")

    def were_rewritten(self) -> bool:
        """Whether a file is not the one any more whose places the catalog knew."""
        files = dict(tier_files(self._shelf.paths))
        return not all(still_there(files.get(name), row) for name, row in self._as_read.items())

    def best_by_words(self, scale: Scale, filters: Filters, limit: int) -> list[Contender]:
        """The best by row R2's score, best first; damage is passed over."""
        best = Best(limit, self._in_place)
        if "short" in filters.tiers:
            self._scan_short(best, scale, filters)
        self._look_up(best, scale, filters, limit)
        self._scan_lines(best, scale, filters)
        return best.ranked()

    def loose(self, scale: Scale, filters: Filters, limit: int) -> Iterator[Loose]:
        """What the word index does not have, in the order it numbers: further lines, short-term.

        Of the further lines, the best `limit` by words.
        """
        best = Best(limit, self._in_place)
        self._scan_lines(best, scale, filters)
        lines = [one for one in best.ranked() if isinstance(one, Candidate)]
        yield from map(Loose.of, sorted(lines, key=lambda one: (one.file, one.start)))
        file = self._shelf.paths.short_term.name
        for entry in self._short:
            if self._standings.let(entry.id, entry.memory):
                words = scale.words_of(entry.memory)
                parts = scale.weigh(entry.memory, words)
                one = Candidate(entry.id, "short", file, entry.start, entry.memory, parts)
                yield Loose.of(one, words)

    def few(self, filters: Filters, most: int) -> list[str] | None:
        """The ids of all that may pass the filters; None where they are more, or can't be told."""
        numbers = self.lexicon.few(filters, most)
        if numbers is None or not self.indexed_by_words:
            return None
        short = [one for one in self._short if filters.passes("short", one.memory)]
        docs = self.lexicon.index.docs(numbers.tolist())
        names = [*(doc.id for doc in docs.values()), *(one.id for one in short)]
        return names if len(names) <= most else None

    def may_pass(self, names: Sequence[str], filters: Filters) -> list[str]:
        """Those of these ids that may pass the filters, as far as the word index knows."""
        if not filters.narrow:
            return [*names]
        docs, allowed = self.lexicon.index.numbers(names), self.lexicon.allowed(filters)
        return [name for name in names if name not in docs or allowed[docs[name].doc]]

    def _look_up(self, best: Best, scale: Scale, filters: Filters, limit: int) -> None:
        """Weigh the lines of the best by the index, until none of the rest could be better."""
        found = 0
        for numbers, floor in self.lexicon.best(scale, filters, LOOKED_UP_TIMES * limit):
            docs = self.lexicon.index.docs(numbers.tolist())
            sketches = self._sketches_of(docs.values(), filters, scale)
            rest = [doc.id for doc in docs.values() if doc.id not in sketches]
            found_now: list[Contender] = [*sketches.values()]
            found_now += self.in_tiers(rest, scale, filters)
            for one in found_now:
                best.offer(one)
                found += one.deterministic >= floor
            if found >= limit:
                break

    def surely_active(self, names: Sequence[str], filters: Filters) -> set[str]:
        """Those of these ids of the word index that surely answer, told without their lines."""
        if not self._sketches or filters.narrow:  # whether one passes is told by its line alone
            return set()
        return self._standings.surely_active(names)

    def sketched(
        self, names: Sequence[str], filters: Filters, scale: Scale | None = None
    ) -> dict[str, Sketch]:
        """Those of these ids that surely answer, as the word index tells of them.

        Args:
            names: ids.
            filters: which memories may answer.
            scale: weighs them by words too.
        """
        if not self._sketches or filters.narrow:
            return {}
        return self._sketches_of(self.lexicon.index.numbers(names).values(), filters, scale)

    def _sketches_of(
        self, docs: Collection[Doc], filters: Filters, scale: Scale | None
    ) -> dict[str, Sketch]:
        if not self._sketches or filters.narrow:
            return {}
        active = self.surely_active([doc.id for doc in docs], filters)
        scores = None if scale is None else self.lexicon.deterministic(scale)
        worths = self.lexicon.worths
        return {
            doc.id: Sketch(
                doc.id,
                UNKNOWN if scores is None else float(scores[doc.doc]),
                float(worths[doc.doc]),
                doc.time_us,
            )
            for doc in docs
            if doc.id in active
        }

    def in_tiers(self, names: Sequence[str], scale: Scale, filters: Filters) -> Iterator[Candidate]:
        """Active memories of long-term and archives that pass the filters, by their ids."""
        places = self._catalog.find(self._agent, names)
        wanted = {name: place for name, place in places.items() if place.tier in filters.tiers}
        for kept in self._shelf.read(wanted):
            if filters.let(kept.memory) and self._standings.let(kept.id, kept.memory):
                start = places[kept.id].start
                parts = scale.weigh(kept.memory)
                yield Candidate(kept.id, kept.tier, kept.file, start, kept.memory, parts)

    def _scan_short(self, best: Best, scale: Scale, filters: Filters) -> None:
        file = self._shelf.paths.short_term.name
        met: set[str] = set()
        for entry in reversed(self._short):  # the newest first: most others are too light then
            parts = scale.weigh(entry.memory)
            if parts.deterministic < best.floor or not filters.let(entry.memory):
                continue  # before the rest is looked at, which costs as much
            if entry.id not in met and self._standings.let(entry.id, entry.memory):
                met.add(entry.id)  # of two lines with one id the newer counts
                best.offer(Candidate(entry.id, "short", file, entry.start, entry.memory, parts))

    def _scan_lines(self, best: Best, scale: Scale, filters: Filters) -> None:
        glance = Glance(scale.tokens, scale.bias, scale.now_us)
        covered = self.lexicon.index.covered(self._shelf.paths)
        for tier, file, lines in self._shelf.tier_lines(filters.tiers, covered):
            for start, raw, end in lines:
                if raw is None or not glance.reaches(raw, best.floor):
                    continue
                for at, memory, own in _memories(start, raw, end, self._shelf.guard.clean):
                    parts = scale.weigh(memory)
                    if parts.deterministic < best.floor or not filters.let(memory):
                        continue
                    name = memory.source_id or own().hex()
                    if self._standings.let(name, memory):
                        best.offer(Candidate(name, tier, file, at, memory, parts))

    def locate(self, names: Sequence[str], tiers: Collection[str]) -> dict[str, Kept]:
        """Find active memories by their ids in these tiers; an id that no line has is left out."""
        places = self._catalog.find(self._agent, names)
        wanted = {name: place for name, place in places.items() if place.tier in tiers}
        found = {
            kept.id: kept
            for kept in self._shelf.read(wanted)
            if self._standings.let(kept.id, kept.memory)
        }
        rest = set(names) - places.keys()
        if rest and "short" in tiers:
            file = self._shelf.paths.short_term.name
            for entry in self._short:
                if entry.id in rest:
                    if self._standings.let(entry.id, entry.memory):
                        found[entry.id] = Kept(entry.id, "short", file, entry.memory)
                    rest.remove(entry.id)
                    if not rest:
                        break
        return found

    def unindexed(self, epoch: str) -> int:
        """How many long-term memories the index of that epoch does not have yet."""
        if self._catalog.temporary:  # it knows of no cursor, and is told about as it is
            return 0
        return IndexCursors(self._catalog, self._agent, epoch).owed("long")

    def vectorless(self, filters: Filters) -> dict[str, Memory]:
        """What is active, passes the filters and has no vector: of a moment that is past (P15).

        Something has taken its place since.
        """
        names = sorted(vectorless(self._catalog, self._agent))
        kept = self.locate(names, filters.tiers).values()
        return {one.id: one.memory for one in kept if filters.let(one.memory)}

    def _in_place(self, contenders: Sequence[Contender]) -> list[Contender]:
        """Leave out lines of long-term and archives whose id has its place in another line.

        A line the catalog does not know was appended since it caught up.
        """
        scanned = [one for one in contenders if isinstance(one, Candidate)]
        names = [one.id for one in scanned if one.tier != "short"]
        places = self._catalog.find(self._agent, names)
        return [
            one
            for one in contenders
            if isinstance(one, Sketch)
            or one.tier == "short"
            or (place := places.get(one.id)) is None
            or (place.file, place.start) == (one.file, one.start)
        ]


def _memories(
    start: int, raw: bytes, end: int, clean: Clean
) -> Iterator[tuple[int, Memory, Callable[[], bytes]]]:
    """The memories of a line, each with its offset and its digest: one, nearly always."""
    try:
        memory = Memory(parse_object(raw))
        yield start, clean(raw, memory), partial(digest, memory)
    except LineDamage:
        for entry in entries_of(start, raw, end, clean):
            if isinstance(entry, Entry):
                yield entry.start, entry.memory, partial(bytes, entry.digest)
