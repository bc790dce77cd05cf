"""How long a failing entry is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.backoff import BACKOFF_SECONDS_MAX, backoff_seconds


@pytest.mark.parametrize(
    ("failures", "interval", "expected"),
    [
        pytest.param(0, 300, 300, id="after a success the interval is its own"),
        pytest.param(1, 300, 300, id="the first failure is tried again at the usual pace"),
        pytest.param(2, 300, 600, id="the second doubles it"),
        pytest.param(4, 300, 2400, id="and each one more"),
        pytest.param(9, 300, 6 * 3600, id="up to six hours"),
        pytest.param(3, 86_400, 86_400, id="a longer interval stays as it is"),
        pytest.param(2, 4 * 3600, 6 * 3600, id="never past six hours by doubling"),
        pytest.param(2**53, 0.001, 6 * 3600, id="whatever a record says"),
    ],
)
def test_a_failing_entry_is_left_alone_for_longer(
    failures: int, interval: float, expected: float
) -> None:
    assert backoff_seconds(failures, interval) == expected


@given(failures=st.integers(0, 10_000), interval=st.floats(0.001, 1e9))
def test_it_never_comes_early_and_never_waits_without_bound(failures: int, interval: float) -> None:
    found = backoff_seconds(failures, interval)

    assert interval <= found <= max(interval, BACKOFF_SECONDS_MAX)
    assert found <= backoff_seconds(failures + 1, interval)
