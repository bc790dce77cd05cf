"""A flow becomes a playbook once the user was satisfied, and is found and written down once."""

import json
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem.agent import AgentMemory
from skymem.app import open_home
from skymem.errors import InvalidMemoryError, UsageError
from skymem.jobs import runner
from skymem.jobs.forget import Wanted, forget
from skymem.model.playbook import Flow
from skymem.working.playbooks import Playbooks
from tests.working.preferring import DAY, NOW, Clock, clock, home, lines, memory, run

__all__ = ["clock", "home", "memory"]

QUERY = "show revenue by region for May"
CALLS: list[dict[str, Any]] = [
    {"tool_id": "sql", "args": {"text": "select 1 -- é漢😀 \ud800", "limit": 10**30, "x": 1e-7}},
    {"tool_id": "chart", "args": [None, True, {"deep": [[], {}, ""]}]},
]


def flow(query: str = QUERY, name: str = "report", **more: Any) -> Flow:
    given: dict[str, Any] = {"tool_calls": CALLS, "outcome": "A chart of May", **more}
    return Flow(name, user_query=query, **given)


def again(home: Path) -> Playbooks:
    """As a process that was started anew sees them."""
    return Playbooks(open_home(str(home)), "sky")


def add(memory: AgentMemory, query: str = QUERY, name: str = "report", **more: Any) -> Any:
    given: dict[str, Any] = {"tool_calls": CALLS, "outcome": "A chart of May", **more}
    return memory.playbooks.add(name, user_query=query, **given)


# -- kept -------------------------------------------------------------------------------------


def test_what_the_user_said_was_right_is_kept_exactly(memory: AgentMemory, home: Path) -> None:
    slots = {"region": "eu", "months": [5, 6.0], "nothing": None}
    made = add(memory, slots=slots, user_id="ann")
    run(home, "promote")
    (found,) = again(home).all()

    assert found.id == made.id
    assert (found.tier, found.user_id, found.count) == ("long", "ann", 1)
    assert found.flow == flow(slots=slots)
    assert json.dumps(found.flow.tool_calls) == json.dumps(CALLS)
    (line,) = lines(home)
    assert (line["content"], line["record_type"]) == (QUERY, "playbook")


def test_nothing_is_kept_before_the_user_went_on(memory: AgentMemory, home: Path) -> None:
    done = memory.playbooks.complete(flow(), session="c1", user_id="ann")

    assert (done.state, done.playbook) == ("waiting", None)
    assert memory.playbooks.all() == []
    assert memory.playbooks.find(QUERY) == []
    assert memory.playbooks.waiting(session="c1") == [flow()]
    assert again(home).continued(session="c2") == []
    (made,) = again(home).continued(session="c1")
    assert (made.flow, made.user_id) == (flow(), "ann")
    assert memory.playbooks.all() == [made]
    assert memory.playbooks.waiting(session="c1") == []
    assert memory.playbooks.continued(session="c1") == []


def test_what_was_corrected_is_dropped(memory: AgentMemory, home: Path) -> None:
    done = memory.playbooks.complete(flow())

    assert again(home).corrected() == [done.id]
    assert memory.playbooks.continued() == []
    assert memory.playbooks.corrected() == []
    assert memory.playbooks.all() == []
    assert memory.playbooks.complete(flow(), satisfied=False).id == ""
    assert memory.playbooks.waiting() == []


def test_what_waits_too_long_is_given_up(memory: AgentMemory, home: Path, clock: Clock) -> None:
    memory.playbooks.complete(flow())
    clock.now += DAY - 10
    assert memory.playbooks.waiting() == [flow()]
    clock.now += 10

    assert memory.playbooks.waiting() == []
    assert memory.playbooks.continued() == []
    run(home, "prune")
    assert lines(home) == []


def test_a_playbook_that_is_forgotten_does_not_come_back(memory: AgentMemory, home: Path) -> None:
    memory.playbooks.complete(flow())
    (made,) = memory.playbooks.continued()
    work = open_home(str(home)).workplace()
    runner.run(work, "forget", ["sky"], table={"forget": forget(Wanted([made.id]))})

    assert memory.playbooks.all() == memory.playbooks.continued() == []


