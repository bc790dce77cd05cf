"""What the engine knows of a question's meaning: the nearest memories, and how near some are (R5).

An index knows neither tier nor filter: what a memory is now is in its line. So more of the nearest
are asked for until enough pass; but where only a few can pass, those are compared, all of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from skymem.errors import BusyError, DiskError, EngineUnavailableError
from skymem.policy import rank
from skymem.recall.candidate import Candidate, Contender, Scale
from skymem.recall.place import Place
from skymem.recall.request import Request
from skymem.recall.tiers import Tiers

POOL: Final = 50
"""How many of the nearest are asked for, at least."""

FEW_MAX: Final = 4000
"""Memories that are compared, and not looked for, where no more than these pass the filters."""

ALSO_MAX: Final = 1000
"""Memories that the engine compares with a query because they are named, in one call."""

NEAREST_MAX: Final = 20_000
"""Nearest memories that are looked through for some that pass the filters."""

WIDER_TIMES: Final = 4
"""How many times as many are asked for when too few passed."""

ID_LETTERS_MAX: Final = 1024
"""A writer's own id beyond this is not asked about: a question has to fit what the engine reads."""

QUERY_LETTERS_MAX: Final = 8_000
"""Of a query, what the engine is sent: some ten pieces, each of them encoded while one waits."""

THEN_MAX: Final = 256
"""Of what was superseded since the moment that is asked about, so many are compared, newest first:
the cache has most of their vectors still."""

THEN_SECONDS: Final = 5.0
START_SECONDS: Final = 10.0
"""What an answer may take of an engine that has yet to be started: it loads its model first."""

ANSWER_SECONDS: Final = 2.0
"""What it may take of one that runs."""


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

    def likeness(
        self, text: str, texts: Sequence[str], *, agent: str = ..., deadline_seconds: float = ...
    ) -> dict[str, Any]:
        """The cosine of a text to each of some others; None where one is blank."""


class Nearest(NamedTuple):
    """What the engine answered, as far as it passes the filters."""

    found: list[Contender]
    cosines: dict[str, float]


