"""How good predictions of worth are, and whether a new model is taken (row P12).

A prediction is held against what memories turned out to be worth that nothing was learned from:
the newest ones. It is taken when it is surely better than the constant guess and than the scoring
guide, and no worse than the model in force. Surely: by more than `SURE` standard errors of the
difference, so that luck with a few memories takes none.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from skymem.policy.teaching import Lesson

EDGES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Where one bin of the reliability table ends and the next begins."""

CERTAIN: Final = 0.001
"""No prediction is taken as surer than this: a single surprise must not cost everything."""

SURE: Final = 2.0
"""Standard errors: it would be luck once in forty times."""

DECIMALS: Final = 4


class Bin(NamedTuple):
    """Memories of about one prediction: on average predicted, and on average so."""

    memories: int
    predicted: float
    found: float


class Figures(NamedTuple):
    """How far predictions were off."""

    mae: float
    """Mean of how far each was off."""

    brier: float
    """Mean of the square of that."""

    log_loss: float
    """Mean cost in nats; the proper one of the three, by which models are compared."""

    precision: float | None
    """Of those predicted at or above the threshold, the share that is worth that."""

    recall: float | None
    """Of those worth it, the share predicted to be."""

    promoted: float
    """Share predicted at or above the threshold."""

    calibration: float
    """How far bins are off on average, by their size."""

    bins: tuple[Bin, ...]

    def as_json(self) -> dict[str, Any]:
        """Spell it as a job's detail has it."""
        told = self._asdict()
        told["bins"] = [one._asdict() for one in self.bins]
        return told


class Verdict(NamedTuple):
    """Whether a model is taken."""

    taken: bool
    why: str


def losses(lessons: Sequence[Lesson], predicted: Sequence[float]) -> list[float]:
    """What each prediction costs, in nats."""
    return [_loss(one.target, guess) for one, guess in zip(lessons, predicted, strict=True)]


def _loss(target: float, guess: float) -> float:
    sure = min(1 - CERTAIN, max(CERTAIN, guess))
    return -(target * math.log(sure) + (1 - target) * math.log(1 - sure))


def figures(lessons: Sequence[Lesson], predicted: Sequence[float], threshold: float) -> Figures:
    """Measure predictions of lessons, of which there is at least one."""
    weights = [one.weight for one in lessons]
    off = [abs(one.target - guess) for one, guess in zip(lessons, predicted, strict=True)]
    hit = [
        one.weight
        for one, guess in zip(lessons, predicted, strict=True)
        if guess >= threshold <= one.target
    ]
    said = sum(w for w, guess in zip(weights, predicted, strict=True) if guess >= threshold)
    worthy = sum(one.weight for one in lessons if one.target >= threshold)
    bins = _bins(lessons, predicted)
    gap = sum(one.memories * abs(one.predicted - one.found) for one in bins) / len(lessons)
    return Figures(
        mae=round(_mean(off, weights), DECIMALS),
        brier=round(_mean([one * one for one in off], weights), DECIMALS),
        log_loss=round(_mean(losses(lessons, predicted), weights), DECIMALS),
        precision=round(sum(hit) / said, DECIMALS) if said else None,
        recall=round(sum(hit) / worthy, DECIMALS) if worthy else None,
        promoted=round(said / sum(weights), DECIMALS),
        calibration=round(gap, DECIMALS),
        bins=bins,
    )


def _bins(lessons: Sequence[Lesson], predicted: Sequence[float]) -> tuple[Bin, ...]:
    found: dict[int, list[tuple[float, Lesson]]] = {}
    for guess, one in zip(predicted, lessons, strict=True):
        found.setdefault(sum(guess >= edge for edge in EDGES), []).append((guess, one))
    bins = []
    for _, each in sorted(found.items()):
        weights = [one.weight for _, one in each]
        guessed = _mean([guess for guess, _ in each], weights)
        was = _mean([one.target for _, one in each], weights)
        bins.append(Bin(len(each), round(guessed, DECIMALS), round(was, DECIMALS)))
    return tuple(bins)


def gain(
    lessons: Sequence[Lesson], ours: Sequence[float], theirs: Sequence[float]
) -> tuple[float, float]:
    """By how much our predictions cost less than others, and the standard error of that."""
    weights = [one.weight for one in lessons]
    pairs = zip(losses(lessons, theirs), losses(lessons, ours), strict=True)
    less = [other - own for other, own in pairs]
    mean, whole = _mean(less, weights), sum(weights)
    spread = sum((w * (one - mean)) ** 2 for w, one in zip(weights, less, strict=True))
    return mean, math.sqrt(spread) / whole


def is_surely_better(
    lessons: Sequence[Lesson], ours: Sequence[float], theirs: Sequence[float]
) -> tuple[bool, str]:
    """Whether our predictions cost surely less than others, and by how much."""
    less, error = gain(lessons, ours, theirs)
    return less > SURE * error, f"log loss {less:+.4f} ± {error:.4f} less"


def verdict(
    lessons: Sequence[Lesson],
    ours: Sequence[float],
    *,
    constant: Sequence[float],
    guide: Sequence[float],
    in_force: Sequence[float] | None,
) -> Verdict:
    """Say whether a new model is taken, and why."""
    for name, theirs in (("the constant guess", constant), ("the scoring guide", guide)):
        sure, told = is_surely_better(lessons, ours, theirs)
        if not sure:
            return Verdict(taken=False, why=f"not surely better than {name}: {told} than {name}'s")
    if in_force is not None:
        less, error = gain(lessons, ours, in_force)
        if less < 0:
            told = f"log loss {-less:.4f} ± {error:.4f} more"
            return Verdict(taken=False, why=f"worse than the model in force: {told}")
    less, error = gain(lessons, ours, guide)
    told = f"log loss {less:.4f} ± {error:.4f} less than the scoring guide's"
    return Verdict(taken=True, why=f"better on {len(lessons):,} newer memories: {told}")


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    pairs = zip(values, weights, strict=True)
    return math.fsum(value * weight for value, weight in pairs) / math.fsum(weights)
