"""The Python names the documents promise, as an agent's code uses them (row P9)."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import skymem
from skymem import remember_short, run_once
from skymem.app import init_home
from skymem.errors import HomeNotFoundError, InvalidMemoryError


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
