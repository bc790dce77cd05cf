"""A report's figures are those that are counted by hand, and what is not known is said so."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from skymem.reporting.days import calendar
from skymem.reporting.figures import TIERS, Report, RuleFigures
from skymem.reporting.runs import jobs_of
from tests.conftest import line
from tests.reporting.conftest import DAY, MIDNIGHT, Weeks, say, weeks_in


@pytest.fixture(scope="module")
def found(lived: Weeks) -> Report:
    return lived.report()


def rule(found: Report, job: str, gate: str) -> RuleFigures:
    (one,) = [one for one in found.rules if (one.job, one.gate) == (job, gate)]
    return one


def test_tiers_grew_as_they_were_counted_each_evening(lived: Weeks, found: Report) -> None:
    assert found.days == tuple(f"2023-11-{day}" for day in range(14, 22))
    for tier in TIERS:
        assert list(found.growth(tier)) == [held[tier] for held in lived.held], tier
        assert found.agents[0].begun[tier] == 0
    assert [lived.held[-1][tier] for tier in TIERS] == [3, 1, 1, 1]


def test_what_came_and_went_is_counted_by_day(found: Report) -> None:
    assert found.flow("came") == (4, 3, 1, 1, 0, 0, 0, 0)
    assert found.flow("promoted") == (2, 0, 1, 1, 0, 0, 0, 0)
    assert found.flow("archived") == (0, 1, 0, 0, 0, 0, 0, 0)
    assert found.flow("trashed") == (0, 0, 2, 0, 1, 0, 0, 0)
    assert found.flow("restored") == (0, 0, 0, 2, 0, 0, 0, 0)
    assert found.flow("gone") == (0, 0, 0, 0, 1, 2, 1, 0)
    assert found.flow("made") == (0,) * 8


def test_each_rule_is_told_of_with_its_values(found: Report) -> None:
    promoted = rule(found, "promote", "importance")
    assert promoted.by_day == (2, 0, 1, 1, 0, 0, 0, 0)
    assert (promoted.lowest, promoted.highest, promoted.threshold) == (0.75, 0.95, 0.7)
    rotated = rule(found, "rotate", "line_limit")
    assert (rotated.count, rotated.what, rotated.asked_again) == (1, "archived", 1)
    assert rule(found, "prune", "expired").by_day == (0, 0, 0, 0, 1, 0, 0, 0)
    assert rule(found, "forget", "by_hand").asked_again == 1
    assert rule(found, "compact", "trash_age").what == "gone"


def test_what_was_taken_away_and_asked_for_later_is_missed(found: Report) -> None:
    missed = [(one.id, one.what, one.job, one.how, one.times) for one in found.regret.missed]
    assert missed == [
        ("c", "archived", "rotate", "recalled", 2),
        ("b", "removed", "forget", "restored", 1),
    ]
    assert found.regret.taken == 4
    assert found.regret.share == 0.5


def test_latency_is_of_answers_that_were_measured(found: Report) -> None:
    latency = found.latency
    assert latency.answers == (1, 2, 1, 0, 0, 0, 0, 0)
    assert latency.measured == 3
    assert latency.median_ms == (10.0, 30.0, 20.0, None, None, None, None, None)
    assert latency.whole == {"p50": 20.0, "p95": 30.0, "p99": 30.0, "max": 30.0}


def test_jobs_are_told_of_as_their_results_are_kept(found: Report) -> None:
    jobs = {one.job: one for one in found.jobs}
    assert jobs["memory_rotate_check"].runs == 5
    assert jobs["memory_rotate_check"].idle == 1
    assert jobs["prune"].median_s == jobs["prune"].longest_s == 0.25
    assert not any(one.failed for one in found.jobs)


def test_ages_and_importances_are_counted_then_and_now(tmp_path: Path) -> None:
    desk = weeks_in(tmp_path / "home")
    desk.at(0)
    for name, importance, days in (("new", 0.9, 0.5), ("old", 0.75, 40), ("low", 0.05, 3)):
        desk.echo(line(name, importance, desk.clock - days * DAY, id=name))
    desk.job()
    desk.at(10)
    say(desk, "later", 1.0)
    desk.job()
    desk.at(12)
    found = desk.report(5)
    both = zip(found.ages.then, found.ages.now, strict=True)
    ages = dict(zip(found.ages.ranges, both, strict=True))
    assert {name: counts for name, counts in ages.items() if any(counts)} == {
        "1–7 days": (1, 1),  # new was five days old; later is two
        "7–30 days": (1, 2),
        "30–90 days": (1, 1),
    }
    worth = found.importances
    assert worth.then == (1, 0, 0, 0, 0, 0, 0, 1, 0, 1)
    assert worth.now == (1, 0, 0, 0, 0, 0, 0, 1, 0, 2)
    assert worth.tiers["long"] == (0, 0, 0, 0, 0, 0, 0, 1, 0, 2)
    assert found.kept() == (4, 3)
    assert [one.id for one in found.most] == ["later", "new", "old", "low"]
    assert found.most[0].text == "later is said"
    assert found.least == ()


def test_what_is_moved_or_removed_later_was_there_then(lived: Weeks) -> None:
    found = lived.report(2)
    # On the third morning: a, b in long-term, d, e, f, g in short-term; a, d, e are gone for good,
    # f was removed by hand; c was in an archive by then.
    assert sum(found.importances.then) == 2
    assert found.kept() == (4, 6)
    assert found.agents[0].begun == {"short": 4, "long": 2, "archive": 1, "trash": 0}


def test_pinned_and_often_asked_for_come_first_and_the_least_are_not_among_them(
    tmp_path: Path,
) -> None:
    desk = weeks_in(tmp_path / "home")
    desk.limit(100)
    desk.at(0)
    for number in range(30):
        say(desk, f"m{number:02}", 0.5 + number / 100)
    desk.echo(line("kept by a hand", 0.01, desk.clock, id="pinned", pinned=True))
    desk.job()
    for _ in range(3):
        desk.answered("m03")
    found = desk.report()
    assert [one.id for one in found.most[:3]] == ["pinned", "m03", "m29"]
    assert found.most[0].pinned
    assert found.most[1].asked == 3
    assert [one.id for one in found.least] == [f"m{n:02}" for n in (0, 1, 2, *range(4, 11))]
    assert desk.report(texts=False).most[0].text == ""


def test_a_home_without_a_run_or_without_an_agent_has_a_report(tmp_path: Path) -> None:
    desk = weeks_in(tmp_path / "home")
    desk.at(0)
    found = desk.report()
    assert found.regret.share is None
    assert not found.latency.whole
    say(desk, "unseen", 0.5)
    found = desk.report()
    assert found.growth("short") == (1,)
    assert "no run has been here yet: the ledger is empty" in found.notes


def test_the_time_of_a_report_is_cut_into_days_weeks_or_months() -> None:
    assert calendar(MIDNIGHT + 5, MIDNIGHT + 5).starts == (MIDNIGHT,)
    week = calendar(MIDNIGHT + 3600, MIDNIGHT + 7 * DAY + 1)
    assert (len(week.starts), week.step, week.place(MIDNIGHT - 1)) == (8, "day", -1)
    assert calendar(MIDNIGHT, MIDNIGHT + 101 * DAY).step == "week"
    long = calendar(MIDNIGHT, MIDNIGHT + 800 * DAY)
    assert (long.step, len(long.starts)) == ("30 days", 27)


def test_the_data_has_no_text_beyond_the_entries_and_is_json(lived: Weeks, found: Report) -> None:
    told = json.loads(json.dumps(found.as_json()))
    assert told["tiers"]["short"]["growth"] == [held["short"] for held in lived.held]
    assert told["flows"]["came"] == [4, 3, 1, 1, 0, 0, 0, 0]
    assert told["regret"]["share"] == 0.5
    bare = json.dumps(replace(found, most=(), least=()).as_json())
    assert "is said" not in bare
    assert "is said" in json.dumps(told["most"])


def test_what_a_hand_put_into_a_tier_was_there_from_the_beginning(tmp_path: Path) -> None:
    desk = weeks_in(tmp_path / "home")
    desk.at(0)
    say(desk, "a", 0.9)
    desk.job()
    with desk.tiers.long_term.open("ab") as stream:
        stream.write(line("by hand", 0.9, desk.clock, id="hand"))
    desk.at(2)
    found = desk.report()
    assert found.growth("long") == (2, 2, 2)
    assert found.agents[0].begun["long"] == 1


def test_of_one_agent_it_tells_the_runs_that_were_on_it(tmp_path: Path) -> None:
    status = tmp_path / "actions.jsonl"
    results = [
        {"sky": {"ok": True, "acted": 2}, "hobbs": {"ok": False, "acted": 0}},
        {"hobbs": {"ok": True, "acted": 1}},
    ]
    with status.open("w") as stream:
        for number, agents in enumerate(results):
            detail = {"job": "prune", "ok": not number, "acted": 2, "duration_s": 1.5}
            record = {
                "ts": 10.0 + number,
                "action": "prune",
                "detail": {**detail, "agents": agents},
            }
            stream.write(json.dumps(record) + "\n")
        stream.write('{"torn')
    (home,) = jobs_of(status, 0.0, 20.0)
    (sky,) = jobs_of(status, 0.0, 20.0, "sky")
    (hobbs,) = jobs_of(status, 0.0, 20.0, "hobbs")
    assert (home.runs, home.failed, home.last) == (2, 1, 11.0)
    assert (sky.runs, sky.failed, sky.median_s) == (1, 0, 1.5)
    assert (hobbs.runs, hobbs.failed) == (2, 1)


def test_nothing_but_what_is_derived_is_written(lived: Weeks) -> None:
    def files() -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for path in lived.paths.root.rglob("*")
            if path.is_file() and path.parts[len(lived.paths.root.parts)] not in ("state", "run")
        }

    before = files()
    lived.report()
    assert files() == before