def test_an_equal_one_counts_one_more(memory: AgentMemory, home: Path) -> None:
    first = add(memory)
    second = add(memory, f"  {QUERY.upper()}!", outcome="A better chart")
    memory.playbooks.complete(flow())
    memory.playbooks.complete(flow())
    made = memory.playbooks.continued()
    others = [add(memory, user_id="ann"), add(memory, slots={"a": 1}), add(memory, "weather")]

    assert (first.count, second.count) == (1, 2)
    assert [one.count for one in made] == [3, 4]
    assert [one.count for one in others] == [1, 1, 1]
    found = again(home).all()
    assert [one.count for one in found] == [1, 1, 1, 4]
    run(home, "promote", "rotate", "prune", "compress", "merge")
    assert [one.id for one in again(home).all()] == [one.id for one in found]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"tool_calls": []}, 'field "tool_calls": not a list of calls'),
        ({"tool_calls": "sql"}, 'field "tool_calls": not a list of calls'),
        ({"tool_calls": {"tool_id": "sql"}}, 'field "tool_calls": not a list of calls'),
        ({"tool_calls": [{}, "sql"]}, 'field "tool_calls[1]": not an object'),
        ({"tool_calls": [{"a": [{1}]}]}, 'field "tool_calls[0].a[0]": a set is no JSON'),
        ({"tool_calls": [{"a": {1: 2}}]}, 'field "tool_calls[0].a": the name 1 is no text'),
        ({"tool_calls": [{"a": float("nan")}]}, 'field "tool_calls[0].a": nan is no number'),
        ({"tool_calls": [{"a": b"x"}]}, "a bytes is no JSON"),
        ({"slots": ["eu"]}, 'field "slots": not an object'),
        ({"slots": {"when": object()}}, 'field "slots.when": a object is no JSON'),
        ({"outcome": " "}, 'field "outcome": no text'),
        ({"user_query": None}, 'field "user_query": no text'),
        ({"flow_dact": ""}, 'field "flow_dact"'),
        ({"flow_dact": "a\nb"}, 'field "flow_dact"'),
        ({"tool_calls": [{"a": 10**5000}]}, "4300 digits"),
        ({"tool_calls": [{"a": "x" * 1_100_000}]}, "longer than 1048576 bytes; set line_max"),
    ],
)
def test_what_can_t_be_kept_is_refused_by_its_field(
    memory: AgentMemory, home: Path, given: dict[str, Any], fault: str
) -> None:
    whole: dict[str, Any] = {
        "flow_dact": "report",
        "user_query": QUERY,
        "tool_calls": CALLS,
        "outcome": "done",
    }
    with pytest.raises(InvalidMemoryError) as caught:
        memory.playbooks.add(**{**whole, **given})

    assert fault in str(caught.value)
    assert lines(home) == []


def test_what_is_nested_too_deep_is_refused(memory: AgentMemory) -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(InvalidMemoryError, match="nested more than 64 deep"):
        add(memory, tool_calls=[{"a": deep}])


def test_odd_lines_of_others_are_passed_over(memory: AgentMemory, home: Path) -> None:
    add(memory)
    with (home / "memory/sky/short_term.jsonl").open("a") as stream:
        for kind, payload in (("playbook", {"count": 3}), ("flow", {"state": "waiting"})):
            line = {"ts": NOW, "content": "c", "record_type": kind, "payload": payload}
            stream.write(json.dumps({**line, "session": "default"}) + "\n")

    assert len(memory.playbooks.all()) == 1
    assert memory.playbooks.continued() == []


# -- found ------------------------------------------------------------------------------------


def test_it_is_found_by_the_flow_s_id(memory: AgentMemory) -> None:
    add(memory)
    brief = add(memory, "a brief of June", "brief")
    (hit,) = memory.playbooks.find("anything at all", flow="brief")

    assert (hit.playbook, hit.by, hit.score) == (brief, "flow", 1.0)
    assert memory.playbooks.find(flow="nothing") == []


def test_of_a_flow_s_own_the_nearest_is_first(memory: AgentMemory) -> None:
    near = add(memory)
    far = add(memory, "costs of travel")
    hits = memory.playbooks.find("revenue by region", flow="report", limit=5)

    assert [(one.playbook.id, one.by) for one in hits] == [(near.id, "flow"), (far.id, "flow")]
    assert hits[0].score > hits[1].score


def test_without_one_of_the_flow_likeness_decides_above_its_threshold(
    memory: AgentMemory,
) -> None:
    made = add(memory)
    hits = memory.playbooks.find("revenue by region in June", flow="unknown")

    assert [(one.playbook.id, one.by) for one in hits] == [(made.id, "likeness")]
    assert (hits.mode, len(hits.degraded)) == ("words", 1)
    assert memory.playbooks.find("region of brains") == []
    assert memory.playbooks.find("weather tomorrow") == []


