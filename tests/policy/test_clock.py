"""A clock that moved is noticed, and one that only went on is not."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.clock import Seen, moved

DAY = 86_400.0
LAST = Seen(1_700_000_000.0, "boot", 5_000.0)


def later(wall: float, uptime: float | None = None, boot: str = "boot") -> Seen:
    """So many seconds later by each clock; by both alike when only one is given."""
    return Seen(LAST.wall + wall, boot, LAST.uptime + (wall if uptime is None else uptime))


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(LAST, id="the same moment"),
        pytest.param(later(600), id="ten minutes later"),
        pytest.param(later(9_000 * DAY), id="a machine that ran for decades"),
        pytest.param(later(-300, 0), id="back by five minutes"),
        pytest.param(later(-200, 3_000), id="back, and an hour of drift not yet"),
        pytest.param(later(4_200, 600), id="forward by an hour"),
        pytest.param(later(600, 4_200), id="an hour slow"),
        pytest.param(Seen(LAST.wall + 400 * DAY, "other", 60.0), id="off for 400 days"),
        pytest.param(Seen(LAST.wall - 300, "other", 60.0), id="rebooted, back by five minutes"),
        pytest.param(Seen(LAST.wall + 10 * DAY, "", 60.0), id="a kernel without names for boots"),
        pytest.param(later(10 * DAY, -1), id="a boot clock that went back was another boot's"),
    ],
)
def test_a_clock_that_went_on_did_not_move(now: Seen) -> None:
    assert moved(LAST, now) is None


@pytest.mark.parametrize(
    ("now", "words"),
    [
        pytest.param(
            later(-301, 0),
            "it says 2023-11-14T22:08:19Z, and was last seen at 2023-11-14T22:13:20Z: "
            "it was set back by 5.0 minutes",
            id="back by more than five minutes",
        ),
        pytest.param(
            later(3650 * DAY, 600),
            "it says 2033-11-11T22:13:20Z, and was last seen at 2023-11-14T22:13:20Z, but this "
            "machine ran for 10.0 minutes between: it was set forward by 3,650.0 days",
            id="ten years ahead",
        ),
        pytest.param(later(4_201, 600), "set forward by 60.0 minutes", id="more than an hour"),
        pytest.param(later(600, 4_201), "set back by 60.0 minutes", id="an hour slow and more"),
        pytest.param(later(0, 2 * DAY), "machine ran for 2.0 days", id="a clock that stood still"),
        pytest.param(
            Seen(LAST.wall + 400 * DAY + 1, "other", 60.0),
            "400.0 days in which this machine was started anew",
            id="another boot, more than 400 days on",
        ),
        pytest.param(Seen(LAST.wall - 301, "other", 1.0), "set back", id="another boot, back"),
        pytest.param(Seen(0.0, "other", 1.0), "1970-01-01T00:00:00Z", id="no battery: 1970"),
        pytest.param(later(500 * DAY, -1), "started anew", id="a boot clock that went back, far"),
        pytest.param(Seen(LAST.wall + 500 * DAY, "", 9e9), "started anew", id="no names, far"),
        pytest.param(Seen(math.nan, "boot", 1.0), "which is no time", id="no number"),
        pytest.param(Seen(1e300, "boot", 1.0), "which is no time", id="no year"),
        pytest.param(Seen(-1.0, "boot", 1.0), "which is no time", id="before 1970"),
        pytest.param(Seen(LAST.wall, "boot", math.inf), "which is no time", id="up for ever"),
    ],
)
def test_a_clock_that_moved_is_told_with_both_times(now: Seen, words: str) -> None:
    told = moved(LAST, now)
    assert told is not None
    assert words in told


def test_the_first_look_knows_of_no_move() -> None:
    assert moved(None, LAST) is None


@pytest.mark.parametrize("wall", [math.nan, math.inf, -5.0, 1e18])
def test_a_record_that_is_no_time_stops_as_well(wall: float) -> None:
    told = moved(Seen(wall, "boot", 1.0), LAST)
    assert told is not None
    assert "2023-11-14T22:13:20Z" in told


seconds = st.floats(0, 2e9)
seen = st.builds(Seen, seconds, st.sampled_from(["", "a", "b"]), seconds)


@given(seen, st.floats(0, 4e9))
def test_a_machine_that_simply_runs_on_never_moves(last: Seen, passed: float) -> None:
    now = Seen(last.wall + passed, last.boot_id, last.uptime + passed)
    told = moved(last, now)
    assert told is None or (not last.boot_id and passed > 400 * DAY)


@given(seen, seen)
def test_back_and_forth_one_of_both_is_a_move(one: Seen, other: Seen) -> None:
    if abs(one.wall - other.wall) > 300:
        assert moved(one, other) or moved(other, one)