class Meaning:
    """Asks the engine for one request."""

    def __init__(  # noqa: PLR0917  (what a search has, as it has it)
        self,
        work: Place,
        tiers: Tiers,
        agent: str,
        request: Request,
        scale: Scale,
        engine: Callable[[], Vectors],
    ) -> None:
        """Connect by `engine` when it is first needed."""
        self._work = work
        self._tiers = tiers
        self._agent = agent
        self._request = request
        self._scale = scale
        self._engine = engine
        self._vectors: Vectors | None = None
        self._seconds = 0.0
        self._then: dict[str, float] | None = None
        """Of a moment that is past: what has no vector since, with its cosine."""

    def nearest(self, wanted: int, known: Mapping[str, Contender], *, by_words: bool) -> Nearest:
        """The nearest `wanted` that are still in a tier and pass the filters.

        Those that are `known` do, and are asked about whether they are near or not. What is told
        of the rest has its score `by_words` where that is wanted.
        """
        filters = self._request.filters
        names = self._tiers.few(filters, FEW_MAX) if filters.narrow else None
        if names is None:
            return self._looked_for(wanted, known, self._scale if by_words else None)
        return self._of_few(wanted, dict.fromkeys((*known, *names)))

    def _of_few(self, wanted: int, names: Iterable[str]) -> Nearest:
        """The nearest of all that may pass the filters; their lines are read some at a time."""
        cosines = self.compare(names)
        ranked = sorted(cosines, key=lambda name: (-cosines[name], name))
        found: dict[str, Contender] = {}
        start = 0
        while start < len(ranked) and len(found) < wanted:
            end = start + wanted
            last = rank.semantic(cosines[ranked[min(end, len(ranked)) - 1]])
            while end < len(ranked) and rank.semantic(cosines[ranked[end]]) == last:
                end += 1  # who is as near as the last one is put in order by other merits
            found |= self._located(ranked[start:end])
            start = end
        return Nearest([*found.values()], cosines)

    def _looked_for(
        self, wanted: int, known: Mapping[str, Contender], scale: Scale | None
    ) -> Nearest:
        found: dict[str, Contender] = {}
        met: set[str] = set()

        def passing(names: Sequence[str]) -> int:
            new = {*names} - met
            met.update(new)
            found.update({name: known[name] for name in new & known.keys()})
            unread = self._tiers.may_pass(sorted(new - known.keys()), self._request.filters)
            sketches = self._tiers.sketched(unread, self._request.filters, scale)
            found.update(sketches)
            found.update(self._located([name for name in unread if name not in sketches]))
            return len(found)

        cosines = self.look_wider(wanted, [*known], passing)
        return Nearest([*found.values()], cosines)

    def look_wider(
        self, wanted: int, also: Sequence[str], passing: Callable[[Sequence[str]], int]
    ) -> dict[str, float]:
        """The cosines of the nearest, of so many that `wanted` of them pass, and of some others."""
        also = [name for name in also if len(name) <= ID_LETTERS_MAX]
        limit = min(NEAREST_MAX, max(POOL, 2 * wanted))
        while True:
            answer = self._query(limit, also)
            hits = answer["hits"]
            passed = passing([name for name, _ in hits])
            given = len(hits) - len(self._then or ())
            if passed >= wanted or given < limit or limit >= NEAREST_MAX:
                break
            limit = min(NEAREST_MAX, WIDER_TIMES * limit)
        if passed < wanted and len(hits) >= NEAREST_MAX:
            self._work.degrade(f"by meaning: only the nearest {NEAREST_MAX} were looked through")
        return {name: float(cosine) for name, cosine in (*hits, *answer["also"].items())}

    def compare(self, names: Iterable[str]) -> dict[str, float]:
        """The cosines of the memories with these ids, as far as they have a vector."""
        wanted = [name for name in names if len(name) <= ID_LETTERS_MAX]
        found: dict[str, float] = {}
        for start in range(0, len(wanted), ALSO_MAX):
            answer = self._query(0, wanted[start : start + ALSO_MAX])
            found |= {name: float(cosine) for name, cosine in answer["also"].items()}
        return found

    def _query(self, limit: int, also: Sequence[str]) -> dict[str, Any]:
        if self._vectors is None:
            self._vectors = self._engine()
            self._seconds = ANSWER_SECONDS if self._vectors.running() else START_SECONDS
        answer = self._vectors.query(
            self._agent,
            self._request.query[:QUERY_LETTERS_MAX],
            limit,
            self._collections(),
            also,
            deadline_seconds=self._seconds,
        )
        for reason in answer["degraded"]:
            self._work.degrade(str(reason))
        if left := self._tiers.unindexed(str(answer["epoch"])):
            self._work.degrade(f"{left:,} long-term memories are not indexed yet: by words only")
        if self._request.at_us is None:
            return answer
        if self._then is None:
            self._then = self._of_then(self._vectors)
        hits = [(str(name), float(cosine)) for name, cosine in answer["hits"]]
        hits += self._then.items() if limit else ()
        hits.sort(key=lambda one: -one[1])
        told = {name: self._then[name] for name in also if name in self._then}
        return {**answer, "hits": hits, "also": {**answer["also"], **told}}

    def _of_then(self, vectors: Vectors) -> dict[str, float]:
        """The cosines of what was superseded since, and has no vector in the index any more."""
        found = self._tiers.vectorless(self._request.filters)
        newest = sorted(found, key=lambda name: (found[name].time_us or 0, name), reverse=True)
        names = [name for name in newest[:THEN_MAX] if found[name].searchable.strip()]
        cosines: Sequence[float | None] = []
        query = self._request.query[:QUERY_LETTERS_MAX]
        try:
            if names:
                texts = [found[name].searchable for name in names]
                answer = vectors.likeness(
                    query, texts, agent=self._agent, deadline_seconds=THEN_SECONDS
                )
                cosines = answer["cosines"]
        except (EngineUnavailableError, BusyError, DiskError):
            names = []
        if left := len(found) - len(names):
            self._work.degrade(f"{left:,} memories superseded since: by words only")
        return {name: one for name, one in zip(names, cosines, strict=False) if one is not None}

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
