"""How sure a share is that was seen in a sample: the interval of Clopper and Pearson (row X9).

It is exact: at whatever true share, it holds that in at least so many samples of a hundred. Of 60
that were looked at and all right, as many as 6 in a hundred of the others may be wrong.
"""

from collections.abc import Callable
from math import exp, lgamma, log, log1p
from typing import Final

LEVEL: Final = 0.95
_ROUNDS: Final = 60


def interval(hits: int, of: int) -> tuple[float, float]:
    """Between which shares the true one lies; of nothing that was looked at nothing is known."""
    if of == 0:
        return 0.0, 1.0
    tail = (1 - LEVEL) / 2
    least = 0.0 if hits == 0 else _share(lambda share: 1 - _up_to(hits - 1, of, share), tail)
    most = 1.0 if hits == of else 1 - _share(lambda rest: _up_to(hits, of, 1 - rest), tail)
    return least, most


def _share(chance: Callable[[float], float], wanted: float) -> float:
    """The share at which a chance, which grows with it, is what is wanted."""
    low, high = 0.0, 1.0
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        if chance(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _up_to(hits: int, of: int, share: float) -> float:
    """The chance of so many hits or fewer."""
    if share <= 0:
        return 1.0
    if share >= 1:
        return 1.0 if hits >= of else 0.0
    return min(1.0, sum(exp(_log_chance(each, of, share)) for each in range(hits + 1)))


def _log_chance(hits: int, of: int, share: float) -> float:
    ways = lgamma(of + 1) - lgamma(hits + 1) - lgamma(of - hits + 1)
    return ways + hits * log(share) + (of - hits) * log1p(-share)
