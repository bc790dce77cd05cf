"""Recall: the memories of every tier that answer a question, best first (rows R2 to R6).

Words, recency and importance are weighed from the lines themselves, which are the truth; meaning
comes from the engine, and where that can't answer the lines do, and the result says so.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from skymem.errors import BusyError, DiskError, EngineUnavailableError
from skymem.policy import rank
from skymem.recall.candidate import Candidate, Contender, Scale, Sketch
from skymem.recall.fusion import Field, Node, Weighed, fused, spread
from skymem.recall.meaning import FEW_MAX, NEAREST_MAX, POOL, Meaning, Vectors
from skymem.recall.place import READER_BUSY_MS, Place
from skymem.recall.request import Request
from skymem.recall.result import Recall, Recalled, recalled
from skymem.recall.tiers import Tiers
from skymem.stores.files import disk_errors
from skymem.stores.standings import Standings
from skymem.stores.word_file import WordIndexError
from skymem.stores.words import WordIndex

Answer = TypeVar("Answer")

Scored: TypeAlias = tuple[float, float | None, Contender]
"""A score, the cosine in it, and whose they are."""

POOL_TIMES: Final = 5
"""How many of the best by words, and by meaning, a combined order is made of, for each result that
is wanted; `POOL` at least."""

FUSED_POOL: Final = 30
FUSED_POOL_TIMES: Final = 3
"""The same of mode `fusion`: with 50, recall@10 on LoCoMo is the same to 0.004."""

NO_COSINE: Final = -2.0
"""Below every cosine."""

WORDS_BUSY_MS: Final = 50
"""How long a reader waits to write to the word index: what isn't in it is found in the lines."""

TRIES: Final = 3
"""A job that rewrites long-term in the middle of an answer has it made again, this often."""


def recall(work: Place, agent: str, request: Request, engine: Callable[[], Vectors]) -> Recall:
    """Answer a request from every tier of one agent.

    Args:
        work: the home's lines, catalog and clock.
        agent: whose memories; nobody else's are looked at.
        request: what is asked.
        engine: connects to the engine; called when meaning is asked for, and not before.

    Raises:
        AgentNameError, NotAllowedError: the agent's name or directory is not allowed.
        DiskError: the lines can't be read.
        EngineUnavailableError, BusyError: mode `semantic` only: the engine can't answer.
    """
    shelf = work.shelf(agent)
    with (
        work.catalog(busy_ms=READER_BUSY_MS) as catalog,
        work.words(agent, busy_ms=WORDS_BUSY_MS) as words,
        disk_errors(shelf.paths.directory),
    ):
        standings = partial(
            Standings.of,
            shelf,
            catalog,
            request.moment_us(work.now()),
            work.rules.kinds,
            looking_back=request.at_us is not None,
        )

        def answer() -> tuple[list[Recalled], str, bool]:
            tiers = Tiers(shelf, catalog, standings)
            search = _Search(work, tiers, agent, request, engine)
            found, mode = _with_words(work, tiers, words, search)
            return found, mode, tiers.were_rewritten()

        for _ in range(TRIES):
            found, mode, rewritten = work.ask(catalog, shelf, answer)
            if not rewritten:
                break
    return Recall(found, mode, work.degraded)


def _with_words(
    work: Place, tiers: Tiers, words: WordIndex, search: "_Search"
) -> tuple[list[Recalled], str]:
    """Answer with the word index; where that fails, from the lines alone."""
    try:
        tiers.catch_up(words)
    except WordIndexError as error:
        work.degrade(f"word index: {error}; what it lacks is found in the lines")
    try:
        with tiers.looking_up(words):
            return search.answer()
    except WordIndexError as error:
        work.degrade(f"word index: {error}; the lines are searched instead")
    with WordIndex.nowhere() as nothing, tiers.looking_up(nothing):
        return search.answer()


class _OtherwiseError(Exception):
    """A line does not say what the indexes told of it."""


