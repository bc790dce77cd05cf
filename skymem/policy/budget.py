"""How much may a job remove by judgement? A share of each tier, over which it stops (row X4).

By judgement is what nobody asked for by name: age, importance and size. What expired by its own ttl
or was superseded was asked for, and doesn't count. A run over its budget removes nothing at all:
rules that suddenly fit everything are a slip more often than a wish.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil, floor
from typing import Final, NamedTuple

from skymem.model.rules import BudgetRules

WINDOW_SECONDS: Final = 30 * 86_400.0
"""The time `per_30_days` looks back."""

_SLACK: Final = 1e-9  # 0.29 × 100 is 28.999999999999996, and 29 of 100 are 29 %
_TIERS: Final = {"short": "short-term", "long": "long-term", "archive": "the archive"}


class Spent(NamedTuple):
    """What one run removed by judgement, by tier: from the ledger."""

    at: float
    """Epoch seconds."""

    judged: Mapping[str, int]


class _Over(NamedTuple):
    words: str
    share: float
    """Of the tier, that this run would remove."""


def spent_lately(runs: Iterable[Spent], now: float) -> dict[str, int]:
    """Sum what runs of the last 30 days removed by judgement, by tier.

    A run that says it is yet to come counts as well: the clock was set back since.
    """
    found: Counter[str] = Counter()
    for run in runs:
        if run.at > now - WINDOW_SECONDS:
            found.update(run.judged)
    return dict(found)


def overrun(
    judged: Mapping[str, int],
    sizes: Mapping[str, int],
    spent: Mapping[str, int],
    rules: BudgetRules,
    max_loss: float | None = None,
) -> str | None:
    """Say by how much a run is over its budget and what lifts it; None when it is within.

    Args:
        judged: memories the whole run would remove by judgement, by tier.
        sizes: memories there are before it, by tier.
        spent: memories removed by judgement in the last 30 days, by tier.
        rules: the budget.
        max_loss: the share of each tier that a person allows this once, 0 to 1, in the place of
            both limits. Less than `per_run` is meant exactly, `at_least` or not.
    """
    found: list[_Over] = []
    for tier in sorted(judged):
        count = judged[tier]
        if count <= 0:
            continue
        size = max(sizes.get(tier, 0), count)
        over = _over(tier, count, size, max(0, spent.get(tier, 0)), rules, max_loss)
        if over is not None:
            found.append(_Over(over, count / size))
    if not found:
        return None
    percent = ceil(max(one.share for one in found) * 100 - _SLACK)
    words = "; ".join(one.words for one in found)
    return (
        f"{words}; what lifts it for once: --max-loss {percent}%, or budget in the rules for good"
    )


def standing(
    judged: Mapping[str, int],
    sizes: Mapping[str, int],
    spent: Mapping[str, int],
    rules: BudgetRules,
) -> dict[str, dict[str, int]]:
    """What the last 30 days have removed by judgement with this run, and what they may, by tier.

    A tier so small that `at_least` is all that counts has no budget that could run low.
    """
    found: dict[str, dict[str, int]] = {}
    for tier in sorted({*judged, *spent}):
        before = max(0, spent.get(tier, 0))
        gone = before + max(0, judged.get(tier, 0))
        allowed = _allowed(rules.per_30_days, sizes.get(tier, 0) + before, 0)
        if gone and allowed > rules.at_least:
            found[tier] = {"spent": gone, "allowed": allowed}
    return found


def _over(  # noqa: PLR0917  (one tier's numbers)
    tier: str,
    count: int,
    size: int,
    spent: int,
    rules: BudgetRules,
    max_loss: float | None,
) -> str | None:
    what = f"{count:,} of {size:,} memories of {_TIERS.get(tier, tier)} ({_percent(count / size)})"
    if max_loss is not None:
        least = rules.at_least if max_loss >= rules.per_run else 0
        allowed = _allowed(max_loss, size, least)
        if count <= allowed:
            return None
        return f"{what} would go by judgement, over {allowed:,} (--max-loss {_percent(max_loss)})"
    allowed = _allowed(rules.per_run, size, rules.at_least)
    if count > allowed:
        limit = _limit("per_run", rules.per_run, allowed, rules)
        return f"{what} would go by judgement, over {limit}"
    allowed = _allowed(rules.per_30_days, size + spent, rules.at_least)
    if count + spent > allowed:
        limit = _limit("per_30_days", rules.per_30_days, allowed, rules)
        return f"{what} would go by judgement, with {spent:,} of the last 30 days over {limit}"
    return None


def _allowed(share: float, size: int, least: int) -> int:
    return max(least, floor(share * size + _SLACK))


def _limit(name: str, share: float, allowed: int, rules: BudgetRules) -> str:
    least = ", budget.at_least" if allowed == rules.at_least else ""
    return f"{allowed:,} (budget.{name} {_percent(share)}{least})"


def _percent(share: float) -> str:
    """Spell a share for a person: 12.5%."""
    return f"{share * 100:.4g}%"
