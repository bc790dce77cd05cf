"""A graph of LangGraph's, compiled with our store, writes and searches memories."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore

import skymem
from skymem.adapters.langgraph import SkymemStore
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside


class Talk(TypedDict, total=False):
    user: str
    says: str
    asks: str
    found: list[str]


def note(state: Talk, *, store: BaseStore) -> Talk:
    """Keep what was said."""
    namespace = (state["user"], "memories")
    store.put(namespace, f"m{len(store.search(namespace, limit=100))}", {"text": state["says"]})
    return {}


def answer(state: Talk, runtime: Runtime[None]) -> Talk:
    """Look for what has to do with the question."""
    assert runtime.store is not None
    found = runtime.store.search((state["user"],), query=state["asks"], limit=1)
    return {"found": [one.value["text"] for one in found]}


def graph(store: BaseStore) -> Any:
    built = StateGraph(Talk)
    built.add_node("note", note)
    built.add_node("answer", answer)
    built.add_edge(START, "note")
    built.add_edge("note", "answer")
    built.add_edge("answer", END)
    return built.compile(store=store)


def test_a_graph_finds_what_an_earlier_run_of_it_kept(home: HomePaths) -> None:
    talk = graph(SkymemStore("sky", home=str(home.root)))
    talk.invoke({"user": "ann", "says": "My boat is called Heron", "asks": "boat"})
    talk.invoke({"user": "bob", "says": "My boat is called Tern", "asks": "boat"})
    another = graph(SkymemStore("sky", home=str(home.root)))
    told = another.invoke({"user": "ann", "says": "I like tea", "asks": "name of the boat"})

    assert told["found"] == ["My boat is called Heron"]
    told = asyncio.run(talk.ainvoke({"user": "bob", "says": "Hello", "asks": "what boat?"}))
    assert told["found"] == ["My boat is called Tern"]
    texts = [one.content for one in skymem.open_memory("sky", home=str(home.root)).recent()]
    assert sorted(texts)[2:] == ["My boat is called Heron", "My boat is called Tern"]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """An empty home that may use its engine."""
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    made("init", str(made.paths.root))
    yield made
    made.close()


def test_a_graph_finds_by_meaning(engine: Outside) -> None:
    store = SkymemStore("sky", home=str(engine.paths.root))
    told = "The user wants the weekly report at 7am"
    for number, text in enumerate(("Her cat is called Minka", told, "The car is in the garage")):
        store.put(("ann", "memories"), f"m{number}", {"text": text})
    engine("index")
    found = graph(store).invoke(
        {"user": "ann", "says": "Nice weather", "asks": "when should the summary be delivered?"}
    )

    assert found["found"] == [told]