class _Search:
    """One request being answered."""

    def __init__(
        self,
        work: Place,
        tiers: Tiers,
        agent: str,
        request: Request,
        engine: Callable[[], Vectors],
    ) -> None:
        self._work = work
        self._tiers = tiers
        self._request = request
        self._looked_up: dict[str, Candidate | None] = {}
        """Lines of mode `fusion` that were read; None for one that may not answer."""

        self._unread: set[str] = set()
        """Those of mode `fusion` that surely answer, whose lines are read if they do."""

        moment_us = request.moment_us(work.now())
        self._scale = Scale(rank.tokens(request.query), request.recency_bias, moment_us)
        self._meaning = Meaning(work, tiers, agent, request, self._scale, engine)

    def answer(self) -> tuple[list[Recalled], str]:
        """The results and the mode that made them.

        Only lines that answer are read, as long as the indexes tell of the others what they say.
        """
        try:
            return self._answer()
        except _OtherwiseError:
            self._tiers.read_all()
            return self._answer()

    def _answer(self) -> tuple[list[Recalled], str]:
        request = self._request
        if request.mode == "semantic":
            return self._semantic(), "semantic"
        mode = "fusion" if request.mode == "auto" else request.mode
        if not self._scale.tokens:  # a query without a word asks for nothing (row R2)
            return [], mode
        try:
            if mode == "fusion":
                return self._fusion(), mode
            if mode == "hybrid":
                return self._hybrid(), mode
        except (EngineUnavailableError, BusyError, DiskError) as error:
            self._work.degrade(f"by words only: {error}")
        return self._deterministic(self._by_words(request.limit)), "deterministic"

    def _by_words(self, limit: int) -> list[Contender]:
        return self._tiers.best_by_words(self._scale, self._request.filters, limit)

    def _deterministic(self, found: Sequence[Contender]) -> list[Recalled]:
        return self._first([(one.deterministic, None, one) for one in found])

    def _hybrid(self) -> list[Recalled]:
        """Weigh the best by words and the best by meaning together (row R5)."""
        pool = min(NEAREST_MAX, max(POOL, POOL_TIMES * self._request.limit))
        words = self._by_words(pool)
        nearest = self._meaning.nearest(pool, {one.id: one for one in words}, by_words=True)
        weight = self._request.semantic_weight
        scored: list[Scored] = []
        for one in {one.id: one for one in (*nearest.found, *words)}.values():
            cosine = nearest.cosines.get(one.id)
            scored.append((rank.hybrid(one.deterministic, cosine, weight), cosine, one))
        return self._first(scored)

    def _fusion(self) -> list[Recalled]:
        """Weigh words, meaning and what stands around (row R5, `policy/fusion.py`)."""
        limit, filters = self._request.limit, self._request.filters
        pool = min(NEAREST_MAX, max(FUSED_POOL, FUSED_POOL_TIMES * limit))
        field = self._field(pool)
        self._looked_up, self._unread = {}, set()
        candidates = field.by_words(pool, partial(self._active, field))
        few = field.few(FEW_MAX) if filters.narrow and self._tiers.indexed_by_words else None
        cosines: dict[str, float] = {}
        if few is None:
            near = self._near(field, pool, [one.id for one in candidates], cosines)
        else:
            near = self._nearest_of(few, field, pool, cosines)
        candidates += near
        if near is not few and len(near) < min(pool, field.size):
            # Some have no vector yet: without a word of the query they compete by their merits.
            candidates += field.passing([one.id for one in self._by_words(pool)])
        return self._first_fused(field, spread(field, candidates, cosines, self._meaning.compare))

    def _field(self, pool: int) -> Field:
        request, filters = self._request, self._request.filters
        loose = [*self._tiers.loose(self._scale, filters, pool)]
        lexicon = self._tiers.lexicon
        return Field(lexicon, loose, self._scale, request.query, filters, at_us=request.at_us)

    def _near(
        self, field: Field, wanted: int, also: Sequence[str], cosines: dict[str, float]
    ) -> list[Node]:
        """The nearest `wanted` that may answer; puts cosines to theirs and others'."""
        found: list[Node] = []

        def passing(names: Sequence[str]) -> int:
            found[:] = self._first_active(field, field.passing(names), wanted)
            return len(found)

        cosines |= self._meaning.look_wider(wanted, also, passing)
        return found

    def _nearest_of(
        self, few: list[Node], field: Field, wanted: int, cosines: dict[str, float]
    ) -> list[Node]:
        """The nearest `wanted` of a few that may answer; puts cosines to theirs."""
        if len(few) <= wanted:
            return few
        cosines |= self._meaning.compare(one.id for one in few)
        few.sort(key=lambda one: (-cosines.get(one.id, NO_COSINE), -one.words, one.id))
        return self._first_active(field, few, wanted)

    def _first_active(self, field: Field, nodes: Sequence[Node], wanted: int) -> list[Node]:
        """The first `wanted` that may answer; the lines of the rest stay unread."""
        found: list[Node] = []
        for start in range(0, len(nodes), wanted):
            found += self._active(field, nodes[start : start + wanted])
            if len(found) >= wanted:
                break
        return found[:wanted]

    def _first_fused(self, field: Field, weighed: Sequence[Weighed]) -> list[Recalled]:
        """The best that are active and pass the filters, read some at a time."""
        limit = self._request.limit
        found: list[Recalled] = []
        for start in range(0, len(weighed), limit):
            part = weighed[start : start + limit]
            self._look_up(field, [one.node for one in part])
            lines = self._looked_up
            if any(lines[one.node.id] is None and one.node.id in self._unread for one in part):
                raise _OtherwiseError
            found += [fused(line, one) for one in part if (line := lines[one.node.id]) is not None]
            if len(found) >= limit:
                break
        return found[:limit]

    def _active(self, field: Field, nodes: Sequence[Node]) -> list[Node]:
        """Those that are active and pass the filters: no other takes a place in a pool."""
        known = self._looked_up.keys() | self._unread
        new = [one for one in nodes if one.id not in known]
        indexed = [one.id for one in new if one.number >= 0]
        self._unread |= self._tiers.surely_active(indexed, self._request.filters)
        self._look_up(field, [one for one in new if one.id not in self._unread])
        return [
            one
            for one in nodes
            if one.id in self._unread or self._looked_up.get(one.id) is not None
        ]

    def _look_up(self, field: Field, nodes: Sequence[Node]) -> None:
        new = [one for one in nodes if one.id not in self._looked_up]
        lines = self._lines(field, new)
        self._looked_up |= {one.id: lines.get(one.id) for one in new}

    def _lines(self, field: Field, nodes: Sequence[Node]) -> dict[str, Candidate]:
        """Read the lines of those that are active and pass the filters."""
        filters = self._request.filters
        lines = {one.id: line for one in nodes if (line := field.loose_of(one))}
        lines = {
            name: line for name, line in lines.items() if filters.passes(line.tier, line.memory)
        }
        indexed = [one.id for one in nodes if one.number >= 0]
        return lines | {one.id: one for one in self._tiers.in_tiers(indexed, self._scale, filters)}

    def _semantic(self) -> list[Recalled]:
        if not self._request.query.strip():
            return []
        nearest = self._meaning.nearest(self._request.limit, {}, by_words=False)
        cosines = [(nearest.cosines[one.id], one) for one in nearest.found]
        return self._first([(rank.semantic(cosine), cosine, one) for cosine, one in cosines])

    def _first(self, scored: list[Scored]) -> list[Recalled]:
        scored.sort(key=lambda item: item[2].standing(item[0]))
        first = scored[: self._request.limit]
        lines = self._read([one for _, _, one in first])
        return [
            recalled(one.id, one.tier, one.memory, score, one.parts._replace(semantic=cosine))
            for (score, cosine, _), one in zip(first, lines, strict=True)
        ]

    def _read(self, found: Sequence[Contender]) -> list[Candidate]:
        """Read the lines that are not read yet; each says what was told of it."""
        names = [one.id for one in found if isinstance(one, Sketch)]
        read = self._tiers.in_tiers(names, self._scale, self._request.filters) if names else ()
        lines = {one.id: one for one in read}
        told: list[Candidate] = []
        for one in found:
            line = lines.get(one.id) if isinstance(one, Sketch) else one
            if line is None or (isinstance(one, Sketch) and not one.fits(line)):
                raise _OtherwiseError
            told.append(line)
        return told
