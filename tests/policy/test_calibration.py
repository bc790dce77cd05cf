"""What is usual of an agent, and what of a flood waits: shares, rooms and second opinions."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.model.identity import digest
from skymem.model.kinds import KINDS
from skymem.model.memory import Memory
from skymem.model.plan import Entry, Plan
from skymem.model.promotion import PromotionRules
from skymem.model.rules import AgentRules
from skymem.policy.calibration import AT_LEAST, DAY_SECONDS, Calibration, Day, allowance, usual
from skymem.policy.earning import NOTHING, Known, Recalled
from skymem.policy.importance import Worth
from skymem.policy.promote import plan_promote

TODAY = 1000
QUIET = {number: Day(100, 10) for number in range(TODAY - 10, TODAY)}


def entries(*items: dict[str, Any]) -> list[Entry]:
    """Readable lines of short-term, in their order."""
    found = []
    for place, fields in enumerate(items):
        memory = Memory({"ts": TODAY * DAY_SECONDS + place, "content": f"n{place}", **fields})
        entry = Entry(place, place + 1, memory, digest(memory))
        entry.id, entry.line = str(fields.get("id", place)), place
        found.append(entry)
    return found


def planned(
    lines: list[Entry],
    days: dict[int, Day],
    known: dict[str, Known] | None = None,
    **own: Any,
) -> Plan:
    """Plan a run in which all of the lines are new."""
    rules = AgentRules(promotion=PromotionRules(**own))
    calibration = Calibration(
        rules, KINDS, TODAY * DAY_SECONDS + 1.0, lambda: days, lambda: len(lines)
    )
    of = known or {}
    plan = plan_promote(
        lines, "sky", rules, known_of=lambda one: of.get(one.id, NOTHING), earner=calibration.note
    )
    calibration.hold_back(plan)
    return plan


def gone(plan: Plan) -> list[str]:
    return [one.id for one in plan.decisions if one.action == "promote"]


def flood(count: int = 100, **fields: Any) -> list[Entry]:
    return entries(*({"importance": 1.0, **fields} for _ in range(count)))


@pytest.mark.parametrize(
    ("shares", "most"),
    [
        pytest.param([10] * 6, None, id="six days are too few"),
        pytest.param([10] * 7, 0.15, id="a regular agent may be half as much above it"),
        pytest.param([0] * 7, 0.05, id="one that never promotes may begin to"),
        pytest.param([100] * 9, 1.0, id="one that promotes all is let through"),
        pytest.param([5, 15, 10, 10, 20, 0, 10], 0.3224, id="an irregular one has a wider range"),
    ],
)
def test_what_is_usual_is_the_median_and_the_width_of_the_days(
    shares: list[int], most: float | None
) -> None:
    days = {TODAY - len(shares) + place: Day(100, share) for place, share in enumerate(shares)}
    assert usual(days, TODAY) == most


def test_days_with_few_lines_and_those_to_come_say_nothing() -> None:
    days = {**QUIET, TODAY - 20: Day(19, 19), TODAY: Day(100, 100), TODAY + 3: Day(100, 100)}
    assert usual(days, TODAY) == usual(QUIET, TODAY) == 0.15


def lived(wanted: int, weeks: int, days: dict[int, Day] | None = None) -> list[float]:
    """Weeks in which so many of 100 lines a day are rated worth it; what is let at each one's end.

    What waits comes through as soon as there is room, as it does in short-term.
    """
    days, waiting, let = dict(QUIET if days is None else days), 0, []
    for number in range(TODAY, TODAY + 7 * weeks):
        most = usual(days, number)
        assert most is not None
        waiting += wanted
        room = max(allowance(200, most) - days[number - 1].promoted, AT_LEAST)
        gone = min(waiting, room)
        waiting -= gone
        days[number] = Day(100, gone)
        if number % 7 == (TODAY + 6) % 7:
            let.append(most)
    return let


def test_a_flood_widens_what_is_let_by_a_tenth_a_week_to_twice_as_much_and_no_further() -> None:
    let = lived(100, 20)
    assert let[:3] == [0.15, 0.165, 0.1815]
    assert all(0 <= later - one <= 0.1 * one + 1e-4 for one, later in pairwise(let))
    assert let[8:] == [0.3] * 12


def test_one_whose_work_has_really_grown_is_caught_up_with_in_weeks() -> None:
    let = lived(20, 30)
    assert let[0] == 0.15
    assert min(week for week, most in enumerate(let) if most >= 0.2) <= 5
    assert all(0.2 <= most <= 0.3 for most in let[12:])


def test_one_that_is_no_more_than_usual_stays_as_it_was() -> None:
    assert set(lived(10, 8)) == {0.15}


def test_most_of_a_newcomers_many_lines_is_told_and_none_of_it_waits() -> None:
    plan = planned(flood(200), {})
    assert len(gone(plan)) == 200
    assert plan.calibration == {"held": 0, "share": 1.0, "usual": None}
    assert planned(flood(199), {}).calibration == {}
    half = entries(*[{"importance": 1.0}, {"importance": 0.1}] * 150)
    assert planned(half, {}).calibration == {}
    assert planned(flood(300), {}, calibrate="none").calibration == {}


def test_of_a_flood_as_much_is_promoted_as_is_usual_and_the_rest_waits() -> None:
    plan = planned(flood(), QUIET)
    assert len(gone(plan)) == allowance(200, 0.15) - 10 == 20
    assert plan.kept["calibration"] == 80
    assert plan.calibration == {"held": 80, "share": 0.55, "usual": 0.15}
    assert plan.lines == 100


def test_before_there_is_a_history_nothing_waits_unless_it_is_strict() -> None:
    assert len(gone(planned(flood(), {}))) == 100
    plan = planned(flood(), {}, calibrate="strict")
    assert gone(plan) == []
    assert plan.calibration == {"held": 100, "share": 1.0, "usual": None}
    mixed = entries(*({"importance": place / 100} for place in range(100)))
    assert len(gone(planned(mixed, {}, calibrate="strict"))) == 30
    assert len(gone(planned(flood(49), {}, calibrate="strict"))) == 49


def test_an_importance_that_all_have_gives_way_to_what_its_kind_is_worth() -> None:
    always = {number: Day(100, 100, {100: 100}) for number in range(TODAY - 10, TODAY)}
    lines = entries(*({"importance": 1.0, "kind": kind} for kind in ["goal", "log"] * 10))
    plan = planned(lines, always)
    assert len(gone(plan)) == 10
    reason = plan.decisions[0].reason
    assert (reason.gate, reason.value) == ("importance", 0.8)
    assert "as given it says nothing" in reason.note
    assert plan.kept == {"calibration": 10}


def test_the_lowest_second_opinion_waits_and_then_the_oldest() -> None:
    lines = entries(*({"importance": 1.0, "kind": "goal" if n % 2 else "log"} for n in range(60)))
    kept_first = gone(planned(lines, {**QUIET, TODAY: Day(40, 0)}))
    assert kept_first == [str(n) for n in range(21, 60, 2)]  # 20 of the goals, the newest
    known = {"0": Known(predicted=Worth(0.99, "predicted"))}
    assert "0" in gone(planned(lines, {**QUIET, TODAY: Day(40, 0)}, known))


def test_what_is_promoted_always_or_recalled_often_never_waits() -> None:
    lines = entries(
        *({"importance": 1.0} for _ in range(98)),
        {"importance": 1.0, "tags": ["critical"], "id": "always"},
        {"importance": 1.0, "id": "often"},
    )
    known = {"often": Known(recalled=Recalled(3, 2))}
    plan = planned(lines, QUIET, known, always_tags=("critical",))
    assert {"always", "often"} <= set(gone(plan))
    assert len(gone(plan)) == 22


def test_a_twin_of_what_waits_waits_with_it() -> None:
    lines = flood(100, id="same")
    plan = planned(lines, {**QUIET, TODAY - 1: Day(100, 10), TODAY: Day(0, 40)})
    assert plan.decisions == []
    assert plan.kept == {"calibration": 100}


def test_nothing_is_asked_where_nothing_would_be_promoted() -> None:
    rules = AgentRules()

    def never() -> Any:
        raise AssertionError

    calibration = Calibration(rules, KINDS, 1.0, never, never)
    plan = plan_promote(entries({"importance": 0.1}), "sky", rules, earner=calibration.note)
    calibration.hold_back(plan)
    assert plan.kept == {"importance": 1}


def test_it_can_be_switched_off() -> None:
    assert len(gone(planned(flood(), QUIET, calibrate="none"))) == 100


histories = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=40)


@given(histories, st.integers(0, 40), st.integers(0, 40))
def test_each_line_is_promoted_or_waits_and_no_more_go_than_is_let(
    past: list[tuple[int, int]], count: int, others: int
) -> None:
    days = {
        TODAY - len(past) + place: Day(came, min(came, promoted))
        for place, (came, promoted) in enumerate(past)
    }
    lines = entries(*[{"importance": 1.0}] * count, *[{"importance": 0.1}] * others)
    plan = planned(lines, days)
    assert len(gone(plan)) + plan.kept.get("calibration", 0) == count
    most = usual(days, TODAY)
    if most is not None and gone(plan):
        came = days[TODAY - 1].came + count + others
        assert len(gone(plan)) <= max(allowance(came, most), AT_LEAST)
