"""Fits a model of worth to lessons: the one module that speaks to scikit-learn (row P12).

Logistic regression on what is seen of memories, with as much restraint as serves memories it has
not seen: tried on five parts of the lessons, each by what the other four teach. On the same tries
its sums are brought to the scale of what was found (Platt's way), so that 0.7 means 0.7. The same
lessons give the same numbers: nothing is drawn by lot, and they are rounded.
"""

import importlib.util
import math
from collections import Counter
from collections.abc import Mapping, Sequence
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

PARTS: Final = 5
ROUNDS_MAX: Final = 500
DECIMALS: Final = 5


class Fitted(NamedTuple):
    """What was learned."""

    base: float
    coefficients: dict[str, float]
    restraint: float
    """Which of `RESTRAINTS` served best."""


def check_installed() -> None:
    """Check that scikit-learn is there, without loading it.

    Raises:
        UsageError: it is not.
    """
    if importlib.util.find_spec("sklearn") is None:
        raise UsageError(f"training needs scikit-learn, which is not installed: {EXTRA}")


def fit(lessons: Sequence[Lesson]) -> Fitted:
    """Learn from lessons, in the order of their time: at least ten, of more than one target."""
    rows = _common(lessons)
    best = min(
        (_tried(lessons, rows, restraint) for restraint in RESTRAINTS), key=lambda one: one.cost
    )
    scale, shift = _scaled(lessons, best.sums)
    if scale <= 0:  # what it learned of four parts says nothing of the fifth
        scale = 0.0
    base, learned = _linear(lessons, rows, best.restraint)
    coefficients = {key: round(scale * one, DECIMALS) for key, one in sorted(learned.items())}
    told = {key: one for key, one in coefficients.items() if one}
    return Fitted(round(scale * base + shift, DECIMALS), told, best.restraint)


class _Try(NamedTuple):
    cost: float
    restraint: float
    sums: list[float]
    """Log-odds of each lesson by what the other parts teach."""


Rows = Sequence[Mapping[str, float]]


def _common(lessons: Sequence[Lesson]) -> Rows:
    met = Counter(key for one in lessons for key, _ in one.seen)
    return [{key: value for key, value in one.seen if met[key] >= MET_LEAST} for one in lessons]


def _tried(lessons: Sequence[Lesson], rows: Rows, restraint: float) -> _Try:
    size = len(lessons)
    sums: list[float] = []
    for part in range(PARTS):
        start, end = size * part // PARTS, size * (part + 1) // PARTS
        others = [*lessons[:start], *lessons[end:]]
        base, learned = _linear(others, [*rows[:start], *rows[end:]], restraint)
        sums.extend(base + _sum(learned, row) for row in rows[start:end])
    scale, shift = _scaled(lessons, sums)
    return _Try(_cost(lessons, [scale * one + shift for one in sums]), restraint, sums)


def _sum(learned: Mapping[str, float], row: Mapping[str, float]) -> float:
    return math.fsum(learned.get(key, 0.0) * value for key, value in row.items())


def _cost(lessons: Sequence[Lesson], sums: Sequence[float]) -> float:
    each = losses(lessons, [logistic(one) for one in sums])
    return sum(one.weight * loss for one, loss in zip(lessons, each, strict=True))


def _scaled(lessons: Sequence[Lesson], sums: Sequence[float]) -> tuple[float, float]:
    """Bring sums to the scale of what was found: by how much each counts, and what is added.

    Nothing was found so often that it is certain: each target gives way by what one memory more
    could change (Platt).
    """
    doubt = 1 / (len(lessons) + 2)
    doubted = [one._replace(target=doubt + (1 - 2 * doubt) * one.target) for one in lessons]
    base, learned = _linear(doubted, [{"sum": one} for one in sums], 100.0)
    return learned.get("sum", 0.0), base


def _linear(
    lessons: Sequence[Lesson], rows: Rows, restraint: float
) -> tuple[float, dict[str, float]]:
    """Fit once; a target between 0 and 1 is a share of one and the rest of the other."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    doubled: list[tuple[Mapping[str, float], int, float]] = []
    for one, row in zip(lessons, rows, strict=True):
        shares = ((1, one.target * one.weight), (0, (1 - one.target) * one.weight))
        doubled += ((row, side, share) for side, share in shares if share > 0)
    sides = [side for _, side, _ in doubled]
    if len({*sides}) < 2:
        return (30.0 if sides[:1] == [1] else -30.0), {}
    vectorizer: Any = DictVectorizer(sort=True)
    matrix = vectorizer.fit_transform([row for row, _, _ in doubled])
    fitted: Any = LogisticRegression(C=restraint, max_iter=ROUNDS_MAX, tol=1e-8)
    fitted.fit(matrix, sides, sample_weight=[share for *_, share in doubled])
    names = vectorizer.get_feature_names_out()
    learned = {str(name): float(one) for name, one in zip(names, fitted.coef_[0], strict=True)}
    return float(fitted.intercept_[0]), learned
