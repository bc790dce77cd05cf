"""Where no cross-encoder can be asked, a search says why and ranks as it does without (row W8)."""

import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import skymem
from skymem.app import init_home
from skymem.cli.main import app
from skymem.config.rules_file import read_rules
from skymem.errors import ConfigurationError, EngineUnavailableError
from skymem.stores.home import HomePaths
from skymem.working.documents import Passages
from tests.acceptance.homes import Outside

HERE = all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers"))
WHY = "SKYMEM_ENGINE=off keeps it from being used; unset that"
QUESTION = "when are invoices due?"
NOTES = (
    "Invoices are due after 30 days.",
    "An invoice has a number.",
    "Invoices go out on Monday.",
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with some documents."""
    init_home(tmp_path / "home")
    sources = tmp_path / "sources"
    sources.mkdir()
    for number, text in enumerate(NOTES):
        (sources / f"{number}.txt").write_text(text)
    skymem.open_memory("sky", home=str(tmp_path / "home")).documents.add(sources)
    return tmp_path / "home"


def configure(home: Path, reranker: object) -> None:
    with (home / "retention_rules.yaml").open("a") as stream:
        stream.write(f"documents: {{reranker: {reranker}}}\n")


def searched(home: Path) -> Passages:
    return skymem.open_memory("sky", home=str(home)).documents.search(QUESTION)


def ids(found: Any) -> list[str]:
    return [one["id"] for one in found["results"]]


def asked(home: Outside, good: Callable[[Any], bool]) -> Any:
    """The answer of the CLI; an engine that a busy machine makes late is asked again."""
    until = time.monotonic() + 120
    while not good(found := home.done("docs", "search", QUESTION)):
        assert time.monotonic() < until, found
    return found


def told(found: Passages) -> list[tuple[str, float]]:
    return [(one.id, one.score) for one in found]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("/opt/models/tiny", "/opt/models/tiny"),
        ("tiny", "tiny"),
        ("cross-encoder/ms-marco-MiniLM-L6-v2", "cross-encoder/ms-marco-MiniLM-L6-v2"),
        ("none", None),
    ],
)
def test_the_setting_is_a_name_or_a_path(tmp_path: Path, written: str, read: str | None) -> None:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(f"documents: {{reranker: {written}}}\n")

    assert read_rules(path).documents.reranker == read


@pytest.mark.parametrize("written", ["models/tiny/here", "../tiny", "./tiny", "[a]", "''"])
def test_what_depends_on_a_directory_is_refused(tmp_path: Path, written: str) -> None:
    path = tmp_path / "retention_rules.yaml"
    path.write_text(f"documents: {{reranker: {written}}}\n")
    with pytest.raises(ConfigurationError, match="reranker"):
        read_rules(path)


def test_without_the_setting_nobody_is_asked(home: Path) -> None:
    found = searched(home)

    assert found.reranked == "weights"
    assert not any("cross-encoder" in one for one in found.degraded)


def test_without_an_engine_the_order_is_as_it_was_and_the_answer_says_why(home: Path) -> None:
    usual = searched(home)
    configure(home, "/opt/models/tiny")
    found = searched(home)

    assert told(found) == told(usual)
    assert [one for one in found.degraded if one not in usual.degraded] == [
        f"ranked without the cross-encoder: {EngineUnavailableError(WHY)}"
    ]
    done = CliRunner().invoke(app, ["--home", str(home), "docs", "search", QUESTION, "--json"])
    assert json.loads(done.stdout)["reranked"] == "weights"


@pytest.mark.skipif(HERE, reason="the extra is installed")
def test_without_its_packages_the_order_is_as_it_was_and_the_answer_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKYMEM_ENGINE")
    outside = Outside(HomePaths(home))
    try:
        assert outside("--agent", "docs-sky", "index", seconds=300).code == 0
        usual = asked(outside, lambda found: found["degraded"] == [])
        configure(home, "/opt/models/tiny")
        found = asked(outside, lambda found: "pip install" in found["degraded"][-1])
    finally:
        outside.close()

    assert ids(found) == ids(usual)
    assert (found["mode"], found["reranked"]) == ("fusion", "weights")
    assert len(found["degraded"]) == 1
    assert "pip install 'skymem[sentence-transformers]'" in found["degraded"][0]
