"""An agent that comes to rate everything 1.0 does not flood long-term (real jobs, simulated days).

What is more than is usual of it waits in short-term, is told in the job's detail, and comes through
over time; nothing is lost, and another agent of the home notices nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from skymem import app
from skymem.explain import explain
from skymem.jobs import runner
from skymem.model.promotion import PromotionRules
from skymem.model.rules import AgentRules, RetentionRules
from skymem.recall.request import Filters, ask
from skymem.recall.search import recall
from skymem.stores import promoted_days
from tests.conftest import START, Desk, line

DAY = 86_400.0
LINES = 40
"""Of a day; of these, five are worth it."""


def quiet(desk: Desk, day: int) -> None:
    worth = [0.9 if n % 8 == 0 else 0.3 + n / 200 for n in range(LINES)]
    lines = (line(f"day {day} line {n}", one, desk.clock) for n, one in enumerate(worth))
    desk.echo(b"".join(lines))


def poisoned(desk: Desk, day: int, kind: str = "log") -> None:
    lines = (line(f"flood {day} {n}", 1.0, desk.clock, kind=kind) for n in range(LINES))
    desk.echo(b"".join(lines))


def night(desk: Desk) -> dict[str, Any]:
    """A day passes, and promote runs in the night."""
    desk.clock += DAY - 1
    detail = desk.run("promote")
    assert detail["ok"]
    return detail


def weeks(desk: Desk, days: int = 10) -> None:
    for day in range(days):
        quiet(desk, day)
        assert night(desk)["promoted"] == 5


def flood_of(desk: Desk, days: int) -> tuple[int, list[Mapping[str, Any]]]:
    promoted, told = 0, []
    for day in range(days):
        poisoned(desk, day)
        detail = night(desk)
        promoted += detail["promoted"]
        told.append(detail.get("calibration", {}))
    return promoted, told


def test_a_flood_is_held_within_what_is_usual_and_nothing_is_lost(desk: Desk) -> None:
    weeks(desk)
    promoted, told = flood_of(desk, 10)
    assert promoted / (10 * LINES) <= 0.1875 + 0.02  # half as much again as the usual eighth
    assert all(one["sky"]["held"] > 0 for one in told)
    assert [one["sky"]["usual"] for one in told] == [0.1875] * 7 + [0.2063] * 3  # a tenth a week
    assert told[-1]["sky"]["share"] == 1  # with what waits from the days before, more than came
    floods = [text for text in desk.everything() if text.startswith("flood")]
    assert len(floods) == len(set(floods)) == 10 * LINES


def test_what_is_important_to_others_goes_before_the_flood_and_all_comes_in_time(
    desk: Desk,
) -> None:
    weeks(desk)
    poisoned(desk, 0)
    desk.echo(*(line(f"goal {n}", 1.0, desk.clock, kind="goal") for n in range(3)))
    night(desk)
    assert sum(text.startswith("goal") for text in desk.contents("long")) == 3
    waiting = [sum(text.startswith("flood") for text in desk.contents("short"))]
    for day in range(15):
        quiet(desk, 100 + day)
        night(desk)
        waiting.append(sum(text.startswith("flood") for text in desk.contents("short")))
    assert waiting[0] > 20
    assert waiting == sorted(waiting, reverse=True)
    assert waiting[-1] == 0


def test_a_person_lets_it_through_and_explain_says_why_it_waits(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "now", lambda: desk.clock)
    app.init_home(desk.paths.root)
    home = app.open_home(str(desk.paths.root))
    weeks(desk)
    poisoned(desk, 0)
    night(desk)
    name = _short_ids(home)[0]
    gates = {gate.gate: gate for gate in explain(home, "sky", name).gates}
    assert gates["importance"].kept == "calibration"
    assert gates["calibration"].threshold == 0.1875
    waiting = len(_short_ids(home))
    rehearsed, _ = home.run_job("promote", dry_run=True)
    assert rehearsed["promoted"] < waiting
    detail, _ = home.run_job("promote", uncalibrated=True)
    assert detail["promoted"] == waiting
    assert "calibration" not in detail


def _short_ids(home: app.Home) -> list[str]:
    """Ids of what waits of the flood."""
    asked = ask("flood", 1000, "deterministic", filters=Filters(frozenset({"short"}), kind="log"))
    return [one.id for one in recall(home.workplace(), "sky", asked, home.engine)]


def test_one_that_rates_all_alike_from_its_first_day_is_judged_by_kind_after_a_week(
    desk: Desk,
) -> None:
    promoted, told = flood_of(desk, 9)
    assert promoted == 7 * LINES  # the week in which nobody knows
    assert told[6] == {}
    assert told[7]["sky"] == {"held": LINES, "share": 1.0, "usual": None}
    before = len(desk.contents("long"))
    poisoned(desk, 20, kind="goal")  # of some worth by the guide
    night(desk)
    assert len(desk.contents("long")) == before + LINES


def test_a_strict_home_holds_it_from_the_beginning(desk: Desk) -> None:
    desk.rules = RetentionRules(AgentRules(promotion=PromotionRules(calibrate="strict")))
    promoted, _ = flood_of(desk, 3)
    assert promoted <= LINES


def test_the_same_history_gives_the_same_decisions_also_from_lost_counts(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promoted_days, "KEEP_BYTES", 0)
    weeks(desk)
    assert desk.paths.promoted_days.exists()
    twin = replace(desk, paths=type(desk.paths)(tmp_path_factory.mktemp("twin")))
    twin.clock = START
    twin.tiers.directory.mkdir(parents=True)
    weeks(twin)
    for day in range(4):
        twin.paths.promoted_days.unlink(missing_ok=True)  # derived: read off the ledger anew
        if day == 2:
            twin.paths.promoted_days.write_text(json.dumps({"place": 9, "agents": {"sky": 3}}))
        for home in (desk, twin):
            poisoned(home, day)
            night(home)
        assert sorted(desk.contents("long")) == sorted(twin.contents("long"))
        assert sorted(desk.contents("short")) == sorted(twin.contents("short"))


def test_the_flood_of_one_agent_is_nothing_to_another(desk: Desk) -> None:
    other = replace(desk, agent="hobbs")
    other.tiers.directory.mkdir(parents=True)
    weeks(desk)
    poisoned(desk, 0)
    other.echo(*(line(f"first day {n}", 0.8, desk.clock) for n in range(LINES)))
    desk.clock += DAY
    detail, _ = runner.run(desk.work(), "promote", ["hobbs", "sky"])
    assert detail["agents"]["hobbs"]["promoted"] == LINES
    assert list(detail["calibration"]) == ["sky"]
