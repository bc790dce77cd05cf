"""A plan can be printed, saved and applied; it fits its inputs or nothing (promise 3)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem import app
from skymem.errors import StalePlanError, UsageError
from skymem.jobs import runner
from skymem.jobs.detail import Outcome
from skymem.jobs.plan_file import load_plans, save_plans
from skymem.stores.home import HomePaths
from tests.conftest import Desk, line

SECRET = "the launch code is 0000"
JOBS = ["promote", "rotate", "memory_rotate_check"]


@pytest.fixture
def filled(desk: Desk) -> Desk:
    desk.limit(3)
    desk.echo(line(SECRET, 0.9), *(line(f"m{n}", 0.1 * n) for n in range(9)), b"damage\n")
    return desk


def saved(desk: Desk, job: str) -> tuple[Path, dict[Any, Any]]:
    """Plan, save and load again."""
    path = desk.paths.root / "plan.json"
    _, outcomes = desk.run_with_outcomes(job, dry_run=True)
    save_plans(path, outcomes, job, 0.0, home=desk.paths)
    loaded, plans = load_plans(path)
    assert loaded == job
    return path, plans


def snapshot(desk: Desk) -> dict[str, bytes]:
    files = [path for path in desk.paths.memory.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.parametrize("job", JOBS)
def test_a_dry_run_changes_no_file_and_says_what_the_run_then_does(filled: Desk, job: str) -> None:
    before = snapshot(filled)
    planned, _ = filled.run_with_outcomes(job, dry_run=True)
    assert snapshot(filled) == before
    assert not filled.paths.audit.exists()
    done = filled.run(job)
    assert planned["dry_run"] is True
    for key in ("ok", "acted", "eligible", "quarantined", "repeats", "remaining", "skipped"):
        assert planned[key] == done[key], key


@pytest.mark.parametrize("job", JOBS)
def test_a_saved_plan_does_what_it_said(filled: Desk, job: str) -> None:
    _, plans = saved(filled, job)
    decisions = [decision for plan in plans.values() for decision in plan.decisions]
    acting = ("promote", "archive")
    detail = filled.run(job, plans=plans)
    assert detail["ok"]
    assert detail["acted"] == sum(one.action in acting for one in decisions) > 0
    assert filled.quarantined() == [b"damage\n"]
    moved = filled.memories("long") + filled.memories("archive")
    assert [m.source_id for m in moved] == [d.id for d in decisions if d.action in acting]


def change_short(desk: Desk) -> None:
    desk.echo(line("new", 0.1))


def edit_short_in_place(desk: Desk) -> None:
    with desk.short_term.open("r+b") as stream:
        stream.write(line(SECRET.upper(), 0.9))


def rewrite_short(desk: Desk) -> None:
    new = desk.short_term.with_name("new")
    new.write_bytes(desk.short_term.read_bytes())
    new.rename(desk.short_term)


def change_rules(desk: Desk) -> None:
    desk.limit(2)


def change_long(desk: Desk) -> None:
    desk.tiers.long_term.write_bytes(line("x", 0.9, id="x"))


def change_archives(desk: Desk) -> None:
    path = desk.tiers.directory / "short_term_archive_20250101T000000Z.jsonl"
    path.write_bytes(line("x", 0.9, id="x"))


CHANGES = [
    (change_short, "short-term of sky has changed"),
    (edit_short_in_place, "short-term of sky has changed"),
    (rewrite_short, "short-term of sky has changed"),
    (change_rules, "the rules or the other tiers of sky have changed"),
    (change_long, "the rules or the other tiers of sky have changed"),
    (change_archives, "the rules or the other tiers of sky have changed"),
]


@pytest.mark.parametrize(("change", "words"), CHANGES)
@pytest.mark.parametrize("job", JOBS)
def test_a_plan_whose_inputs_changed_is_refused_and_nothing_is_moved(
    filled: Desk, job: str, change: Callable[[Desk], None], words: str
) -> None:
    _, plans = saved(filled, job)
    change(filled)
    before = snapshot(filled)
    with pytest.raises(StalePlanError, match=f"the plan no longer fits: {words}; make a new one"):
        filled.run(job, plans=plans)
    after = snapshot(filled)
    assert {path: after[path] for path in before} == before


def test_a_plan_for_two_agents_applies_to_both_or_neither(filled: Desk) -> None:
    hobbs = filled.paths.agent("hobbs")
    hobbs.directory.mkdir()
    hobbs.short_term.write_bytes(line("of hobbs", 0.9))
    work = filled.work()
    _, outcomes = runner.run(work, "promote", ["hobbs", "sky"], dry_run=True)
    plans = {(plan.job, plan.agent): plan for one in outcomes for plan in one.plans}
    change_short(filled)  # of sky, who comes second
    before = snapshot(filled)
    with pytest.raises(StalePlanError, match="short-term of sky has changed"):
        runner.run(work, "promote", ["hobbs", "sky"], plans=plans)
    assert snapshot(filled) == before


def test_a_plan_is_applied_once(filled: Desk) -> None:
    _, plans = saved(filled, "promote")
    assert filled.run("promote", plans=plans)["promoted"] > 0
    with pytest.raises(StalePlanError):
        filled.run("promote", plans=plans)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"skymem_plan": 2}', '{"skymem_plan": 1, "job": "x", "plans": [{}]}']
)
def test_what_is_no_plan_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(StalePlanError, match="is not a plan this version wrote"):
        load_plans(path)


def test_no_plan_ledger_or_status_holds_a_text_of_a_memory(filled: Desk) -> None:
    path, _ = saved(filled, "memory_rotate_check")
    detail = filled.run()
    home = app.Home(filled.paths, "", filled.files, filled.rules)
    home.record("memory_rotate_check", detail)
    filled.run()
    elsewhere = [path, *filled.paths.audit.rglob("*"), *filled.paths.status.rglob("*")]
    elsewhere += [*filled.paths.state.rglob("*"), *filled.paths.run.rglob("*")]
    elsewhere += filled.tiers.drains.glob("*.cursor.json")
    files = [each for each in elsewhere if each.is_file()]
    assert len(files) >= 5
    for each in files:
        assert SECRET.encode() not in each.read_bytes(), each
    assert SECRET in filled.contents("long")


def test_the_ledger_tells_each_decision_with_its_reason(filled: Desk) -> None:
    filled.run("promote")
    decided = [one[:6] for entry in filled.ledger() for one in entry.get("decided", [])]
    (memory, *_) = filled.memories("long")
    assert ["promote", memory.source_id, "importance", 0.9, 0.7, "given"] in decided
    (damage,) = [one for one in decided if one[0] == "quarantine"]
    assert damage[2] == "unreadable"
    assert "not JSON" in damage[5]
    ops = [entry["op"] for entry in filled.ledger()]
    assert ops == ["adopt", "begin", "decide", "moved", "end"]


@pytest.mark.parametrize("there", [b'{"content": "a memory"}\n', b"", b"# README\n"])
def test_a_plan_is_not_written_over_what_is_none(tmp_path: Path, there: bytes) -> None:
    path = tmp_path / "long_term.jsonl"
    path.write_bytes(there)
    with pytest.raises(UsageError, match="what is there is no plan; name a new file"):
        save_plans(path, [], "promote", 0.0, home=HomePaths(tmp_path / "home"))
    assert path.read_bytes() == there
    with pytest.raises(UsageError, match="there is no directory"):
        save_plans(
            tmp_path / "nowhere" / "p.json", [], "promote", 0.0, home=HomePaths(tmp_path / "home")
        )
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(UsageError):
        save_plans(link, [], "promote", 0.0, home=HomePaths(tmp_path / "home"))


@pytest.mark.parametrize(
    "name",
    [
        "memory/sky/long_term.jsonl",
        "memory/sky/short_term_archive_20260101T000000Z.jsonl",
        "memory/sky/trash/run.jsonl",
        "memory/short_term.jsonl",
        "audit/ledger_1-2.jsonl",
        "status/plan.json",
        "linked/plan.json",
    ],
)
def test_a_plan_is_not_put_among_the_homes_own_files(filled: Desk, name: str) -> None:
    path = filled.paths.root / name
    (filled.paths.root / "linked").symlink_to(filled.paths.memory)
    path.parent.mkdir(parents=True, exist_ok=True)
    with pytest.raises(UsageError, match="is for the home's own files; name another place"):
        save_plans(path, [], "promote", 0.0, home=filled.paths)

    assert not path.exists()


def test_a_plan_may_take_the_place_of_a_plan(filled: Desk) -> None:
    saved(filled, "promote")
    path, plans = saved(filled, "rotate")

    assert b'"job": "rotate"' in path.read_bytes()
    assert [*plans] == [("rotate", "sky")]


def test_of_those_that_failed_no_plan_is_saved(filled: Desk) -> None:
    path = filled.paths.root / "plan.json"
    _, (outcome,) = filled.run_with_outcomes("promote", dry_run=True)
    other = Outcome("promote", "hobbs")
    other.fail("it failed", 74)
    assert not save_plans(path, [other], "promote", 0.0, home=filled.paths)
    assert not path.exists()
    assert save_plans(path, [other, outcome], "promote", 0.0, home=filled.paths)
    assert [*load_plans(path)[1]] == [("promote", "sky")]

    outcome.fail("it may not be carried out", 21)
    before = path.read_bytes()
    assert not save_plans(path, [outcome], "promote", 0.0, home=filled.paths)
    assert path.read_bytes() == before


@pytest.mark.parametrize("job", ["prune", "merge"])
def test_a_plan_of_what_goes_by_age_still_fits_a_day_later(desk: Desk, job: str) -> None:
    old = desk.clock - 30 * 86_400
    desk.echo(line("over", 0.2, ts=old, ttl_days=1))
    desk.echo(*(line(f"n{n}", 0.2, ts=old + n, kind="log", stability="volatile") for n in range(2)))
    _, plans = saved(desk, job)
    desk.clock += 86_400
    detail, _ = desk.run_with_outcomes(job, plans=plans)

    assert (detail["ok"], detail["acted"] > 0) == (True, True), detail
