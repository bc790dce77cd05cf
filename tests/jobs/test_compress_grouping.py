"""Statements stand together by meaning where the engine tells it, and it is waited for unlocked."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from skymem.engine.client import Engine
from skymem.errors import EngineUnavailableError, InterruptedRunError
from skymem.jobs import grouping, runner
from skymem.jobs.rehearse import foresee
from skymem.jobs.table import JOBS
from skymem.model.records import record_of, sections
from skymem.model.rules import CompressRules
from skymem.stores.files import Files
from skymem.stores.lock import holder_of
from tests.conftest import START, Desk, line
from tests.engine.processes import STAND_IN, EngineHome
from tests.jobs.chatting import Server, rules, server
from tests.jobs.indexing import Indexer, indexer

__all__ = ["indexer", "server"]

DAY = 86_400.0
TEA = "Tea one two three four five six seven eight nine."
NAPS = "Naps are quite another matter, says the user of them."
LIKE_TEA = "Tea one two three four five user wants it hot."
BY_WORDS_INSTEAD = "compress: like statements were put together by their words"
BY_MEANING = [TEA, LIKE_TEA, NAPS]
BY_WORDS = [TEA, NAPS, LIKE_TEA]


@pytest.fixture
def home(desk: Desk) -> Iterator[EngineHome]:
    """The desk's home, with the stand-in for an engine."""
    made = EngineHome(desk.paths)
    yield made
    made.end()


def put(desk: Desk, *contents: str, agent: str = "sky", ts: float = START) -> None:
    desk.agent = agent
    desk.shelf().ensure()
    desk.echo(*(line(each, kind="fact", ts=ts + n) for n, each in enumerate(contents)))
    desk.clock = START + 7 * DAY
    desk.rules = desk.rules._replace(compress=CompressRules(likeness=0.5))


def facts(desk: Desk, agent: str = "sky") -> list[str]:
    desk.agent = agent
    (found,) = [each for each in desk.memories("long") if each.record_type][-1:]
    return [one.text for name, said in sections(record_of(found)) for one in said]


def compress(indexer: Indexer, *agents: str, **more: Any) -> dict[str, Any]:
    indexer.desk.clock += 1
    return runner.run(indexer.work(), "compress", agents or ("sky",), **more)[0]


def test_what_is_alike_by_meaning_stands_together(indexer: Indexer) -> None:
    put(indexer.desk, *BY_WORDS)
    detail = compress(indexer)

    assert detail["ok"]
    assert facts(indexer.desk) == BY_MEANING
    assert detail["degraded"] == []


def test_the_engine_is_asked_once_and_before_the_lock(indexer: Indexer) -> None:
    lock = indexer.desk.paths.job_lock("sky")
    holders: list[str] = []
    indexer.engine.before_alike = lambda: holders.append(holder_of(lock))
    put(indexer.desk, *BY_WORDS)
    assert facts_of_run(indexer) == BY_MEANING

    assert holders == [""]


def facts_of_run(indexer: Indexer) -> list[str]:
    assert compress(indexer)["ok"]
    return facts(indexer.desk)


def test_what_comes_in_between_is_asked_for_within_the_same_time(indexer: Indexer) -> None:
    put(indexer.desk, *BY_WORDS)
    late = [line("Tea one two three four five and it is late.", kind="fact", ts=START + 9)]
    indexer.engine.before_alike = lambda: indexer.desk.echo(*(late.pop() for _ in late[:]))
    found = facts_of_run(indexer)

    assert [len(texts) for texts in indexer.engine.compared] == [3, 4]
    assert found == [TEA, LIKE_TEA, "Tea one two three four five and it is late.", NAPS]


def test_a_second_agent_is_asked_about_too(indexer: Indexer) -> None:
    put(indexer.desk, *BY_WORDS, agent="sky")
    put(indexer.desk, *BY_WORDS, agent="hobbs")
    assert compress(indexer, "sky", "hobbs")["ok"]

    assert facts(indexer.desk, "hobbs") == facts(indexer.desk, "sky") == BY_MEANING