def test_the_threshold_is_the_rules(memory: AgentMemory, home: Path) -> None:
    add(memory)
    (home / "retention_rules.yaml").write_text("playbooks: {words: 0.9}\n")

    assert again(home).find("revenue by region in June") == []
    assert len(again(home).find(QUERY)) == 1


def test_another_user_s_is_not_found(memory: AgentMemory) -> None:
    add(memory, user_id="ann")
    everybody_s = add(memory, outcome="for all")

    assert memory.playbooks.find(QUERY)[0].playbook == everybody_s
    assert memory.playbooks.find(QUERY, user_id="bob")[0].playbook == everybody_s
    assert memory.playbooks.find(QUERY, user_id="ann")[0].playbook.user_id == "ann"
    assert {one.user_id for one in memory.playbooks.all(user_id="bob")} == {None}


def test_the_best_is_written_to_the_scratchpad_once(memory: AgentMemory, home: Path) -> None:
    made = add(memory, slots={"region": "eu"})
    first = memory.playbooks.find(QUERY, session="c1")
    second = again(home).find(flow="report", session="c1")
    add(memory, slots={"region": "eu"})  # it went well again
    third = memory.playbooks.find(QUERY, session="c1")
    elsewhere = memory.playbooks.find(QUERY, session="c2")

    (snippet,) = memory.scratchpad.of("c1").read()
    assert first.snippet_id == snippet.id
    assert second.snippet_id == third.snippet_id == ""
    assert elsewhere.snippet_id == memory.scratchpad.of("c2").read()[0].id
    assert snippet.text.splitlines()[0] == f"Playbook report, which went well for: {QUERY}"
    assert "Slots: region = eu" in snippet.text
    assert '2. {"tool_id": "chart"' in snippet.text
    assert snippet.text.endswith("Outcome: A chart of May")
    (line,) = [one for one in lines(home) if one.get("session") == "c1"]
    assert line["evidence_ids"] == [made.id]


def test_a_long_one_is_written_down_as_far_as_there_is_room(memory: AgentMemory) -> None:
    calls = [{"tool_id": f"t{n}", "text": "é" * 1000} for n in range(30)]
    add(memory, "why " * 500, tool_calls=calls, outcome="so " * 500, slots={"x": "y" * 999})
    memory.playbooks.find(flow="report")

    (snippet,) = memory.scratchpad.read()
    assert len(snippet.text) <= 2000
    assert '\n1. {"tool_id": "t0"' in snippet.text
    assert "more calls, which the playbook has\nOutcome: so so" in snippet.text


def test_it_is_not_written_down_when_that_is_not_wanted(memory: AgentMemory) -> None:
    add(memory)
    assert memory.playbooks.find(QUERY, to_scratchpad=False).snippet_id == ""
    assert memory.scratchpad.read() == []


@pytest.mark.parametrize("query", ["", " \n"])
def test_asking_for_nothing_is_refused(memory: AgentMemory, query: str) -> None:
    with pytest.raises(InvalidMemoryError, match="say what is asked"):
        memory.playbooks.find(query)
    with pytest.raises(UsageError):
        memory.playbooks.find("x", limit=0)


def test_agents_playbooks_stay_apart(memory: AgentMemory, home: Path) -> None:
    add(memory)
    assert skymem.open_memory("hobbs", home=str(home)).playbooks.all() == []


def test_a_secret_is_taken_out_of_a_call_and_equal_ones_stay_equal(
    memory: AgentMemory, home: Path
) -> None:
    secret = "AKIA" + "IOSFODNN7QWERTYA"
    calls = [{"tool_id": "push", "args": {"how": f"with {secret} please"}}]
    first, second = add(memory, tool_calls=calls), add(memory, tool_calls=calls)
    memory.playbooks.complete(flow(tool_calls=calls))
    (third,) = memory.playbooks.continued()

    assert [one.count for one in (first, second, third)] == [1, 2, 3]
    assert "[redacted:" in third.flow.tool_calls[0]["args"]["how"]
    assert secret not in (home / "memory/sky/short_term.jsonl").read_text()


def test_an_untrusted_one_is_not_followed(memory: AgentMemory, home: Path) -> None:
    add(memory)
    (line,) = lines(home)
    odd = {**line, "origin": "document", "ts": line["ts"] + 9, "user_id": "ann"}
    with (home / "memory/sky/short_term.jsonl").open("a") as stream:
        stream.write(json.dumps(odd) + "\n")

    found = memory.playbooks.find(QUERY, user_id="ann", limit=5)
    assert [one.playbook.user_id for one in found] == [None]
