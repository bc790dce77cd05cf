"""Mode `fusion`: who may answer, by words, by meaning and by what is beside it, weighed (row R5).

Words come from the word index and from the lines it has not come to; meaning from the engine; what
stands around a memory from its conversation. `policy/fusion.py` has the weights.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np

from skymem.policy import fusion
from skymem.policy.rank import recency, tokens_of
from skymem.policy.terms import terms, terms_in
from skymem.policy.when import Times, times_of
from skymem.recall.candidate import Candidate, Scale
from skymem.recall.lexicon import Lexicon
from skymem.recall.request import Filters
from skymem.recall.result import Recalled, recalled
from skymem.stores.word_segments import NAMES_A_TIME, NO_TIME, QUESTION, signs_of
from skymem.stores.words import Doc

BESIDE: Final = len(fusion.AROUND)
"""Neighbours on either side that have a say."""

ASIDE: Final = 2 * BESIDE
"""Neighbours on either side that are read at once."""

LOOKED_UP_MAX: Final = 20_000
"""The best by words that are looked through for some that are active."""

WIDER_TIMES: Final = 4

SPREAD_MAX: Final = 60
"""Of the best candidates, those whose neighbours may answer too."""


@dataclass(slots=True)
class Loose:
    """A memory that the word index does not have: of short-term, or not come to yet."""

    candidate: Candidate
    words: set[str]

    @classmethod
    def of(cls, candidate: Candidate, words: set[str] | None = None) -> "Loose":
        """Take its words, which are given by who has them already."""
        return cls(candidate, Scale.words_of(candidate.memory) if words is None else words)


@dataclass(slots=True)
class Node:
    """A memory that is weighed: by its number in the index; a loose one has one below 0."""

    number: int
    id: str
    session: str | int | None
    time_us: int | None
    words: float
    """The share of the query's words it has, each by its rarity, 0 to 1."""


@dataclass(slots=True)
class Weighed:
    """A candidate with the parts of its score."""

    node: Node
    cosine: float | None
    parts: fusion.Fused


Active: TypeAlias = Callable[[Sequence[Node]], list[Node]]
"""Leaves out memories that may not answer, by their lines."""


