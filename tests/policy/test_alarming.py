"""What results in a row say: numbers at and beside each limit, and what is recorded is bounded."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.alarm import Alarm, AlarmRules
from skymem.policy import alarming
from skymem.policy.alarming import Source, lately

RULES = AlarmRules(runs=3, idle_seconds=100.0, backlog_runs=2, unread_seconds=100.0)
HOUR = 3600.0


def detail(eligible: int, acted: int, *, job: str = "promote", **more: Any) -> dict[str, Any]:
    own = {"ok": True, "eligible": eligible, "acted": acted, "remaining": eligible - acted, **more}
    own.setdefault("skipped", {"importance": eligible - acted} if eligible > acted else {})
    return {"ok": True, "job": job, "agents": {"sky": own}, "rag_pending": 0, "threshold": 0.7}


def after(*results: tuple[float, dict[str, Any]]) -> tuple[Source, float]:
    """What is known after these results, each with its time."""
    recorded: dict[str, Any] = {}
    for at, result in results:
        recorded = lately(recorded, result, at)
    at, last = results[-1]
    told = {**last["agents"]["sky"], "job": last["job"], "threshold": last["threshold"]}
    return Source("promote", "sky", told, recorded.get("agents", {}).get("sky", {})), at


def idle(*results: tuple[float, dict[str, Any]]) -> list[str]:
    source, at = after(*results)
    return [one.id for one in alarming.idle(source, RULES, at)]


LOW = {"highest": 0.62}
HELD = {"highest": 0.9, "skipped": {"pinned": 1}}


@pytest.mark.parametrize(
    ("results", "told"),
    [
        pytest.param([(0, LOW), (50, LOW), (100, LOW)], ["threshold_unreachable"], id="below"),
        pytest.param([(0, HELD), (50, HELD), (100, HELD)], ["idle_promote"], id="held"),
        pytest.param([(0, LOW), (50, LOW)], [], id="too few"),
        pytest.param([(0, LOW), (50, LOW), (99, LOW)], [], id="too short"),
        pytest.param(
            [(0, {**LOW, "highest": 0.9}), (50, LOW), (100, LOW)],
            ["idle_promote"],
            id="something came near",
        ),
    ],
)
def test_runs_that_promote_nothing_are_an_alarm_from_a_number_and_a_time_on(
    results: list[tuple[float, dict[str, Any]]], told: list[str]
) -> None:
    assert idle(*[(at, detail(4, 0, **more)) for at, more in results]) == told


def test_lines_that_lie_there_from_before_are_no_news() -> None:
    rest = [(at, detail(2, 0)) for at in (50.0, 100.0, 200.0, 300.0)]
    assert idle((0.0, detail(3, 1)), *rest) == []
    assert idle((0.0, detail(3, 1)), *rest, (400.0, detail(3, 0))) == ["idle_promote"]


def test_a_run_that_promotes_begins_anew() -> None:
    low = [(at, detail(4, 0, highest=0.5)) for at in (0.0, 100.0, 200.0)]
    assert idle(*low, (300.0, detail(4, 1)), (400.0, detail(3, 0))) == []


def test_a_run_for_another_agent_leaves_the_count_as_it_is() -> None:
    recorded = lately({}, detail(4, 0), 1.0)
    other = {**detail(4, 0), "agents": {"hobbs": detail(1, 0)["agents"]["sky"]}}
    assert lately(recorded, other, 2.0)["agents"]["sky"] == recorded["agents"]["sky"]


@pytest.mark.parametrize(
    ("written", "told"), [(None, []), (0.0, []), (150.0, ["identical_output"])]
)
def test_the_very_same_is_an_alarm_only_where_short_term_was_written_to(
    written: float | None, told: list[str]
) -> None:
    source, at = after(*[(at, detail(4, 0)) for at in (0.0, 100.0, 200.0)])
    assert [one.id for one in alarming.same(source, RULES, at, written=written)] == told


def test_other_numbers_are_not_the_very_same() -> None:
    source, at = after((0.0, detail(4, 0)), (100.0, detail(5, 0)), (200.0, detail(4, 0)))
    assert not list(alarming.same(source, RULES, at, written=at))


def backlog(*pending: int, now: int | None = None) -> list[Alarm]:
    recorded: dict[str, Any] = {}
    for at, count in enumerate(pending):
        recorded = lately(recorded, {"rag_pending": count}, float(at))
    left = pending[-1] if now is None else now
    return list(alarming.backlog("index", recorded, RULES, pending=left))


def test_a_backlog_that_grows_run_after_run_is_an_alarm_until_it_falls() -> None:
    (found,) = backlog(5, 6, 6, 8)
    assert (found.id, found.since) == ("backlog_growing", 0.0)
    assert not backlog(5, 6, 6, 6), "once is no growth"
    assert not backlog(5, 6, 7, 3)
    assert not backlog(5, 6, 7, now=2), "what was done since is seen at once"
    assert not backlog(0, 0, 0)


def test_half_of_the_budget_is_an_alarm_and_less_is_none() -> None:
    def spent(gone: int) -> list[Alarm]:
        numbers = {"budget": {"long": {"spent": gone, "allowed": 30}}}
        return list(alarming.spent(Source("prune", "sky", numbers, {}), 7.0))

    assert not spent(14)
    (found,) = spent(15)
    assert (found.id, found.agent, found.since) == ("budget_half_spent", "sky", 7.0)
    assert "15 memories of long by judgement in 30 days, of 30" in found.text


@pytest.mark.parametrize(
    ("calibration", "words"),
    [
        ({"held": 7, "share": 0.9, "usual": 0.1}, "it rated 90% worth promoting, where 10% is"),
        ({"held": 7, "share": 1.0, "usual": None}, "tell hardly anything apart"),
        ({"held": 0, "share": 0.1, "usual": 0.1}, None),
        (None, None),
        (7, None),
    ],
)
def test_what_calibration_held_back_is_a_flood(calibration: object, words: str | None) -> None:
    source = Source("promote", "sky", {"calibration": {"sky": calibration}}, {})
    told = [one.text for one in alarming.flood(source, None)]
    assert [words is not None and words in one for one in told] == ([True] if words else [])


def test_a_newcomers_flood_is_told_for_two_days_though_later_runs_find_nothing() -> None:
    own = {"ok": True, "eligible": 60, "acted": 60, "remaining": 0}
    told = {"job": "promote", "agents": {"sky": own}}
    flood = {"calibration": {"sky": {"held": 0, "share": 0.9, "usual": None}}}
    found = alarming.lately({}, told | flood, 10.0)

    def alarms() -> list[Alarm]:
        return list(alarming.flood(Source("promote", "sky", {}, found["agents"]["sky"]), 9.0))

    (one,) = alarms()
    assert (one.id, one.since) == ("flood", 10.0)
    assert one.text == (
        "sky: it has no week's history yet, and promote promoted 90% of many lines; nothing was "
        "held back"
    )
    found = alarming.lately(found, told, 10.0 + alarming.NEW_SECONDS - 1)
    assert alarms() == [one]
    found = alarming.lately(found, told, 10.0 + alarming.NEW_SECONDS)
    assert alarms() == []


def test_an_index_is_small_where_a_tenth_is_missing() -> None:
    assert [one.id for one in alarming.index_small("sky", 90, 0, 100)] == ["index_small"]
    assert not list(alarming.index_small("sky", 91, 0, 100))
    assert not list(alarming.index_small("sky", 50, 50, 100)), "what is owed is not missing"
    assert not list(alarming.index_small("sky", 0, 0, 9))


def test_what_is_written_and_not_read_is_told_after_its_time() -> None:
    def unread(written: float, now: float) -> list[str]:
        return [one.id for one in alarming.unread("sky", written, 10.0, RULES, now)]

    assert unread(11.0, 110.0) == ["unread_growth"]
    assert unread(10.0, 110.0) == unread(11.0, 109.0) == []


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["agents", "sky", "idle", "same", "backlog", "runs", "since", "ok"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(before=JUNK, result=JUNK)
def test_a_damaged_record_or_result_breaks_nothing(before: object, result: object) -> None:
    told = {**detail(2, 0), "agents": {"sky": result}}
    recorded = lately(before, told, 5.0)
    json.dumps(recorded, allow_nan=False)
    source = Source("promote", "sky", told, recorded.get("agents", {}).get("sky", {}))
    list(alarming.idle(source, RULES, 9.0))
    list(alarming.same(source, RULES, 9.0, written=8.0))
    list(alarming.flood(source, 9.0))
    list(alarming.backlog("promote", recorded, RULES, pending=3))


def test_what_is_recorded_does_not_grow_with_the_runs() -> None:
    recorded: dict[str, Any] = {}
    sizes = []
    for number in range(500):
        recorded = lately(recorded, detail(4 + number % 2, 0), number * HOUR)
        sizes.append(len(json.dumps(recorded)))
    assert max(sizes) < 600
