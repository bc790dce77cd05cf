"""Fits a model of worth to lessons: the one module that speaks to scikit-learn (row P12).

Logistic regression on what is seen of memories, with as much restraint as serves memories it has
not seen: tried on five parts of the lessons, each by what the other four teach. On the same tries
its sums are brought to the scale of what was found (Platt's way), so that 0.7 means 0.7. What the
meaning of texts adds is learned on top of that, beside what each memory gets by the other four
parts, and in the same way. The same lessons give the same numbers: nothing is drawn by lot, and
they are rounded.
"""

import importlib.util
import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any, Final, NamedTuple

from skymem.errors import UsageError
from skymem.policy.judging import losses
from skymem.policy.prediction import logistic
from skymem.policy.teaching import Lesson

EXTRA: Final = "pip install 'skymem[train]'"

MET_LEAST: Final = 3
"""Memories that must have a feature, before it counts: what few have would be about those few."""

RESTRAINTS: Final = (0.03, 0.1, 0.3, 1.0, 3.0)
"""What is tried; more lets single words say more."""

MEANING_RESTRAINTS: Final = (0.03, 0.1, 0.3, 1.0)
"""The same for each dimension of a vector of length 1."""

PARTS: Final = 5
ROUNDS_MAX: Final = 500
TOLERANCE: Final = 1e-7
UNRESTRAINED: Final = 100.0
"""For the two numbers of a scale, which any history is enough for."""

SURE: Final = 30.0
"""Log-odds of what was always so."""

DECIMALS: Final = 5


class Fitted(NamedTuple):
    """What was learned."""

    base: float
    coefficients: dict[str, float]
    restraint: float
    """Which of `RESTRAINTS` served best."""

    tried: list[float]
    """Log-odds of each lesson by what the other parts teach."""


class FittedMeaning(NamedTuple):
    """What was learned of vectors."""

    base: float
    scale: float
    usual: float
    weights: list[float]
    restraint: float
    """Which of `MEANING_RESTRAINTS` served best."""


def is_installed() -> bool:
    """Whether scikit-learn is there, without loading it."""
    return importlib.util.find_spec("sklearn") is not None


def check_installed() -> None:
    """Check that scikit-learn is there, without loading it.

    Raises:
        UsageError: it is not.
    """
    if not is_installed():
        raise UsageError(f"training needs scikit-learn, which is not installed: {EXTRA}")


def fit(lessons: Sequence[Lesson]) -> Fitted:
    """Learn from lessons, in the order of their time: at least ten, of more than one target.

    In one thread: sums come in one order, and threads that wait for each other cost more than they
    bring at this size.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _fit(lessons)


def _fit(lessons: Sequence[Lesson]) -> Fitted:
    met = Counter(key for one in lessons for key, _ in one.seen)
    common = {key for key, times in met.items() if times >= MET_LEAST}
    table = _Table(lessons, [{k: v for k, v in one.seen if k in common} for one in lessons])
    best = min((_tried(table, restraint) for restraint in RESTRAINTS), key=lambda one: one.cost)
    scale, shift = _scaled(lessons, best.sums)
    if scale <= 0:  # what it learned of four parts says nothing of the fifth
        scale = 0.0
    base, learned = table.learn(range(len(lessons)), best.restraint)
    named = zip(table.names, learned, strict=True)
    coefficients = {key: round(scale * float(one), DECIMALS) for key, one in named}
    told = {key: one for key, one in coefficients.items() if one}
    tried = [scale * one + shift for one in best.sums]
    return Fitted(round(scale * base + shift, DECIMALS), told, best.restraint, tried)


def fit_meaning(
    lessons: Sequence[Lesson], tried: Sequence[float], vectors: Sequence[Sequence[float] | None]
) -> FittedMeaning:
    """Learn what the vectors of lessons add to what is seen of them.

    Args:
        lessons: as for `fit`.
        tried: what it gave for them, as `Fitted.tried`.
        vectors: of each, None where there is nothing to read; one at least has one.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return _fit_meaning(lessons, tried, vectors)


