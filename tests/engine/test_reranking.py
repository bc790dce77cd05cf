"""A cross-encoder is asked about a few texts at a time, and found on this machine or not at all."""

import importlib.util
from pathlib import Path

import pytest

from skymem.engine.items import RERANKED_MAX
from skymem.engine.operations import read_arguments
from skymem.engine.reranking import find
from skymem.errors import EngineUnavailableError, UsageError
from skymem.model.rules import EngineRules
from tests.engine.conftest import Bench
from tests.engine.processes import EngineHome, home

__all__ = ["home"]

HERE = all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers"))
RULES = EngineRules()


def a_model(directory: Path) -> Path:
    """A directory that looks like a model's."""
    directory.mkdir(parents=True)
    (directory / "config.json").write_text("{}")
    (directory / "model.safetensors").write_bytes(b"")
    return directory


def test_many_texts_are_asked_about_in_parts_and_come_in_order(home: EngineHome) -> None:
    texts = [f"text {number}" for number in range(2 * RERANKED_MAX + 3)]
    scores = home.client().rerank("/model", "text 20", texts)

    assert [at for at, score in enumerate(scores) if score == 1.0] == [20]
    assert len(scores) == len(texts)
    assert home.client().rerank("/model", "text 20", []) == []


def test_one_that_is_still_being_loaded_is_waited_for_until_the_deadline(home: EngineHome) -> None:
    with pytest.raises(EngineUnavailableError, match="still being loaded"):
        home.client().rerank("never", "a", ["b"], deadline_seconds=10.0)


def test_what_the_engine_says_is_wrong_is_told(home: EngineHome) -> None:
    with pytest.raises(EngineUnavailableError, match="no cross-encoder other"):
        home.client().rerank("other", "a", ["b"])


def test_no_more_are_weighed_at_once_than_others_can_wait_for() -> None:
    with pytest.raises(UsageError, match="more than are weighed at once"):
        read_arguments("rerank", {"model": "m", "text": "a", "texts": ["b"] * (RERANKED_MAX + 1)})


@pytest.mark.skipif(HERE, reason="the extra is installed")
def test_without_the_extra_its_install_command_is_told(bench: Bench, tmp_path: Path) -> None:
    model = a_model(tmp_path / "model")

    with pytest.raises(EngineUnavailableError, match=r"pip install 'skymem\[sentence-trans"):
        bench.index.rerank(str(model), "a", ["b"])


def test_a_model_is_found_by_its_path_and_by_its_name_in_the_hubs_cache(tmp_path: Path) -> None:
    model = a_model(tmp_path / "here")
    cached = a_model(tmp_path / "state/hub/models--cross-encoder--tiny/snapshots/1")

    assert find(str(model), RULES, tmp_path) == model
    for name in ("tiny", "cross-encoder/tiny"):
        assert find(name, RULES, tmp_path / "state") == cached


@pytest.mark.parametrize("model", ["{0}/empty", "tiny", "somebody/tiny"])
def test_one_that_is_not_there_is_told_with_where_was_looked(tmp_path: Path, model: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EngineUnavailableError, match=r"looked in /.*set documents\.reranker"):
        find(model.format(tmp_path), RULES, tmp_path)
