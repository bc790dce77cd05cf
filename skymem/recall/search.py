"""Recall: the memories of every tier that answer a question, best first (rows R2 to R6).

Words, recency and importance are weighed from the lines themselves, which are the truth; meaning
comes from the engine, and where that can't answer the lines do, and the result says so.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar

from skymem.errors import BusyError, DiskError, EngineUnavailableError
from skymem.model.rules import RetentionRules
from skymem.policy import rank
from skymem.recall.candidate import Candidate, Scale
from skymem.recall.request import Request
from skymem.recall.result import Recall, Recalled, recalled
from skymem.recall.tiers import Tiers
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors
from skymem.stores.shelf import Shelf
from skymem.stores.standings import Standings

Answer = TypeVar("Answer")

Scored: TypeAlias = tuple[float, float | None, Candidate]
"""A score, the cosine in it, and whose they are."""

POOL: Final = 50
"""How many of the best by words, and by meaning, a combined order is made of, at least."""

POOL_TIMES: Final = 5
"""The same for each result that is wanted."""

NEAREST_MAX: Final = 20_000
"""Nearest memories that are looked through for some that pass the filters."""

WIDER_TIMES: Final = 4
"""How many times as many are asked for when too few passed."""

ID_LETTERS_MAX: Final = 1024
"""A writer's own id beyond this is not asked about: a question has to fit what the engine reads."""

QUERY_LETTERS_MAX: Final = 8_000
"""Of a query, what the engine is sent: some ten pieces, each of them encoded while one waits."""

START_SECONDS: Final = 10.0
"""What an answer may take of an engine that has yet to be started: it loads its model first."""

ANSWER_SECONDS: Final = 2.0
"""What it may take of one that runs."""

READER_BUSY_MS: Final = 1_000
"""How long a reader waits for a catalog that another process writes to, before it does without."""


class Vectors(Protocol):
    """What recall needs of the engine."""

    def running(self) -> bool:
        """Whether it need not be started first."""

    def query(
        self,
        agent: str,
        text: str,
        limit: int,
        collections: Sequence[str] = ...,
        also: Sequence[str] = ...,
        *,
        deadline_seconds: float = ...,
    ) -> dict[str, Any]:
        """The nearest by meaning, best first, and the cosines of some others."""


class Place(Protocol):
    """What recall needs of a job's workplace: the lines, the catalog and the time."""

    @property
    def now(self) -> Callable[[], float]:
        """The clock, epoch seconds."""

    @property
    def rules(self) -> RetentionRules:
        """What is kept; of it, the kinds."""

    @property
    def degraded(self) -> list[str]:
        """What did not work as it should, so far."""

    def shelf(self, agent: str) -> Shelf:
        """The tiers of one agent."""

    def catalog(self, *, busy_ms: int) -> AbstractContextManager[Catalog]:
        """The catalog, or one in memory."""

    def ask(self, catalog: Catalog, shelf: Shelf, question: Callable[[], Answer]) -> Answer:
        """Ask the catalog something, once it is caught up."""

    def degrade(self, reason: str) -> None:
        """Note, once, what did not work as it should."""


