"""The same calls to LangGraph's own store in memory and to ours answer the same."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from skymem.adapters.langgraph import SkymemStore

DOCS = ("docs", "u1")
ITEMS: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
    (DOCS, "a", {"kind": "report", "score": 4.5, "tags": ["x", "y"], "who": {"name": "Ann"}}),
    (DOCS, "b", {"kind": "report", "score": 2, "tags": ["x"], "who": {"name": "Bob"}}),
    (("docs", "u2"), "a", {"kind": "memo", "score": 3, "tags": [], "who": {}}),
    (("docs", "u2", "old"), "c", {"kind": "memo", "score": 9, "open": None}),
    (("other",), "docs", {"kind": "note", "score": 0}),
)
FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"kind": "report"},
    {"kind": {"$eq": "memo"}},
    {"kind": {"$ne": "memo"}},
    {"score": {"$gt": 2}},
    {"score": {"$gte": 2, "$lt": 9}},
    {"score": {"$lte": "3"}},
    {"tags": ["x", "y"]},
    {"tags": []},
    {"who": {"name": "Ann"}},
    {"who": {"name": {"$ne": "Ann"}}},
    {"open": None},
    {"nothing": "there"},
    {"kind": "report", "score": 2.0},
)
PREFIXES: tuple[tuple[str, ...], ...] = ((), ("docs",), DOCS, ("docs", "u2"), ("doc",), ("none",))


def filled(store: BaseStore) -> BaseStore:
    for namespace, key, value in ITEMS:
        store.put(namespace, key, value)
    return store


def seen(found: list[Any]) -> list[Any]:
    """What is there, whatever its order, which each store has of its own."""
    return sorted(([*one.namespace], one.key, repr(one.value)) for one in found)


@pytest.fixture
def both(store: SkymemStore) -> tuple[BaseStore, BaseStore]:
    return filled(InMemoryStore()), filled(store)


def test_what_was_put_is_got(both: tuple[BaseStore, BaseStore]) -> None:
    theirs, ours = both
    for namespace, key, value in ITEMS:
        wanted, got = theirs.get(namespace, key), ours.get(namespace, key)
        assert wanted is not None
        assert got is not None
        assert (got.namespace, got.key, got.value) == (wanted.namespace, wanted.key, value)
        assert got.created_at.tzinfo is not None
        assert got.dict().keys() == wanted.dict().keys()
    assert ours.get(DOCS, "none") is None
    assert ours.get(("none",), "a") is None


@pytest.mark.parametrize("prefix", PREFIXES)
def test_each_filter_finds_the_same(
    both: tuple[BaseStore, BaseStore], prefix: tuple[str, ...]
) -> None:
    theirs, ours = both
    for wanted in FILTERS:
        assert seen(ours.search(prefix, filter=wanted)) == seen(
            theirs.search(prefix, filter=wanted)
        )


def test_pages_have_each_item_once(both: tuple[BaseStore, BaseStore]) -> None:
    for store in both:
        pages = [store.search((), limit=2, offset=at) for at in (0, 2, 4, 6)]
        assert [len(page) for page in pages] == [2, 2, 1, 0]
        assert seen([one for page in pages for one in page]) == seen(store.search((), limit=10))


def test_namespaces_are_listed_alike(both: tuple[BaseStore, BaseStore]) -> None:
    theirs, ours = both
    asked: tuple[dict[str, Any], ...] = (
        {},
        {"prefix": ("docs",)},
        {"suffix": ("old",)},
        {"prefix": ("docs", "*"), "max_depth": 2},
        {"prefix": ("*", "u2"), "suffix": ("u2",)},
        {"max_depth": 1},
        {"limit": 2},
        {"limit": 2, "offset": 1},
        {"prefix": ("none",)},
    )
    for one in asked:
        assert ours.list_namespaces(**one) == theirs.list_namespaces(**one), one


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(
    both: tuple[BaseStore, BaseStore],
) -> None:
    ops = (
        GetOp(DOCS, "a"),
        PutOp(DOCS, "a", {"v": 1}),
        PutOp(DOCS, "a", {"v": 2}),
        PutOp(DOCS, "b", None),
        PutOp(DOCS, "new", {"v": 3}),
        PutOp(DOCS, "new", None),
        SearchOp(DOCS),
        ListNamespacesOp((MatchCondition("prefix", ("other",)),)),
        GetOp(DOCS, "b"),
    )
    told: list[Any] = []
    for store in both:
        results = store.batch(ops)
        assert isinstance(results[0], Item)
        assert results[0].value["score"] == 4.5
        assert results[1:6] == [None] * 5
        told.append((seen(_list(results[6])), results[7], seen([results[8]])))
        told.append(seen(store.search(DOCS)))
    assert told[:2] == told[2:]


def _list(found: Any) -> list[Any]:
    assert isinstance(found, list)
    return found


def test_a_put_over_a_put_keeps_when_it_began(store: SkymemStore) -> None:
    before = datetime.now(UTC)
    store.put(DOCS, "a", {"v": 1})
    first = store.get(DOCS, "a")
    store.put(DOCS, "a", {"v": 2})
    second = store.get(DOCS, "a")

    assert first is not None
    assert second is not None
    assert (first.value, second.value) == ({"v": 1}, {"v": 2})
    assert abs((first.created_at - before).total_seconds()) < 60
    assert first.created_at == first.updated_at == second.created_at < second.updated_at


def test_what_was_deleted_is_gone_and_can_be_put_again(both: tuple[BaseStore, BaseStore]) -> None:
    for store in both:
        for value in ({"v": 1}, {"v": 2}):
            store.put(DOCS, "a", value)
        store.delete(DOCS, "a")
        store.delete(DOCS, "never")
        assert store.get(DOCS, "a") is None
        assert [one.key for one in store.search(DOCS)] == ["b"]
        store.put(DOCS, "a", {"v": 3})
        found = store.get(DOCS, "a")
        assert found is not None
        assert found.value == {"v": 3}


def test_the_same_is_had_without_waiting(store: SkymemStore) -> None:
    async def use(one: BaseStore) -> list[Any]:
        await asyncio.gather(*(one.aput(DOCS, str(n), {"n": n}) for n in range(8)))
        await one.adelete(DOCS, "3")
        got = await one.aget(DOCS, "5")
        found = await one.asearch(("docs",), filter={"n": {"$gte": 2}})
        assert got is not None
        return [got.value, seen(found), await one.alist_namespaces(prefix=("docs",))]

    assert asyncio.run(use(store)) == asyncio.run(use(InMemoryStore()))


def _of(store: BaseStore, call: Callable[[BaseStore], object]) -> type[BaseException] | None:
    try:
        call(store)
    except ValueError as error:
        return ValueError if type(error) is not InvalidNamespaceError else InvalidNamespaceError
    return None


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.put((), "a", {}),
        lambda store: store.put(("a.b",), "a", {}),
        lambda store: store.put(("langgraph", "x"), "a", {}),
        lambda store: store.search(("",)),
        lambda store: store.search((), filter={"score": {"$like": 1}}),
        lambda store: store.batch(["no operation"]),
        lambda store: store.list_namespaces(prefix=("a.b",)),
    ],
)
def test_what_is_refused_there_is_refused_here(
    both: tuple[BaseStore, BaseStore], call: Callable[[BaseStore], object]
) -> None:
    theirs, ours = (_of(store, call) for store in both)
    assert ours is theirs is not None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(value=st.dictionaries(st.text(), VALUES, max_size=4), key=st.text())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_value_comes_back_as_it_was_put(
    store: SkymemStore, value: dict[str, Any], key: str
) -> None:
    store.put(("any",), key, value)
    got = store.get(("any",), key)

    assert got is not None
    assert got.key == key
    assert repr(got.value) == repr(value)
