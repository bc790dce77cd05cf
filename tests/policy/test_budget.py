"""A run may remove so much by judgement and no more: numbers at and beyond each limit."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.errors import LossBudgetError
from skymem.model.rules import BudgetRules
from skymem.policy.budget import WINDOW_SECONDS, Spent, overrun, spent_lately

RULES = BudgetRules(per_run=0.10, per_30_days=0.30, at_least=20)


@pytest.mark.parametrize(
    ("judged", "sizes", "spent", "max_loss"),
    [
        pytest.param({}, {}, {}, None, id="nothing"),
        pytest.param(
            {"long": 0}, {"long": 9_000}, {"long": 8_000}, None, id="nothing by judgement"
        ),
        pytest.param({"long": 100}, {"long": 1_000}, {}, None, id="at the tenth"),
        pytest.param({"long": 20}, {"long": 25}, {}, None, id="a small home can work"),
        pytest.param({"long": 20}, {"long": 20}, {}, None, id="at_least is always allowed"),
        pytest.param({"long": 20}, {}, {}, None, id="a size nobody knows"),
        pytest.param({"long": 80}, {"long": 800}, {"long": 184}, None, id="30 days, within"),
        pytest.param({"long": 5}, {"long": 10}, {"long": 15}, None, id="at_least in 30 days"),
        pytest.param(
            {"long": 10, "archive": 50}, {"long": 100, "archive": 500}, {}, None, id="tier by tier"
        ),
        pytest.param({"long": 500}, {"long": 1_000}, {}, 0.5, id="a person allows half"),
        pytest.param({"long": 500}, {"long": 1_000}, {"long": 9_000}, 0.5, id="and 30 days too"),
        pytest.param({"long": 1_000}, {"long": 1_000}, {}, 1.0, id="a person allows all"),
        pytest.param({"long": 9}, {"long": 10}, {}, 0.5, id="at_least beside what is allowed"),
        pytest.param({"long": 1}, {"long": 100}, {}, 0.01, id="less, at it"),
        pytest.param({"long": 29}, {"long": 100}, {}, 0.29, id="0.29 of 100 is 29"),
    ],
)
def test_a_run_within_its_budget_goes_on(
    judged: Mapping[str, int],
    sizes: Mapping[str, int],
    spent: Mapping[str, int],
    max_loss: float | None,
) -> None:
    assert overrun(judged, sizes, spent, RULES, max_loss) is None


@pytest.mark.parametrize(
    ("judged", "sizes", "spent", "max_loss", "words"),
    [
        pytest.param(
            {"long": 101},
            {"long": 1_000},
            {},
            None,
            "101 of 1,000 memories of long-term (10.1%) would go by judgement, over 100 "
            "(budget.per_run 10%); what lifts it for once: --max-loss 11%, or budget in the rules "
            "for good",
            id="one over the tenth",
        ),
        pytest.param(
            {"long": 1_000}, {"long": 1_000}, {}, None, "--max-loss 100%", id="all entries are old"
        ),
        pytest.param(
            {"long": 21},
            {"long": 25},
            {},
            None,
            "over 20 (budget.per_run 10%, budget.at_least)",
            id="a small home, one over",
        ),
        pytest.param(
            {"archive": 80},
            {"archive": 800},
            {"archive": 250},
            None,
            "80 of 800 memories of the archive (10%) would go by judgement, with 250 of the last "
            "30 days over 315 (budget.per_30_days 30%)",
            id="a tenth each day is too much in 30 days",
        ),
        pytest.param(
            {"long": 6}, {"long": 10}, {"long": 15}, None, "with 15 of the last", id="drop by drop"
        ),
        pytest.param(
            {"long": 1, "archive": 600},
            {"long": 100, "archive": 1_000},
            {},
            None,
            "600 of 1,000 memories of the archive",
            id="one tier over stops the run",
        ),
        pytest.param(
            {"long": 501}, {"long": 1_000}, {}, 0.5, "over 500 (--max-loss 50%)", id="over half"
        ),
        pytest.param({"long": 1}, {"long": 9}, {}, 0.0, "over 0 (--max-loss 0%)", id="none at all"),
        pytest.param({"long": 2}, {"long": 100}, {}, 0.01, "over 1 (--max-loss 1%)", id="less"),
        pytest.param({"long": 30}, {"long": 3}, {}, None, "30 of 30", id="a size that is too low"),
    ],
)
def test_a_run_over_its_budget_says_by_how_much_and_what_lifts_it(
    judged: Mapping[str, int],
    sizes: Mapping[str, int],
    spent: Mapping[str, int],
    max_loss: float | None,
    words: str,
) -> None:
    told = overrun(judged, sizes, spent, RULES, max_loss)
    assert told is not None
    assert words in told
    assert told in str(LossBudgetError(told))


def test_what_was_spent_more_than_30_days_ago_is_forgotten() -> None:
    now = 100 * 86_400.0
    runs = [
        Spent(now - WINDOW_SECONDS, {"long": 1_000}),
        Spent(now - WINDOW_SECONDS + 1, {"long": 10, "archive": 1}),
        Spent(now, {"long": 5}),
        Spent(now + 1e9, {"archive": 7}),
    ]
    assert spent_lately(runs, now) == {"long": 15, "archive": 8}


counts = st.integers(0, 10_000)
shares = st.floats(0, 1)


@given(counts, counts, counts, st.builds(BudgetRules, shares, shares, st.integers(0, 50)))
def test_what_a_message_offers_lifts_the_budget(
    judged: int, size: int, spent: int, rules: BudgetRules
) -> None:
    told = overrun({"long": judged}, {"long": size}, {"long": spent}, rules)
    if told is not None:
        percent = int(told.split("--max-loss ")[1].split("%")[0])
        assert 0 <= percent <= 100
        assert overrun({"long": judged}, {"long": size}, {}, rules, percent / 100) is None


@given(counts, counts, counts, st.builds(BudgetRules, shares, shares, st.integers(0, 50)))
def test_one_less_is_never_worse(judged: int, size: int, spent: int, rules: BudgetRules) -> None:
    def within(count: int) -> bool:
        return overrun({"long": count}, {"long": size}, {"long": spent}, rules) is None

    if judged and within(judged) and judged <= size:
        assert within(judged - 1)
    assert within(max(0, min(judged, rules.at_least - spent)))