class Nearest(NamedTuple):
    """What the engine answered, as far as it passes the filters."""

    found: list[Candidate]
    cosines: dict[str, float]


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
    with work.catalog(busy_ms=READER_BUSY_MS) as catalog, disk_errors(shelf.paths.directory):
        now_us = round(work.now() * 1_000_000)
        standings = partial(Standings.of, shelf, catalog, now_us, work.rules.kinds)
        search = _Search(work, Tiers(shelf, catalog, standings), agent, request, engine)
        found, mode = work.ask(catalog, shelf, search.answer)
    return Recall(found, mode, work.degraded)


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
        self._agent = agent
        self._request = request
        self._engine = engine
        now_us = round(work.now() * 1_000_000)
        self._scale = Scale(rank.tokens(request.query), request.recency_bias, now_us)

    def answer(self) -> tuple[list[Recalled], str]:
        """The results and the mode that made them."""
        request = self._request
        if request.mode == "semantic":
            return self._semantic(), "semantic"
        mode = "deterministic" if request.mode == "deterministic" else "hybrid"
        if not self._scale.tokens:  # a query without a word asks for nothing (row R2)
            return [], mode
        if mode == "hybrid":
            return self._hybrid()
        return self._deterministic(self._by_words(request.limit)), mode

    def _by_words(self, limit: int) -> list[Candidate]:
        return self._tiers.best_by_words(self._scale, self._request.filters, limit)

    def _deterministic(self, found: Sequence[Candidate]) -> list[Recalled]:
        return self._first([(one.parts.deterministic, None, one) for one in found])

    def _hybrid(self) -> tuple[list[Recalled], str]:
        """Weigh the best by words and the best by meaning together; without meaning, by words."""
        pool = min(NEAREST_MAX, max(POOL, POOL_TIMES * self._request.limit))
        words = self._by_words(pool)
        try:
            nearest = self._by_meaning(pool, {one.id: one for one in words})
        except (EngineUnavailableError, BusyError, DiskError) as error:
            self._work.degrade(f"by words only: {error}")
            return self._deterministic(words), "deterministic"
        weight = self._request.semantic_weight
        scored: list[Scored] = []
        for one in {one.id: one for one in (*nearest.found, *words)}.values():
            cosine = nearest.cosines.get(one.id)
            scored.append((rank.hybrid(one.parts.deterministic, cosine, weight), cosine, one))
        return self._first(scored), "hybrid"

    def _semantic(self) -> list[Recalled]:
        if not self._request.query.strip():
            return []
        nearest = self._by_meaning(self._request.limit, {})
        cosines = [(nearest.cosines[one.id], one) for one in nearest.found]
        return self._first([(rank.semantic(cosine), cosine, one) for cosine, one in cosines])

    def _first(self, scored: list[Scored]) -> list[Recalled]:
        scored.sort(key=lambda item: item[2].standing(item[0]))
        return [
            recalled(one.id, one.tier, one.memory, score, one.parts._replace(semantic=cosine))
            for score, cosine, one in scored[: self._request.limit]
        ]

    def _by_meaning(self, wanted: int, known: Mapping[str, Candidate]) -> Nearest:
        """The nearest `wanted` that are still in a tier and pass the filters.

        Those that are `known` do, and are asked about whether they are near or not.

        More are asked for until enough did, as an index knows neither: what a memory is now is in
        its line.
        """
        found: dict[str, Candidate] = {}
        cosines: dict[str, float] = {}
        limit = min(NEAREST_MAX, max(POOL, 2 * wanted))
        while True:
            answer = self._query(limit, [name for name in known if len(name) <= ID_LETTERS_MAX])
            hits = {name: float(cosine) for name, cosine in answer["hits"]}
            new = hits.keys() - cosines.keys()
            found |= {name: known[name] for name in new & known.keys()}
            found |= self._located(sorted(new - known.keys()))
            cosines |= hits
            if len(found) >= wanted or len(answer["hits"]) < limit or limit >= NEAREST_MAX:
                break
            limit = min(NEAREST_MAX, WIDER_TIMES * limit)
        cosines |= {name: float(cosine) for name, cosine in answer["also"].items()}
        if len(found) < wanted and len(answer["hits"]) >= NEAREST_MAX:
            self._work.degrade(f"by meaning: only the nearest {NEAREST_MAX} were looked through")
        for reason in answer["degraded"]:
            self._work.degrade(str(reason))
        if left := self._tiers.unindexed(str(answer["epoch"])):
            self._work.degrade(f"{left:,} long-term memories are not indexed yet: by words only")
        return Nearest(list(found.values()), cosines)

    def _query(self, limit: int, also: Sequence[str]) -> dict[str, Any]:
        vectors = self._engine()
        seconds = ANSWER_SECONDS if vectors.running() else START_SECONDS
        return vectors.query(
            self._agent,
            self._request.query[:QUERY_LETTERS_MAX],
            limit,
            self._collections(),
            also,
            deadline_seconds=seconds,
        )

    def _collections(self) -> Sequence[str]:
        """Where the tiers that are asked for are indexed."""
        tiers = self._request.filters.tiers
        asked = {"memory": "long" in tiers, "recent": bool(tiers & {"short", "archive"})}
        return [name for name, wanted in asked.items() if wanted]

    def _located(self, names: Sequence[str]) -> dict[str, Candidate]:
        filters = self._request.filters
        kept = self._tiers.locate(names, filters.tiers)
        return {
            one.id: Candidate(
                one.id, one.tier, one.file, 0, one.memory, self._scale.weigh(one.memory)
            )
            for one in kept.values()
            if filters.let(one.memory)
        }
