"""Where a model is looked for, in which order, and what is said when it is not there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from skymem.engine import models
from skymem.engine.embedding import Embedder
from skymem.engine.hub import hub_caches
from skymem.engine.models import find_directory, find_onnx, open_embedder
from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules

NAME = "all-MiniLM-L6-v2"


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "home" / "state" / "models"


def packaged() -> Path:
    package = models.package_directory(models.INT8_PACKAGE)
    assert package is not None
    return package / "model.onnx"


def without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "package_directory", lambda _: None)


def in_the_hub(cache: Path, revision: str = "abc") -> Path:
    """Lay a model out as the hub's own library does."""
    repository = cache / f"models--sentence-transformers--{NAME}"
    snapshot = repository / "snapshots" / revision
    (snapshot / "onnx").mkdir(parents=True)
    (snapshot / "onnx" / "model.onnx").symlink_to(packaged())
    (snapshot / "vocab.txt").symlink_to(models.VOCABULARY)
    return snapshot


def opened(rules: EngineRules, directory: Path) -> Embedder:
    return open_embedder(rules, directory)


def test_the_default_comes_from_the_package(directory: Path) -> None:
    found = find_onnx(EngineRules(), directory)

    assert found.weights == packaged()
    assert (found.sha256, found.precision) == (models.INT8_SHA256, "int8")
    assert found.tokenizer == models.VOCABULARY


def test_an_exported_file_goes_before_the_package(directory: Path) -> None:
    (directory / NAME).mkdir(parents=True)
    (directory / NAME / "model.onnx").write_bytes(b"exported")
    (directory / NAME / "vocab.txt").write_text("x")
    sha256 = models.sha256_of(directory / NAME / "model.onnx")
    (directory / NAME / "identity.json").write_text(
        f'{{"sha256": "{sha256}", "precision": "fp32"}}'
    )
    found = find_onnx(EngineRules(), directory)

    assert found.weights == directory / NAME / "model.onnx"
    assert found.precision == "fp32"


def test_without_the_package_the_hubs_cache_is_looked_at(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_hub(tmp_path / ".cache/huggingface/hub", "older")
    main = in_the_hub(tmp_path / ".cache/huggingface/hub", "zzz")
    without_package(monkeypatch)
    (main.parents[1] / "refs").mkdir()
    (main.parents[1] / "refs" / "main").write_text("zzz\n")
    found = find_onnx(EngineRules(), directory)

    assert found.weights == main / "onnx" / "model.onnx"
    assert opened(EngineRules(), directory).encode(["hello"]).shape == (1, 384)


@pytest.mark.parametrize(
    ("name", "below"),
    [("HF_HUB_CACHE", ""), ("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")],
)
def test_the_cache_is_where_the_environment_says(
    name: str, below: str, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, str(tmp_path / "elsewhere"))

    assert hub_caches(directory) == [tmp_path / "elsewhere" / below, directory / "hub"]


def test_a_model_can_be_given_by_its_path(directory: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    shutil.copy(packaged(), mine / "model.onnx")
    for place in (mine, mine / "model.onnx"):
        rules = EngineRules(model=str(place))
        assert opened(rules, directory).identity.key == "mine-int8-8199be6f699a"


def test_the_packages_file_must_be_the_one_we_know(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.onnx").write_bytes(b"another model")
    monkeypatch.setattr(models, "package_directory", lambda _: tmp_path)

    with pytest.raises(EngineUnavailableError, match=r"sha256 is .* not 8199be6f699a.*reinstall"):
        find_onnx(EngineRules(), directory)


def test_the_shipped_vocabulary_must_be_the_one_we_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vocabulary.txt").write_text("[UNK]\n")
    monkeypatch.setattr(models, "VOCABULARY", tmp_path / "vocabulary.txt")

    with pytest.raises(EngineUnavailableError, match="not 07eced375cec"):
        models.shipped_vocabulary()


def test_a_missing_model_says_where_was_looked_and_the_way_out(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_package(monkeypatch)
    with pytest.raises(EngineUnavailableError) as raised:
        find_onnx(EngineRules(), directory)
    told = str(raised.value)

    for part in (str(directory / NAME), models.INT8_PACKAGE, str(tmp_path / ".cache"), "pip inst"):
        assert part in told
    assert "\n" not in told


def test_a_model_nobody_has_is_not_taken_for_the_default(directory: Path) -> None:
    with pytest.raises(EngineUnavailableError, match="to the path of one"):
        find_onnx(EngineRules(model="someone/other-model"), directory)


@pytest.mark.parametrize("name", ["../escape", "a/b/c", "", "-x", "relative/../x"])
def test_what_is_no_name_reaches_no_path(name: str, directory: Path) -> None:
    for find in (find_onnx, find_directory):
        with pytest.raises(EngineUnavailableError, match="neither a model's name"):
            find(EngineRules(model=name), directory)


def test_a_path_without_a_model_says_what_must_be_there(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailableError, match=r"no model at .*vocab\.txt"):
        find_onnx(EngineRules(model=str(tmp_path / "nothing")), directory)
    (tmp_path / "model.onnx").write_bytes(b"x")
    with pytest.raises(EngineUnavailableError, match=r"no tokenizer\.json or vocab\.txt beside"):
        find_onnx(EngineRules(model=str(tmp_path)), directory)


@pytest.mark.parametrize("tokenizer", ["vocab.txt", "tokenizer.json"])
def test_a_file_that_is_no_model_is_refused_in_one_line(
    tokenizer: str, directory: Path, tmp_path: Path
) -> None:
    (tmp_path / tokenizer).write_text("no tokenizer")
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EngineUnavailableError, match="can't be loaded"):
        opened(EngineRules(model=str(tmp_path)), directory)
    shutil.copy(packaged(), tmp_path / "model.onnx")
    with pytest.raises(EngineUnavailableError, match="is no tokenizer") as raised:
        opened(EngineRules(model=str(tmp_path)), directory)
    assert "\n" not in str(raised.value)


def test_a_download_that_fails_is_one_line(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_package(monkeypatch)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    code = (
        "from pathlib import Path; from skymem.engine import models; "
        "models.package_directory = lambda _: None; "
        "from skymem.model.rules import EngineRules; "
        f"models.find_onnx(EngineRules(download=True), Path({str(directory)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert "EngineUnavailableError" in done.stderr.splitlines()[-1]
    assert "can't be downloaded" in done.stderr.splitlines()[-1]


def test_without_leave_to_download_the_hub_is_told_to_stay_offline(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    opened(EngineRules(), directory)

    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_a_user_without_a_home_directory_gets_the_model(directory: Path) -> None:
    code = (
        "from pathlib import Path; from skymem.engine.models import open_embedder; "
        "from skymem.model.rules import EngineRules; from skymem.engine.hub import hub_caches; "
        "print(open_embedder(EngineRules(), Path('/nonexistent')).identity.key, "
        "len(hub_caches(Path('/nonexistent'))))"
    )
    for home in ({}, {"HOME": "/nonexistent/home"}):
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=home
        )
        assert done.stdout.startswith("all-MiniLM-L6-v2-int8-8199be6f699a")
        assert done.stderr == ""
