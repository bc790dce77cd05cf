"""Promotion by age, tags and recall, as real jobs do it; and `explain` says it as they decide."""

from typing import Any

import pytest

from skymem import app
from skymem.erasure import erase_memories
from skymem.explain import explain
from skymem.jobs.workplace import Workplace
from skymem.model.promotion import DecayRules, PromotionRules, RecalledRules
from skymem.model.rules import AgentRules, RetentionRules
from skymem.policy.clock import Seen
from skymem.policy.prospects import Gate
from skymem.prompting import context
from skymem.recall.request import ask
from skymem.recalling import recall_and_note
from skymem.stores.home_key import HomeKey
from skymem.stores.recall_events import events_of
from skymem.upkeep import undo_run
from tests.conftest import START, Desk, line

DAY = 86_400.0


@pytest.fixture
def home(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> app.Home:
    monkeypatch.setattr(app, "now", lambda: desk.clock)
    app.init_home(desk.paths.root)
    HomeKey.of(desk.paths, desk.files)  # as the first run leaves it
    return app.open_home(str(desk.paths.root))


def rules(**own: Any) -> RetentionRules:
    return RetentionRules(AgentRules(promotion=PromotionRules(**own)))


def asked(home: app.Home, *queries: str) -> None:
    for query in queries:
        recall_and_note(home, "sky", ask(query, 5, "deterministic"))


def gates(home: app.Home, name: str) -> dict[str, Gate]:
    return {gate.gate: gate for gate in explain(home, "sky", name).gates}


def test_a_memory_is_promoted_at_the_moment_that_explain_told(home: app.Home, desk: Desk) -> None:
    home.rules = desk.rules = rules(decay=DecayRules(0.01, 0.5))
    desk.echo(line("so so", 0.62, ts=START, id="soso"), line("poor", 0.4, ts=START, id="poor"))
    desk.clock = START + 3 * DAY
    gate = gates(home, "soso")["importance"]
    assert (gate.value, gate.threshold, gate.open) == (0.62, 0.67, False)
    assert gate.note == "given; 0.7 less 3.0 days of decay"
    assert gate.opens_us is not None
    assert gate.opens_us / 1_000_000 == pytest.approx(START + 8 * DAY, abs=1)
    desk.clock = gate.opens_us / 1_000_000 - 3
    assert desk.run("promote")["promoted"] == 0
    desk.clock = gate.opens_us / 1_000_000
    assert desk.run("promote")["promoted"] == 1
    desk.clock += 9999 * DAY
    assert gates(home, "poor")["importance"].opens_us is None
    assert desk.run("promote")["skipped"] == {"importance": 1}


def test_an_agent_has_its_own_decay(desk: Desk) -> None:
    own = AgentRules(promotion=PromotionRules(DecayRules(0.1, 0.1)))
    desk.rules = RetentionRules(agents={"sky": own})
    desk.echo(line("old", 0.3, ts=START))
    desk.clock = START + 5 * DAY
    assert desk.run("promote")["promoted"] == 1


def test_a_clock_that_jumped_lets_nothing_decay(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.rules = rules(decay=DecayRules(0.01, 0.5))
    jumped = 0.0

    def seen() -> Seen:
        return Seen(desk.clock, "boot", desk.clock - START - jumped + 100)

    work_of = desk.work

    def work() -> Workplace:
        made = work_of()
        made.clock_seen = seen
        return made

    monkeypatch.setattr(desk, "work", work)
    desk.echo(*(line(f"so so {n}", 0.6, ts=START) for n in range(30)))
    assert desk.run("promote")["promoted"] == 0
    desk.clock, jumped = desk.clock + 300 * DAY, 300 * DAY
    detail = desk.run("promote")
    assert detail["promoted"] == 0
    assert any("do not decay" in one for one in detail["degraded"])
    desk.clock, jumped = desk.clock - 300 * DAY + 11 * DAY, 0.0
    assert desk.run("promote")["promoted"] == 30


def test_tags_and_kinds_go_before_the_score_and_never_goes_before_always(
    home: app.Home, desk: Desk
) -> None:
    home.rules = desk.rules = rules(
        always_tags=("user_goal",), never_tags=("draft",), never_kinds=("log",)
    )
    desk.echo(
        line("goal", 0.1, id="goal", tags=["User_Goal"]),
        line("draft", 0.9, id="draft", tags=["draft", "user_goal"]),
        line("log", 0.9, id="log", kind="log"),
        line("pinned", 0.9, id="pin", tags=["user_goal"], pinned=True),
    )
    found = gates(home, "goal")
    assert (found["always_tag"].open, found["importance"].open) == (True, False)
    assert explain(home, "sky", "goal").next()[0]["gate"] == "always_tag"
    assert gates(home, "draft")["importance"].kept == "never_tag"
    detail = desk.run("promote")
    assert detail["promoted"] == 1
    assert detail["skipped"] == {"never_tag": 1, "never_kind": 1, "pinned": 1}
    event = next(one for one in explain(home, "sky", "goal").history if one.what == "promote")
    assert event.reason is not None
    assert event.reason.gate == "always_tag"


def test_what_is_recalled_by_different_questions_is_promoted_before_its_score(
    home: app.Home, desk: Desk
) -> None:
    desk.echo(line("The router stands in the hall", 0.3, id="router"), line("else", 0.3))
    asked(home, *["where stands the router"] * 100)  # once for its day
    assert desk.run("promote")["promoted"] == 0
    desk.clock += DAY
    asked(home, "where stands the router")
    gate = gates(home, "router")["recalled"]
    assert (gate.value, gate.threshold, gate.open) == (2, 3, False)
    assert gate.note == "times; by 1 questions against 2"
    asked(home, "router hall")
    assert gates(home, "router")["recalled"].open
    assert desk.run("promote")["promoted"] == 1
    assert desk.contents("long") == ["The router stands in the hall"]


def test_recalls_of_long_ago_and_of_the_future_promote_nothing(home: app.Home, desk: Desk) -> None:
    desk.echo(line("The router stands in the hall", 0.3, id="router"))
    asked(home, "the router", "router hall", "hall router stands")
    desk.clock += 31 * DAY
    assert desk.run("promote")["promoted"] == 0
    desk.clock -= 32 * DAY
    assert desk.run("promote")["promoted"] == 0


def test_only_what_was_asked_for_and_answers_teaches(home: app.Home, desk: Desk) -> None:
    desk.echo(line("The router stands in the hall", 0.3, id="router"), line("blue", 0.3, id="b"))
    context(home, "sky", "where is the router")
    asked(home, "what colour has a bicycle")
    recall_and_note(home, "sky", ask("router hall", at_us=round(desk.clock * 1e6)))
    assert list(events_of(home.paths, "sky")) == []
    asked(home, "router hall")
    assert [one.id for one in events_of(home.paths, "sky")] == ["router"]
    home.rules = RetentionRules(recall_log=False)
    asked(home, "router")
    assert len(list(events_of(home.paths, "sky"))) == 1


def test_with_the_recall_log_off_or_times_0_recall_teaches_nothing(
    home: app.Home, desk: Desk
) -> None:
    desk.echo(line("The router stands in the hall", 0.3, id="router"))
    asked(home, "the router", "router hall", "hall router stands")
    for off in (RetentionRules(recall_log=False), rules(recalled=RecalledRules(times=0))):
        desk.rules = off
        assert desk.run("promote")["promoted"] == 0
    desk.rules = RetentionRules()
    assert desk.run("promote")["promoted"] == 1


def test_what_was_undone_is_not_promoted_by_another_gate(home: app.Home, desk: Desk) -> None:
    desk.echo(line("The router stands in the hall", 0.9, id="router", tags=["critical"]))
    (run,) = desk.run("promote")["agents"]["sky"]["runs"]
    undo_run(home, run, ["sky"])
    assert desk.contents("long") == []
    home.rules = desk.rules = rules(always_tags=("critical",))
    asked(home, "the router", "router hall", "hall router stands")
    assert desk.run("promote")["promoted"] == 0


def test_an_erasure_takes_the_questions_that_found_it_too(home: app.Home, desk: Desk) -> None:
    desk.echo(line("The router stands in the hall", 0.3, id="router"))
    asked(home, "the router", "router hall")
    erase_memories(home, "sky", ["router"])
    assert list(events_of(home.paths, "sky")) == []
