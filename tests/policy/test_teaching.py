"""What a history teaches, and who teaches nothing (P12)."""

from statistics import pstdev

import pytest
from hypothesis import given as assume
from hypothesis import strategies as st

from skymem.model.memory import Memory
from skymem.policy.teaching import (
    QUESTIONS_LEAST,
    Past,
    Rater,
    is_own,
    spread_of,
    voices,
    weighed,
)


@pytest.mark.parametrize(
    ("past", "given", "believed", "target", "weight"),
    [
        pytest.param(Past(kept=True), None, 1.0, 1.0, 4.0, id="pinned, corrected or restored"),
        pytest.param(Past(refused=True), None, 1.0, 0.0, 4.0, id="forgotten by hand"),
        pytest.param(Past(questions=1), None, 1.0, 1.0, 1.0, id="recalled"),
        pytest.param(Past(questions=9), None, 1.0, 1.0, 3.0, id="recalled again and again"),
        pytest.param(Past(answers=QUESTIONS_LEAST), None, 1.0, 0.0, 0.5, id="never recalled"),
        pytest.param(Past(), 0.6, 0.5, 0.6, 0.5, id="given, by one who is half believed"),
        pytest.param(Past(questions=3), 0.2, 1.0, 0.8, 4.0, id="given little, and recalled"),
    ],
)
def test_what_speaks_for_or_against_a_memory_is_weighed(
    past: Past, given: float | None, believed: float, target: float, weight: float
) -> None:
    assert weighed(voices(past, given, believed)) == (target, weight)


def test_what_nobody_speaks_of_is_no_lesson() -> None:
    assert weighed(voices(Past(answers=QUESTIONS_LEAST - 1), None, 1.0)) is None
    assert weighed(voices(Past(), 0.9, 0.0)) is None


def test_copies_are_said_once() -> None:
    assert weighed(voices(Past(questions=1), None, 1.0), copies=4) == (1.0, 0.25)


@pytest.mark.parametrize(
    ("given", "teaches"),
    [
        ([0.1, 0.5, 0.9, 0.3], True),
        ([1.0] * 50, False),
        ([1.0] * 95 + [0.1] * 5, False),
        ([0.50, 0.51, 0.52, 0.53], False),
        ([0.4], False),
        ([], False),
    ],
)
def test_who_rates_everything_alike_teaches_nothing(given: list[float], *, teaches: bool) -> None:
    assert Rater.of(given).teaches is teaches


@pytest.mark.parametrize(
    "fields",
    [
        {"record_type": "profile", "payload": {}},
        {"content": "x", "evidence_ids": ["a"]},
        {"content": "x", "shared_from": {"agent": "hobbs", "id": "a"}},
        {"content": "  "},
    ],
)
def test_what_a_job_made_or_another_agent_shared_is_no_lesson(fields: dict[str, object]) -> None:
    assert not is_own(Memory({"ts": 1, **fields}))
    assert is_own(Memory({"ts": 1, "content": "x"}))


@assume(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_the_spread_is_the_standard_deviation(numbers: list[float]) -> None:
    assert spread_of(numbers) == pytest.approx(pstdev(numbers), abs=1e-12)
