"""What comes by mem0's verbs is a memory like others, and others' memories are found by them."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import skymem
from skymem.adapters.mem0 import Memory
from skymem.app import open_home
from skymem.errors import InvalidMemoryError, NotAllowedError, UsageError
from skymem.stores.home import HomePaths
from skymem.upkeep import pin_memory, restore_memories

TOKEN = "ghp_" + "a8Kd93kLs02mXn47QpZr61TvBw5YcHe0JfGu"  # no token of anybody's
ANN: dict[str, Any] = {"user_id": "ann"}


def lines(home: HomePaths, tier: str = "short_term") -> list[dict[str, Any]]:
    path = home.agent("sky").directory / f"{tier}.jsonl"
    return [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []


def added(mem0: Memory, text: str = "I like tea", **more: Any) -> str:
    (told,) = mem0.add(text, **{**ANN, **more})["results"]
    return str(told["id"])


def texts(answer: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in answer["results"]]


def test_the_line_says_whom_it_concerns_and_who_said_it(home: HomePaths, mem0: Memory) -> None:
    talk = [
        {"role": "user", "content": "I like tea"},
        {"role": "assistant", "content": "Noted"},
        {"role": "tool", "content": [{"type": "text", "text": "7"}, {"text": "degrees"}]},
    ]
    mem0.add(talk, user_id="ann", run_id="monday", metadata={"topic": "drinks"})
    said = lines(home)

    assert [one["origin"] for one in said] == ["user", "agent", "tool"]
    assert {(one["user_id"], one["session"]) for one in said} == {("ann", "monday")}
    assert said[0]["metadata"]["topic"] == "drinks"
    assert said[2]["content"] == "7\ndegrees"
    memory = skymem.open_memory("sky", home=str(home.root))
    found = memory.recall("tea", meta={"topic": "drinks", "user_id": "ann"})
    assert found[0].content == "I like tea"
    assert texts(mem0.get_all(filters=ANN)) == ["7\ndegrees", "Noted", "I like tea"]


def test_names_that_mean_something_on_a_line_are_the_callers_own(
    home: HomePaths, mem0: Memory
) -> None:
    mine = {"pinned": "no", "supersedes": 7, "tags": "x,y", "ts": "noon", "mem0": [1], "kind": "k"}
    name = added(mem0, metadata=mine)
    got = mem0.get(name)

    assert got is not None
    assert got["metadata"] == mine
    assert "supersedes" not in lines(home)[0]
    assert texts(mem0.get_all(filters={**ANN, "kind": "k"})) == ["I like tea"]


def test_an_update_is_a_new_line_that_supersedes(home: HomePaths, mem0: Memory) -> None:
    name = added(mem0)
    mem0.update(name, "I like coffee")
    old, new = lines(home)

    assert new["supersedes"] == [old["id"]] == [name]
    assert (new["user_id"], old["content"]) == ("ann", "I like tea")
    assert texts(mem0.search("I like tea", filters=ANN)) == ["I like coffee"]
    open_home(str(home.root)).run_job("promote", agent="sky")
    mem0.update(name, "I like water")
    assert [one["new_memory"] for one in mem0.history(name)] == [
        "I like tea",
        "I like coffee",
        "I like water",
    ]


def test_what_is_deleted_can_be_restored(home: HomePaths, mem0: Memory) -> None:
    name = added(mem0)
    mem0.update(name, "I like coffee")
    ids = [one["id"] for one in lines(home)]
    mem0.delete(name)
    assert (mem0.get(name), lines(home)) == (None, [])

    restore_memories(open_home(str(home.root)), "sky", ids)
    got = mem0.get(name)
    assert got is not None
    assert got["memory"] == "I like coffee"
    assert [one["event"] for one in mem0.history(name)] == ["ADD", "UPDATE"]


def test_memories_of_any_door_are_found_and_keep_what_they_are(
    home: HomePaths, mem0: Memory
) -> None:
    memory = skymem.open_memory("sky", home=str(home.root))
    doubted: dict[str, Any] = {"origin": "document", "trust": 0.2}
    name = memory.write_note("fact", "Ann lives in Graz", user_id="ann", tags=["home"]).id
    web = memory.remember("Ann is in Wien", kind="fact", metadata={"user_id": "ann"}, **doubted)
    assert sorted(texts(mem0.get_all(filters=ANN))) == ["Ann is in Wien", "Ann lives in Graz"]

    mem0.update(name, "Ann lives in Linz")
    mem0.update(web, "Ann was in Wien", metadata={"seen": 1})
    _, _, note, page = lines(home)
    assert (note["tags"], note["kind"], note["origin"]) == (["home"], "fact", "agent")
    assert page["trust"] <= 0.2  # nothing gains trust by being said again
    assert len(mem0.get_all(filters=ANN)["results"]) == 2


def test_a_secret_is_in_no_line_and_in_no_answer(home: HomePaths, mem0: Memory) -> None:
    (told,) = mem0.add(f"my token is {TOKEN}", **ANN, metadata={"again": TOKEN})["results"]

    assert TOKEN not in json.dumps([told, mem0.get(told["id"]), lines(home)])
    assert "[redacted:" in told["memory"]


def test_what_is_pinned_stays(home: HomePaths, mem0: Memory) -> None:
    name = added(mem0)
    other = added(mem0, "I like cake")
    pin_memory(open_home(str(home.root)), "sky", name)
    with pytest.raises(NotAllowedError, match="pinned"):
        mem0.delete(name)
    with pytest.raises(NotAllowedError, match="pinned"):
        mem0.delete_all(user_id="ann")

    assert texts(mem0.get_all(filters=ANN)) == ["I like tea"]
    assert mem0.get(other) is None
    mem0.update(name, "I like coffee")
    with pytest.raises(NotAllowedError, match="pinned"):
        mem0.delete(name)


def test_the_last_day_counts_and_the_day_after_does_not(home: HomePaths, mem0: Memory) -> None:
    today = datetime.now(UTC).date()
    added(mem0, "good tea", expiration_date=today + timedelta(days=1))
    added(mem0, "stale tea", expiration_date=today - timedelta(days=1))
    added(mem0, "tea for ever", expiration_date="9999-12-31")
    added(mem0, "tea of old", expiration_date="1900-01-01")

    assert sorted(texts(mem0.get_all(filters=ANN))) == ["good tea", "tea for ever"]
    assert sorted(texts(mem0.search("tea", filters=ANN))) == ["good tea", "tea for ever"]
    assert len(mem0.get_all(filters=ANN, show_expired=True)["results"]) == 4
    ends = datetime.fromtimestamp(lines(home)[0]["expires_at"], UTC)
    assert ends.date() == today + timedelta(days=2)


def test_what_has_no_meaning_here_is_refused_or_passed_over(home: HomePaths, mem0: Memory) -> None:
    calls: tuple[Callable[[], object], ...] = (
        lambda: mem0.search("tea", filters=ANN, show_expired=True),
        lambda: mem0.search("tea", filters=ANN, reference_date="2020-01-01"),
        lambda: mem0.add("tea", **ANN, memory_type="procedural_memory"),
        lambda: mem0.add([{"role": "user", "content": [{"type": "image_url"}]}], **ANN),
        lambda: mem0.add("tea", **ANN, metadata={"at": datetime.now(UTC)}),
        lambda: mem0.search("tea", filters={**ANN, "n": {"like": 1}}),
    )
    for call in calls:
        with pytest.raises((UsageError, InvalidMemoryError)):
            call()
    assert lines(home) == []
    added(mem0, infer=True, prompt="be brief")
    (told,) = mem0.search("tea", filters=ANN, rerank=True, explain=True)["results"]
    assert told["score_details"]["importance"] is not None


def test_it_is_opened_by_a_configuration_and_in_a_with_statement(home: HomePaths) -> None:
    config = {"llm": {"provider": "openai"}, "skymem": {"agent": "sky", "home": str(home.root)}}
    with Memory.from_config(config) as memory:
        added(memory)

    assert lines(home)[0]["content"] == "I like tea"


def test_lines_of_any_hand_do_no_harm(home: HomePaths, mem0: Memory) -> None:
    name = added(mem0, expiration_date="2999-01-01")
    whole = lines(home)[0]
    odd: list[Any] = [7, {"created_at": "x", "metadata": [], "role": {}}]
    odd += [{"expiration_date": bad} for bad in ("soon", 7, None)]
    with (home.agent("sky").directory / "short_term.jsonl").open("a") as stream:
        for number, ours in enumerate(odd):
            line = {**whole, "id": f"odd{number}", "metadata": {"mem0": ours}}
            stream.write(json.dumps(line) + "\n")

    found = mem0.get_all(filters=ANN)["results"]
    assert {one["id"] for one in found} == {name, *(f"odd{n}" for n in range(len(odd)))}
    for one in found:
        mem0.update(one["id"], "I like rain")
    assert {*texts(mem0.get_all(filters=ANN))} == {"I like rain"}
