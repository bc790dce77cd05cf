"""What `explain` foretells where more than the memory decides: sizes, budgets, rounds, others."""

from typing import Any

import pytest

from skymem import app
from skymem.explain import Explanation, explain
from skymem.model.rules import (
    AgentRules,
    BudgetRules,
    CompressRules,
    PruneRules,
    RetentionRules,
    SummarizerRules,
)
from skymem.policy.prospects import Gate
from tests.conftest import START, Desk, line

DAY = 86_400.0


@pytest.fixture
def home(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> app.Home:
    monkeypatch.setattr(app, "now", lambda: desk.clock)
    monkeypatch.setenv("SKYMEM_ENGINE", "off")
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


def told(home: app.Home, name: str) -> Explanation:
    return explain(home, "sky", name)


def gate(home: app.Home, name: str, wanted: str) -> Gate:
    (found,) = [one for one in told(home, name).gates if one.gate == wanted]
    return found


def old(name: str, days: float, **more: Any) -> bytes:
    return line(f"{name} is so.", more.pop("importance", 0.5), START - days * DAY, id=name, **more)


def test_archives_that_are_too_large_lose_their_oldest(desk: Desk, home: app.Home) -> None:
    first, second = (
        desk.tiers.directory / f"short_term_archive_2023010{n}T000000Z.jsonl" for n in (1, 2)
    )
    first.write_bytes(old("older", 400))
    second.write_bytes(old("newer", 399) + old("held", 398, stability="permanent"))
    limit = second.stat().st_size
    home.rules = RetentionRules(prune=PruneRules(archive_bytes_max=limit))

    one = gate(home, "older", "archive_size")
    assert (one.open, one.value, one.threshold) == (True, limit + first.stat().st_size, limit)
    assert not gate(home, "newer", "archive_size").open
    assert told(home, "older").next()[0]["gate"] == "archive_size"
    assert home.run_job("prune")[0]["by_gate"] == {"archive_size": 1}
    assert (told(home, "older").state, told(home, "newer").state) == ("trash", "archive")


def test_a_run_that_would_stop_at_its_budget_opens_nothing(desk: Desk, home: app.Home) -> None:
    desk.tiers.long_term.write_bytes(
        b"".join(old(f"m{n}", 90, importance=0.1) for n in range(9)) + old("mine", 90, ttl_days=3)
    )
    home.rules = RetentionRules(
        prune=PruneRules(older_than_seconds=30 * DAY, importance_below=0.3),
        budget=BudgetRules(at_least=5),
    )

    assert "error" in home.run_job("prune", dry_run=True)[0]
    for name, by in (("m3", "old_and_unimportant"), ("mine", "expired")):
        assert gate(home, name, by)[4:] == (False, None, gate(home, name, by).note, "loss_budget")
        assert told(home, name).next() == []
    home.rules = home.rules._replace(budget=BudgetRules(at_least=9))
    assert gate(home, "m3", "old_and_unimportant").open
    assert home.run_job("prune")[0]["trashed"] == 10


def test_what_a_later_round_of_the_run_takes_is_open_too(desk: Desk, home: app.Home) -> None:
    desk.echo(*(old(f"m{n}", 9 - n / 10, kind="fact") for n in range(5)))
    home.rules = RetentionRules(compress=CompressRules(items_max=2))

    assert home.run_job("compress", dry_run=True)[0]["compressed"] == 2
    assert all(gate(home, f"m{n}", "compressed").open for n in range(5))
    assert home.run_job("compress")[0]["compressed"] == 5


def test_a_note_waits_for_the_next_one_to_be_old_enough(desk: Desk, home: app.Home) -> None:
    log: dict[str, Any] = {"kind": "log", "stability": "volatile"}
    desk.echo(old("first", 8, **log), old("other", 8, **log, user_id="ann"))
    desk.tiers.long_term.write_bytes(old("second", 3, **log))

    first = gate(home, "first", "merged")
    assert (first.open, first.opens_us, first.kept) == (False, (START + 4 * DAY) * 1e6, "alone")
    assert gate(home, "second", "merged").opens_us == first.opens_us
    assert gate(home, "other", "merged")[5:] == (None, "days", "alone")
    desk.clock += 4 * DAY + 1
    assert gate(home, "first", "merged").note == "with second"
    assert home.run_job("merge", accept_clock=True)[0]["merged"] == 2


def test_what_supersedes_something_that_stays_waits_for_it(desk: Desk, home: app.Home) -> None:
    desk.tiers.long_term.write_bytes(
        old("wrong", 20) + old("right", 10, supersedes=["wrong"], ttl_days=5)
    )

    right = gate(home, "right", "expired")
    assert (right.open, right.opens_us, right.kept) == (
        False, (START + 20 * DAY) * 1e6, "supersedes",
    )  # fmt: skip
    assert gate(home, "wrong", "superseded").opens_us == right.opens_us
    assert home.run_job("prune", dry_run=True)[0]["trashed"] == 0
    desk.clock += 20 * DAY
    assert home.run_job("prune", accept_clock=True)[0]["trashed"] == 2


def test_neither_the_engine_nor_a_summariser_is_asked(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise AssertionError("asked")

    monkeypatch.delenv("SKYMEM_ENGINE")
    monkeypatch.setattr(app.Home, "engine", fail)
    monkeypatch.setattr("skymem.jobs.compress.open_summarizer", fail)
    summarizer = SummarizerRules("http://127.0.0.1:9/v1", "none")
    home.rules = RetentionRules(AgentRules(0.9), compress=CompressRules(summarizer=summarizer))
    desk.echo(*(old(f"m{n}", 9, kind="fact") for n in range(3)))

    assert gate(home, "m1", "compressed").open


def test_explaining_changes_no_file_of_the_tiers(desk: Desk, home: app.Home) -> None:
    desk.echo(old("m0", 9, kind="fact", importance=0.9), b"no memory\n", old("m1", 1, ttl_days=3))
    before = {path: path.read_bytes() for path in desk.tiers.directory.rglob("*.*")}
    assert told(home, "m0").gates
    assert {path: path.read_bytes() for path in desk.tiers.directory.rglob("*.*")} == before
    assert not (desk.paths.root / "audit").exists()
