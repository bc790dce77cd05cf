"""The extra `skymem[sentence-transformers]`: the other backend, and what it exports.

Skipped where the extra is not installed, unless `SKYMEM_TEST_EXTRA=1` says that it must be.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skymem.app import init_home
from skymem.engine.embedding import Embedder
from skymem.engine.models import find_onnx, open_embedder
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules
from tests.acceptance.homes import wait_until

MUST = os.environ.get("SKYMEM_TEST_EXTRA") == "1"
HERE = all(importlib.util.find_spec(name) for name in ("torch", "sentence_transformers"))
needs_extra = pytest.mark.skipif(not HERE and not MUST, reason="the extra is not installed")
pytestmark = pytest.mark.filterwarnings("default")  # torch's own warnings are no business of ours

TORCH = EngineRules(backend="sentence-transformers")
NOWHERE = Path("/nonexistent")

_KINDS = (
    "The user prefers reports before {0}:30 in the morning.",
    "Der Termin am {0}. Mai wurde auf den nächsten Tag verschoben.",
    "L'utilisateur a {0} chats et déteste le café froid.",
    "El servidor {0} se reinicia cada noche a las tres.",
    "ユーザーは{0}番目の提案を選びました。",
    "Пользователь живёт на {0} этаже.",
    "def step_{0}(x: int) -> int:\n    return x * {0} + 1",
    "{0},{0}42.17 € / $ -{0}e-3 0x{0}f",
    "ok {0} 👍😀!!! ...??? --- ###",
    "Meeting {0}. " + "We spoke of the roof, the budget and who would water the plants. " * 12,
)
SENTENCES = [kind.format(number) for number in range(1, 11) for kind in _KINDS]


@cache
def torch_embedder() -> Embedder:
    return open_embedder(TORCH, NOWHERE)


@cache
def exported(directory: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "skymem.engine.export", "all-MiniLM-L6-v2", str(directory)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, object] = json.loads(done.stdout)
    return told


@pytest.fixture(scope="module")
def models_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state") / "models"


@pytest.mark.skipif(HERE, reason="the extra is installed")
def test_without_the_extra_its_install_command_is_told() -> None:
    with pytest.raises(EngineUnavailableError, match=r"pip install 'skymem\[sentence-trans"):
        open_embedder(TORCH, NOWHERE)
    command = [sys.executable, "-m", "skymem.engine.export", "all-MiniLM-L6-v2", "/nonexistent"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode == 40
    assert "pip install 'skymem[sentence-transformers]'" in done.stderr


@needs_extra
def test_the_two_backends_agree() -> None:
    ours = open_embedder(EngineRules(), NOWHERE).encode(SENTENCES)
    cosines = (ours * torch_embedder().encode(SENTENCES)).sum(axis=1)

    assert len(SENTENCES) == 100
    assert float(cosines.min()) >= 0.99
    assert torch_embedder().identity.key.startswith("all-MiniLM-L6-v2-fp32-53aa51172d14")


@needs_extra
def test_both_backends_cut_alike_and_take_hostile_texts() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 200
    onnx = open_embedder(EngineRules(), NOWHERE)

    assert torch_embedder().chunks(text) == onnx.chunks(text)
    for hostile in ("a" * 1_000_000, "😀" * 1_000_000, "\0\ud800 x", ""):
        assert torch_embedder().chunks(hostile) == onnx.chunks(hostile)
        assert np.isfinite(torch_embedder().encode([hostile])).all()


@needs_extra
def test_between_may_encode_again() -> None:
    inner: list[object] = []
    model = torch_embedder()
    vectors = model.encode(SENTENCES, lambda: inner.append(model.encode(["in between"])))

    assert inner
    assert np.abs(vectors - model.encode(SENTENCES)).max() < 1e-5


@needs_extra
def test_what_is_exported_agrees_with_torch_and_is_preferred(models_directory: Path) -> None:
    told = exported(models_directory)
    found = find_onnx(EngineRules(), models_directory)
    vectors = open_embedder(EngineRules(), models_directory).encode(SENTENCES)

    assert str(found.weights) == told["path"]
    assert (found.precision, found.sha256) == ("fp32", told["sha256"])
    assert float((vectors * torch_embedder().encode(SENTENCES)).sum(axis=1).min()) >= 0.9999
    assert [path.name for path in models_directory.iterdir()] == ["all-MiniLM-L6-v2"]


@needs_extra
def test_an_export_that_does_not_agree_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skymem.engine import export
    from skymem.stores.files import Files

    monkeypatch.setattr(export, "COSINE_MIN", 1.5)
    with pytest.raises(EngineUnavailableError, match="does not agree"):
        export.export_onnx(EngineRules(), tmp_path / "models", Files())
    assert list((tmp_path / "models").iterdir()) == []


@needs_extra
def test_a_directory_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailableError, match="no model at"):
        open_embedder(EngineRules(backend="sentence-transformers", model=str(tmp_path)), NOWHERE)


def told_by(home: Path, *words: str) -> dict[str, Any]:
    """What a command answers, as a process of its own."""
    command = [sys.executable, "-m", "skymem", "--home", str(home), *words, "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def is_indexed(home: Path) -> bool:
    """Have it indexed, as far as the engine answers in time."""
    command = [sys.executable, "-m", "skymem", "--home", str(home), "index", "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode == 0 and json.loads(done.stdout)["pending"] == 0


@needs_extra
def test_a_home_goes_over_from_one_backend_to_the_next_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SKYMEM_ENGINE")
    init_home(tmp_path)
    rules = tmp_path / "retention_rules.yaml"
    shipped = rules.read_text()
    rules.write_text(shipped + "engine: {backend: sentence-transformers}\n")
    question = "what time should the summary be delivered?"
    for text in ("User wants reports at 7am", "We chose PostgreSQL for billing"):
        told_by(tmp_path, "remember", text, "--importance", "0.9")
    keys: list[tuple[str, str]] = []
    try:
        assert told_by(tmp_path, "promote")["promoted"] == 2
        # Where torch takes longer to load than promote waits, index embeds what is owed.
        wait_until(lambda: is_indexed(tmp_path), "all is indexed by torch", 300)
        for step in ("torch", "int8", "exported"):
            if step == "int8":
                rules.write_text(shipped)
            elif step == "exported":
                assert told_by(tmp_path, "index", "--export-onnx")["least_cosine"] > 0.9999
            indexed = told_by(tmp_path, "index")
            assert (indexed["embedded"], indexed["pending"]) == (2 if keys else 0, 0), step
            found = told_by(tmp_path, "recall", question)
            assert found["results"][0]["content"] == "User wants reports at 7am"
            assert found["degraded"] == []
            engine = told_by(tmp_path, "status")["engine"]
            keys.append((engine["backend"], engine["precision"]))
    finally:
        engine = json.loads((tmp_path / "status/engine.json").read_text())
        os.kill(engine["pid"], signal.SIGTERM)

    assert keys == [("sentence-transformers", "fp32"), ("onnx", "int8"), ("onnx", "fp32")]
