"""Write the fp32 ONNX file of a model, which the default backend then prefers (design §5).

Runs as a process of its own, `python -m skymem.engine.export NAME_OR_PATH TARGET_DIRECTORY`, as it
loads torch. The file takes its place only once it gave the same vectors as torch.
"""

import contextlib
import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from skymem.engine.models import (
    directory_name,
    display_name,
    find_directory,
    open_embedder,
    refuse_missing_extra,
    sha256_of,
    weights_of,
)
from skymem.errors import EngineUnavailableError, SkymemError
from skymem.model.harmless import harmless
from skymem.model.rules import EngineRules
from skymem.stores.files import Files, disk_errors

COSINE_MIN: Final = 0.9999
"""What each sample's vector and torch's must agree to; measured: 1.0000000."""

OPSET: Final = 17
"""Read by every onnxruntime since 1.13."""

SAMPLES: Final = (
    "ok",
    "The quarterly report is due at 7am on Monday; send it to Ana and to the board.",
    "def add(a, b):\n    return a + b  # 40 + 2",
    "Der Schlüssel liegt unter der dritten Blumenkiste neben der Haustür.",
    "ユーザーは毎朝七時に報告を求めています。",
    "!!! ??? 12,345.67 € — 😀",
    "word " * 400,
)
_BESIDE: Final = (
    "tokenizer.json",
    "vocab.txt",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
)


def export_onnx(rules: EngineRules, models_directory: Path, files: Files) -> dict[str, Any]:
    """Export the model the rules name into `models_directory`, under its name.

    Returns what `identity.json` beside it says, the path, and the least cosine to torch.

    Raises:
        EngineUnavailableError: no such model, the extra is missing, or the file did not agree.
        DiskError: no room.
    """
    refuse_missing_extra()
    # Whichever backend is configured, what is exported is what torch loads.
    rules = rules._replace(backend="sentence-transformers")
    directory = find_directory(rules, models_directory)
    target = models_directory / directory_name(rules.model)
    files.make_directory(models_directory)
    with _beside(models_directory, files) as made:
        identity = _write(rules, directory, made, files)
        least = _least_cosine(rules, directory, made)
        if least < COSINE_MIN:
            raise EngineUnavailableError(
                f"the exported file of {rules.model} does not agree with torch: "
                f"a cosine of {least:.5f}, not {COSINE_MIN}; it was removed"
            )
        _put_in_place(made, target, files)
    return {**identity, "path": str(target / "model.onnx"), "least_cosine": least}


@contextlib.contextmanager
def _beside(models_directory: Path, files: Files) -> Iterator[Path]:
    """Give a directory to write in, on the same disk; what is left in it goes with it."""
    made = models_directory / f".export.{os.getpid()}.new"
    shutil.rmtree(made, ignore_errors=True)
    files.make_directory(made)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write(rules: EngineRules, directory: Path, made: Path, files: Files) -> dict[str, str]:
    """Write the model, its tokenizer and what both are."""
    with disk_errors(made):
        _write_graph(directory, made / "model.onnx")
        for name in _BESIDE:
            if (directory / name).is_file():
                files.make_directory((made / name).parent)
                shutil.copyfile(directory / name, made / name)
    weights = weights_of(directory)
    identity = {
        "name": display_name(rules.model),
        "sha256": sha256_of(made / "model.onnx"),
        "precision": "fp32",
        "source": str(weights),
        "source_sha256": sha256_of(weights),
    }
    with disk_errors(made):
        (made / "identity.json").write_text(json.dumps(identity, indent=1) + "\n")
    return identity


def _write_graph(directory: Path, target: Path) -> None:
    """Trace the model's transformer; pooling is the reader's."""
    import torch

    from skymem.engine.sentence_transformers import TokenVectors, load

    model = load(directory)
    given = model.tokenizer([SAMPLES[0], SAMPLES[1]], padding=True, return_tensors="pt")
    names = list(given)
    with warnings.catch_warnings():
        # Torch's newer exporter needs one more package, and makes the same file.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            TokenVectors(model[0].auto_model, names).float().eval(),
            tuple(given[name] for name in names),
            str(target),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes={
                name: {0: "batch", 1: "tokens"} for name in (*names, "last_hidden_state")
            },
            opset_version=OPSET,
            dynamo=False,
        )


def _least_cosine(rules: EngineRules, directory: Path, made: Path) -> float:
    """Encode the samples both ways."""
    from skymem.engine.sentence_transformers import TorchEmbedder

    torch_rules = rules._replace(backend="sentence-transformers")
    ours = open_embedder(rules._replace(backend="onnx", model=str(made.resolve())), made)
    theirs = TorchEmbedder(rules.model, directory, weights_of(directory), torch_rules)
    return float((ours.encode(SAMPLES) * theirs.encode(SAMPLES)).sum(axis=1).min())


def _put_in_place(made: Path, target: Path, files: Files) -> None:
    """Put what was made in the place of an earlier export, durable and with the home's modes."""
    old = made.with_suffix(".old")
    with disk_errors(target):
        for path in made.rglob("*"):
            if path.is_file():
                _settle(path, files)
        files.fsync_directory(made)
        if target.exists():
            files.rename(target, old)  # killed here, the model is the one from before any export
        files.rename(made, target)
        files.fsync_directory(target.parent)
        shutil.rmtree(old, ignore_errors=True)


def _settle(path: Path, files: Files) -> None:
    os.chmod(path, files.modes.file)
    if files.modes.group >= 0:
        os.chown(path, -1, files.modes.group)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        files.fsync(fd)
    finally:
        os.close(fd)


def main(words: list[str]) -> int:
    """Export the model `words[0]` into the directory `words[1]`; one line of JSON says what."""
    if len(words) != 2:
        sys.stderr.write("usage: python -m skymem.engine.export NAME_OR_PATH TARGET_DIRECTORY\n")
        return 2
    rules = EngineRules(backend="sentence-transformers", model=words[0])
    try:
        told = export_onnx(rules, Path(words[1]), Files())
    except SkymemError as error:
        sys.stderr.write(f"skymem: {harmless(str(error))}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(told) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
