"""Compress asks a summariser once, before the job lock, and not at all when it only plans (X7)."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem.errors import StalePlanError
from skymem.jobs import runner
from skymem.jobs.plan_file import load_plans, save_plans
from skymem.jobs.summary import summary
from skymem.jobs.workplace import Workplace
from skymem.model.plan import Plan
from skymem.model.records import record_of, sections
from skymem.model.rules import CompressRules
from skymem.stores.lock import holder_of
from tests.conftest import START, Desk, line
from tests.jobs.chatting import Handler, Server, given, rules, server

__all__ = ["server"]

DAY = 86_400.0
TEA = "Hello there. The user prefers tea, and mornings are quiet."
SHORT = "The user prefers tea."
BIKE = "The user rides a bike."
SECRET = "The safe's code is 0000."


def tea(text: str = TEA) -> bytes:
    return line(text, kind="preference", id="tea")


def bike(ts: float = START) -> bytes:
    return line(BIKE, kind="preference", ts=ts, id="bike")


@pytest.fixture
def week(desk: Desk, server: Server) -> Desk:
    """A week-old note, and a model that says half of it."""
    return answering(desk, server, lambda: None)


def answering(desk: Desk, server: Server, meanwhile: Callable[[], object], **more: Any) -> Desk:
    """Set up a model before whose answer something happens."""

    def answer(request: Handler, body: dict[str, Any]) -> None:
        del body
        meanwhile()
        request.state(given(SHORT, "The user prefers tea, and mornings are quiet."))

    server.answer = answer
    desk.rules = desk.rules._replace(compress=CompressRules(summarizer=rules(server), **more))
    desk.echo(tea())
    desk.clock = START + 7 * DAY
    return desk


def said(desk: Desk) -> list[str]:
    """What the newest profile says."""
    profile = [memory for memory in desk.memories("long") if memory.record_type][-1]
    return [one.text for _, found in sections(record_of(profile)) for one in found]


def test_other_jobs_of_the_agent_run_while_the_model_thinks(desk: Desk, server: Server) -> None:
    done: list[dict[str, Any]] = []
    holders: list[str] = []

    def another() -> None:
        holders.append(holder_of(desk.paths.job_lock("sky")))
        done.append(runner.run(desk.work(), "promote", ["sky"])[0])

    answering(desk, server, another)
    desk.echo(line("Remember this.", 0.9, ts=START + 7 * DAY))
    detail = desk.run("compress")

    assert holders == [""]
    assert [(one["ok"], one["promoted"]) for one in done] == [(True, 1)]
    assert detail["ok"]
    assert said(desk) == [SHORT]
    assert "unasked" not in detail


def rewrite(desk: Desk, *lines: bytes) -> None:
    desk.short_term.write_bytes(b"".join(lines))


def test_a_source_that_was_edited_meanwhile_is_quoted_as_it_is_now(
    desk: Desk, server: Server
) -> None:
    now = "Hello there. The user prefers tea, and mornings are quiet. No: it is coffee."
    answering(desk, server, lambda: rewrite(desk, tea(now)))
    detail = desk.run("compress")

    assert len(server.requests) == 1
    assert said(desk) == [now]
    assert detail["unasked"] == 1
    assert "the summarizer was not asked about 1" in summary(detail)


def test_a_source_that_is_gone_meanwhile_is_not_quoted(desk: Desk, server: Server) -> None:
    answering(desk, server, lambda: rewrite(desk, bike()))
    detail = desk.run("compress")

    assert len(server.requests) == 1
    assert said(desk) == [BIKE]
    assert detail["unasked"] == 1


def test_what_came_meanwhile_is_quoted_and_the_answer_still_used(
    desk: Desk, server: Server
) -> None:
    answering(desk, server, lambda: desk.echo(bike(START + 60)))
    detail = desk.run("compress")

    assert len(server.requests) == 1
    assert said(desk) == [SHORT, BIKE]
    assert detail["unasked"] == 1


def test_what_was_withheld_is_counted_under_the_lock(week: Desk, server: Server) -> None:
    server.answer = lambda request, _: request.state(
        given("The user prefers 5 teas.", "The user prefers tea"), given(SHORT, "no such words")
    )
    detail = week.run("compress")

    assert said(week) == [TEA]
    assert detail["withheld"] == {"uncited": 1, "number": 1, "wording": 1}


def test_a_later_round_asks_nobody_under_the_lock_and_says_so(desk: Desk, server: Server) -> None:
    answering(desk, server, lambda: None, items_max=1)
    desk.echo(bike(START + 60))
    detail = desk.run("compress")

    assert len(server.requests) == 1
    assert said(desk) == [SHORT, BIKE]
    assert detail["unasked"] == 1


def test_a_file_that_is_damaged_does_not_keep_the_model_from_being_asked(
    week: Desk, server: Server
) -> None:
    week.echo(b"damage\n")
    week.delete_catalog()
    detail = week.run("compress")

    assert (detail["ok"], detail["quarantined"], len(server.requests)) == (True, 1, 1)
    assert said(week) == [SHORT]


def test_a_signal_while_the_model_thinks_ends_the_run_and_nothing_was_moved(
    desk: Desk, server: Server
) -> None:
    over = threading.Event()
    answering(desk, server, lambda: over.wait(60))
    before = desk.raw("short")
    work = desk.work()
    work.stop = lambda: "SIGTERM" if server.requests else ""
    _, (outcome,) = runner.run(work, "compress", ["sky"])
    over.set()

    assert outcome.exit_code == 130
    assert desk.raw("short") == before


def test_a_dry_run_sends_nothing_and_says_that_the_run_would(week: Desk, server: Server) -> None:
    week.echo(bike(), line(SECRET, kind="fact", sensitivity="sensitive", id="safe"))
    detail = week.run("compress", dry_run=True)

    assert server.requests == []
    assert detail["unasked"] == 2
    assert detail["degraded"] == []
    assert "the summarizer would be asked about 2" in summary(detail)
    assert week.run("compress")["compressed"] == detail["compressed"] == 3
    assert len(server.requests) == 1


def test_a_dry_run_without_a_summariser_says_nothing_of_one(desk: Desk) -> None:
    desk.echo(tea())
    desk.clock = START + 7 * DAY
    detail = desk.run("compress", dry_run=True)

    assert "unasked" not in detail
    assert "summarizer" not in summary(detail)


def test_a_dry_run_tells_that_the_key_is_missing(week: Desk, server: Server) -> None:
    keyed = rules(server, key_env="MY_KEY")
    week.rules = week.rules._replace(compress=CompressRules(summarizer=keyed))
    detail = week.run("compress", dry_run=True)

    assert detail["degraded"] == ["summarizer: the environment variable MY_KEY is not set"]
    assert "unasked" not in detail


def saved(desk: Desk) -> tuple[Path, dict[tuple[str, str], Plan]]:
    path = desk.paths.root / "plan.json"
    _, outcomes = desk.run_with_outcomes("compress", dry_run=True)
    save_plans(path, outcomes, "compress", 0.0, home=desk.paths)
    return path, load_plans(path)[1]


def test_a_saved_plan_asks_when_it_is_applied_and_once(week: Desk, server: Server) -> None:
    path, plans = saved(week)
    assert server.requests == []
    assert b"tea," not in path.read_bytes()
    detail = week.run("compress", plans=plans)
    (plan,) = plans.values()

    assert len(server.requests) == 1
    assert said(week) == [SHORT]
    assert "unasked" not in detail
    decided = [one[:3] for entry in week.ledger() for one in entry.get("decided", [])]
    assert decided == [[one.action, one.id, one.reason.gate] for one in plan.decisions]


def test_a_plan_that_no_longer_fits_is_refused_before_anything_is_sent(
    week: Desk, server: Server
) -> None:
    _, plans = saved(week)
    week.echo(bike())
    with pytest.raises(StalePlanError, match="short-term of sky has changed"):
        week.run("compress", plans=plans)
    assert server.requests == []


def test_a_plan_that_more_is_due_for_by_now_is_refused_before_anything_is_sent(
    week: Desk, server: Server
) -> None:
    week.echo(bike(week.clock))
    _, plans = saved(week)
    week.clock += 7 * DAY
    with pytest.raises(StalePlanError, match="what of sky is due has changed"):
        week.run("compress", plans=plans)
    assert server.requests == []


def test_a_plan_is_rehearsed_without_asking(week: Desk, server: Server) -> None:
    _, plans = saved(week)
    detail = runner.run(week.work(), "compress", ["sky"], plans=plans, dry_run=True)[0]

    assert (detail["unasked"], server.requests) == (1, [])


def test_what_is_appended_while_the_model_thinks_changes_no_plan(
    desk: Desk, server: Server
) -> None:
    answering(desk, server, lambda: desk.echo(bike(desk.clock)))
    _, plans = saved(desk)
    detail = desk.run("compress", plans=plans)

    assert (detail["ok"], len(server.requests)) == (True, 1)
    assert said(desk) == [SHORT]
    assert desk.contents("short") == [BIKE]


def test_where_one_source_goes_while_the_model_thinks_no_agents_plan_is_applied(
    desk: Desk, server: Server
) -> None:
    answering(desk, server, lambda: rewrite(desk, bike()))
    hobbs = desk.paths.agent("hobbs")
    hobbs.directory.mkdir()
    hobbs.short_term.write_bytes(line("Lives in Oslo.", kind="fact"))
    _, outcomes = runner.run(desk.work(), "compress", ["hobbs", "sky"], dry_run=True)
    plans = {(plan.job, plan.agent): plan for one in outcomes for plan in one.plans}
    with pytest.raises(StalePlanError, match="short-term of sky has changed"):
        runner.run(desk.work(), "compress", ["hobbs", "sky"], plans=plans)

    assert len(server.requests) == 2
    assert desk.contents("short") == [BIKE]
    assert not hobbs.long_term.exists()
    assert b"Oslo" in hobbs.short_term.read_bytes()


MARKED = [
    line(SECRET, kind="fact", sensitivity="sensitive"),
    line(SECRET, kind="fact", metadata={"sensitivity": "sensitive"}),
    line(SECRET, kind="fact", sensitivity="SECRET"),
    line(SECRET, kind="fact", sensitivity=True),
    line(SECRET, kind="fact", sensitivity=["pii"]),
    line(SECRET, kind="fact", tags=["project:apollo"], sensitivity="sensitive"),
    json.dumps(
        {
            "timestamp": "2023-11-10T08:00:00Z",
            "content": SECRET,
            "metadata": {"type": "fact", "sensitivity": "sensitive"},
        }
    ).encode()
    + b"\n",
]


@pytest.mark.parametrize("marked", MARKED)
def test_what_is_marked_is_quoted_here_and_never_sent(
    week: Desk, server: Server, marked: bytes
) -> None:
    week.echo(marked)
    detail = week.run("compress")
    records = [memory for memory in week.memories("long") if memory.record_type]

    assert (detail["ok"], detail["compressed"]) == (True, 2)
    assert [json.loads(one["messages"][1]["content"])["sources"] for one in server.requests] == [
        [{"id": "s1", "note": TEA}]
    ]
    assert {one.sensitivity for one in records if SECRET in one.content} == {"sensitive"}
    assert {one.sensitivity for one in records if SECRET not in one.content} == {None}


def test_what_is_marked_normal_is_sent_as_what_is_not_marked(week: Desk, server: Server) -> None:
    week.echo(line("Plain.", kind="preference", sensitivity="normal"))
    week.run("compress")
    (request,) = server.requests

    assert "Plain." in request["messages"][1]["content"]


def test_agents_share_one_budget_over_all_their_lists(desk: Desk, server: Server) -> None:
    for agent in ("hobbs", "sky"):
        desk.agent = agent
        desk.shelf().ensure()
        desk.echo(
            line(f"Prefers tea of {agent}.", kind="preference"),
            line(f"Lives with {agent}.", kind="fact"),
            line(f"Ship {agent}.", kind="project", tags=["project:apollo"]),
        )
    desk.clock = START + 7 * DAY
    desk.rules = desk.rules._replace(
        compress=CompressRules(summarizer=rules(server, tokens_max=1000))
    )
    server.answer = lambda request, _: request.state(usage={"completion_tokens": 300})
    work: Workplace = desk.work()
    detail = runner.run(work, "compress", ["hobbs", "sky"])[0]

    assert [request["max_tokens"] for request in server.requests] == [1000, 700, 400, 100]
    assert detail["compressed"] == 6
    assert detail["degraded"] == ["summarizer: the budget of 1000 tokens is used up"]