class Field:
    """All memories of an agent, seen from one query."""

    def __init__(
        self,
        lexicon: Lexicon,
        loose: Sequence[Loose],
        scale: Scale,
        query: str,
        filters: Filters,
        *,
        at_us: int | None = None,
    ) -> None:
        """Weigh the query's words by how rare they are among all of these.

        Only what passes `filters` may answer; the rest counts for rarity and stands around. With
        `at_us`, what happened later than that moment stands beside nothing.
        """
        self.lexicon = lexicon
        self._filters = filters
        self._at_us = at_us
        self._loose = loose
        self._scale = scale
        self._times: Times = times_of(query, scale.now_us)
        self._terms = dict.fromkeys(sorted(terms(query)), 0.0)
        self._listed = {term: lexicon.with_stem(term) for term in self._terms}
        self._had = [terms_in(one.words, self._terms) for one in loose]
        for term, listed in self._listed.items():
            having = lexicon.alive_of(listed) + sum(term in had for had in self._had)
            self._terms[term] = fusion.rarity(having, lexicon.count + len(loose))
        self._whole = sum(self._terms.values()) or 1.0
        self._nodes: dict[int, Node] = {}
        self._beside: dict[int, tuple[list[Node], list[Node]]] = {}
        self._runs: dict[int, tuple[list[Node], int]] = {}
        self._numbers = {one.candidate.id: -1 - place for place, one in enumerate(loose)}

    @property
    def size(self) -> int:
        """How many memories there are, about; never too few."""
        return len(self.lexicon) + len(self._loose)

    @cached_property
    def _coverage(self) -> "np.typing.NDArray[np.float64]":
        weighed = ((self._listed[term], weight) for term, weight in self._terms.items())
        return self.lexicon.summed(weighed) / self._whole

    def _covered_by(self, place: int) -> float:
        had = self._had[place]
        if not had:
            return 0.0
        return sum(w for term, w in self._terms.items() if term in had) / self._whole

    # -- who may answer -------------------------------------------------------------------------

    @cached_property
    def _allowed(self) -> "np.typing.NDArray[np.bool_]":
        return self.lexicon.allowed(self._filters)

    def by_words(self, count: int, active: Active) -> list[Node]:
        """The best by their words alone, of those that are active and pass the filters."""
        weights = np.where(self._allowed, self._coverage, 0.0)
        wanted = count
        while True:
            numbers = self.lexicon.highest(weights, wanted).tolist()
            found = active(self._of_numbers(numbers))
            if len(found) >= count or len(numbers) < wanted or wanted >= LOOKED_UP_MAX:
                break
            wanted *= WIDER_TIMES
        found = found[:count]
        loose = [node for node in self._loose_passing if node.words > 0]
        return [*found, *sorted(loose, key=lambda one: -one.words)[:count]]

    def few(self, most: int) -> list[Node] | None:
        """All that may pass the filters, where that is `most` of them or fewer."""
        found = np.flatnonzero(self._allowed)
        if len(found) + len(self._loose_passing) > most:
            return None
        return [*self._of_numbers(found.tolist()), *self._loose_passing]

    @cached_property
    def _loose_passing(self) -> list[Node]:
        lines = (one.candidate for one in self._loose)
        passing = (self._filters.passes(line.tier, line.memory) for line in lines)
        return [self._of_loose(place) for place, passes in enumerate(passing) if passes]

    def passing(self, ids: Sequence[str]) -> list[Node]:
        """Those of these memories that may pass the filters, in this order."""
        rest = [name for name in ids if name not in self._numbers]
        docs = self.lexicon.index.numbers(rest)
        numbers = [doc.doc for doc in docs.values() if self._allowed[doc.doc]]
        found = {one.id: one for one in (*self._of_numbers(numbers), *self._loose_passing)}
        return [found[name] for name in ids if name in found]

    def _of_numbers(self, numbers: Sequence[int]) -> list[Node]:
        missing = [number for number in numbers if number not in self._nodes]
        for doc in self.lexicon.index.docs(missing).values():
            self._of_doc(doc)
        return [self._nodes[number] for number in numbers if number in self._nodes]

    def _of_doc(self, doc: Doc) -> Node:
        if doc.doc not in self._nodes:
            words = float(self._coverage[doc.doc])
            self._nodes[doc.doc] = Node(doc.doc, doc.id, doc.session, doc.time_us, words)
        return self._nodes[doc.doc]

    def _of_loose(self, place: int) -> Node:
        number = -1 - place
        if number not in self._nodes:
            one = self._loose[place]
            memory = one.candidate.memory
            session = memory.concerns("session")
            known = self.lexicon.index.session_named(session) if session is not None else None
            self._nodes[number] = Node(
                number,
                one.candidate.id,
                session if known is None else known,
                memory.time_us,
                self._covered_by(place),
            )
        return self._nodes[number]

    def loose_of(self, node: Node) -> Candidate | None:
        """Its line, where it is a loose one."""
        return self._loose[-1 - node.number].candidate if node.number < 0 else None

    # -- what stands around ---------------------------------------------------------------------

    @cached_property
    def _loose_by_session(self) -> dict[str | int, list[tuple[int, int]]]:
        found: dict[str | int, list[tuple[int, int]]] = {}
        for place in range(len(self._loose)):
            node = self._of_loose(place)
            if node.time_us is not None and node.session is not None:
                found.setdefault(node.session, []).append((node.time_us, place))
        for places in found.values():
            places.sort()
        return found

    def beside(self, node: Node) -> tuple[list[Node], list[Node]]:
        """Its neighbours before and after it in its `session`, the nearest first.

        One that names no session has none: notes of one hour need not have to do with each other.
        """
        if node.number not in self._beside:
            self._beside[node.number] = self._look_beside(node)
        return self._beside[node.number]

    def _look_beside(self, node: Node) -> tuple[list[Node], list[Node]]:
        if node.time_us is None or node.session is None:
            return [], []
        before, after = self._loose_beside(node)
        if not isinstance(node.session, str):
            sides = self._indexed_beside(node, node.session, node.time_us)
            before = _merged(sides[0], before, reverse=True)
            after = _merged(sides[1], after)
        if self._at_us is not None:
            after = [one for one in after if (one.time_us or 0) <= self._at_us]
        return before, after

    def _indexed_beside(
        self, node: Node, session: int, time_us: int
    ) -> tuple[list[Node], list[Node]]:
        """Those of the word index; of what stands beside a place, more is read at once.

        Who is asked about next stands there mostly: the neighbours of the neighbours.
        """
        index = self.lexicon.index
        if node.number < 0:
            docs = index.beside(session, time_us, len(self.lexicon), BESIDE)
            return [self._of_doc(one) for one in docs[0]], [self._of_doc(one) for one in docs[1]]
        if node.number not in self._runs:
            docs = index.beside(session, time_us, node.number, ASIDE)
            before, after = ([self._of_doc(one) for one in side] for side in docs)
            run = [*before[::-1], node, *after]
            # Those in it whose neighbours are in it as well.
            begin = 0 if len(before) < ASIDE else BESIDE
            end = len(run) - (0 if len(after) < ASIDE else BESIDE)
            self._runs |= {run[place].number: (run, place) for place in range(begin, end)}
        run, place = self._runs[node.number]
        return run[max(0, place - BESIDE) : place][::-1], run[place + 1 : place + 1 + BESIDE]

    def _loose_beside(self, node: Node) -> tuple[list[Node], list[Node]]:
        places = self._loose_by_session.get(node.session or 0, [])
        own = (node.time_us or 0, -1 - node.number if node.number < 0 else -1)
        at, after = bisect_left(places, own), bisect_right(places, own)
        first, last = places[max(0, at - BESIDE) : at], places[after : after + BESIDE]
        return (
            [self._of_loose(place) for _, place in reversed(first)],
            [self._of_loose(place) for _, place in last],
        )

    # -- weighing -------------------------------------------------------------------------------

    def signs(self, node: Node) -> fusion.Signs:
        """What a memory shows by itself."""
        if node.number >= 0:
            return self.lexicon.signs(node.number)
        memory = self._loose[-1 - node.number].candidate.memory
        flags = signs_of(memory)
        words = len(tokens_of(memory.searchable, memory.tags))
        return fusion.Signs(words, bool(flags & QUESTION), bool(flags & NAMES_A_TIME))

    def worth(self, node: Node) -> float:
        """Its importance."""
        one = self.loose_of(node)
        return float(self.lexicon.worths[node.number]) if one is None else one.parts.importance

    def weigh(self, node: Node, cosine: float | None, own: Mapping[str, float]) -> Weighed:
        """Weigh a candidate, with what each memory around it has for itself."""
        sides = self.beside(node)
        near = [[own[side[far].id] for side in sides if far < len(side)] for far in range(BESIDE)]
        signs = self.signs(node)
        return Weighed(
            node,
            cosine,
            fusion.fused(
                node.words,
                cosine,
                fusion.around(near),
                fusion.form(signs),
                fusion.time(signs, self._times.nearness(node.time_us), asks=self._times.asks),
                fusion.prior(recency(node.time_us, self._scale.now_us), self.worth(node)),
            ),
        )


