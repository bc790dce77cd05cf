"""A model is taken when it is surely better, and for nothing else (P12)."""

import math

import pytest

from skymem.policy.judging import SURE, figures, gain, verdict
from skymem.policy.teaching import Lesson

LESSONS = [Lesson(str(n), n, float(n % 4 == 0), 1.0, 0.3, ()) for n in range(40)]
RIGHT = [0.9 if one.target else 0.1 for one in LESSONS]
USUAL = [0.25] * len(LESSONS)
GUIDE = [0.3] * len(LESSONS)


def test_figures_are_what_they_say() -> None:
    found = figures(LESSONS, RIGHT, 0.7)
    assert found.mae == pytest.approx(0.1)
    assert found.brier == pytest.approx(0.01)
    assert found.log_loss == pytest.approx(-math.log(0.9), abs=1e-4)
    assert (found.precision, found.recall, found.promoted) == (1.0, 1.0, 0.25)
    assert [one.memories for one in found.bins] == [30, 10]
    assert figures(LESSONS, USUAL, 0.7).precision is None
    assert figures(LESSONS, USUAL, 0.7).calibration == 0.0


def test_a_better_model_is_taken_and_says_by_how_much() -> None:
    found = verdict(LESSONS, RIGHT, constant=USUAL, guide=GUIDE, in_force=None)
    assert found.taken
    assert "better on 40 newer memories" in found.why


@pytest.mark.parametrize(
    ("ours", "in_force", "why"),
    [
        pytest.param(USUAL, None, "than the constant guess", id="no better than the constant"),
        pytest.param(
            [0.24 if one.target else 0.25 for one in LESSONS],
            None,
            "the constant guess",
            id="worse",
        ),
        pytest.param(
            [0.8 if one.target else 0.2 for one in LESSONS], RIGHT, "in force", id="worse than that"
        ),
    ],
)
def test_another_is_not(ours: list[float], in_force: list[float] | None, why: str) -> None:
    found = verdict(LESSONS, ours, constant=USUAL, guide=GUIDE, in_force=in_force)
    assert not found.taken
    assert why in found.why


def test_one_that_is_as_good_as_the_model_in_force_takes_its_place() -> None:
    assert verdict(LESSONS, RIGHT, constant=USUAL, guide=GUIDE, in_force=RIGHT).taken


def test_luck_with_a_few_memories_takes_no_model() -> None:
    few = [LESSONS[0], *LESSONS[1:4]]
    lucky = [0.35, 0.25, 0.25, 0.25]
    less, error = gain(few, lucky, USUAL[:4])
    assert 0 < less < SURE * error
    assert not verdict(few, lucky, constant=USUAL[:4], guide=USUAL[:4], in_force=None).taken
