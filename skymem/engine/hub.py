"""The model hub: its cache on this machine, looked at as files, and, where allowed, a download.

No library is asked what is in the cache: they reach for the network, or fail where there is no home
directory (hazards E1, E2).
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from skymem.errors import EngineUnavailableError
from skymem.model.rules import EngineRules

DEFAULT_OWNER: Final = "sentence-transformers"
"""Whose model a name without an owner is, on the hub."""

_DOWNLOADED: Final = {
    "onnx": ["onnx/model.onnx", "*.json", "*/config.json", "vocab.txt"],
    "sentence-transformers": ["model.safetensors", "*.json", "*/config.json", "*.txt", "*.model"],
}


def repository(name: str) -> str:
    """Return the model's name on the hub, owner and all."""
    return name if "/" in name else f"{DEFAULT_OWNER}/{name}"


def hub_caches(models_directory: Path) -> list[Path]:
    """Return where downloaded models may lie: the user's cache, then one of the home's own.

    The second is for who has no home directory, or can't write to it (hazard E2).
    """
    own = models_directory / "hub"
    for name, below in (
        ("HF_HUB_CACHE", ""),
        ("HUGGINGFACE_HUB_CACHE", ""),
        ("HF_HOME", "hub"),
        ("XDG_CACHE_HOME", "huggingface/hub"),
    ):
        if os.environ.get(name):
            return [Path(os.path.expanduser(os.environ[name])) / below, own]
    user = Path(os.path.expanduser("~/.cache/huggingface/hub"))
    return [user, own] if user.is_absolute() else [own]


def snapshots(rules: EngineRules, models_directory: Path, looked: list[str]) -> Iterator[Path]:
    """Yield the downloaded versions of the model, the one the hub's `main` is first."""
    folder = "models--" + repository(rules.model).replace("/", "--")
    for cache in hub_caches(models_directory):
        looked.append(str(cache / folder))
        try:
            found = sorted((cache / folder / "snapshots").iterdir())
        except OSError:
            continue
        try:
            main = (cache / folder / "refs" / "main").read_text().strip()
        except (OSError, UnicodeDecodeError):
            main = ""
        yield from sorted(found, key=lambda path: path.name != main)


def download(rules: EngineRules, models_directory: Path) -> Path:
    """Fetch the model from the hub; the one place that reaches for the network."""
    from huggingface_hub import snapshot_download

    name = repository(rules.model)
    caches = hub_caches(models_directory)
    cache = next((each for each in caches if _can_be_made(each)), caches[-1])
    try:
        return Path(
            snapshot_download(name, cache_dir=cache, allow_patterns=_DOWNLOADED[rules.backend])
        )
    except (OSError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())[:200]
        raise EngineUnavailableError(
            f"the model {name} is not here and can't be downloaded: {why}"
        ) from error


def _can_be_made(directory: Path) -> bool:
    """Whether this process may write to the directory, or to the nearest one above that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return os.access(directory, os.W_OK | os.X_OK)