def test_without_the_engine_words_group_and_it_is_said_and_tried_once(indexer: Indexer) -> None:
    put(indexer.desk, *BY_WORDS, agent="hobbs")
    put(indexer.desk, *BY_WORDS, agent="sky")
    indexer.engine.refuses = dict.fromkeys(("sky", "hobbs"), EngineUnavailableError("it is away"))
    detail = compress(indexer, "sky", "hobbs")
    told = [reason for reason in detail["degraded"] if reason.startswith("compress:")]

    assert detail["ok"]
    assert facts(indexer.desk, "hobbs") == facts(indexer.desk, "sky") == BY_WORDS
    assert len(indexer.engine.compared) == 1
    assert told == [
        f"{BY_WORDS_INSTEAD}: the engine is not available: it is away",
    ]


def test_who_wants_no_engine_is_not_told_that_it_is_away(desk: Desk) -> None:
    put(desk, *BY_WORDS)
    detail = desk.run("compress")

    assert detail["ok"]
    assert detail["degraded"] == []
    assert facts(desk) == BY_WORDS


def test_a_dry_run_plans_as_the_run_does_and_locks_nothing(indexer: Indexer) -> None:
    put(indexer.desk, *BY_WORDS)
    before = indexer.desk.raw("short")
    detail = compress(indexer, dry_run=True)

    assert detail["ok"]
    assert len(indexer.engine.compared) == 1
    assert indexer.desk.raw("short") == before


def test_where_nothing_is_to_be_grouped_the_engine_is_not_started(indexer: Indexer) -> None:
    put(indexer.desk, TEA, LIKE_TEA)
    work = indexer.work()
    started: list[int] = []
    engine = work.engine
    assert engine is not None

    def start() -> Any:
        started.append(1)
        return engine()

    work.engine = start
    with work.catalog() as catalog:
        foresee(work, catalog, "sky", {"compress": JOBS["compress"]})

    assert started == []
    assert work.grouping is not None


def test_a_signal_while_waiting_stops_the_run_before_anything_is_moved(indexer: Indexer) -> None:
    put(indexer.desk, *BY_WORDS)
    indexer.engine.refuses["sky"] = InterruptedRunError("SIGTERM")
    _, (outcome,) = runner.run(indexer.work(), "compress", ["sky"])

    assert outcome.exit_code == 130
    assert len(indexer.desk.raw("short")) == 3


@pytest.mark.parametrize("how", [{"open_seconds": 60.0}, {"no_model": True}])
def test_an_engine_that_does_not_come_up_costs_the_run_some_seconds_at_most(
    desk: Desk, home: EngineHome, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    monkeypatch.setattr(grouping, "WAIT_SECONDS", 1.5)
    home.say(**how)
    put(desk, *BY_WORDS)
    work = desk.work()
    engine = Engine(home.paths, Files(), home.rules, command=STAND_IN)
    work.engine = lambda: engine
    begun = time.monotonic()
    detail = runner.run(work, "compress", ["sky"], dry_run=True)[0]  # no index after it
    waited = time.monotonic() - begun
    engine.close()

    assert detail["ok"]
    assert waited < 30.0  # of 60
    assert home.lines("started.txt") != []  # the fault
    assert [reason.startswith(BY_WORDS_INSTEAD) for reason in work.degraded] == [True]


def test_deadline_and_budget_of_the_summariser_are_for_the_whole_run(
    desk: Desk, server: Server
) -> None:
    put(desk, *BY_WORDS, agent="hobbs", ts=START + 60)
    put(desk, *BY_WORDS, agent="sky")
    server.answer = lambda request, _: request.state(usage={"completion_tokens": 99})
    costly = rules(server, tokens_max=100)
    desk.rules = desk.rules._replace(compress=CompressRules(summarizer=costly))
    detail = runner.run(desk.work(), "compress", ["sky", "hobbs"])[0]

    assert len(server.requests) == 1
    assert detail["degraded"] == ["summarizer: the budget of 100 tokens is used up"]
    assert facts(desk, "hobbs") == facts(desk, "sky") == BY_WORDS