def _fit_meaning(
    lessons: Sequence[Lesson], tried: Sequence[float], vectors: Sequence[Sequence[float] | None]
) -> FittedMeaning:
    from sklearn.utils import check_array

    nothing = [0.0] * next(len(one) for one in vectors if one is not None)
    rows = zip(vectors, tried, strict=True)
    matrix: Any = check_array([array("d", [*(one or nothing), beside]) for one, beside in rows])
    middle = matrix.mean(axis=0)
    middle[-1] = 0.0
    matrix -= middle
    table = _Rows(lessons, matrix)
    best = min((_tried(table, one) for one in MEANING_RESTRAINTS), key=lambda one: one.cost)
    scale, shift = _scaled(lessons, best.sums)
    scale = max(scale, 0.0)
    base, learned = table.learn(range(len(lessons)), best.restraint)
    weights = [round(scale * float(one), DECIMALS) for one in learned[:-1]]
    return FittedMeaning(
        base=round(scale * base + shift, DECIMALS),
        scale=round(scale * float(learned[-1]), DECIMALS),
        usual=round(math.fsum(map(mul, weights, map(float, middle[:-1]))), DECIMALS),
        weights=weights,
        restraint=best.restraint,
    )


class _Try(NamedTuple):
    cost: float
    restraint: float
    sums: list[float]
    """Log-odds of each lesson by what the other parts teach."""


class _Rows:
    """Lessons with numbers about them, a row each."""

    def __init__(self, lessons: Sequence[Lesson], matrix: Any) -> None:
        self.lessons = lessons
        self.matrix = matrix

    def learn(self, places: Sequence[int], restraint: float) -> tuple[float, Any]:
        """Fit to some rows; a target between 0 and 1 is a share of one and the rest of the other.

        Gives what all begin with, and a number for each column.
        """
        from sklearn.linear_model import LogisticRegression

        doubled: list[tuple[int, int, float]] = []
        for place in places:
            one = self.lessons[place]
            shares = ((1, one.target * one.weight), (0, (1 - one.target) * one.weight))
            doubled += ((place, side, share) for side, share in shares if share > 0)
        sides = [side for _, side, _ in doubled]
        if len({*sides}) < 2:
            return (SURE if sides[:1] == [1] else -SURE), [0.0] * self.matrix.shape[1]
        fitted: Any = LogisticRegression(C=restraint, max_iter=ROUNDS_MAX, tol=TOLERANCE)
        matrix = self.matrix[[place for place, *_ in doubled]]
        fitted.fit(matrix, sides, sample_weight=[share for *_, share in doubled])
        return float(fitted.intercept_[0]), fitted.coef_[0]

    def sums(self, places: Sequence[int], base: float, learned: Any) -> list[float]:
        """What was learned says of some rows, in log-odds."""
        return [base + float(one) for one in self.matrix[[*places]] @ learned]


class _Table(_Rows):
    """Lessons with what is seen of them, as the library takes it."""

    def __init__(self, lessons: Sequence[Lesson], rows: Sequence[Mapping[str, float]]) -> None:
        from sklearn.feature_extraction import DictVectorizer

        vectorizer: Any = DictVectorizer(sort=True)
        super().__init__(lessons, vectorizer.fit_transform(rows))
        self.names = [str(name) for name in vectorizer.get_feature_names_out()]


def _tried(table: _Rows, restraint: float) -> _Try:
    lessons, size = table.lessons, len(table.lessons)
    sums: list[float] = []
    for part in range(PARTS):
        start, end = size * part // PARTS, size * (part + 1) // PARTS
        others = [*range(start), *range(end, size)]
        sums += table.sums(range(start, end), *table.learn(others, restraint))
    scale, shift = _scaled(lessons, sums)
    return _Try(_cost(lessons, [scale * one + shift for one in sums]), restraint, sums)


def _cost(lessons: Sequence[Lesson], sums: Sequence[float]) -> float:
    each = losses(lessons, [logistic(one) for one in sums])
    return math.fsum(one.weight * loss for one, loss in zip(lessons, each, strict=True))


def _scaled(lessons: Sequence[Lesson], sums: Sequence[float]) -> tuple[float, float]:
    """Bring sums to the scale of what was found: by how much each counts, and what is added.

    Nothing was found so often that it is certain: each target gives way by what one memory more
    could change (Platt).
    """
    doubt = 1 / (len(lessons) + 2)
    doubted = [one._replace(target=doubt + (1 - 2 * doubt) * one.target) for one in lessons]
    table = _Table(doubted, [{"sum": one} for one in sums])
    base, learned = table.learn(range(len(doubted)), UNRESTRAINED)
    return float(learned[0]), base
