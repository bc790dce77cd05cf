"""A conversation summed up, stored under its session, and rolled on (row W11)."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skymem.agent import AgentMemory, open_memory
from skymem.app import init_home, open_home
from skymem.errors import DiskError, InvalidMemoryError
from skymem.model.strict_json import parse_object
from skymem.working.conversation import Conversations
from tests.faults.faulty import DyingFiles, FullFiles, PowerCut

RULES = "conversation: {after_turns: 4, after_chars: 400, summary_chars: 300}\n"
TURNS: list[dict[str, Any]] = [
    {"role": "user", "content": "We decided to ship Apollo on 3 May.", "ts": 1_790_000_000},
    {"role": "assistant", "content": "Noted. I will tell Ann.", "ts": 1_790_000_001},
    {"role": "tool", "content": "rows 12", "ts": 1_790_000_002, "id": "call-7"},
    {"role": "user", "content": [{"type": "text", "text": "Thanks!"}], "ts": 1_790_000_003.5},
]
MORE: list[dict[str, Any]] = [
    {"role": "user", "content": "The budget is 900 euros."},
    {"role": "assistant", "content": None},
    {"role": "assistant", "content": "Shall I book Lisbon?"},
    {"role": "user", "content": "yes"},
]


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    init_home(tmp_path / "home")
    (tmp_path / "home/retention_rules.yaml").write_text(RULES)
    return open_memory("sky", home=str(tmp_path / "home"))


def lines(memory: AgentMemory) -> list[dict[str, Any]]:
    path = memory._home.paths.agent("sky").short_term
    raw = path.read_bytes().split(b"\n") if path.exists() else []
    return [parse_object(one) for one in raw if one]


def test_too_short_a_conversation_is_left_alone_and_told_why(memory: AgentMemory) -> None:
    done = memory.conversation.summarize(TURNS[:2], session="s1", store=True)
    assert (done.new, done.id, done.text, done.written) == (False, None, "", False)
    assert done.reason == "2 new turns of 4, 58 characters of 400"
    assert lines(memory) == []
    assert memory.conversation.summarize(TURNS[:2], force=True).new
    assert memory.conversation.summarize([], force=True).reason == "nothing was said"


def test_a_summary_is_given_back_to_be_stored_and_says_what_it_stands_for(
    memory: AgentMemory,
) -> None:
    done = memory.conversation.summarize(TURNS)
    assert done.text == (
        "Conversation so far, 4 turns:\n"
        "- user: We decided to ship Apollo on 3 May.\n"
        "- assistant: I will tell Ann.\n"
        "- tool: rows 12"
    )
    assert lines(memory) == []
    assert done.line is not None
    assert done.line["content"] == done.text
    assert done.line["ts"] == 1_790_000_003.5
    assert done.line["origin"] == "tool"  # as the least trusted of what it quotes
    assert len(done.replaces) == 4
    assert done.replaces[2] == "call-7"
    assert "turn:call-7" in done.line["evidence"]


def test_a_stored_one_takes_the_place_of_the_last_and_carries_its_facts(
    memory: AgentMemory,
) -> None:
    first = memory.conversation.summarize(TURNS, session="s1", store=True)
    second = memory.conversation.summarize([*TURNS, *MORE], session="s1", store=True)
    assert second.conversation.turns == 8
    assert len(second.replaces) == 4
    assert "ship Apollo on 3 May" in second.text
    assert second.text.endswith("- assistant: Shall I book Lisbon?\n- user: yes")
    stored = lines(memory)
    assert [one["id"] for one in stored] == [first.id, second.id]
    assert stored[1]["supersedes"] == [first.id]
    assert {one["session"] for one in stored} == {"s1"}
    other = memory.conversation.summarize(MORE, session="s2", store=True)
    assert "Apollo" not in other.text


def test_the_same_turns_give_the_same_summary_which_is_written_once(memory: AgentMemory) -> None:
    assert memory.conversation.summarize(TURNS).id == memory.conversation.summarize(TURNS).id
    first = memory.conversation.summarize(TURNS, session="s1", store=True)
    again = memory.conversation.summarize(TURNS, session="s1", store=True, force=True)
    assert (again.id, again.text, again.new) == (first.id, first.text, False)
    assert again.reason == "nothing was said since the last summary"
    assert len(lines(memory)) == 1
    untimed = [memory.conversation.summarize(MORE, force=True).id for _ in range(2)]
    assert untimed[0] == untimed[1]  # also where the line's own time is that of the call


def test_snippets_that_are_in_it_already_make_no_new_one(memory: AgentMemory) -> None:
    memory.scratchpad.write("Margins fell as fuel rose.")
    first = memory.conversation.summarize(TURNS, store=True, force=True)
    again = memory.conversation.summarize(TURNS, store=True, force=True)
    assert (again.id, again.new) == (first.id, False)
    memory.scratchpad.write("Ann signs on Monday.")
    third = memory.conversation.summarize(TURNS, store=True, force=True)
    assert third.new
    assert third.line is not None
    assert third.line["supersedes"] == [first.id]
    assert third.conversation.turns == 4


def test_a_secret_stands_in_no_summary_given_back_or_stored(memory: AgentMemory) -> None:
    key = "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    turns = [{"role": "user", "content": f"We decided that the key is {key} for now."}]
    done = memory.conversation.summarize(turns, force=True, store=True)
    assert "[redacted:" in done.text
    assert key not in json.dumps(done.as_json())
    assert key not in json.dumps(lines(memory))
    assert memory.conversation.summarize(turns, force=True).id == done.id


def test_who_keeps_the_summaries_himself_hands_the_last_one_in(memory: AgentMemory) -> None:
    first = memory.conversation.summarize(TURNS)
    by_object = memory.conversation.summarize([*TURNS, *MORE], previous=first)
    by_line = memory.conversation.summarize(MORE, previous=json.loads(json.dumps(first.line)))
    assert by_object.id == by_line.id
    assert "Apollo" in by_line.text
    with pytest.raises(InvalidMemoryError, match=r'the last summary is none: field "record_type"'):
        memory.conversation.summarize(MORE, previous={"content": "x"})
    bad = {**(first.line or {}), "payload": {"facts": [{"role": "user"}]}}
    with pytest.raises(InvalidMemoryError, match=r'payload.facts: field "text"'):
        memory.conversation.summarize(MORE, previous=bad)


def test_of_two_that_were_written_at_once_nothing_is_lost(memory: AgentMemory) -> None:
    home = memory._home
    ours = memory.conversation.summarize(TURNS, session="s1", store=True)
    theirs = AgentMemory(open_home(str(home.paths.root)), "sky").conversation
    line = theirs.summarize(MORE, user_id="ann").line
    assert line is not None
    home.remember("sky", [json.dumps({**line, "session": "s1"}).encode() + b"\n"])
    done = memory.conversation.summarize(
        [{"role": "user", "content": "Bye, Ann."}], session="s1", store=True, force=True
    )
    assert "Apollo" in done.text
    assert "900 euros" in done.text
    assert set(lines(memory)[-1]["supersedes"]) == {ours.id, line["id"]}


def test_what_was_written_down_on_the_way_goes_in(memory: AgentMemory) -> None:
    done = memory.conversation.summarize(TURNS, ["Margins fell as fuel rose."])
    assert "- scratchpad: Margins fell as fuel rose." in done.text
    memory.scratchpad.write("Prices were read off a web page.", origin="tool", trust=0.3)
    noted = memory.conversation.summarize(TURNS[:1], memory.scratchpad, force=True).line
    assert noted is not None
    assert (noted["origin"], noted["trust"]) == ("tool", 0.3)
    with pytest.raises(InvalidMemoryError, match="snippet 1: neither text nor"):
        memory.conversation.summarize(TURNS, [7])


def test_a_summary_of_what_is_sensitive_is_sensitive(memory: AgentMemory) -> None:
    secret = {"role": "user", "content": "My rent is 900.", "sensitivity": "sensitive"}
    done = memory.conversation.summarize([secret], session="s1", force=True, store=True)
    assert lines(memory)[0]["sensitivity"] == "sensitive"
    later = memory.conversation.summarize(MORE, session="s1", store=True)
    assert later.line is not None
    assert later.line["sensitivity"] == "sensitive"
    assert done.id in later.line["supersedes"]
    assert "900" not in memory.context("What is the rent?").text


def test_a_sensitive_snippet_goes_into_no_summary(memory: AgentMemory) -> None:
    fields = {"content": "Ann is ill.", "record_type": "snippet", "session": "default"}
    line = {"ts": 1_790_000_000, **fields, "sensitivity": "sensitive"}
    memory._home.remember("sky", [json.dumps(line).encode() + b"\n"])
    memory.scratchpad.write("Margins fell as fuel rose.")
    done = memory.conversation.summarize(TURNS)
    assert "Margins" in done.text
    assert "Ann is ill" not in done.text
    assert done.line is not None
    assert "sensitivity" not in done.line


def test_of_an_erased_snippet_nothing_is_left_and_of_the_rest_all(memory: AgentMemory) -> None:
    (name,) = memory.scratchpad.write("Margins fell as fuel rose.")
    memory.conversation.summarize(TURNS, store=True)
    done = memory.conversation.summarize([*TURNS, *MORE], store=True)
    memory.erase([name])
    left = memory.conversation.summarize([*TURNS, *MORE])
    assert left.text == done.text.replace("\n- scratchpad: Margins fell as fuel rose.", "")
    assert left.reason == "nothing was said since the last summary"
    assert left.conversation.turns == 8


def test_what_did_not_fit_is_told_with_its_turns(memory: AgentMemory) -> None:
    many = [
        {"role": "user", "content": f"We decided that Bob gets {n} cars.", "id": f"t{n}"}
        for n in range(20)
    ]
    done = memory.conversation.summarize(many)
    told = done.as_json()
    assert told["chars"] <= told["max_chars"] == 300
    kept = {one["source"] for fact in told["facts"] for one in fact}
    assert kept | {*told["left_out"]["turns"]} == {f"t{n}" for n in range(20)}
    assert told["left_out"]["facts"] == told["left_out"]["in_all"] == 20 - len(kept)


def test_every_bad_turn_is_named_and_none_counts(memory: AgentMemory) -> None:
    bad: list[Any] = [TURNS[0], {"role": 7}, "x", {"role": "user", "content": "a", "ts": "soon"}]
    with pytest.raises(InvalidMemoryError) as caught:
        memory.conversation.summarize(bad)
    assert str(caught.value).split("\n") == [
        'turn 2: field "role": say who speaks: user, assistant or tool',
        'turn 3: not an object like {"role": "user", "content": "…"}',
        'turn 4: field "ts": not a time in ISO 8601 (2025-11-08T12:34:56Z)',
    ]
    for content in (7, ["x"], [{"type": "text", "text": 7}]):
        with pytest.raises(InvalidMemoryError, match='turn 1: field "content"'):
            memory.conversation.summarize([{"role": "user", "content": content}])


def test_unless_said_otherwise_it_is_the_conversation_of_the_environment(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.scratchpad.write("Margins fell as fuel rose.")
    done = memory.conversation.summarize(TURNS, store=True)
    assert "- scratchpad: Margins fell as fuel rose." in done.text
    assert done.line is not None
    assert done.line["session"] == "default"
    assert done.line["evidence_ids"] == [memory.scratchpad.read()[0].id]
    monkeypatch.setenv("SKYMEM_SESSION", "s9")
    assert "Margins" not in memory.conversation.summarize(TURNS).text


@pytest.mark.parametrize("torn", [False, True])
def test_whoever_dies_while_storing_leaves_the_last_summary_or_the_new(
    memory: AgentMemory, *, torn: bool
) -> None:
    root = str(memory._home.paths.root)
    last = memory.conversation.summarize(TURNS, store=True)
    said = [*TURNS, *MORE]
    for step in range(1, 50):
        dying = replace(open_home(root), files=DyingFiles(step, torn=torn))
        try:
            Conversations(dying, "sky").summarize(said, store=True)
        except PowerCut:
            held = open_memory("sky", home=root).conversation.summarize([], force=True)
            assert held.id is not None
            assert "ship Apollo on 3 May" in held.text
        else:
            break
    assert 1 < step < 49
    found = open_memory("sky", home=root).conversation.summarize(said, store=True)
    assert found.conversation.turns == 8
    assert found.line is not None
    assert found.line["supersedes"] == [last.id]


def test_on_a_full_disk_nothing_is_stored_and_the_last_one_holds(memory: AgentMemory) -> None:
    root = str(memory._home.paths.root)
    last = memory.conversation.summarize(TURNS, store=True)
    full = Conversations(replace(open_home(root), files=FullFiles(1)), "sky")
    with pytest.raises(DiskError):
        full.summarize([*TURNS, *MORE], store=True)
    assert open_memory("sky", home=root).conversation.summarize(TURNS).id == last.id
