"""A job after which a watched memory is not found any more is undone, whatever its plan said."""

from typing import Any

import pytest

from skymem import app, upkeep
from skymem.canaries import HomeCanaries
from skymem.errors import DiskError
from skymem.jobs import prune
from skymem.jobs.canary import Missed
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Damage, Decision, Plan, Reason
from skymem.policy.prune import PruneView
from skymem.recall import search
from skymem.recall.request import ask
from skymem.recall.result import Recall
from skymem.recall.search import recall
from skymem.recalling import recall_and_note
from skymem.stores.lock import holder_of
from skymem.stores.recall_log import IDS_MAX, most_recalled, note_recalled
from tests.conftest import Desk, line


@pytest.fixture
def home(desk: Desk) -> app.Home:
    app.init_home(desk.paths.root)
    return app.open_home(str(desk.paths.root))


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy with a fault: it removes everything from short-term, pinned or not."""

    def plan(view: PruneView, agent: str, *_rules: Any, **_times: Any) -> Plan:
        found = Plan("prune", agent)
        for entry in view.short:
            if not isinstance(entry, Damage):
                found.lines += 1
                place = (entry.line, entry.start, entry.end)
                found.decisions.append(Decision("trash", entry.id, *place, Reason("expired")))
        return found

    monkeypatch.setattr(prune, "plan_prune", plan)


@pytest.mark.parametrize("why", ["pinned", "pinned by its own line", "recalled often"])
@pytest.mark.usefixtures("blind")
def test_a_run_that_loses_a_canary_is_undone_and_says_which(
    desk: Desk, home: app.Home, why: str
) -> None:
    own = {"pinned": True} if why == "pinned by its own line" else {}
    desk.echo(
        line("The vault code is blue", 0.2, id="code", **own), line("a word", 0.2, id="other")
    )
    before = desk.short_term.read_bytes()
    if why == "pinned":
        upkeep.pin_memory(home, "sky", "code")
    elif not own:
        for _ in range(2):
            recall_and_note(home, "sky", ask("vault code", 1, "deterministic"))
    detail, (outcome,) = home.run_job("prune")

    assert (detail["ok"], outcome.exit_code) == (False, 20)
    assert "1 canary memories are not recalled any more: code" in detail["error"]
    assert "the run was undone" in detail["error"]
    assert desk.short_term.read_bytes() == before
    ops = [(e["op"], e.get("job")) for e in desk.ledger() if e["op"] == "begin"]
    assert ops == [("begin", "prune"), ("begin", "undo")]


@pytest.mark.usefixtures("blind")
def test_without_canaries_the_same_fault_goes_unseen(desk: Desk, home: app.Home) -> None:
    desk.echo(line("The vault code is blue", 0.2))
    assert home.run_job("prune")[0]["pruned"] == 1


def test_what_expires_is_no_loss(desk: Desk, home: app.Home) -> None:
    desk.echo(line("for a day", 0.2, ts=5_000_000_000.0 / 3, ttl_days=1, id="a"))
    for _ in range(3):
        note_recalled(home.paths, home.files, "sky", ["a"])
    assert home.run_job("prune")[0]["pruned"] == 1


def test_the_log_of_recalls_is_bounded_and_can_be_switched_off(desk: Desk, home: app.Home) -> None:
    desk.echo(line("The vault code is blue", 0.2, id="code"))
    note_recalled(home.paths, home.files, "sky", ["often"])
    note_recalled(home.paths, home.files, "sky", ["often"])
    note_recalled(home.paths, home.files, "sky", (f"n{n}" for n in range(IDS_MAX + 50)))
    assert most_recalled(home.paths, "sky") == {"often"}
    text = home.paths.recalled("sky").read_text()
    assert text.count("n1") < IDS_MAX
    assert home.paths.recalled("sky").stat().st_mode & 0o777 == 0o600

    (desk.paths.root / "retention_rules.yaml").write_text("recall_log: false\n")
    off = app.open_home(str(desk.paths.root))
    recall_and_note(off, "sky", ask("vault code", 1, "deterministic"))
    assert home.paths.recalled("sky").read_text() == text


def test_what_a_kill_leaves_of_the_log_goes_with_the_next_recall(
    desk: Desk, home: app.Home
) -> None:
    path = home.paths.recalled("sky")
    note_recalled(home.paths, home.files, "sky", ["a"])
    left = path.with_name(f".{path.name}.{2**22 + 1}.new")  # beyond what the kernel gives out
    at_work = path.with_name(f".{path.name}.1.new")
    for each in (left, at_work):
        each.write_text("{")
    note_recalled(home.paths, home.files, "sky", ["a"])

    assert not left.exists()
    assert at_work.exists()
    assert most_recalled(home.paths, "sky") == {"a"}


def test_what_an_earlier_round_of_the_run_lost_is_not_forgotten_in_the_next(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("The vault code is blue", 0.2, id="code"))
    upkeep.pin_memory(home, "sky", "code")
    watching = HomeCanaries(home.workplace, home.engine)
    watching.before("sky")
    desk.short_term.write_bytes(b"")
    assert watching.noted("sky")
    assert watching.missed("sky") == (["code"], "")


def test_what_is_recalled_often_may_be_merged_and_is_found_as_what_it_became(
    desk: Desk, home: app.Home
) -> None:
    desk.echo(line("Standup is at nine", 0.2, kind="fact", id="mine"))
    desk.tiers.long_term.write_bytes(line("standup is at nine!", 0.2, kind="fact", id="there"))
    for _ in range(2):
        recall_and_note(home, "sky", ask("standup at nine", 5, "deterministic"))
    assert most_recalled(desk.paths, "sky") == {"mine", "there"}
    detail, (outcome,) = home.run_job("merge")

    assert (detail["ok"], outcome.exit_code, detail["merged"]) == (True, 0, 2)


@pytest.mark.usefixtures("blind")
def test_what_cannot_be_asked_for_after_a_job_is_told_and_undoes_nothing(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.echo(line("The vault code is blue", 0.2, id="code"))
    upkeep.pin_memory(home, "sky", "code")
    asked: list[str] = []

    def broken(work: Workplace, agent: str, *more: Any) -> Recall:
        asked.append(agent)
        if trash_listing(home):
            raise DiskError("short_term.jsonl", "Input/output error")
        return recall(work, agent, *more)

    monkeypatch.setattr(search, "recall", broken)
    detail, (outcome,) = home.run_job("prune")

    assert (detail["ok"], outcome.exit_code, detail["pruned"]) == (True, 0, 1)
    assert len(asked) == 2
    (told,) = (one for one in detail["degraded"] if "canaries" in one)
    assert told.startswith("canaries of sky: not all could be looked for: ")
    assert "Input/output error" in told


def trash_listing(home: app.Home) -> list[str]:
    return [held.id for held in home.shelf("sky").trash.all()]


@pytest.mark.usefixtures("blind")
def test_what_only_meaning_found_is_no_loss_when_the_engine_left_meanwhile(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.echo(line("The vault code is blue", 0.2, id="code"))
    upkeep.pin_memory(home, "sky", "code")

    def leaving(work: Workplace, agent: str, *more: Any) -> Recall:
        found = recall(work, agent, *more)
        return found if trash_listing(home) else Recall(found, "hybrid")

    monkeypatch.setattr(search, "recall", leaving)
    detail, (outcome,) = home.run_job("prune")

    assert (outcome.exit_code, detail["pruned"]) == (0, 1)
    assert any("canaries of sky" in one for one in detail["degraded"])


@pytest.mark.usefixtures("blind")
def test_nobody_waits_for_a_recall_that_looks_for_canaries(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.echo(line("The vault code is blue", 0.2, id="code"))
    upkeep.pin_memory(home, "sky", "code")
    held_by: list[str] = []

    def looking(work: Workplace, agent: str, *more: Any) -> Recall:
        held_by.append(holder_of(home.paths.job_lock("sky")))
        return recall(work, agent, *more)

    monkeypatch.setattr(search, "recall", looking)
    home.run_job("prune")

    assert held_by == ["", ""]


def test_a_merge_within_long_term_is_watched(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.tiers.directory.mkdir(parents=True, exist_ok=True)
    desk.tiers.long_term.write_bytes(
        line("Standup is at nine", 0.2, kind="fact", id="mine")
        + line("standup is at nine!", 0.2, kind="fact", id="there")
    )
    for _ in range(2):
        note_recalled(home.paths, home.files, "sky", ["there"])
    watched: list[bool] = []
    missed = HomeCanaries.missed

    def looked(self: HomeCanaries, agent: str) -> Missed:
        watched.append(self.noted(agent))
        return missed(self, agent)

    monkeypatch.setattr(HomeCanaries, "missed", looked)
    assert home.run_job("merge")[0]["merged"] == 2
    assert watched == [True]


def test_nothing_is_asked_where_a_job_has_nothing_to_do(
    desk: Desk, home: app.Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.echo(line("The vault code is blue", 0.2, id="code"))
    upkeep.pin_memory(home, "sky", "code")
    monkeypatch.setattr(search, "recall", None)
    for job in ("compress", "merge", "prune"):
        assert home.run_job(job)[0]["ok"]
    assert home.run_job("prune", dry_run=True)[0]["ok"]