def own_of(node: Node, cosines: Mapping[str, float]) -> float:
    """What a memory has for itself."""
    return fusion.own(node.words, cosines.get(node.id))


def fused(line: Candidate, weighed: Weighed) -> Recalled:
    """Spell a memory that mode `fusion` answers with."""
    parts = line.parts._replace(semantic=weighed.cosine)
    made = recalled(line.id, line.tier, line.memory, weighed.parts.score, parts)
    return replace(made, fused=weighed.parts)


Cosines: TypeAlias = Callable[[Iterable[str]], dict[str, float]]
"""Compares memories with the query by meaning, as far as they have a vector."""


def spread(
    field: Field, candidates: Iterable[Node], cosines: Mapping[str, float], compare: Cosines
) -> list[Weighed]:
    """Weigh candidates and the neighbours of the best, best first.

    Args:
        field: all memories.
        candidates: who was found by itself.
        cosines: as far as they are known.
        compare: asks for those of the rest.
    """
    widened = {one.id: one for one in candidates}
    known = {**cosines} or compare(widened)
    ranked = sorted(widened.values(), key=lambda one: (-own_of(one, known), one.id))
    for one in ranked[:SPREAD_MAX]:
        for side in field.beside(one):
            widened |= {each.id: each for each in side}
    around = {**widened}
    for one in widened.values():
        for side in field.beside(one):
            around |= {each.id: each for each in side}
    known |= compare(around.keys() - known.keys())
    own = {name: own_of(each, known) for name, each in around.items()}
    weighed = [field.weigh(one, known.get(one.id), own) for one in widened.values()]
    weighed.sort(
        key=lambda one: (
            -one.parts.score,
            -field.worth(one.node),
            -(one.node.time_us or NO_TIME),
            one.node.id,
        )
    )
    return weighed


def _merged(indexed: list[Node], loose: list[Node], *, reverse: bool = False) -> list[Node]:
    """The nearest of both, each in the order of its nearness."""
    if not loose:
        return indexed
    return sorted((*indexed, *loose), key=_when, reverse=reverse)[:BESIDE]


def _when(node: Node) -> tuple[int, int]:
    number = node.number if node.number >= 0 else 2**32 - node.number
    return node.time_us or 0, number
