"""Documents ranked by a cross-encoder: tiny, with random weights, and made here (row W8).

Skipped where the extra is not installed, unless `SKYMEM_TEST_EXTRA=1` says that it must be.
"""

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import skymem
from skymem.app import init_home
from skymem.engine.models import shipped_vocabulary
from skymem.errors import EngineUnavailableError
from skymem.stores.home import HomePaths
from tests.acceptance.homes import Outside

MUST = os.environ.get("SKYMEM_TEST_EXTRA") == "1"
HERE = all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers"))
pytestmark = [
    pytest.mark.skipif(not HERE and not MUST, reason="the extra is not installed"),
    pytest.mark.filterwarnings("default"),  # torch's own warnings are no business of ours
]

QUESTION = "when are invoices due?"
NOTES = {
    "invoices": "Invoices are due after 30 days.",
    "reminders": "Who has not paid an invoice gets a reminder after 45 days.",
    "garden": "The garden is watered on Mondays.",
    "lunch": "Lunch is at noon, and soup on Fridays.",
}


def a_cross_encoder(directory: Path, labels: int = 1) -> Path:
    """One whose weights nobody has trained: it ranks by nothing, but always the same way."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.manual_seed(7)
    config = BertConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=labels,
        initializer_range=0.7,
    )
    BertForSequenceClassification(config).save_pretrained(directory)
    vocabulary = directory / "vocab.txt"
    vocabulary.write_bytes(shipped_vocabulary().read_bytes())
    BertTokenizerFast(str(vocabulary), model_max_length=512).save_pretrained(directory)
    return directory


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_cross_encoder(tmp_path_factory.mktemp("models") / "tiny")


def loaded(directory: Path) -> Any:
    from skymem.engine.cross_encoder import CrossEncoder

    return CrossEncoder(directory, 1)


def test_each_text_is_read_beside_the_question(model: Path) -> None:
    texts = [*NOTES.values(), "", "\ud800", "long " * 5000]
    scores = loaded(model).scores(QUESTION, texts)

    assert all(0 <= score <= 1 for score in scores)
    assert len({round(score, 6) for score in scores[:4]}) == 4
    assert scores[0] == pytest.approx(loaded(model).scores(QUESTION, texts[:1])[0], abs=1e-4)
    assert scores[0] != pytest.approx(loaded(model).scores("what is for lunch?", texts[:1])[0])


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailableError, match="gives 3 values for a pair"):
        loaded(a_cross_encoder(tmp_path / "three", labels=3))
    broken = a_cross_encoder(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(EngineUnavailableError, match="can't be loaded as a cross-encoder"):
        loaded(broken)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    monkeypatch.delenv("SKYMEM_ENGINE")
    made = Outside(HomePaths(tmp_path / "home"))
    init_home(made.paths.root)
    yield made
    made.close()


def with_notes(home: Outside, directory: Path) -> None:
    directory.mkdir()
    for name, text in NOTES.items():
        (directory / f"{name}.txt").write_text(text)
    documents = skymem.open_memory("sky", home=str(home.paths.root)).documents
    documents.add(directory)
    assert home("--agent", documents.owner, "index", seconds=300).code == 0


def ids(found: Any) -> list[str]:
    return [one["id"] for one in found["results"]]


def asked(home: Outside, good: Callable[[Any], bool]) -> Any:
    """The answer of the CLI; an engine that a busy machine makes late is asked again."""
    until = time.monotonic() + 300
    while not good(found := home.done("docs", "search", QUESTION)):
        assert time.monotonic() < until, found
    return found


def test_a_search_is_ranked_by_the_model_that_is_configured(
    home: Outside, model: Path, tmp_path: Path
) -> None:
    with home.paths.rules.open("a") as stream:
        stream.write(f"documents: {{reranker: {model}}}\n")
    with_notes(home, tmp_path / "notes")
    found = asked(home, lambda found: found["degraded"] == [])

    scores = loaded(model).scores(QUESTION, [one["content"] for one in found["results"]])
    assert (found["mode"], found["reranked"]) == ("fusion", "cross-encoder")
    assert len(scores) > 1
    assert [one["score"] for one in found["results"]] == pytest.approx(scores, abs=1e-4)
    assert scores == sorted(scores, reverse=True)


def test_a_model_that_can_not_be_loaded_leaves_the_order_as_it_was(
    home: Outside, tmp_path: Path
) -> None:
    with_notes(home, tmp_path / "notes")
    usual = asked(home, lambda found: found["degraded"] == [])
    broken = a_cross_encoder(tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"nothing")
    with home.paths.rules.open("a") as stream:
        stream.write(f"documents: {{reranker: {broken}}}\n")
    found = asked(home, lambda found: "can't be loaded" in found["degraded"][-1])

    assert ids(found) == ids(usual)
    assert (found["mode"], found["reranked"]) == ("fusion", "weights")
