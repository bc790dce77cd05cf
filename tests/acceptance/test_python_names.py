"""The Python names the documents promise, as an agent's code uses them (row P9)."""

import inspect
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem import (
    query_recent,
    query_relevant,
    query_relevant_hybrid,
    recall_similar,
    remember_short,
    run_once,
)
from skymem.app import init_home
from skymem.errors import HomeNotFoundError, InvalidMemoryError, UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, found by `$SKYMEM_HOME`."""
    made = tmp_path / "home"
    init_home(made)
    monkeypatch.setenv("SKYMEM_HOME", str(made))
    return made


def _lines(home: Path, tier: str, agent: str = "sky") -> list[dict[str, object]]:
    path = home / "memory" / agent / f"{tier}_term.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_source_documents_example(home: Path) -> None:
    remember_short("User said hello", tags=["greeting"], importance=0.3)
    remember_short(
        "User wants daily reports at 7am", tags=["preference", "schedule"], importance=0.9
    )
    result = run_once()

    assert result["promoted"] == 1
    assert [line["content"] for line in _lines(home, "short")] == ["User said hello"]
    assert _lines(home, "long")[0]["tags"] == ["preference", "schedule"]


def test_a_handle_writes_to_its_own_agent(home: Path) -> None:
    memory = skymem.open_memory(agent="hobbs")
    moment = datetime(2025, 11, 8, 12, 34, 56, tzinfo=UTC)
    name = memory.remember(
        "Deploys happen on Fridays", kind="fact", ttl_days=30, ts=moment, metadata={"tool": "git"}
    )
    line = _lines(home, "short", "hobbs")[0]

    assert len(name) == 24
    assert (line["kind"], line["ttl_days"], line["ts"]) == ("fact", 30, moment.timestamp())
    assert line["metadata"] == {"tool": "git"}
    assert not (home / "memory/sky/short_term.jsonl").exists()


def test_a_home_can_be_named(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    init_home(other)
    skymem.open_memory(home=str(other)).remember("x")

    assert len(_lines(other, "short")) == 1


def test_without_a_home_the_error_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(HomeNotFoundError, match="skymem init"):
        skymem.open_memory()


def test_an_unknown_keyword_raises(home: Path) -> None:
    with pytest.raises(TypeError):
        skymem.open_memory().remember("x", colour="red")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("content", "more"),
    [("", {}), ("x", {"importance": 1.5}), ("x", {"ts": datetime(2025, 1, 1)})],  # noqa: DTZ001
)
def test_what_is_not_in_form_is_refused(home: Path, content: str, more: dict[str, object]) -> None:
    with pytest.raises(InvalidMemoryError):
        skymem.open_memory().remember(content, **more)  # type: ignore[arg-type]
    assert not (home / "memory/sky/short_term.jsonl").exists()


# -- finding again (rows R2, R4, R5, P8) ------------------------------------------------------


def test_the_parameters_are_those_of_the_source() -> None:
    wanted: dict[Callable[..., Any], list[str]] = {
        remember_short: ["content", "tags", "importance"],
        recall_similar: ["query", "top_k"],
        query_relevant: ["text", "limit", "recency_bias"],
        query_recent: ["hours", "tags", "limit"],
        query_relevant_hybrid: ["text", "limit", "recency_bias", "semantic_weight", "mode"],
    }
    for function, names in wanted.items():
        assert [*inspect.signature(function).parameters] == names
    defaults = {
        name: one.default
        for name, one in inspect.signature(query_relevant_hybrid).parameters.items()
    }
    assert (defaults["recency_bias"], defaults["semantic_weight"]) == (0.35, 0.5)
    assert (defaults["limit"], defaults["mode"]) == (10, "hybrid")


@pytest.fixture
def told(home: Path) -> None:
    """An old memory about reports, and newer ones about other things."""
    memory = skymem.open_memory()
    memory.remember("reports are due at 7am", tags=["daily"], ts=time.time() - 86_400)
    for text in ("the proxy restarted", "milk is out"):
        memory.remember(text, tags=["ops"], ts=time.time() - 60)


def test_words_weigh_against_recency_as_the_row_says(told: None) -> None:
    words = query_relevant("when are reports due", limit=1, recency_bias=0.0)
    newest = query_relevant("when are reports due", limit=1, recency_bias=1.0)

    assert [one.content for one in words] == ["reports are due at 7am"]
    assert newest[0].content != "reports are due at 7am"
    (first,) = words
    text, bonus = 3 / 4, first.parts.importance * 0.15
    assert first.score == pytest.approx(text + bonus)
    assert query_relevant("") == []


def test_recent_ones_are_listed_by_hours_and_any_tag(told: None) -> None:
    assert [one.content for one in query_recent()][-1] == "reports are due at 7am"
    assert {one.content for one in query_recent(1)} == {"the proxy restarted", "milk is out"}
    assert [one.content for one in query_recent(48, ["daily", "weekly"])] == [
        "reports are due at 7am"
    ]
    assert len(query_recent(limit=2)) == 2
    (one,) = query_recent(tags="daily")
    assert (one.tags, one.tier, one.kind) == (("daily",), "short", None)
    for wrong in ({"hours": float("nan")}, {"hours": -1}, {"limit": 0}):
        with pytest.raises(UsageError):
            query_recent(**wrong)


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "deterministic"])
def test_without_an_engine_words_answer_and_the_result_says_so_once(told: None, mode: str) -> None:
    found = query_relevant_hybrid("reports", limit=1, mode=mode)

    assert [one.content for one in found] == ["reports are due at 7am"]
    assert found.mode == "deterministic"
    assert len(found.degraded) == (mode != "deterministic")
    with pytest.raises(UsageError):
        query_relevant_hybrid("reports", mode="magic")
